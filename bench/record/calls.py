#!/usr/bin/env python3
"""Instructions that the recorder takes on the program's thread for one call: callgrind counts what runs inside its callback,
on the fake driver (all sites of the call, the driver's inside the runtime's included), for as many calls as are left when a
shorter run is taken off a longer one. Independent of the machine's mood.

usage: [CALLS="launch copy"] bench/record/calls.py [BUILD [OPTIONS of assay record...]]
Columns: stacks off; Python stacks of a call whose stack is that of the one before; of one that is made two functions
further in, from another line each time. Python is the one that runs this."""
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SHORT, LONG = 200, 1200


def work(kind, depth, inner, n):
    import ctypes
    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuInit(0)
    call = {"launch": lambda: cuda.fake_launch(13, b"kernel"), "driver": lambda: cuda.fake_launch_driver(13, b"kernel"),
            "copy": lambda: cuda.fake_copy(13, 4096), "event": lambda: cuda.fake_record(5, 13),
            "wait": lambda: cuda.fake_wait(7, 5)}[kind]

    def other(i):
        return first(i) if i % 2 else second(i)

    def first(i):
        return call()

    def second(i):
        return call()

    def deep(left):
        if left:
            return deep(left - 1)
        for i in range(n):
            other(i) if inner else call()
    deep(depth)


def count(build, kind, depth, inner, n, options):
    """Instructions inside the recorder's callback."""
    from harness import FAKE, WORK
    run, out = WORK + "/run", WORK + "/callgrind"
    for old in glob.glob(out + "*"):
        os.remove(old)
    shutil.rmtree(run, ignore_errors=True)
    subprocess.run([build + "/assay", "record", "-q", "--telemetry", "off", "-o", run, "--sample", "off", *options, "--", "valgrind",
                    "--tool=callgrind", "--toggle-collect=assay_callback", "--callgrind-out-file=" + out, sys.executable, __file__, "--inside", kind, str(depth), str(inner), str(n)],
                   env=dict(os.environ, LD_LIBRARY_PATH=FAKE), check=True, capture_output=True)
    total = 0
    for path in glob.glob(out + "*"):
        with open(path) as f:
            total += sum(int(x) for x in re.findall(r"^(?:summary|totals): (\d+)", f.read(), re.M)[:1])
    return total


def main():
    options = sys.argv[2:]
    sys.argv = sys.argv[:2]
    sys.path.insert(0, os.path.join(HERE, "../../tests/record"))
    import harness
    harness.build_fakes()
    ways = [("off", 0, 0, ["--stacks", "off"])] + [(f"{name}, depth {depth}", depth, inner, []) for depth in (5, 30) for name, inner in (("same", 0), ("other", 1))]
    try:
        print(f"{'call':8}", *(f"{w[0]:>16}" for w in ways))
        for kind in os.environ.get("CALLS", "launch driver copy event wait").split():
            cost = []
            for _, depth, inner, more in ways:
                few, many = (count(harness.BUILD, kind, depth, inner, n, options + more) for n in (SHORT, LONG))
                cost.append((many - few) / (LONG - SHORT))
            print(f"{kind:8}", *(f"{c:16.0f}" for c in cost), flush=True)
    finally:
        shutil.rmtree(harness.WORK, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        work(sys.argv[2], *map(int, sys.argv[3:6]))
    else:
        main()
