"""Arrow streams read in plain Python, for people without pyarrow: names of columns, and rows as dicts."""
import ctypes
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ._program import AssayError


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
                    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
                    ("dictionary", ctypes.POINTER(_Schema)), ("release", _Release), ("private", ctypes.c_void_p)]
_Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                   ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                   ("children", ctypes.POINTER(ctypes.POINTER(_Array))), ("dictionary", ctypes.POINTER(_Array)),
                   ("release", _Release), ("private", ctypes.c_void_p)]
_Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
                    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
                    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
                    ("release", _Release), ("private", ctypes.c_void_p)]

_NUMBERS: Dict[bytes, Any] = {b"c": ctypes.c_int8, b"C": ctypes.c_uint8, b"s": ctypes.c_int16, b"S": ctypes.c_uint16,
                              b"i": ctypes.c_int32, b"I": ctypes.c_uint32, b"l": ctypes.c_int64, b"L": ctypes.c_uint64,
                              b"f": ctypes.c_float, b"g": ctypes.c_double}
_OFFSETS: Dict[bytes, Any] = {b"u": ctypes.c_int32, b"U": ctypes.c_int64}

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _numbers(kind: Any, address: Optional[int], first: int, n: int) -> List[Any]:
    if not n or not address:
        return []
    return list((kind * n).from_address(address + first * ctypes.sizeof(kind)))


def _texts(array: _Array, kind: Any) -> List[str]:
    ends = _numbers(kind, array.buffers[1], array.offset, array.length + 1)
    data: int = array.buffers[2] or 0
    return [ctypes.string_at(data + a, b - a).decode("utf-8", "replace") for a, b in zip(ends, ends[1:])]


def _values(schema: _Schema, array: _Array, dictionaries: Dict[int, List[str]]) -> List[Any]:
    """One column; dictionaries: those already read, by the address of their texts."""
    kind = schema.format
    values: List[Any] = []
    if kind in _NUMBERS:
        values += _numbers(_NUMBERS[kind], array.buffers[1], array.offset, array.length)
    elif kind in _OFFSETS:
        values += _texts(array, _OFFSETS[kind])
    else:
        raise AssayError(f"a column of Arrow's type {kind.decode()} cannot be read without pyarrow")
    if schema.dictionary:
        words = array.dictionary.contents
        at = words.buffers[2] or 0
        if at not in dictionaries:
            dictionaries[at] = _texts(words, _OFFSETS[schema.dictionary.contents.format])
        values = [dictionaries[at][i] if i < len(dictionaries[at]) else None for i in values]
    bits = array.buffers[0]
    if bits and array.null_count:
        known = ctypes.string_at(bits, (array.offset + array.length + 7) // 8)
        values = [v if known[i >> 3] >> (i & 7) & 1 else None for i, v in enumerate(values, array.offset)]
    return values


class Reader:
    """The stream in a capsule, batch by batch."""

    def __init__(self, capsule: object):
        self._capsule = capsule  # frees the stream
        self._at = _pointer_of(capsule, b"arrow_array_stream")
        self._stream = _Stream.from_address(self._at)

    def _check(self, status: int) -> None:
        if status:
            said = self._stream.get_last_error(self._at)
            raise AssayError(said.decode("utf-8", "replace") if said else f"error {status}")

    def columns(self) -> List[str]:
        schema = _Schema()
        self._check(self._stream.get_schema(self._at, ctypes.addressof(schema)))
        names = [schema.children[i].contents.name.decode() for i in range(schema.n_children)]
        schema.release(ctypes.addressof(schema))
        return names

    def _batches(self) -> Iterator[_Array]:
        while True:
            array = _Array()
            self._check(self._stream.get_next(self._at, ctypes.addressof(array)))
            if not array.release:
                return
            try:
                yield array
            finally:
                array.release(ctypes.addressof(array))

    def count(self) -> int:
        return sum(int(batch.length) for batch in self._batches())

    def rows(self) -> Iterator[Tuple[Any, ...]]:
        schema = _Schema()
        self._check(self._stream.get_schema(self._at, ctypes.addressof(schema)))
        try:
            dictionaries: Dict[int, List[str]] = {}
            for batch in self._batches():
                columns = [_values(schema.children[i].contents, batch.children[i].contents, dictionaries) for i in range(schema.n_children)]
                yield from zip(*columns)
                dictionaries.clear()
        finally:
            schema.release(ctypes.addressof(schema))
