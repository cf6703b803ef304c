#!/usr/bin/env python3
"""What recording costs whole processes: each prepares a load of loads.py, waits for its turn and then works alone; plain ones and
recorded ones in random order, so that a machine that changes its mood changes it for all. Switching within one process (overhead.py)
is more exact, but does not see what a recorder costs for as long as it is there.

usage: bench/record/whole.py [--times N] [--seconds S] [--ahead N] [--way NAME=OPTIONS]... [--cupti] [LOAD...]
LOAD       of loads.py; read_back when none is named
--way      a way to record: options of `assay record`, such as `bare=--stacks off --sample off`; "plain" and "assay" are always there
--cupti    a way more: no assay, but CUPTI's records of kernels and copies, which are thrown away (parts.py): what no recorder can do without
--times    processes of each load and way (default 5)
--seconds  that each works (default 2)
--ahead    processes that prepare at the same time (default 3)
ASSAY names the program (default build/release/assay beside this file). Needs an NVIDIA GPU and torch."""
import argparse
import concurrent.futures
import fcntl
import json
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ASSAY = os.path.abspath(os.environ.get("ASSAY", os.path.join(HERE, "../../build/release/assay")))
WARM_UP_S = 0.5
CUPTI = object()


def work(load, seconds, gate, cupti):
    """Milliseconds of a median step, once no other process works."""
    import torch
    from loads import LOADS
    if cupti:
        import parts
        parts.attach(parts.Config(parts.WORK))
    step = LOADS[load][0]()
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    with open(gate) as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        steps = []
        begin = time.perf_counter()
        while not steps or time.perf_counter() - begin < WARM_UP_S + seconds:
            start = time.perf_counter()
            step()
            torch.cuda.synchronize()
            steps.append((start - begin, time.perf_counter() - start))
    print(json.dumps(1e3 * statistics.median(s for at, s in steps if at >= WARM_UP_S or len(steps) < 3)))


def one(load, options, seconds, gate, folder):
    cupti = options is CUPTI
    inside = [sys.executable, __file__, "--inside", gate, "--seconds", str(seconds), *(["--cupti"] if cupti else []), load]
    run = tempfile.mkdtemp(dir=folder)
    command = inside if options is None or cupti else [ASSAY, "record", "--quiet", "-o", run, *options, "--", *inside]
    p = subprocess.run(command, capture_output=True, text=True)
    size = sum(os.path.getsize(os.path.join(run, f)) for f in os.listdir(run) if f.endswith(".asy"))
    shutil.rmtree(run, ignore_errors=True)
    try:
        return json.loads(p.stdout.splitlines()[-1]), size
    except (IndexError, ValueError):
        print(f"{load}: exit {p.returncode}: {p.stderr[-300:]}", file=sys.stderr)
        return None, 0


def main():
    sys.path.insert(0, HERE)
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--times", type=int, default=5)
    options.add_argument("--seconds", type=float, default=2)
    options.add_argument("--ahead", type=int, default=3)
    options.add_argument("--way", action="append", default=[])
    options.add_argument("--cupti", action="store_true")
    options.add_argument("--inside", help=argparse.SUPPRESS)
    options.add_argument("loads", nargs="*", default=["read_back"])
    a = options.parse_args()
    if a.inside:
        sys.exit(work(a.loads[0], a.seconds, a.inside, a.cupti))
    ways = {"plain": None, "assay": [], **({"CUPTI alone": CUPTI} if a.cupti else {})}
    ways.update((name, shlex.split(rest)) for name, _, rest in (w.partition("=") for w in a.way))
    folder = tempfile.mkdtemp(prefix="assay-whole-")
    gate = os.path.join(folder, "gate")
    open(gate, "w").close()
    turns = [(load, way) for _ in range(a.times) for load in random.sample(a.loads, len(a.loads)) for way in random.sample(list(ways), len(ways))]
    with concurrent.futures.ThreadPoolExecutor(a.ahead) as pool:
        results = list(pool.map(lambda t: (t, one(t[0], ways[t[1]], a.seconds, gate, folder)), turns))
    shutil.rmtree(folder, ignore_errors=True)
    for load in a.loads:
        times = {w: sorted(ms for t, (ms, _) in results if t == (load, w) and ms) for w in ways}
        base = statistics.median(times["plain"] or [float("nan")])
        for w in ways:
            if times[w]:
                middle = statistics.median(times[w])
                print(f"{load:14} {w:22} {middle:8.2f} ms a step ({times[w][0]:.2f}-{times[w][-1]:.2f}, {len(times[w])}) {middle / base:6.3f}x", flush=True)


main()
