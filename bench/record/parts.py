#!/usr/bin/env python3
"""What each part of CUPTI costs a launch-bound program, in one process: attached, some steps, detached, in turn.

usage: bench/record/parts.py [SECONDS]; needs an NVIDIA GPU, torch, a C compiler and cuptiFinalize
CUPTI's records of single calls do not come again after cuptiFinalize (13.0): overhead.py measures those."""
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
from loads import launch_bound

here = os.path.dirname(os.path.abspath(__file__))
LIB = os.path.join(tempfile.mkdtemp(), "parts.so")
subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", LIB, here + "/parts.c"], check=True)
parts = ctypes.CDLL(LIB)
parts.parts_count.restype = ctypes.c_uint64
places = [os.path.dirname(torch.__file__) + "/../nvidia/**/libcupti.so*", "/usr/local/cuda/**/libcupti.so*"]
cupti = ctypes.CDLL(next(p for place in places for p in sorted(glob.glob(place, recursive=True))))
DRIVER, RUNTIME = 1, 2
WORK, MEMORY, OVERHEAD, STREAMS, EVENTS, SYNCS = [10, 1, 2, 22], [49], [17], [8, 9, 37], [36], [38]


def timed(step, n):
    """Microseconds of each step as the host sees it, and of a step of the whole, GPU work included."""
    steps = []
    start = before = time.perf_counter()
    for _ in range(n):
        step()
        now = time.perf_counter()
        steps.append((now - before) * 1e6)
        before = now
    torch.cuda.synchronize()
    return steps, (time.perf_counter() - start) / n * 1e6


def calls(domain, *starts):
    name, found = ctypes.c_char_p(), set()
    for cbid in range(1, 1200):
        if cupti.cuptiGetCallbackName(domain, cbid, ctypes.byref(name)) == 0 and (name.value or b"").startswith(starts):
            found.add((domain, cbid))
    return found


launches = calls(RUNTIME, b"cudaLaunch") | calls(DRIVER, b"cuLaunch")
orders = calls(RUNTIME, b"cudaEvent", b"cudaStream") | calls(DRIVER, b"cuEvent", b"cuStream")
CONFIGS = {  # kinds of records, callbacks
    "plain": ([], set()), "plain again": ([], set()), "and again": ([], set()),
    "kernels, copies": (WORK, set()),
    "memory": (MEMORY, set()),
    "overhead": (OVERHEAD, set()),
    "streams, contexts, devices": (STREAMS, set()),
    "events": (EVENTS, set()),
    "waits": (SYNCS, set()),
    "callbacks of launches": ([], launches),
    "callbacks of events, streams": ([], orders),
    "what assay records": (WORK + MEMORY + OVERHEAD + STREAMS, launches | orders),
    "the same with --exact-waits": (WORK + MEMORY + OVERHEAD + STREAMS + EVENTS + SYNCS, launches | orders),
}
PLAIN = list(CONFIGS)[:3]
subscriber = ctypes.c_void_p()


def attach(kinds, callbacks):
    one, size = ctypes.c_uint8(1), ctypes.c_size_t(1)
    if kinds:
        for attribute in (5, 9):  # zeroed buffers, one for each thread
            cupti.cuptiActivitySetAttribute(attribute, ctypes.byref(size), ctypes.byref(one))
        cupti.cuptiActivityRegisterCallbacks(parts.parts_request, parts.parts_complete)
    if callbacks and cupti.cuptiSubscribe(ctypes.byref(subscriber), parts.parts_callback, None):
        sys.exit("CUPTI refuses the subscription")
    for domain, cbid in callbacks:
        cupti.cuptiEnableCallback(1, subscriber, domain, cbid)
    for kind in kinds:
        cupti.cuptiActivityEnable(kind)


def detach(kinds, callbacks):
    if kinds:
        cupti.cuptiActivityFlushAll(1)
    if callbacks:
        cupti.cuptiUnsubscribe(subscriber)
    cupti.cuptiFinalize()


def main():
    end = time.time() + float(sys.argv[1] if len(sys.argv) > 1 else 120)
    step, n = launch_bound(), 16
    times, made = {c: [] for c in CONFIGS}, {}
    timed(step, 50)
    while time.time() < end:
        for c in random.sample(list(CONFIGS), len(CONFIGS)):
            if c not in PLAIN:
                attach(*CONFIGS[c])
            timed(step, 4)
            parts.parts_count(0), parts.parts_count(1)
            each, _ = timed(step, n)
            if c not in PLAIN:
                detach(*CONFIGS[c])
            made[c] = parts.parts_count(0) / n, parts.parts_count(1) / n
            times[c].append(statistics.median(each))
    plain = [statistics.median(three) for three in zip(*(times[c] for c in PLAIN))]
    base = statistics.median(t for c in PLAIN for t in times[c])
    print(f"{len(plain)} rounds; a step takes {base:.0f} us")
    for c, t in times.items():
        more = statistics.median(a - b for a, b in zip(t, plain))
        print(f"{c:30} {statistics.median(t) / base:.3f}x  {more:+6.0f} us  {made[c][0]:7.0f} bytes and {made[c][1]:4.0f} callbacks a step")


main()
