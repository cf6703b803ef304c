"""What a recording holds, and how it compares with the trace a program's own profiler wrote.
usage: compare.py RUN [TRACE.json[.gz]] [--expect FILE]   (FILE: lines "expect NAME N")"""
import collections
import glob
import gzip
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from capture import Capture  # noqa: E402


def demangle(names):
    names = list(names)
    try:
        out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True).stdout.split("\n")
        return dict(zip(names, out))
    except OSError:
        return {n: n for n in names}


def show(key, value):
    print(f"{key}: {value}", flush=True)


def holdings(path):
    c = Capture(path)
    names = {(r["domain"], r["function"]): c.text(r["name"]) for r in c.rows["API_NAME"]}
    rows = sum(len(v) for v in c.rows.values())
    show("capture", os.path.basename(path))
    show("  bytes", os.path.getsize(path))
    show("  bytes a record", f"{os.path.getsize(path) / max(rows, 1):.1f}")
    for kind in ("KERNEL", "COPY", "SET", "API", "SYNC", "EVENT", "RANGE", "MEMORY", "STREAM", "DEVICE", "OVERHEAD"):
        if c.rows[kind]:
            show(f"  {kind.lower()}", len(c.rows[kind]))
    calls = collections.Counter((r["domain"], r["function"]) for r in c.rows["API"])
    for key, n in calls.most_common(12):
        show(f"    {names.get(key, key)}", n)
    ids = {r["sync_id"] for r in c.rows["EVENT"]}
    for kind, name in ((1, "event waits"), (2, "stream waits"), (3, "stream syncs"), (4, "context syncs")):
        waits = [r for r in c.rows["SYNC"] if r["kind"] == kind]
        if waits:
            show(f"  {name}", f"{len(waits)}, joined {sum(r['sync_id'] in ids for r in waits)}")
    launched = {r["corr"] for r in c.rows["API"]}
    gpu = c.rows["KERNEL"] + c.rows["COPY"] + c.rows["SET"]
    show("  GPU rows with their call", f"{sum(r['corr'] in launched for r in gpu)} of {len(gpu)}")
    show("  kernels in graphs", sum(r["node"] != 0 for r in c.rows["KERNEL"]))
    show("  ended before they started", sum(r["end"] < r["start"] for r in gpu))
    show("  lost", [(r["why"], r["count"], c.text(r["text"])[:40]) for r in c.rows["LOST"]])
    show("  threads", len({r["thread"] for r in c.rows["API"]}))
    show("  ended in order", bool(c.rows["END"]))
    show("  damaged", c.bad)
    return c


def expect(c, path):
    names = {(r["domain"], r["function"]): c.text(r["name"]) for r in c.rows["API_NAME"]}
    calls = collections.Counter(names.get((r["domain"], r["function"])) for r in c.rows["API"])
    kernels = collections.Counter(c.text(r["name"]) for r in c.rows["KERNEL"])
    have = {
        "add": sum(n for k, n in kernels.items() if "add" in k),
        "scale": sum(n for k, n in kernels.items() if "scale" in k),
        "copies": len(c.rows["COPY"]), "event_records": calls["cudaEventRecord"],
        "stream_waits": calls["cudaStreamWaitEvent"], "event_waits": calls["cudaEventSynchronize"],
        "graph_launches": calls["cudaGraphLaunch"], "ranges": sum(r["op"] == 1 for r in c.rows["RANGE"]),
        "memsets": len(c.rows["SET"]),
    }
    for line in open(path):
        if line.startswith("expect "):
            _, key, n = line.split()
            print(("ok - " if have[key] == int(n) else "not ok - ") + f"{key}: {have[key]} of {n}", flush=True)


def compare(c, path):
    t = json.load(gzip.open(path) if path.endswith(".gz") else open(path))
    ev = [e for e in t["traceEvents"] if e.get("ph") == "X"]
    theirs = {}
    for e in ev:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            theirs.setdefault(e["args"]["correlation"], []).append(e)
    ours = collections.defaultdict(list)
    for r in c.rows["KERNEL"] + c.rows["COPY"] + c.rows["SET"]:
        ours[r["corr"]].append(r)
    plain = demangle({c.text(r["name"]) for r in c.rows["KERNEL"]})
    found = same_name = 0
    worst, order = 0.0, []
    for corr, es in theirs.items():
        if corr not in ours:
            continue
        found += len(es)
        e, r = es[0], ours[corr][0]
        worst = max(worst, abs(e["dur"] * 1000 - (r["end"] - r["start"])))
        order.append((e["ts"], r["start"]))
        if "name" in r:
            name = plain[c.text(r["name"])]
            same_name += name == e["name"] or name.replace(" >", ">") == e["name"].replace(" >", ">")
    n = sum(len(v) for v in theirs.values())
    kernels = sum(e.get("cat") == "kernel" for e in ev)
    show("  their GPU rows", f"{n}, of these in ours {found}")
    show("  kernels with the same name", f"{same_name} of {kernels}")
    show("  largest difference of a duration (ns)", f"{worst:.1f}")
    ours_order = [o for _, o in sorted(order)]
    show("  same order", ours_order == sorted(ours_order))
    waits = [e for e in ev if e.get("cat") == "cuda_sync"]
    show("  their waits", f"{len(waits)}, joined {sum(e['args'].get('wait_on_stream', -1) >= 0 for e in waits)}")


def main():
    args = sys.argv[1:]
    files = sorted(glob.glob(args[0] + "/*.asy"))
    all_of = [holdings(f) for f in files]
    if not files:
        show("captures", "none")
    if "--expect" in args and all_of:
        expect(all_of[0], args[args.index("--expect") + 1])
    elif len(args) > 1 and all_of:
        compare(max(all_of, key=lambda c: len(c.rows["KERNEL"])), args[1])


main()
