#!/usr/bin/env python3
"""What each part of CUPTI costs a program, in one process: attached, some steps, detached, in turn. What a part adds is the median of its
differences from the configuration it is compared with, round by round, with a 95 % interval (bootstrap).

usage: bench/record/parts.py [--seconds S] [LOAD...]   LOADs of loads.py; launch_bound when none is named, 40 seconds each
Needs an NVIDIA GPU, torch and cuptiFinalize, and a C compiler, unless PARTS names parts.c as a shared library.
CUPTI's records of single calls do not come again after cuptiFinalize (13.0): overhead.py measures those."""
import argparse
import collections
import ctypes
import glob
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from loads import LOADS

HERE = os.path.dirname(os.path.abspath(__file__))
DRIVER, RUNTIME = 1, 2
ZEROED_BUFFERS, BUFFER_PER_THREAD = 5, 9
WORK, MEMORY, OVERHEAD, STREAMS, EVENTS, SYNCS = [10, 1, 2, 22], [49], [17], [8, 9, 37], [36], [38]
GET_VERSION = 2  # cbid of cuDriverGetVersion
RESAMPLES = 1000
BLOCK_S = 0.02


def library():
    path = os.environ.get("PARTS")
    if not path:
        path = os.path.join(tempfile.mkdtemp(), "parts.so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-pthread", "-o", path, HERE + "/parts.c"], check=True)
    lib = ctypes.CDLL(os.path.abspath(path))
    lib.parts_count.restype = ctypes.c_uint64
    return lib


parts = library()
places = [os.path.dirname(torch.__file__) + "/../nvidia/**/libcupti.so*", "/usr/local/cuda/**/libcupti.so*"]
cupti = ctypes.CDLL(next(p for place in places for p in sorted(glob.glob(place, recursive=True))))


def calls(domain, *starts):
    name, found = ctypes.c_char_p(), set()
    for cbid in range(1, 1200):
        if cupti.cuptiGetCallbackName(domain, cbid, ctypes.byref(name)) == 0 and (name.value or b"").startswith(starts):
            found.add((domain, cbid))
    return found


runtime = calls(RUNTIME, b"cudaLaunch", b"cudaMemcpy", b"cudaMemset", b"cudaGraphLaunch")
driver = calls(DRIVER, b"cuLaunch", b"cuMemcpy", b"cuMemset", b"cuGraphLaunch")
orders = calls(RUNTIME, b"cudaEvent", b"cudaStream") | calls(DRIVER, b"cuEvent", b"cuStream")
Config = collections.namedtuple("Config", "kinds callbacks flush_ms buffer heard against", defaults=([], set(), 0, 256 << 10, False, "plain"))
EVERYTHING = WORK + MEMORY + OVERHEAD + STREAMS
ALL = Config(EVERYTHING, runtime | driver | orders, 20, heard=True)
CONFIGS = {
    "plain": Config(),
    "plain again": Config(),
    "work": Config(WORK),
    "+ callbacks of the runtime": Config(WORK, runtime, against="work"),
    "+ callbacks of the driver": Config(WORK, driver, against="work"),
    "+ both": Config(WORK, runtime | driver, against="work"),
    "what assay records": ALL,
    "without allocations and overhead": ALL._replace(kinds=WORK + STREAMS, against="what assay records"),
    "without callbacks of the runtime": ALL._replace(callbacks=driver | orders, against="what assay records"),
    "without asking whether it is heard": ALL._replace(heard=False, against="what assay records"),
    "handed over every 100 ms": ALL._replace(flush_ms=100, against="what assay records"),
    "buffers of 4 MB": ALL._replace(buffer=4 << 20, against="what assay records"),
}
subscriber = ctypes.c_void_p()


def attach(c):
    one, size = ctypes.c_uint8(1), ctypes.c_size_t(1)
    parts.parts_buffers(ctypes.c_size_t(c.buffer))
    if c.kinds:
        for attribute in (ZEROED_BUFFERS, BUFFER_PER_THREAD):
            cupti.cuptiActivitySetAttribute(attribute, ctypes.byref(size), ctypes.byref(one))
        cupti.cuptiActivityRegisterCallbacks(parts.parts_request, parts.parts_complete)
    if c.callbacks and cupti.cuptiSubscribe(ctypes.byref(subscriber), parts.parts_callback, None):
        sys.exit("CUPTI refuses the subscription")
    for domain, cbid in c.callbacks:
        cupti.cuptiEnableCallback(1, subscriber, domain, cbid)
    for kind in c.kinds:
        cupti.cuptiActivityEnable(kind)
    if c.heard and hasattr(cupti, "cuptiActivityEnableDriverApi"):
        cupti.cuptiActivityEnableDriverApi(GET_VERSION, ctypes.c_uint8(1))
    if c.flush_ms:
        parts.parts_flush(cupti.cuptiActivityFlushAll, c.flush_ms)


def detach(c):
    parts.parts_flush(cupti.cuptiActivityFlushAll, 0)
    if c.kinds:
        cupti.cuptiActivityFlushAll(1)
    if c.callbacks:
        cupti.cuptiUnsubscribe(subscriber)
    if c.kinds or c.callbacks:
        cupti.cuptiFinalize()


def timed(step, n):
    """Microseconds of a step, GPU work included."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(n):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / n * 1e6


def interval(values):
    medians = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return statistics.median(values), medians[RESAMPLES * 25 // 1000], medians[RESAMPLES * 975 // 1000]


def measure(load, seconds):
    step = LOADS[load][0]()
    times, made = {c: [] for c in CONFIGS}, {}
    timed(step, 20)
    n = max(1, round(BLOCK_S / (timed(step, 5) / 1e6)))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name in random.sample(list(CONFIGS), len(CONFIGS)):
            config = CONFIGS[name]
            attach(config)
            timed(step, max(1, n // 8))
            for what in range(3):
                parts.parts_count(what)
            times[name].append(timed(step, n))
            callbacks = parts.parts_count(1) / n
            detach(config)
            made[name] = parts.parts_count(0) / n, callbacks, parts.parts_count(2) / n
    base = statistics.median(times["plain"] + times["plain again"])
    print(f"{load}: {len(times['plain'])} rounds of {n} steps; a step takes {base:.0f} us")
    for name, t in times.items():
        other = CONFIGS[name].against
        middle, low, high = interval([100 * (a - b) / base for a, b in zip(t, times[other])])
        print(f"  {name:36} {middle:+6.1f} % ({low:+.1f} to {high:+.1f}) of '{other}'; a step: {made[name][0]:8.0f} bytes, {made[name][1]:5.0f} calls, {made[name][2]:6.2f} buffers", flush=True)


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--seconds", type=float, default=40)
    options.add_argument("loads", nargs="*", default=["launch_bound"])
    a = options.parse_args()
    for load in a.loads:
        measure(load, a.seconds)


if __name__ == "__main__":
    main()
