#!/usr/bin/env python3
"""Ranks of one job read together: who came last and how long the others waited, counted again from the raw traces."""
import decimal
import gzip
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap


def spans(path, wanted):
    """Start and length in ns of the events wanted, in order of start."""
    rows = json.loads(gzip.open(path).read(), parse_float=decimal.Decimal)["traceEvents"]
    ns = lambda v: int(decimal.Decimal(v) * 1000)
    return sorted((ns(e["ts"]), ns(e["dur"])) for e in rows if e.get("ph") == "X" and wanted(e))


def check_gloo():
    paths = [tap.CORPUS / f"h200/ddp_rank{r}.json.gz" for r in (0, 1)]
    gloo = lambda e: e["name"] == "gloo:all_reduce" and e["cat"] == "user_annotation"
    a, b = (spans(p, gloo) for p in paths)
    r = tap.report(*paths)
    ranks = r["ranks"]
    tap.ok("the straggler comes last every time", [x["arrived_last"] for x in ranks] == [0, 6], ranks)
    waited = sum(y[0] - x[0] for x, y in zip(a, b))
    tap.ok("waiting before the last rank arrives", [x["waited_ns"] for x in ranks] == [waited, 0] and
           ranks[1]["wait_caused_ns"] == waited, ranks)
    least = [min(x[1], y[1]) for x, y in zip(a, b)]
    tap.ok("transfer and skew sum to the collectives' time",
           [x["transfer_ns"] + x["skew_ns"] for x in ranks] == [sum(x[1] for x in a), sum(y[1] for y in b)] and
           ranks[0]["transfer_ns"] == sum(least), ranks)
    c = r["collectives"]
    tap.ok("one collective, matched on both ranks", len(c) == 1 and c[0]["matched"] == 6 and
           abs(c[0]["latency_ns"] - sum(least) / 6) < 1, c)
    tap.ok("the straggler is a verdict", "straggler" in [v["id"] for v in r["verdicts"]], r["verdicts"])


def nccl_calls(path):
    """NCCL kernels of a trace in order of time as (stream, step, place), start and end in us: counted again from the raw events."""
    rows = json.loads(gzip.open(path).read())["traceEvents"]
    launch = {e["args"]["correlation"]: e["ts"] for e in rows if e.get("cat") == "cuda_runtime" and "correlation" in e.get("args", {})}
    steps = [(e["ts"], e["ts"] + e["dur"], e["name"]) for e in rows if e.get("name", "").startswith("ProfilerStep") and e.get("ph") == "X"]
    kernels = sorted((e["ts"], e["ts"] + e["dur"], e["tid"], launch[e["args"]["correlation"]])
                     for e in rows if e.get("cat") == "kernel" and "nccl" in e["name"])
    places, calls = {}, {}
    for ts, end, stream, asked in kernels:
        step = next((name for a, b, name in steps if a <= asked < b), None)
        places[stream, step] = places.get((stream, step), -1) + 1
        calls[stream, step, places[stream, step]] = (ts, end)
    return calls


def check_sampled():
    """Two of 128 ranks, with events left out: a collective has both ranks only where they leave it together."""
    paths = [tap.CORPUS / f"hta/sampled_rank-{r}.json.gz" for r in (0, 1)]
    a, b = (nccl_calls(p) for p in paths)
    pairs = [(a[k], b[k]) for k in a if k in b]
    together = [(x, y) for x, y in pairs if abs(x[1] - y[1]) < 1000]
    r = tap.report(*paths)
    waited = [sum(max(y[0] - x[0], 0) for x, y in together), sum(max(x[0] - y[0], 0) for x, y in together)]
    tap.ok("of a sampled recording only calls that end together are matched", 0 < len(together) < len(pairs) and
           [x["collectives"] for x in r["ranks"]] == [len(together)] * 2, r["ranks"])
    tap.ok("waiting in them is what the raw events say", [x["waited_ns"] for x in r["ranks"]] == [1000 * int(w) for w in waited], (waited, r["ranks"]))
    tap.ok("the others are said to be unmatched", any("do not end with" in w for w in r["run_metrics"]["warnings"]))


def check_late_gaps():
    """A gap whose thread sits in gloo: the part of it before the other rank came, from the raw events."""
    paths = [tap.CORPUS / f"h200/ddp_rank{r}.json.gz" for r in (0, 1)]
    gloo = lambda e: e["name"] == "gloo:all_reduce" and e["cat"] == "user_annotation"
    own, other = (spans(p, gloo) for p in paths)
    r = tap.report(*paths)
    doubt = 3 * r["ranks"][1]["clock_spread_ns"]
    gaps = [g for g in r["gaps"] if g["source"] == 0 and g["during"] == "gloo:all_reduce"]

    def expected(gap):
        start, end = gap["start_ns"], gap["start_ns"] + gap["dur_ns"]
        return {max(min(end, y[0]) - max(start, x[0]), 0) if y[0] - x[0] > doubt else 0 for x, y in zip(own, other)}  # two threads use gloo
    tap.ok("a gap's wait for another rank is what the raw events say", gaps and
           all(g.get("late_ns", 0) in expected(g) for g in gaps), [(g, expected(g)) for g in gaps])


def check_sizes():
    r = tap.report(tap.CORPUS / "tracelens/mi300/resnet_act_checkpoint.json.gz")
    by_size = {(c["name"], c["bytes"]): c for c in r["collectives"]}
    c = by_size.get(("allreduce", 2 * 8816192.0), {})
    tap.ok("collectives know their size from the operator", c.get("ranks") == 8 and c.get("count") == 3, r["collectives"])
    want = 2 * 8816192 / 2**30 / (c["latency_ns"] * 1e-9)
    tap.ok("bandwidth follows from size and latency", abs(c["algo_gib_s"] - want) < 1e-9 and
           abs(c["bus_gib_s"] - want * 2 * 7 / 8) < 1e-9, c)
    tap.ok("calls of all kinds are all communication kernels", sum(x["count"] for x in r["collectives"]) == 17)


def main():
    if not tap.CORPUS.is_dir():
        tap.skip("ranks of real jobs", f"no corpus at {tap.CORPUS}")
        return
    check_gloo()
    check_late_gaps()
    check_sampled()
    check_sizes()


main()
tap.done()
