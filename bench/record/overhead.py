#!/usr/bin/env python3
"""What recording costs on a machine with an NVIDIA GPU: plain, recorded and profiled runs in turn, torch imported once.

usage: bench/record/overhead.py [LOAD [REPEATS [MODE...]]]
LOAD   launch_bound (default): median step as the host sees it; gpu_bound: time a step of the whole
MODE   plain assay kineto (default); more settings of the recorder: 'assay;exact_waits=1' 'assay;flush=1000'
Runs of one program differ by a third on a virtual machine: pin it to a few cores (taskset -c 2-9) and repeat."""
import os
import shutil
import statistics
import sys
import tempfile

import torch.profiler
from loads import LOADS, timed

LIB = os.path.abspath(os.environ.get("ASSAY_LIB", os.path.dirname(__file__) + "/../../build/release/libassay_cuda.so"))
WARM_UP = 20


def record(mode):
    """As `assay record` does it, before CUDA starts."""
    run = tempfile.mkdtemp(prefix="assay-overhead-")
    os.environ["ASSAY_RECORD"] = ";".join(["1", "dir=" + run, "rings=/dev/shm", *mode.split(";")[1:]])
    os.environ["CUDA_INJECTION64_PATH"] = os.environ["NVTX_INJECTION64_PATH"] = LIB
    return run


def measure(load, mode):
    make, steps = LOADS[load]
    run = record(mode) if mode.startswith("assay") else None
    step = make()
    timed(step, WARM_UP)
    if mode == "kineto":
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]).__enter__()
    each, whole = timed(step, steps)
    if run and not os.listdir(run):
        sys.exit(f"{mode}: nothing was recorded by {LIB}")
    if run:
        shutil.rmtree(run)
    return statistics.median(each) if load == "launch_bound" else whole


def in_a_process(load, mode):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, str(measure(load, mode)).encode())
        os._exit(0)
    os.close(write)
    text = os.read(read, 100).decode()
    os.close(read)
    os.waitpid(pid, 0)
    return float(text) if text else None


def main():
    load = sys.argv[1] if len(sys.argv) > 1 else "launch_bound"
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    modes = sys.argv[3:] or ["plain", "assay", "kineto"]
    times = {m: [] for m in modes}
    for _ in range(repeats):
        for m in modes:
            t = in_a_process(load, m)
            if t is not None:
                times[m].append(t)
                print(f"# {m} {t:.0f}", flush=True)
    base = statistics.median(times[modes[0]])
    for m, t in times.items():
        if t:
            middle = statistics.median(t)
            print(f"{load} {m:24} {middle:9.0f} us/step  {middle / base:.3f}x  {' '.join(f'{x:.0f}' for x in t)}", flush=True)


main()
