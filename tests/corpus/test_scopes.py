#!/usr/bin/env python3
"""Scopes that are inferred across threads, against profiles that know better. PyTorch's profiler numbers each gradient like
its forward operator, which says for which thread and in which step autograd's thread worked. Without these numbers, and
again without all operators and Python functions (what a recorder of calls and ranges sees), the inferred scope must be the
range that was open on that thread, in that step."""
import collections
import csv
import gzip
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tap

# trace: gradients on threads of their own; inferred of these without numbers, and without operators
TRACES = {
    "h200/train.json.gz": (850, 850, 850),
    "h200/ddp_rank0.json.gz": (33, 33, 33),
    "h200/ddp_rank1.json.gz": (33, 33, 33),
    "hta/df_index_resolver.json.gz": (9535, 9535, 9535),
    "hta/mi250_minitoy_train_ROCm6_2_kineto.json.gz": (5, 5, 5),
    "hta/nccl_data.json.gz": (1392, 1392, 1392),
    "hta/sampled_rank-0.json.gz": (197, 197, 197),
    "hta/sampled_rank-1.json.gz": (167, 167, 167),
    "tracelens/h100/qwen1.5-0.5b.json.gz": (0, 0, 0),
    "tracelens/mi300/resnet_act_checkpoint.json.gz": (1449, 1449, 1449),
}
RANGES, CALLS = ("user_annotation",), ("cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver")
WORK = ("kernel", "gpu_memcpy", "gpu_memset")
INFERRED = "5"


def spans(events, cats):
    """By thread: spans by start, the longest first."""
    out = collections.defaultdict(list)
    for e in events:
        if e.get("ph") == "X" and e.get("cat", "").lower() in cats:
            out[e["pid"], e["tid"]].append((e["ts"], -e.get("dur", 0), e))
    return {k: sorted(v, key=lambda s: s[:2]) for k, v in out.items()}


def around(rows, times):
    """Spans of a thread open at each of some times, outermost first."""
    out, stack, i = {}, [], 0
    for t in sorted(set(times)):
        for i in range(i, len(rows) + 1):
            if i == len(rows) or rows[i][0] > t:
                break
            while stack and stack[-1]["ts"] + stack[-1].get("dur", 0) <= rows[i][0]:
                stack.pop()
            stack.append(rows[i][2])
        while stack and stack[-1]["ts"] + stack[-1].get("dur", 0) <= t:
            stack.pop()
        out[t] = list(stack)
    return out


def step_of(names):
    return next((n for n in names if n.startswith("ProfilerStep")), None)


def forward_operators(ops):
    out = collections.defaultdict(list)
    for thread, rows in ops.items():
        for ts, _, e in rows:
            if "Sequence number" in e.get("args", {}) and not e["args"].get("Fwd thread id"):
                out[e["args"]["Sequence number"]].append((ts, thread))
    return out


def launches(events):
    """Work, its call, and the thread of the call."""
    calls = {e["args"]["correlation"]: e for e in events
             if e.get("cat", "").lower() in CALLS and "correlation" in e.get("args", {})}
    pairs = [(e, calls[e["args"]["correlation"]]) for e in events
             if e.get("cat", "").lower() in WORK and e.get("args", {}).get("correlation") in calls]
    return [(e, c, (c["pid"], c["tid"])) for e, c in pairs]


def linked(events):
    """By correlation id and name of work. First, of what a gradient launched on another thread than its forward operator's:
    that thread, the step of the operator, and the range open on the thread at the launch. Second, all that threads of
    autograd's engine launched: the reducer of DistributedDataParallel copies on them, outside any operator."""
    ops, ranges, work = spans(events, ("cpu_op",)), spans(events, RANGES), launches(events)
    forward, times = forward_operators(ops), collections.defaultdict(list)
    for _, call, thread in work:
        times[thread].append(call["ts"])
    in_op = {t: around(ops.get(t, []), times[t]) for t in times}
    in_range = {t: around(ranges.get(t, []), times[t]) for t in times}
    engines = {t for t, rows in ops.items() if any(e["name"].startswith("autograd::engine") for _, _, e in rows)}
    found, engine = {}, set()
    for e, call, thread in work:
        if in_range[thread][call["ts"]]:
            continue
        key, stack = (e["args"]["correlation"], e["name"]), in_op[thread][call["ts"]]
        if thread in engines:
            engine.add(key)
        grads = [o["args"].get("Sequence number") for o in stack if o["args"].get("Fwd thread id")]
        before = [f for f in forward[grads[-1]] if f[0] < call["ts"]] if grads else []
        if before and max(before)[1] != thread:
            found[key] = (call["ts"], *max(before))
    asked = collections.defaultdict(list)
    for ts, fwd_ts, waiter in found.values():
        asked[waiter] += [ts, fwd_ts]
    seen = {w: around(ranges.get(w, []), t) for w, t in asked.items()}
    names = lambda w, ts: [r["name"] for r in seen[w][ts]]
    return {k: (str(w[1]), step_of(names(w, f)), (names(w, ts) or [None])[-1]) for k, (ts, f, w) in found.items()}, engine


def without_numbers(e):
    if e.get("cat") == "fwdbwd":
        return None
    args = {k: v for k, v in e.get("args", {}).items() if k not in ("Sequence number", "Fwd thread id")}
    return {**e, "args": args} if "args" in e else e


def without_operators(e):
    return None if e.get("cat", "").lower() in ("cpu_op", "python_function", "fwdbwd") else e


def inferred(trace, strip, folder):
    """The same of work whose scope assay inferred in the stripped trace."""
    path, out = folder / "trace.json", folder / "tables"
    trace = dict(trace, traceEvents=[e for e in map(strip, trace["traceEvents"]) if e])
    path.write_text(json.dumps(trace))
    code, _, err = tap.run("convert", "--to", "csv", path, out)
    if code:
        return err
    table = lambda name: list(csv.DictReader(open(out / f"{name}.csv", encoding="utf-8")))
    scope, track, found = table("scope"), table("track"), {}
    for g, s in zip(table("gpu"), table("gpu_scope")):
        if s["how"] != INFERRED:
            continue
        up, names = s["scope"], []
        while up:
            names.append(scope[int(up)]["name"])
            up = scope[int(up)]["up"]
        found[int(g["corr"]), g["name"]] = (track[int(scope[int(s["scope"])]["track"])]["tid"], step_of(names), names[0])
    return found


def check(name, want):
    path = tap.CORPUS / name
    if not path.exists():
        tap.skip(f"{name} infers what links say", "not in the corpus")
        return
    trace = json.loads(gzip.open(path).read())
    truth, engine = linked(trace["traceEvents"])
    counts = [len(truth)]
    for strip in (without_numbers, without_operators):
        with tempfile.TemporaryDirectory() as folder:
            got = inferred(trace, strip, pathlib.Path(folder))
        wrong = {k: (got[k], truth[k]) for k in truth if k in got and got[k] != truth[k]}
        strange = [k for k in got if k not in truth and k not in engine]
        counts += [sum(k in got for k in truth)]
        title = f"{name} {strip.__name__.replace('_', ' ')}"
        tap.ok(f"{title}: what is inferred is what links say", not wrong, f"{len(wrong)}: {list(wrong.items())[:3]}")
        tap.ok(f"{title}: what has no link was launched by autograd too", not strange, f"{len(strange)}: {strange[:3]}")
    tap.ok(f"{name}: as much is inferred as ever", tuple(counts) == want, f"got {counts} want {want}")


for trace_name, counts_wanted in TRACES.items():
    check(trace_name, counts_wanted)
tap.done()
