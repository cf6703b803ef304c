#!/usr/bin/env python3
"""Ranks of one job read together: who came last and how long the others waited, counted again from the raw traces."""
import decimal
import gzip
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap


def report(*paths):
    code, out, err = tap.run("report", "--json", *paths)
    return json.loads(out) if code == 0 else {"error": err}


def spans(path, wanted):
    """Start and length in ns of the events wanted, in order of start."""
    rows = json.loads(gzip.open(path).read(), parse_float=decimal.Decimal)["traceEvents"]
    ns = lambda v: int(decimal.Decimal(v) * 1000)
    return sorted((ns(e["ts"]), ns(e["dur"])) for e in rows if e.get("ph") == "X" and wanted(e))


def check_gloo():
    paths = [tap.CORPUS / f"h200/ddp_rank{r}.json.gz" for r in (0, 1)]
    gloo = lambda e: e["name"] == "gloo:all_reduce" and e["cat"] == "user_annotation"
    a, b = (spans(p, gloo) for p in paths)
    r = report(*paths)
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


def check_sizes():
    r = report(tap.CORPUS / "tracelens/mi300/resnet_act_checkpoint.json.gz")
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
    check_sizes()


main()
tap.done()
