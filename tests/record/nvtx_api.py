"""NVTX as its headers do it, without them: a table of functions that the library named by NVTX_INJECTION64_PATH fills.
Without such a library every call does nothing, as in any program that nobody profiles."""
import ctypes
import os

CORE, CORE2, SLOTS = 1, 5, 16
MARK, START, END, PUSH, POP = 2, 5, 7, 9, 11  # of CORE, with plain text
D_START, D_END, D_PUSH, D_POP, D_CREATE = 2, 3, 4, 5, 12  # of CORE2

Pointers = ctypes.c_void_p * SLOTS
GetModule = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
GetTable = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)


class Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("get_module", GetModule)]


class Attributes(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint16), ("size", ctypes.c_uint16), ("category", ctypes.c_uint32),
                ("color_type", ctypes.c_int32), ("color", ctypes.c_uint32), ("payload_type", ctypes.c_int32),
                ("reserved", ctypes.c_int32), ("payload", ctypes.c_uint64), ("message_type", ctypes.c_int32),
                ("message", ctypes.c_char_p)]


functions = {CORE: Pointers(), CORE2: Pointers()}
places = {m: Pointers(*[ctypes.addressof(f) + i * ctypes.sizeof(ctypes.c_void_p) for i in range(SLOTS)])
          for m, f in functions.items()}


@GetModule
def get_module(module, table, n):
    if module not in places:
        return 0
    table[0] = ctypes.addressof(places[module])
    n[0] = SLOTS
    return 1


callbacks = Callbacks(ctypes.sizeof(Callbacks), get_module)


@GetTable
def get_table(number):
    return ctypes.addressof(callbacks) if number == 1 else None


def attributes(text):
    return Attributes(version=3, size=ctypes.sizeof(Attributes), message_type=1, message=text.encode())


def function(module, number, result, *args):
    at = functions[module][number]
    return ctypes.CFUNCTYPE(result, *args)(at) if at else lambda *_: 0


path = os.environ.get("NVTX_INJECTION64_PATH")
library = ctypes.CDLL(path) if path else None
there = bool(library and library.InitializeInjectionNvtx2(get_table))
attribute_pointer = ctypes.POINTER(Attributes)
_mark = function(CORE, MARK, None, ctypes.c_char_p)
_start = function(CORE, START, ctypes.c_uint64, ctypes.c_char_p)
_end = function(CORE, END, None, ctypes.c_uint64)
_push = function(CORE, PUSH, ctypes.c_int, ctypes.c_char_p)
_pop = function(CORE, POP, ctypes.c_int)
_create = function(CORE2, D_CREATE, ctypes.c_void_p, ctypes.c_char_p)
_domain_push = function(CORE2, D_PUSH, ctypes.c_int, ctypes.c_void_p, attribute_pointer)
_domain_pop = function(CORE2, D_POP, ctypes.c_int, ctypes.c_void_p)
_domain_start = function(CORE2, D_START, ctypes.c_uint64, ctypes.c_void_p, attribute_pointer)
_domain_end = function(CORE2, D_END, None, ctypes.c_void_p, ctypes.c_uint64)


def mark(text):
    _mark(text.encode())


class Domain:
    """A domain; without a name the one that needs none."""

    def __init__(self, name=None):
        self.handle = _create(name.encode()) if name else None

    def push(self, text):
        if self.handle:
            _domain_push(self.handle, attributes(text))
        else:
            _push(text.encode())

    def pop(self):
        if self.handle:
            _domain_pop(self.handle)
        else:
            _pop()

    def start(self, text):
        return _domain_start(self.handle, attributes(text)) if self.handle else _start(text.encode())

    def end(self, number):
        if self.handle:
            _domain_end(self.handle, number)
        else:
            _end(number)
