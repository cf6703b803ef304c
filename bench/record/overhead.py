#!/usr/bin/env python3
"""What recording costs on a machine with an NVIDIA GPU, so that noise cancels: within one process recording is switched
on and off through `assay ctl`'s socket between blocks of steps, in random order; the ratio of each recorded block to
the other one of its round, their median, and a 95 % interval of it (bootstrap). The same without stacks and samples, which
also tells how much larger they make a capture, and torch.profiler in processes without assay. Where loads.py has a limit
for a load, the row of the default recording says whether its ratio is within it.

usage: bench/record/overhead.py [--rounds N] [--seconds S] [--steps N] [--who NAME,...] [--with KEY=VALUE] [LOAD...]
--with     a setting of the recorder's (as of `assay record --set`) for all loads: no_driver=1, driver_launches=1, tick=100, ...
LOAD       of loads.py; all of them when none is named, "limits" stands for those with a limit
--who      assay, bare (assay without stacks and samples), torch.profiler (default: all three)
--steps    the fewest steps of a block (default 5): a block ends with a wait for the device, behind which the host is not ahead of it
--rounds   rounds for each load and profiler (default 100)
--seconds  the most that all of it takes (default 150): rounds then are fewer, and the table says how many
ASSAY names the program (default build/release/assay beside this file)."""
import argparse
import glob
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ASSAY = os.path.abspath(os.environ.get("ASSAY", os.path.join(HERE, "../../build/release/assay")))
BLOCK_S = 0.02
WARM_UP = 8
PRISTINE = 20   # blocks before anything was ever switched on
RESAMPLES = 2000
WHO = ("assay", "bare", "torch.profiler")
BARE = "no_stacks=1;sample=0"
SIZE_LIMIT = 1.3  # of a capture with stacks and samples to one without


def interval(ratios):
    """Median, and the bounds that 95 % of resampled medians lie in."""
    n = len(ratios)
    medians = sorted(statistics.median(random.choices(ratios, k=n)) for _ in range(RESAMPLES))
    return statistics.median(ratios), medians[RESAMPLES * 25 // 1000], medians[RESAMPLES * 975 // 1000]


# ---- in the process that works ----

class Blocks:
    """Blocks of steps of one load, each timed until the GPU is done."""

    def __init__(self, make, least):
        import torch
        self.wait = torch.cuda.synchronize
        self.step = make()
        for _ in range(WARM_UP):
            self.step()
        self.steps = 1
        self.steps = max(least, round(BLOCK_S / self.time()))

    def time(self):
        """Seconds a step."""
        self.wait()
        start = time.perf_counter()
        for _ in range(self.steps):
            self.step()
        self.wait()
        return (time.perf_counter() - start) / self.steps


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def rounds(blocks, switch, n, until):
    """Ratios of on to off, seconds of off blocks, and page faults that a step has more when it is on."""
    ratios, offs, more = [], [], []
    while len(ratios) < n and time.monotonic() < until:
        seconds, fault = {}, {}
        for on in random.sample((True, False), 2):
            if on:
                switch(True)
            blocks.step()  # what the first calls behind a switch cost is not of every step
            before = faults()
            seconds[on] = blocks.time()
            fault[on] = faults() - before
            if on:
                switch(False)
        ratios.append(seconds[True] / seconds[False])
        offs.append(seconds[False])
        more.append((fault[True] - fault[False]) / blocks.steps)
    return ratios, offs, more


class Assay:
    def __init__(self):
        sys.path.insert(0, os.path.join(HERE, "../../python/assay"))
        import _record
        self.control = _record
        self.recorded = 0

    def __call__(self, on):
        if not (self.control.start() if on else self.control.stop()):
            raise RuntimeError("nobody answers at the control socket")


class Kineto:
    def __init__(self):
        import torch
        self.make = lambda: torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])

    def __call__(self, on):
        if on:
            self.running = self.make()
            self.running.__enter__()
        else:
            self.running.__exit__(None, None, None)


def count_stacks(capture):
    p = subprocess.run([ASSAY, "sql", "-f", "csv", capture, "select count(*) from stack"], capture_output=True, text=True)
    numbers = [int(w) for w in re.findall(r"\d+", p.stdout)]
    return numbers[-1] if numbers else 0


def measure(load, who, least, n, until):
    from loads import LOADS
    make, settings, _ = LOADS[load]
    settings = ";".join(filter(None, (settings, BARE if who == "bare" else "")))
    if who == "torch.profiler":
        for name in ("ASSAY_RECORD", "ASSAY_RUN", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
            os.environ.pop(name, None)
    elif settings:
        os.environ["ASSAY_RECORD"] += ";" + settings
    blocks = Blocks(make, least)
    pristine = [blocks.time() for _ in range(PRISTINE)]
    switch = Kineto() if who == "torch.profiler" else Assay()
    ratios, offs, more = rounds(blocks, switch, n, until)
    if not ratios:
        raise RuntimeError("no round fits into its share of --seconds")
    out = {"ratios": ratios, "off": statistics.median(offs), "pristine": statistics.median(pristine),
           "steps": blocks.steps * len(ratios), "faults": statistics.median(more)}
    if who != "torch.profiler":
        captures = glob.glob(f"{os.environ['ASSAY_RUN']}/*-{os.getpid()}.asy")
        switch.control.flush()
        out["bytes"] = sum(map(os.path.getsize, captures)) / (blocks.steps + 1) / len(ratios)
        out["stacks"] = sum(count_stacks(c) for c in captures)
    return out


def in_a_child(load, who, *limits):
    """torch is imported once, CUDA starts in each child anew."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = json.dumps(measure(load, who, *limits))
        except Exception as e:  # one load's trouble is not the others'
            text = json.dumps({"error": f"{type(e).__name__}: {e}"})
        with os.fdopen(write, "w") as f:
            f.write(text)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else {"error": "the process died"}


def verdict(load, who, r, middle):
    """What the row is held against: the load's limit, and that there were stacks at all."""
    from loads import LOADS
    limit = LOADS[load][2]
    if who == "assay" and not r["stacks"]:
        return "NO STACKS"
    return f"{'within' if middle <= limit else 'OVER'} {limit}" if who == "assay" and limit else ""


def show(load, who, r):
    if "error" in r:
        print(f"{load:14} {who:15} {r['error'][:90]}", flush=True)
        return
    middle, low, high = interval(r["ratios"])
    print(f"{load:14} {who:15} {r['off'] * 1e6:10.0f} {middle:8.3f}x {low:7.3f}-{high:.3f} {r['off'] / r['pristine']:9.3f}x {len(r['ratios']):7} "
          f"{r['faults']:8.1f} {r.get('bytes', 0):10.0f}  {verdict(load, who, r, middle)}", flush=True)


def show_size(load, results):
    sizes = [results.get(who, {}).get("bytes") for who in ("assay", "bare")]
    if all(sizes):
        ratio = sizes[0] / sizes[1]
        print(f"{load:14} {'size':15} {ratio:.2f}x with stacks and samples: {'within' if ratio <= SIZE_LIMIT else 'OVER'} {SIZE_LIMIT}", flush=True)


def work(loads, who, least, n, seconds):
    import torch.profiler  # noqa: F401  before the children are made
    try:
        import transformers  # noqa: F401
    except ImportError:
        pass
    print(f"{'load':14} {'recorded by':15} {'us/step':>10} {'ratio':>9} {'95 % interval':>15} {'off/before':>10} {'rounds':>7} {'faults':>8} {'bytes/step':>10}  limit")
    turns = [(load, w) for load in loads for w in who if not (load.startswith("graph_") and w == "torch.profiler")]
    end = time.monotonic() + seconds
    results = {}
    for i, (load, w) in enumerate(turns):
        r = in_a_child(load, w, least, n, time.monotonic() + (end - time.monotonic()) / (len(turns) - i))
        results.setdefault(load, {})[w] = r
        show(load, w, r)
        if w == who[-1]:
            show_size(load, results[load])


def wanted(names):
    from loads import LOADS
    limited = [name for name, row in LOADS.items() if row[2]]
    return [x for name in names or list(LOADS) for x in (limited if name == "limits" else [name])]


def main():
    sys.path.insert(0, HERE)
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--seconds", type=float, default=150)
    options.add_argument("--steps", type=int, default=5)
    options.add_argument("--who", default=",".join(WHO))
    options.add_argument("--with", action="append", default=[], dest="settings")
    options.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("loads", nargs="*")
    a = options.parse_args()
    if a.inside:
        sys.exit(work(wanted(a.loads), a.who.split(","), a.steps, a.rounds, a.seconds))
    run = tempfile.mkdtemp(prefix="assay-overhead-")
    try:
        sys.exit(subprocess.run([ASSAY, "record", "--paused", "--quiet", "-o", run, "--telemetry", "off",
                                 *(word for s in a.settings for word in ("--set", s)), "--", sys.executable, __file__, "--inside",
                                 "--steps", str(a.steps), "--rounds", str(a.rounds), "--seconds", str(a.seconds), "--who", a.who,
                                 *a.loads]).returncode)
    finally:
        shutil.rmtree(run, ignore_errors=True)


main()
