"""libassay.so by ctypes. Streams and their release functions are C's own: callbacks of Python's would
be called after the interpreter has ended."""
import ctypes
import os
from typing import Any, Callable, List

from ._program import AssayError

_HERE = os.path.dirname(os.path.abspath(__file__))


class _Err(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("pos", ctypes.c_uint64), ("text", ctypes.c_char * 496)]


def _load() -> ctypes.CDLL:
    named = os.environ.get("ASSAY_LIBRARY")
    lib = ctypes.CDLL(named or os.path.join(_HERE, "libassay.so"))
    run, text, err = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_Err)
    for name, result, arguments in (
        ("assay_version", text, []),
        ("assay_run_new", run, []),
        ("assay_run_free", None, [run]),
        ("assay_run_read", ctypes.c_bool, [run, text, err]),
        ("assay_run_analyze", ctypes.c_bool, [run, ctypes.c_void_p, err]),
        ("assay_run_arrow", ctypes.c_bool, [run, text, ctypes.c_void_p, err]),
        ("assay_run_sql", ctypes.c_bool, [run, text, ctypes.c_void_p, err]),
        ("assay_stream_new", ctypes.c_void_p, []),
        ("assay_stream_free", None, [ctypes.c_void_p]),
        ("assay_relation_name", text, [ctypes.c_size_t]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


LIB = _load()
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_CAPSULE_NAME = b"arrow_array_stream"  # the capsule keeps the pointer: it must outlive all of them


def call(function: Callable[..., Any], *arguments: Any) -> None:
    """A function that says why it could not: AssayError with that sentence."""
    err = _Err()
    if not function(*arguments, ctypes.byref(err)):
        place = f"character {err.pos + 1}" if function is LIB.assay_run_sql else f"byte {err.pos}"
        where = f" (at {place})" if err.pos else ""
        raise AssayError(err.text.decode("utf-8", "replace") + where)


def stream_capsule(function: Callable[..., Any], run: Any, text: str) -> object:
    """The Arrow stream of a table or statement, in a capsule that frees it."""
    stream = LIB.assay_stream_new()
    if not stream:
        raise MemoryError
    try:
        call(function, run, text.encode(), stream)
    except AssayError:
        LIB.assay_stream_free(stream)
        raise
    capsule: object = _new_capsule(stream, _CAPSULE_NAME, ctypes.cast(LIB.assay_stream_free_capsule, ctypes.c_void_p))
    return capsule


def relation_names() -> List[str]:
    names: List[str] = []
    while (name := LIB.assay_relation_name(len(names))) is not None:
        names.append(name.decode())
    return names
