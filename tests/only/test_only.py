#!/usr/bin/env python3
"""Parts of a run (--step, --stream, --device, --rank) against the whole: a step told alone has the figures it has among the
others, work is that of SQL, and text, JSON and page say the same."""
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tap

TRAIN, DDP = tap.ROOT / "demo/train.json.gz", tap.ROOT / "demo/ddp"
FIGURES = ("start_ns", "span_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")


def report(*args):
    code, out, err = tap.run("report", "--json", *args)
    return json.loads(out) if code == 0 else {"error": err}


def sql(statement, *inputs):
    code, out, err = tap.run("sql", "--format", "json", *inputs, statement)
    return json.loads(out)


def figures(r):
    return {(s["number"], d["device"]): [d[f] for f in FIGURES] for s in r["steps"] for d in s["devices"]}


def check_steps():
    whole = figures(report(TRAIN))
    for first, last in ((3, 3), (5, 5), (5, 7), (7, 7)):
        part = report("--step", f"{first}-{last}" if last > first else str(first), TRAIN)
        want = {k: v for k, v in whole.items() if first <= k[0] <= last}
        name = f"only steps {first} to {last}"
        tap.ok(f"{name}: as among the others", figures(part) == want and want, (figures(part), want))
        steady, budget = part["steady_step"], part["budget"]
        total = sum(v[1] for v in want.values())
        tap.ok(f"{name}: the steady step is theirs", steady["ns"] == total // steady["steps"], steady)
        idle = sum(d["idle_ns"] for s in part["steps"] for d in s["devices"])
        tap.ok(f"{name}: no finding is larger than what is idle or busy",
               all((f["cost_ns"] or 0) <= total for f in part["findings"]) and idle <= total and budget, part["findings"])


def check_work(trace, what):
    for option, column in (("--stream", "stream"), ("--device", "device")):
        for row in sql(f"select {column} as x, count(*) as n from (select stream, device from kernels union all "
                       f"select stream, device from memory_copies union all select stream, device from memsets) group by 1", trace):
            part = report(option, str(row["x"]), trace)
            events = sum(d["events"] for d in part.get("devices", ()))
            tap.ok(f"{what}: only {column} {row['x']}: its {row['n']} events", events == row["n"], events)


def check_formats():
    with tempfile.TemporaryDirectory() as d:
        for end in "json", "xplane.pb", "pftrace", "rocpd.db":
            trace = pathlib.Path(d) / f"train.{end}"
            tap.run("convert", TRAIN, trace)
            check_work(trace, end)
            part = report("--step", "5", trace)
            tap.ok(f"{end}: only step 5", len({s["number"] for s in part.get("steps", ())}) == 1, part.get("error"))


def check_ranks():
    for rank in (0, 1):
        whole, part = report(DDP), report("--rank", str(rank), DDP)
        want = [d for d in whole["devices"] if d["rank"] == rank]
        tap.ok(f"only rank {rank}: its device as in the job", part["devices"] == want and want, (part["devices"], want))


def check_forms():
    code, text, _ = tap.run("report", "-v", "--step", "5", TRAIN)
    words = "all that follows is of step 5 alone"
    with tempfile.TemporaryDirectory() as d:
        page = pathlib.Path(d) / "p.html"
        tap.run("report", "--step", "5", "--html", page, TRAIN)
        tap.ok("only: text, JSON and page say so", words in text and words in json.dumps(report("--step", "5", TRAIN))
               and words in json.dumps(tap.page_data(page)))
    for bad in (["--step", "99"], ["--step", "7-5"], ["--step", "x"], ["--device", "9"], ["--stream", "one"], ["--rank", "5"]):
        code, out, err = tap.run("report", *bad, TRAIN)
        tap.ok(f"only {' '.join(bad)}: one sentence", code == 2 and not out and err.count("\n") == 1, (code, err))


def check_steps_from():
    whole = report("--steps-from", "ProfilerStep*", TRAIN)
    plain = report("--steps-from", "ProfilerStep", TRAIN)
    tap.ok("steps from a pattern are the ranges it matches",
           figures(whole) == figures(plain) == figures(report(TRAIN)) and whole["steady_step"]["steps"] == 5, whole["steady_step"])
    none = report("--steps-from", "no such*", TRAIN)
    tap.ok("a pattern that matches nothing is told", "no such*" in json.dumps(none), none.get("error"))


check_steps()
check_work(TRAIN, "input")
check_formats()
check_ranks()
check_forms()
check_steps_from()
tap.done()
