#!/usr/bin/env python3
"""CUDA graphs on a real GPU in every way of --graph-nodes: programs that capture, make, launch, update and destroy graphs in
20 random orders while another thread makes graphs of its own, recorded; each has to end as it does without a recorder, and
every launch to be there once, as a whole or with all of its nodes. Then what each way costs a loop of launches.
Needs PyTorch with CUDA; about two minutes. usage: graphs_h200.py [BUILD]   exit status 1 when something is wrong."""
import collections
import concurrent.futures
import ctypes
import glob
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../.."))
WAYS = ("all", "none", "sample", "auto")
ORDERS, AT_ONCE, SECONDS = 20, 5, 8


# ---- in the program ----

class Graphs:
    """Graphs through the runtime that torch loaded, so that nothing is hidden: each is (executable, nodes)."""

    def __init__(self):
        import torch
        self.torch = torch
        self.x = torch.zeros(4096, device="cuda")
        self.x.add_(1)  # loads the kernel
        torch.cuda.synchronize()
        with open("/proc/self/maps") as f:
            path = next(line.split()[-1] for line in f if "libcudart.so" in line)
        self.rt = ctypes.CDLL(path)

    def check(self, rc, what):
        if rc:
            raise RuntimeError(f"{what}: error {rc}")

    def capture(self, stream, nodes):
        graph = ctypes.c_void_p()
        with self.torch.cuda.stream(stream):
            raw = ctypes.c_void_p(stream.cuda_stream)
            self.check(self.rt.cudaStreamBeginCapture(raw, 2), "cudaStreamBeginCapture")  # relaxed: other threads go on
            for _ in range(nodes):
                self.x.add_(1)
            self.check(self.rt.cudaStreamEndCapture(raw, ctypes.byref(graph)), "cudaStreamEndCapture")
        return graph

    def make(self, stream, nodes):
        graph, made = self.capture(stream, nodes), ctypes.c_void_p()
        self.check(self.rt.cudaGraphInstantiate(ctypes.byref(made), graph, ctypes.c_ulonglong(0)), "cudaGraphInstantiate")
        self.check(self.rt.cudaGraphDestroy(graph), "cudaGraphDestroy")
        return made, nodes

    def update(self, stream, graph):
        other = self.capture(stream, graph[1])
        info = (ctypes.c_char * 256)()
        self.check(self.rt.cudaGraphExecUpdate(graph[0], other, info), "cudaGraphExecUpdate")
        self.check(self.rt.cudaGraphDestroy(other), "cudaGraphDestroy")

    def launch(self, stream, graph):
        self.check(self.rt.cudaGraphLaunch(graph[0], ctypes.c_void_p(stream.cuda_stream)), "cudaGraphLaunch")

    def destroy(self, stream, graph):
        stream.synchronize()
        self.check(self.rt.cudaGraphExecDestroy(graph[0]), "cudaGraphExecDestroy")


def work(seed, seconds):
    """Prints the nodes of each launch, in their order."""
    chance, g = random.Random(seed), Graphs()
    stream, beside = g.torch.cuda.Stream(), g.torch.cuda.Stream()
    stop, launches = threading.Event(), []

    def make_beside():  # never launched: only that graphs are made at any time
        other = random.Random(seed + 1000)
        while not stop.wait(other.expovariate(1 / 0.7)):
            g.destroy(beside, g.make(beside, other.randrange(1, 20)))
    thread = threading.Thread(target=make_beside)
    if seed % 2:
        thread.start()
    have = [g.make(stream, chance.randrange(1, 50)) for _ in range(3)]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)  # as many launches as the reader in Python can take
        for _ in range(chance.randrange(1, 40)):
            graph = chance.choice(have)
            g.launch(stream, graph)
            launches.append(graph[1])
            if chance.random() < 0.02:
                stream.synchronize()
        what = chance.random()
        if what < 0.04:
            have.append(g.make(stream, chance.randrange(1, 50)))
        elif what < 0.06 and len(have) > 1:
            g.destroy(stream, have.pop(chance.randrange(len(have))))
        elif what < 0.10:
            g.update(stream, chance.choice(have))
        elif what < 0.2:
            time.sleep(chance.random() * 0.3)
    stop.set()
    if seed % 2:
        thread.join()
    g.torch.cuda.synchronize()
    print(json.dumps(launches))


def loop(seconds):
    """Prints us a launch of a graph of 50 nodes: the median of blocks."""
    g = Graphs()
    stream = g.torch.cuda.Stream()
    graph, times = g.make(stream, 50), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        for _ in range(50):
            g.launch(stream, graph)
        stream.synchronize()
        times.append((time.perf_counter() - start) / 50)
    times = times[len(times) // 3:]  # moments in which nodes are told begin a second after the graph was made
    print(json.dumps(statistics.mean(times) * 1e6))


# ---- outside ----

def run(way, args, work_dir):
    """Exit status and what it printed; way None: without a recorder."""
    out = os.path.join(work_dir, "run")
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, os.path.abspath(__file__), "--inside", *map(str, args)]
    if way:
        command = [ASSAY, "record", "-q", "--telemetry", "off", "--graph-nodes", way, "-o", out, "--", *command]
    p = subprocess.run(command, capture_output=True, text=True, timeout=300)
    lines = p.stdout.splitlines()
    return p.returncode, json.loads(lines[-1]) if p.returncode == 0 and lines else p.stderr[-300:]


def compare(way, launches, c):
    """What is wrong with the recording, else None; and how many launches were told by their nodes."""
    names = {(r["domain"], r["function"]) for r in c.rows["API_NAME"] if "GraphLaunch" in c.text(r["name"])}
    calls = sorted(r["corr"] for r in c.rows["API"] if (r["domain"], r["function"]) in names)
    whole = collections.Counter(r["corr"] for r in c.rows["GRAPH"])
    nodes = collections.Counter(r["corr"] for r in c.rows["KERNEL"] if r["node"])
    if len(calls) != len(launches):
        return f"{len(calls)} calls of {len(launches)} launches", 0
    for corr, want in zip(calls, launches):
        told = (whole[corr], nodes[corr])
        if told not in ((1, 0), (0, want)):
            return f"a launch of {want} nodes is there as {told[0]} whole and {told[1]} nodes", len(nodes)
        if (way == "none" and nodes[corr]) or (way == "all" and whole[corr]):
            return f"a launch is told by the other way than {way}", len(nodes)
    if way == "sample" and nodes and len(nodes) > len(calls) // 2:
        return None if "graph_nodes.all" in {c.text(m["key"]) for m in c.rows["META"]} else "more than a sample", len(nodes)
    return None, len(nodes)


def order(seed):
    way = WAYS[seed % 4] if seed < 8 else ("sample", "auto")[seed % 2]
    folder = tempfile.mkdtemp(prefix="assay-graphs-")
    try:
        rc, told = run(way, ("work", seed, SECONDS), folder)
        if rc:
            return seed, way, f"exit status {rc}: {told}", 0, 0
        captures = [Capture(f) for f in glob.glob(folder + "/run/*.asy")]
        wrong, by_nodes = compare(way, told, max(captures, key=lambda c: len(c.rows["API"])))
        return seed, way, wrong, len(told), by_nodes
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for seed, way, wrong, n, by_nodes in pool.map(order, range(ORDERS)):
            failed += bool(wrong)
            print(f"order {seed:2} {way:7} {n:7} launches, {by_nodes:6} by nodes: {wrong or 'right'}", flush=True)
    folder = tempfile.mkdtemp(prefix="assay-graphs-")
    times = {way: [] for way in (None, *WAYS)}
    for _ in range(3):
        for way in times:
            rc, us = run(way, ("loop", 6), folder)
            if rc == 0:
                times[way].append(us)
    shutil.rmtree(folder, ignore_errors=True)
    plain = statistics.median(times[None])
    for way, t in times.items():
        print(f"{way or 'plain':7} {statistics.median(t):8.1f} us a launch of 50 nodes, {statistics.median(t) / plain:6.3f}x "
              f"({min(t) / plain:.3f}-{max(t) / plain:.3f})" if t else f"{way}: died", flush=True)
    return failed > 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        {"work": lambda a: work(int(a[0]), float(a[1])), "loop": lambda a: loop(float(a[0]))}[sys.argv[2]](sys.argv[3:])
    else:
        ASSAY = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/release"), "assay")
        sys.argv = sys.argv[:1]
        sys.path.insert(0, HERE)
        from capture import Capture
        sys.exit(main())
