#!/usr/bin/env python3
"""Recorded programs that are killed in the middle of their work on a real GPU: how much of the work that the GPU had done by then
the recording misses. The GPU itself writes how far it came into a shared page, which is read when the program has just been killed: what
was queued runs on until the driver has taken the context apart, and nobody could have recorded that. Needs PyTorch with CUDA.
usage: kills_h200.py [--kills N] [--seconds N] [--at-once N] [--kind NAME] [--set KEY=VALUE] [BUILD]
100 kills, begun within 120 s; 8 programs get ready beside each other and work one after another, as two that share the GPU would
each seem to miss the other's time. --kind: only this one (small, awaited, large, graph); --set: as of `assay record`.
Prints a line for each kind of program and one for all; exit status 1 when more than 20 ms are missing or more than the recording says."""
import argparse
import concurrent.futures
import json
import mmap
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
ALLOWED = 20.0  # ms
PATIENCE = 100  # s for one program

# Every turn ends with a copy of 8 bytes, the number of the turn, to the page; the second number there is the process, once it works.
PROGRAM = """
import fcntl, os, sys, torch
kind, page, alone = sys.argv[1:]
done = torch.from_file(page, shared=True, size=512, dtype=torch.int64)
if int(torch.cuda.cudart().cudaHostRegister(done.data_ptr(), 4096, 0)):
    sys.exit("the page cannot be registered")
count = torch.zeros(1, dtype=torch.int64, device="cuda")
small = torch.ones(4096, device="cuda")
large = torch.ones(4096, 4096, device="cuda", dtype=torch.bfloat16) / 4096
graph = torch.cuda.CUDAGraph()
if kind == "graph":
    with torch.cuda.graph(graph):
        for _ in range(20): small.mul_(1.0)
def work():
    if kind == "large":
        for _ in range(4): large @ large
    elif kind == "graph":
        graph.replay()
    else:
        for _ in range(8): small.mul_(1.0)
def turn():
    work()
    count.add_(1)
    done[:1].copy_(count, non_blocking=True)
    if kind == "awaited":
        torch.cuda.synchronize()
for _ in range(20): turn()
torch.cuda.synchronize()
turns = open(alone, "w")
fcntl.flock(turns, fcntl.LOCK_EX)  # until the end of this process
done[1] = os.getpid()
while True: turn()
"""
PIECES = {"small": 10, "awaited": 10, "large": 6, "graph": 22}  # of GPU work in a turn


def arguments():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--at-once", type=int, default=8)
    options.add_argument("--kind", choices=PIECES)
    options.add_argument("--set", action="append", default=[])
    options.add_argument("build", nargs="?", default=ROOT + "/build/release")
    return options.parse_args()


def ask(assay, run, statement):
    out = subprocess.run([assay, "sql", run, statement, "--format", "json"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def missing(assay, run, turns, kind):
    """ms of GPU work and turns that the GPU did and the recording has not, and whether it says as much."""
    ends = [r["end"] for r in ask(assay, run, "select ts + dur as end from gpu where kind = 'memcpy' and bytes = 8 order by 1")]
    unknown = sum(r["unknown"] or 0 for r in ask(assay, run, "select unknown from ledger where cause = 'killed_before_flush'"))
    last = ends[-200:]
    lost = turns - len(ends)
    at_least = max(0, (lost - 1) * PIECES[kind] + 1)  # of the first turn without its copy all else may be there
    return lost * statistics.median(b - a for a, b in zip(last, last[1:])) / 1e6, lost, at_least <= unknown


def kill(process, page, after):
    """Turns that the GPU had done when the program was killed, a while after it began to work."""
    pid = 0
    while not pid:
        if process.poll() is not None:
            return 0
        time.sleep(0.002)
        pid = page[1]
    time.sleep(after)
    os.kill(pid, signal.SIGKILL)
    return page[0]


def kill_one(assay, work, seed, a):
    kind = a.kind or list(PIECES)[seed % len(PIECES)]
    settings = [word for s in a.set for word in ("--set", s)]
    run, page = f"{work}/{seed}", f"{work}/{seed}.page"
    with open(page, "w+b") as f:
        f.write(bytes(4096))
        f.flush()
        numbers = memoryview(mmap.mmap(f.fileno(), 4096)).cast("q")
    with subprocess.Popen([assay, "record", "-q", *settings, "-o", run, "--", sys.executable, "-c", PROGRAM, kind, page, f"{work}/alone"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
        turns = kill(p, numbers, random.Random(seed).uniform(0.3, 1.3))
        said = p.communicate(timeout=PATIENCE)[1]
    if p.returncode != 128 + signal.SIGKILL:
        raise RuntimeError(f"status {p.returncode}: {said[-400:]}")
    row = (kind, *missing(assay, run, turns, kind), numbers[0] - turns)
    shutil.rmtree(run)
    return row


def line(name, rows):
    ms = [r[1] for r in rows]
    print(f"{name}: {len(rows)} kills; GPU work missing: {max(ms):.2f} ms at most, {statistics.median(ms):.2f} ms median; "
          f"turns missing: {max(r[2] for r in rows)} at most; said too little: {sum(not r[3] for r in rows)}; "
          f"turns that ran on after the kill: {max(r[4] for r in rows)} at most", flush=True)


def main():
    a = arguments()
    assay = os.path.join(os.path.abspath(a.build), "assay")
    work = tempfile.mkdtemp(prefix="assay-kills-", dir="/dev/shm")
    end, rows, broken = time.monotonic() + a.seconds, [], 0

    def begin(seed):
        return kill_one(assay, work, seed, a) if time.monotonic() < end else None

    with concurrent.futures.ThreadPoolExecutor(a.at_once) as pool:
        for each in concurrent.futures.as_completed([pool.submit(begin, seed) for seed in range(a.kills)]):
            try:
                rows += [each.result()] if each.result() else []
            except Exception as e:  # one program's trouble is not the others'
                broken += 1
                print("not ok -", e, flush=True)
    shutil.rmtree(work, ignore_errors=True)
    for kind in PIECES:
        if any(r[0] == kind for r in rows):
            line(kind, [r for r in rows if r[0] == kind])
    if rows:
        line("all", rows)
    good = rows and not broken and all(r[1] <= ALLOWED and r[3] for r in rows)
    print(f"{len(rows)} of {a.kills} kills, {broken} programs failed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
