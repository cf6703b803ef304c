#!/usr/bin/env python3
"""What one reading of the own thread's Python stack takes, in ns, with the recorder's own code: again and again from
one place, and once in a while between other work of the program, when caches hold other things.
usage: walk.py [DEPTH...]   (default 10 30 60); needs a C compiler, no GPU"""
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.join(HERE, "../../src")
SOURCES = ["loader.c", "py_find.c", "py_walk.c", "py_read.c", "py_code.c", "stacks.c"]
LIMIT_NS, LIMIT_DEPTH = 300, 30
other = {i: str(i) for i in range(60000)}


def library():
    out = os.path.join(tempfile.mkdtemp(prefix="assay-walk-"), "walk.so")
    subprocess.run([os.environ.get("CC", "gcc"), "-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-fPIC", "-shared", "-I" + SRC, os.path.join(HERE, "walk.c"),
                    *(os.path.join(SRC, "record", s) for s in SOURCES), "-o", out, "-ldl", "-pthread"], check=True)
    lib = ctypes.PyDLL(out)
    lib.walk_find.restype = ctypes.c_char_p
    lib.walk_once.restype = ctypes.c_int64
    return lib


class Module:
    """Calls go through a slot, as those of nn.Module do: the interpreter puts a frame of its own between."""
    def __init__(self, inner):
        self.inner = inner

    def __call__(self):
        return self.inner()


def measure(lib):
    walk, with_id = ctypes.c_double(), ctypes.c_double()
    depth = lib.walk_times(200000, ctypes.byref(walk), ctypes.byref(with_id))
    once = []
    for i in range(400):
        sum(len(other[k]) for k in range(i, 60000, 7))
        once.append(lib.walk_once())
    clock = min(lib.walk_once() for _ in range(1000)) - with_id.value
    once = sorted(max(0, t - clock) for t in once)
    return depth, walk.value, with_id.value, statistics.median(once), once[len(once) * 9 // 10]


def main():
    lib = library()
    why = lib.walk_find()
    if why:
        sys.exit("no stacks: " + why.decode())
    print(f"Python {sys.version.split()[0]}\n{'calls':>6} {'walk':>8} {'with id':>8} {'between work: half':>20} {'9 of 10':>8}   ns")
    for want in [int(a) for a in sys.argv[1:]] or [10, 30, 60]:
        call = lambda: measure(lib)  # noqa: E731
        for _ in range(want - 5):
            call = Module(call)
        depth, walk, with_id, half, most = call()
        limit = f"  {'within' if with_id <= LIMIT_NS else 'OVER'} {LIMIT_NS}" if want == LIMIT_DEPTH else ""
        print(f"{depth:6} {walk:8.0f} {with_id:8.0f} {half:20.0f} {most:8.0f}{limit}")


main()
