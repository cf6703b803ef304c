#!/usr/bin/env python3
"""Flaws with a known cost: each class is a training loop with a flaw and one without, random within bounds, as the profiler
would trace it. The first finding must name the flaw and its place, predict its cost within 15 % of the truth or 5 % of the
step, and be silent about it where it is not."""
import json
import os
import pathlib
import random
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tap
from machine import Machine

ROUNDS = int(os.environ.get("ROUNDS", "2"))
STEPS = 10


def model(m, p):
    for i in range(p["layers"]):
        m.op(("mm", "gelu", "add")[i % 3], p["kernel"] * (1, 0.5, 0.4)[i % 3])


def usual(rng):
    return {"layers": rng.randint(9, 30), "kernel": rng.randint(60, 200) * 1000}


def loader(rng):
    p = usual(rng)
    busy = p["layers"] * p["kernel"] * 0.63
    wait = int(busy * rng.uniform(0.5, 3))

    def body(m, bad):
        m.data(wait if bad else 20000)
        model(m, p)
        m.sync()
    return body


def implicit_sync(rng):
    p = {"layers": rng.randint(10, 30), "kernel": rng.randint(20, 60) * 1000}

    def body(m, bad):
        for i in range(p["layers"]):
            m.op("mm", p["kernel"])
            m.op("gelu", p["kernel"] // 2)
            if bad:
                m.item()
    return body


def pageable_copy(rng):
    p = usual(rng)
    size = int(p["layers"] * p["kernel"] * 0.63 * rng.uniform(0.5, 2) * 5)

    def body(m, bad):
        m.copy(size if bad else 4096, pageable=bad)
        model(m, p)
    return body


def small_copies(rng):
    p = usual(rng)
    count, size = rng.randint(100, 300), rng.randint(1, 8) * 1024

    def body(m, bad):
        for _ in range(count if bad else 1):
            m.copy(size, pageable=True, wait=True)
        model(m, p)
    return body


def allocation(rng):
    p = usual(rng)
    blocks, each = rng.randint(5, 15), rng.randint(60, 200) * 1000

    def body(m, bad):
        for _ in range(blocks if bad else 0):
            m.take(each)
        model(m, p)
        for _ in range(blocks if bad else 0):
            m.give_back(each)
    return body


def python_code(function, inner=None):
    def make(rng):
        p = usual(rng)
        dur = int(p["layers"] * p["kernel"] * 0.63 * rng.uniform(0.4, 4))

        def body(m, bad):
            if bad:
                m.python(f"train.py(12): {function}", dur, inner)
            model(m, p)
            m.sync()
        return body
    return make


def compile_in_loop(rng):
    p = usual(rng)
    dur = int(p["layers"] * p["kernel"] * 0.63 * rng.uniform(0.5, 4))

    def body(m, bad):
        if bad:
            m.range("entire_frame_compile", dur)
        model(m, p)
        m.sync()
    return body


def serial_streams(rng):
    streams, depth, dur = rng.randint(2, 5), rng.randint(6, 14), rng.randint(60, 150) * 1000

    def body(m, bad):
        before = None
        for s in range(streams):
            if bad and before:
                m.wait(30 + s, before)
            for _ in range(depth):
                m.op("cumsum", dur, stream=30 + s, blocks=4, before=1000, behind=500)
            before = m.record(30 + s)
        m.sync("cudaDeviceSynchronize")
    return body


def contention(rng):
    p = usual(rng)
    chance, factor = rng.uniform(0.1, 0.25), rng.uniform(4, 8)

    def body(m, bad):
        m.slow = (chance, factor) if bad else None
        model(m, p)
    return body


def run_alone(body, seed, bad):
    m = Machine(random.Random(seed))
    for i in range(STEPS):
        m.step(i, lambda m: body(m, bad))
    return m.period(), {"trace.json": m.trace()}


def late_rank(rng):
    p = usual(rng)
    late = int(p["layers"] * p["kernel"] * 0.63 * rng.uniform(0.3, 2))
    size = 4 * rng.randint(1 << 18, 1 << 20)

    def run(seed, bad):
        ranks = [Machine(random.Random(seed + r), rank=r, world=2) for r in range(2)]
        arrived = [None, None]

        def body(rank):
            def steps(m):
                if bad and rank == 1:
                    m.python("train.py(12): augment", late)
                model(m, p)
                arrived[rank] = m.arrive("AllReduce", size)
            return steps
        for i in range(STEPS):
            for r, m in enumerate(ranks):
                m.step(i, body(r))
            end = max(a[0] for a in arrived) + size // 100
            for m, a in zip(ranks, arrived):
                m.reduce(a, end)
                m.ends[-1] = end
                m.sync()
        return ranks[0].period(), {f"rank{r}.json": m.trace() for r, m in enumerate(ranks)}
    return run


# class -> how it is made, the causes that name it, what must stand in the finding
CLASSES = {
    "loader": (loader, ["host_data"], "DataLoader"),
    "implicit_sync": (implicit_sync, ["host_sync"], "Synchronize|MemcpyAsync"),
    "pageable_copy": (pageable_copy, ["exposed_copy"], "Pageable"),
    "small_copies": (small_copies, ["small_copies", "host_sync", "exposed_copy"], "Memcpy|Synchronize"),
    "allocation": (allocation, ["allocation"], "cudaFree|cudaMalloc"),
    "python_compute": (python_code("edit_distance"), ["host_python"], "edit_distance"),
    "rate_limit": (python_code("acquire", "<built-in function sleep>"), ["host_sleep", "host_python"], "acquire"),
    "file_output": (python_code("checkpoint", "<built-in method write of _io.BufferedWriter object at 0x7f>"),
                    ["host_io", "host_python"], "checkpoint"),
    "lock": (python_code("flush_log", "<built-in method acquire of _thread.lock object at 0x7f>"), ["host_lock", "host_python"],
             "flush_log"),
    "compile_in_loop": (compile_in_loop, ["host_compile"], "compile"),
    "serial_streams": (serial_streams, ["serial_streams"], "StreamWaitEvent"),
    "contention": (contention, ["contention", "other_process"], "process"),
    "late_rank": (late_rank, ["straggler", "late_rank"], '"rank": 1'),
}


def report(files, directory):
    for name, text in files.items():
        (directory / name).write_text(text)
    code, out, err = tap.run("report", "--json", *[directory / f for f in files])
    return json.loads(out) if code == 0 else {"findings": [], "error": err}


def check(name, seed):
    make, causes, place = CLASSES[name]
    rng = random.Random(f"{name} {seed}")
    made = make(rng)
    run = made if name == "late_rank" else lambda s, bad: run_alone(made, s, bad)
    bad_ns, bad_files = run(seed, True)
    good_ns, good_files = run(seed, False)
    with tempfile.TemporaryDirectory() as d:
        bad, good = report(bad_files, pathlib.Path(d)), report(good_files, pathlib.Path(d))
    tap.ok(f"diagnose {name} {seed}: no report contradicts itself",
           not any("contradicts itself" in json.dumps(r) for r in (bad, good)), [r.get("warnings") for r in (bad, good)])
    first = (bad["findings"] or [{}])[0]
    worth = first.get("worth") or {}
    saved = (worth.get("now_ns") or 0) - (worth.get("after_ns") or 0)
    if not first.get("steady"):
        saved = saved / STEPS
    off = abs(saved - (bad_ns - good_ns))
    told = f"bad {bad_ns:.0f}, good {good_ns:.0f}, saved {saved:.0f}, first {json.dumps(first)[:700]} {bad.get('error', '')}"
    tap.ok(f"diagnose {name} {seed}: the first finding names it", first.get("cause") in causes
           and re.search(place, json.dumps(first)) is not None, told)
    tap.ok(f"diagnose {name} {seed}: its worth", off <= max(0.15 * (bad_ns - good_ns), 0.05 * bad_ns), told)
    again = [f for f in good["findings"] if f["cause"] in causes and (f["cost_ns"] or 0) > 0.05 * good_ns
             and re.search(place, json.dumps(f))]
    tap.ok(f"diagnose {name} {seed}: nothing of it without the flaw", not again and good["findings"], again)


for name in sys.argv[1:] or CLASSES:
    for seed in range(ROUNDS):
        check(name, seed)
tap.done()
