#!/usr/bin/env python3
"""Every format that is read into every format that is written: the device work stays, and what is left out
is said exactly, by SQL on the input. UPDATE=1 writes the table of what arrives into docs/formats/README.md."""
import gzip
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

COUNT = "select count(*) from "
LOSSES = {
    "memory events": COUNT + "alloc",
    "hardware counter values": COUNT + "pmc",
    "rows of summaries": COUNT + "stat",
    "arrows that are no launches": COUNT + "flow where phase = 115 and cat is not 'ac2g'",
    "streams' handles and flags": COUNT + "stream",
    "scope ids": COUNT + "given_scope",
    "parts of XPlane files that only XPlane has": COUNT + "kept",
    "facts of headers": COUNT + "meta",
    "waits that the recorder reported": COUNT + "sync",
    "ranges on devices that are no work": COUNT + "mark",
    "counter values over time": COUNT + "counter",
    "numbers of operators and Python frames":
        f"select ({COUNT}frame) + ({COUNT}op where seq is not null or ev_idx is not null) + ({COUNT}alloc where ev_idx is not null)",
    "arguments of memory events": COUNT + "alloc where args is not null",
    "totals of memory allocators": COUNT + "alloc where total is not null or reserved is not null",
    "samples of host threads": COUNT + "sample",
    "Python stacks of calls": COUNT + "api where stack is not null and lent = 0",
    "handles of streams and events in calls": COUNT + "event_call",
    "errors that calls returned": COUNT + "api where status <> 0",
    "numbers of API functions": COUNT + "api where cbid is not null",
    "counts of the recorder": COUNT + "ledger",
    "pauses of the recording": COUNT + "off",
    "calls and work that never ended": f"select ({COUNT}open_call) + ({COUNT}queued)",
    "records of events and barriers": f"select ({COUNT}event_record) + ({COUNT}barrier)",
}
# all but those that rocpd has a place for: of the machine, the process and the database itself
OTHER_FACTS = COUNT + ("meta where key not glob 'node.[^i]*' and key not glob 'process.*' and key not glob 'rocpd.assay.*' "
                      "and key not in ('rocpd.guid', 'rocpd.uuid', 'rocpd.schema_version')")
RECORDING = {"counts of the recorder", "pauses of the recording", "calls and work that never ended", "records of events and barriers"}
AMD = {"samples of host threads", "Python stacks of calls", "rows of summaries", "arrows that are no launches", "streams' handles and flags",
       "scope ids", "facts of headers", "parts of XPlane files that only XPlane has", "waits that the recorder reported",
       "ranges on devices that are no work", "counter values over time", "numbers of operators and Python frames",
       "totals of memory allocators", "arguments of memory events", "handles of streams and events in calls", "errors that calls returned", "numbers of API functions"} | RECORDING
# What a format has no place for, whatever the input; what depends on single rows is checked elsewhere.
WRITERS = {
    "out.json": {"hardware counter values", "rows of summaries", "scope ids", "parts of XPlane files that only XPlane has"} | RECORDING,
    "out.pftrace.gz": {"memory events", "hardware counter values", "rows of summaries", "arrows that are no launches",
                       "scope ids", "parts of XPlane files that only XPlane has", "facts of headers"} | RECORDING,
    "out.xplane.pb": None,
    "out.grouped.xplane.pb": None,
    "out.rocpd.db": AMD,
    "out.rocprof/": AMD,
    "out.csv/": set(),
    "out.db": set(),
}
TABLES = ("out.csv/", "out.db")  # they are not read back
WORK = f"select count(*), sum(dur), ({COUNT}launch where host is not null) from gpu"
HOST = COUNT + "host where kind in "
KINDS = {  # what a table of the model counts as, in the table of the documentation
    "work": COUNT + "gpu", "launches": COUNT + "launch where host is not null", "calls": HOST + "('runtime', 'driver')",
    "ranges": HOST + "('user_annotation', 'marker', 'process_range')", "operators": HOST + "('cpu_op')", "frames": HOST + "('python_function')",
    "other spans": HOST + "('other', 'overhead', 'instant')", "waits": COUNT + "sync", "device ranges": COUNT + "mark",
    "arrows": COUNT + "flow where phase = 115 and cat is not 'ac2g'", "memory": COUNT + "alloc", "counters": COUNT + "counter",
    "hardware counters": COUNT + "pmc", "sums": COUNT + "stat", "samples": COUNT + "sample", "scope ids": COUNT + "given_scope",
    "streams": COUNT + "stream",
}
ALL_KINDS = "select " + ", ".join(f"({q}) k{i}" for i, q in enumerate(KINDS.values()))
NAMES = {"out.json": "chrome", "out.pftrace.gz": "perfetto", "out.xplane.pb": "xplane", "out.grouped.xplane.pb": "xplane-grouped",
         "out.rocpd.db": "rocpd", "out.rocprof/": "rocprof-csv"}
CALLS = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'


def rows(path, query):
    code, out, err = tap.run("sql", "--format", "json", path, query)
    return [list(r.values()) for r in json.loads(out)] if code == 0 else err


def inputs(tmp):
    demo = tap.ROOT / "demo"
    made = tmp / "rocprof"
    made.mkdir()
    (made / "7_hip_api_trace.csv").write_text(CALLS + '"HIP_RUNTIME_API_EXT","hipLaunchKernel",7,8,1,1000,1100\n')
    (made / "7_kernel_trace.csv").write_text(
        '"Kind","Agent_Id","Queue_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","Workgroup_Size_X","Grid_Size_X"\n'
        '"KERNEL_DISPATCH","Agent 2",1,"gemm(int, int)",1,1500,2500,64,640\n')
    yield "chrome", demo / "train.json.gz"
    yield "capture", demo / "run"
    yield "xplane", tap.ROOT / "tests/xplane/jax.xplane.pb.gz"
    yield "rocprof_csv", made
    yield "nsys", tap.ROOT / "tests/fuzz/seeds/nsys/made.sqlite"
    yield "rocprof_json", tap.ROOT / "tests/fuzz/seeds/rocprof_json/tables_first.json"
    yield "nsys_csv", tap.ROOT / "tests/cases/report/nvprof/in.csv"
    for name, out in (("perfetto", "in.pftrace"), ("rocpd", "in.rocpd.db")):
        tap.run("convert", demo / "train.json.gz", tmp / out)
        yield name, tmp / out


def missing(before, after):
    """Kinds of rows that did not arrive, and those of which a part did."""
    gone = [f"{kind}" if not b else f"some {kind}" for kind, a, b in zip(KINDS, before, after) if b < a]
    return "all" if not gone else "all but " + ", ".join(gone)


def check(name, path, folder):
    """Returns its row of the table."""
    want = rows(path, WORK)
    kinds, lost = rows(path, ALL_KINDS)[0], {}
    counts = {what: rows(path, query)[0][0] for what, query in LOSSES.items()}
    other_facts = rows(path, OTHER_FACTS)[0][0]
    for out, lacks in WRITERS.items():
        target = f"{folder}/{out}"
        code, _, err = tap.run("convert", path, target)
        back = want if out in TABLES or code else rows(target, WORK)
        tap.ok(f"{name} goes into {out} with all its work", code == 0 and back == want, f"{err}\n{want}\n{back}")
        if out in NAMES and code == 0:
            lost[out] = missing(kinds, rows(target, ALL_KINDS)[0])
        if lacks is None:
            continue
        told = {k: v for k, v in tap.not_written(err).items() if k in LOSSES}
        want_told = {**counts, **({"facts of headers": other_facts} if "rocpd" in out else {})}
        tap.ok(f"what {out} leaves out of {name} is said exactly", told == {k: want_told[k] for k in lacks if want_told[k]},
               f"{told}\n{counts}")
    return f"| {name} | " + " | ".join(lost.get(out, "nothing") for out in NAMES) + " |"


def check_table(made):
    """The documentation's table of what arrives is what arrived."""
    head = ["| in \\ out | " + " | ".join(NAMES.values()) + " |", "|---|" + "---|" * len(NAMES)]
    page = tap.ROOT / "docs/formats/README.md"
    text, table = page.read_text(), "\n".join(head + made)
    before, _, rest = text.partition(head[0])
    after = rest[rest.find("\n\n"):]
    if os.environ.get("UPDATE"):
        page.write_text(before + table + after)
    tap.ok("docs/formats/README.md says what arrives of every format in every other", table in page.read_text(), table)


def check_list():
    """The tables of the documentation are those of the program."""
    code, out, _ = tap.run("formats", "--markdown")
    page = (tap.ROOT / "docs/formats/README.md").read_text()
    tap.ok("docs/formats/README.md has the tables of assay formats", code == 0 and all(t.strip() in page for t in out.split("\n\n")))
    code, out, _ = tap.run("formats", "--json")
    told = json.loads(out)
    tap.ok("every format that convert writes is listed", {w["name"] for w in told["write"]} >=
           {"chrome", "perfetto", "xplane", "xplane-grouped", "rocpd", "rocprof-csv", "csv", "sqlite"})
    pages = [r["page"] for r in told["read"] + told["write"]]
    tap.ok("every format has a page", all((tap.ROOT / f"docs/formats/{p}.md").exists() for p in pages), pages)


def check_each(tmp):
    """A job goes into a folder one process at a time, with the rows it has as a whole."""
    job = tap.ROOT / "demo/ddp"
    code, _, err = tap.run("convert", job, tmp / "both.rocprof/")
    ranks = rows(tmp / "both.rocprof", "select distinct rank from source order by 1") if code == 0 else err
    tap.ok("tables of rocprofv3 keep the ranks of a job", ranks == [[0], [1]], ranks)
    for to, end in (("chrome", ".json"), ("perfetto", ".pftrace"), ("rocpd", ".rocpd.db"), ("xplane", ".xplane.pb")):
        out = tmp / f"each-{to}"
        code, _, err = tap.run("convert", "--each", "--to", to, job, out)
        files = sorted(out.rglob("*" + end))
        got = sorted(rows(f, WORK)[0] for f in files)
        want = sorted(rows(f, WORK)[0] for f in sorted(job.glob("ddp_rank*")))
        tap.ok(f"each rank of a job goes into a file of its own ({to})", code == 0 and got == want and len(want) == 2, f"{err}\n{got}\n{want}")
    want = tap.run("report", job)[1].splitlines()[1:]
    for out in ("both.json", "both.xplane.pb", "both.grouped.xplane.pb"):
        tap.run("convert", job, tmp / out)
        got = tap.run("report", tmp / out)[1].splitlines()[1:]
        tap.ok(f"ranks in one file are reported as those of the folder ({out})", got == want, f"{got[:9]}")
    code, _, err = tap.run("convert", "--each", "--to", "csv", job, tmp / "x")
    tap.ok("tables of a folder are not written by process", code == 2 and "--each" in err, err)


def check_times(tmp):
    """Times that went through other formats are microseconds that doubles hold, with the fractions they had: tools that round them
    round as before. Waits that were found have no stream, which tools take for work."""
    source = tap.ROOT / "demo/train.json.gz"

    def times(path):
        with (gzip.open if path.suffix == ".gz" else open)(path) as f:
            events = [e for e in json.load(f)["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "cuda_runtime")]
        return sorted((e["name"], round(e["ts"] * 1000) % 1000, round(e["dur"] * 1000)) for e in events), max(e["ts"] for e in events)

    want = times(source)[0]
    for way in ("in.pftrace", "in.xplane.pb"):
        tap.run("convert", source, tmp / way)
        tap.run("convert", tmp / way, tmp / "again.json")
        got, last = times(tmp / "again.json")
        tap.ok(f"times are exact and round as before ({way})", got == want and last < 2**53 / 1000, f"{last} {got[:2]} {want[:2]}")
    job = tap.ROOT / "demo/ddp/ddp_rank0.json.gz"
    tap.run("convert", job, tmp / "ddp.json")
    found = [e["args"] for e in json.loads((tmp / "ddp.json").read_text())["traceEvents"] if (e.get("args") or {}).get("assay_derived")]
    tap.ok("waits that were found have no stream", found and not [a for a in found if "stream" in a], found[:2])
    check_found(tmp, job)


def check_arguments(tmp):
    """Kineto's rows have the arguments they had when they come back from XPlane, and how sure waits are."""
    def args(path):
        with gzip.open(path) as f:
            events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X" and e.get("cat") != "cuda_sync"]
        return sorted((e["cat"], e["name"], round(e["dur"] * 1000), json.dumps({k: v for k, v in sorted(e.get("args", {}).items())
                       if k not in ("wait_class", "wait_for", "wait_doubt")})) for e in events)

    source = tap.ROOT / "demo/train.json.gz"
    tap.run("convert", source, tmp / "args.xplane.pb")
    tap.run("convert", tmp / "args.xplane.pb", tmp / "args.json.gz")
    tap.run("convert", source, tmp / "plain.json.gz")
    got, want = args(tmp / "args.json.gz"), args(tmp / "plain.json.gz")
    tap.ok("arguments of Kineto come back from XPlane, and no others", got == want, [p for p in zip(got, want) if p[0] != p[1]][:1])


def check_zeros(tmp):
    """Arguments of 0 that a source says of all its rows are written, or told."""
    source, what = tap.ROOT / "demo/train.json.gz", "arguments queued and Record function id of 0"
    with gzip.open(source) as f:
        want = sum(1 for e in json.load(f)["traceEvents"] for k in ("queued", "Record function id") if (e.get("args") or {}).get(k) == 0)
    for way, told in (("zeros.json", 0), ("zeros.xplane.pb", 0), ("zeros.pftrace", want), ("zeros.rocpd.db", want)):
        err = tap.run("convert", source, tmp / way)[2]
        tap.ok(f"what {way} has no place for of zeros is said", tap.not_written(err).get(what, 0) == told and want > 1000, f"{want}\n{err}")


def check_waits(tmp):
    """What waits order, and how sure that is, is the same whatever file it went through."""
    query = "select 'wait' what, kind, class, count(*) n from wait group by 2, 3 union all select 'edge', kind, null, count(*) from edge group by 2 order by 1, 2, 3"
    for name, source in (("capture", tap.ROOT / "demo/run"), ("chrome", tap.ROOT / "demo/ddp/ddp_rank0.json.gz")):
        for way in ("waits.json", "waits.pftrace", "waits.xplane.pb", "waits.grouped.xplane.pb"):
            tap.run("convert", source, tmp / way)
            got, want = rows(tmp / way, query), rows(source, query)
            tap.ok(f"waits of {name} order the same work, as surely, in {way}", got == want and len(want) > 3, f"{got}\n{want}")


def check_found(tmp, source):
    """Waits that were found stay apart from recorded ones, whatever files they go through."""
    def rows(path):
        return json.loads(tap.run("sql", "--format", "json", path, "select s.ts - (select min(ts) from gpu) at, s.dur, s.name, s.corr, s.found, "
                                  "t.pid, t.tid from sync s join track t on t.id = s.track order by at, s.corr")[1])

    first = tmp / "found.xplane.pb"
    tap.run("convert", source, first)
    want = rows(first)
    tap.ok("no recorder reported what XPlane has of waits that were found", want and all(r["found"] for r in want), want[:2])
    for way in ("again.xplane.pb", "found.pftrace", "found.json"):
        tap.run("convert", first, tmp / way)
        tap.ok(f"waits that were found are found ones in {way}", rows(tmp / way) == want, f"{rows(tmp / way)[:2]} {want[:2]}")
    found = [e["args"] for e in json.loads((tmp / "found.json").read_text())["traceEvents"] if e.get("cat") == "cuda_sync"]
    tap.ok("waits of XPlane that were found have no stream", found and not [a for a in found if "stream" in a], found[:2])
    err = tap.run("convert", first, tmp / "found.rocpd.db")[2]
    tap.ok("what was found is no loss", "waits that the recorder reported" not in tap.not_written(err), err)


def check_command_buffers():
    """Work of XLA's command buffers has the instructions of the program in the profile, and its time is all there."""
    jax = tap.ROOT / "tests/xplane/jax.xplane.pb.gz"
    named = rows(jax, "select count(*), sum(u.dur) from gpu_captured g join captured c on c.id = g.op join gpu u on u.id = g.id "
                      "where c.name like 'jit(step)/%' and c.inferred = 1")
    tap.ok("all work of a command buffer finds its instruction", named == rows(jax, "select count(*), sum(dur) from gpu"), named)
    layers = rows(jax, "select count(*) from gpu_captured g join captured c on c.id = g.op where c.name like '%jvp(layer2)%'")
    tap.ok("named scopes of a layer hold its work", layers == [[5 * 10]], layers)


def main():
    check_list()
    check_command_buffers()
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        check_each(tmp)
        check_times(tmp)
        check_waits(tmp)
        check_arguments(tmp)
        check_zeros(tmp)
        made = []
        for kind, path in inputs(tmp):
            folder = tmp / f"out-{kind}"
            folder.mkdir()
            made.append(check(kind, path, folder))
        check_table(made)


main()
tap.done()
