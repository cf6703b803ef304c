#!/usr/bin/env python3
"""What convert says it leaves out is what is missing when the file is read back: every table that a reader fills, row by row and
column by column, of what the tests bring along and of ten shared traces. What a format says in other words, and what it adds, is
listed here with the reason."""
import collections
import json
import pathlib
import sqlite3
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

TABLES = ("meta device host op api frame other sample gpu sync mark flow counter alloc pmc stat raw ledger off stream event_record barrier "
          "event_call open_call queued given_scope kept").split()
WRITERS = {"out.json": "chrome", "out.pftrace": "perfetto", "out.xplane.pb": "xplane", "out.grouped.xplane.pb": "grouped",
           "out.rocpd.db": "rocpd", "out.rocprof/": "rocprof"}
# rows of these tables are gone
ROWS = {
    "memory events": ("alloc",), "hardware counter values": ("pmc",), "rows of summaries": ("stat",), "streams' handles and flags": ("stream",),
    "scope ids": ("given_scope",), "parts of XPlane files that only XPlane has": ("kept",), "facts of headers": ("meta",),
    "waits that the recorder reported": ("sync",), "ranges on devices that are no work": ("mark",), "counter values over time": ("counter",),
    "samples of host threads": ("sample",), "handles of streams and events in calls": ("event_call",), "counts of the recorder": ("ledger",),
    "samples of counters and telemetry that are of no device, or before the trace": ("counter",), "pauses of the recording": ("off",), "calls and work that never ended": ("open_call", "queued"),
    "records of events and barriers": ("event_record", "barrier"), "host spans that are neither calls nor ranges": ("host",),
}
# these columns are gone from rows that are there; the number counts rows that had the first one
COLUMNS = {
    "Python stacks of calls": ("api.stack",), "errors that calls returned": ("api.status",), "numbers of API functions": ("api.cbid",),
    "totals of memory allocators": ("alloc.total", "alloc.reserved"),
    "origins of times, which are counted anew": ("host.ts", "gpu.ts", "sync.ts", "mark.ts", "counter.ts", "alloc.ts", "sample.ts"),
    "makers of GPUs: the tables are of AMD's": ("device.vendor", "device.arch"), "rows' arguments": ("host.args", "gpu.args"),
    "External ids": ("gpu.external", "api.external"), "sizes of GPU work": ("gpu.bytes",), "contexts of GPU work": ("gpu.context",),
    "graphs that GPU work is of": ("gpu.graph", "gpu.graph_node"), "threads of memory events": ("alloc.track",),
    "threads' numbers below zero": ("host.track",),
    "threads' numbers that are hashes, which get others": ("host.track",),
    "arguments of memory events": ("alloc.args",), "queues of copies": ("gpu.queue",),
    "devices without a number, which get one": ("gpu.track", "mark.track"), "streams without a number, which get one": ("gpu.track", "mark.track"),
    "spans without a name, which get one": ("host.name", "gpu.name", "mark.name"),
    "numbers of operators and Python frames": ("alloc.ev_idx", "op.ev_idx", "op.seq", "op.fwd_thread", "frame.id", "frame.parent", "frame.ev_idx"),
}
# said in other words: by format, table or column
ANY = "any"
WORDS = {
    (ANY, "flow"): "arrows of launches are correlation ids",
    (ANY, "meta.value"): "facts are quoted as the header has them",
    (ANY, "other.cat"): "what has no category gets one",
    ("rocpd", "device.name"): "what has none is named by its architecture", ("rocprof", "device.name"): "what has none is named by its architecture",
    (ANY, "counter.track"): "partitions of a device are not told apart",
    **{(f, "event_call"): "they are arguments of calls" for f in ("chrome", "perfetto", "xplane", "grouped")},
    ("chrome", "host.kind"): "NVTX ranges are user annotations", ("chrome", "meta.key"): "facts of further inputs stand in a list",
    ("xplane", "sync.class"): "the resolved class is told too", ("grouped", "sync.class"): "the resolved class is told too",
    ("grouped", "kept"): "what is made of groups is made anew",
    ("rocprof", "alloc.name"): "as the SDK names them", ("rocprof", "host.kind"): "domains of the SDK",
    ("rocprof", "op"): "details of spans", ("rocprof", "other"): "details of spans", ("rocprof", "frame"): "details of spans",
    ("rocpd", "alloc.name"): "kind and level", ("rocpd", "host.kind"): "categories of the SDK",
}
BARE = "threads without a number of theirs or of their process, which get one"
BLOCKS = 16  # of source.traits: grids are in blocks on every device
THREADS = ("host", "alloc")  # tables with rows of threads
RANGES = ("marker", "process_range")
STEP = 100_000_000  # between the ids of two processes in one file


def rows_of(path, db):
    code, _, err = tap.run("convert", "--to", "sqlite", path, db)
    if code:
        return err
    c = sqlite3.connect(db)
    c.text_factory = lambda b: b.decode("utf-8", "replace")
    c.row_factory = sqlite3.Row
    get = {t: [dict(r) for r in c.execute(f'select * from "{t}"')] for t in (*TABLES, "source", "track", "stack", "code")}
    bases = [s["base"] or 0 if s["epoch"] else 0 for s in get["source"]]
    chains = {None: ()}
    for r in get["stack"]:  # a caller comes before whom it calls
        chains[r["id"]] = (*chains[r["caller"]], r["line"], *(v for k, v in get["code"][r["code"]].items() if k != "id"))
    kinds = {r["detail"]: r["kind"] for r in get["host"] if r["kind"] in (*RANGES, "runtime", "driver")}
    for r in get["api"]:
        r["of"] = kinds.get(r["id"])
    for name in TABLES:
        for r in get[name]:
            track = get["track"][r["track"]] if r.get("track") is not None else None
            if r.get("ts") is not None:
                r["ts"] += bases[track["source"]] if track else 0
            for k in ("track", "holder"):
                if r.get(k) is not None:
                    kind, pid, tid = (get["track"][r[k]][c] for c in ("kind", "pid", "tid"))
                    r[k] = (kind, pid % STEP if pid is not None else None, tid)
            for k in ("stack", "calls"):
                if name in ("api", "sample") and k in r:
                    r[k] = chains[r[k]] if not r.get("lent") else ()
            if r.get("status") == 0:
                r["status"] = None  # success is not told
            if r.get("native") is not None:
                r["native"] = tuple(v for k, v in get["code"][r["native"]].items() if k != "id")
            if r.get("args"):
                r["args"] = {k: json.dumps(v, sort_keys=True) for k, v in json.loads("{" + r["args"] + "}").items()}
            for k in ("detail", "source", "row_id", "lent", "created", "destroyed", "row", *(["id"] if "row_id" not in r else [])):
                r.pop(k, None)
        # not details that say nothing, nor what never ended (it lasts to the end then)
        rows = [r for r in get[name] if any(v not in (None, 0, ()) for v in r.values())
                and r.get("dur", 0) is not None]
        get["not " + name] = len(get[name]) - len(rows)
        get[name] = rows
    in_items([r for r in get["gpu"] if not in_work_items(get, r)])
    return get


def own_facts(get, format):
    """Facts that a file of the same format has again: its own."""
    same = format == "rocprof" and get["source"][0]["format"] == "rocprof_csv"
    return sum(m["key"] == "rocprof_csv" for m in get["meta"]) if same else 0


def in_work_items(get, row):
    """AMD's own formats count them, but for devices of others; all other formats count blocks."""
    formats = {s["format"] for s in get["source"]}
    vendor = next((d["vendor"] for d in get["device"] if d["id"] == row["track"][1]), None)
    if any(s["traits"] & BLOCKS for s in get["source"]):
        return False
    return "rocprof_csv" in formats or vendor == "amd" or (not vendor and bool(formats & {"rocpd", "rocprof_json"}))


def lost(before, after, skip):
    """Rows of the one that the other has not, by columns that are compared."""
    columns = [k for k in before[0] if k not in ("args", "of") and k not in skip]
    if not columns and not any(r.get("args") for r in before):
        return []  # details of which nothing is kept
    left = collections.defaultdict(list)
    for r in after:
        left[tuple(r.get(k) for k in columns)].append(r.get("args") or {})
    missing = []
    for r in before:
        twins = left.get(tuple(r[k] for k in columns), [])
        want = ({} if "args" in skip else r.get("args") or {}).items()
        twin = next((i for i, t in enumerate(twins) if want <= t.items()), None)
        if twin is None:
            missing.append(r)
        else:
            del twins[twin]
    return missing


def in_items(rows):
    """The grids of kernels, as AMD's tools count them."""
    for r in rows:
        for k in "xyz":
            r["grid_" + k] *= r["block_" + k] or 1
    return rows


def numbers(get):
    """Numbers of calls of further inputs are raised in files that have one space of them."""
    many = len({s["rank"] for s in get["source"]}) > 1 or len({r["track"][1] for r in get["host"] if r["kind"] in ("runtime", "driver")}) > 1
    return {"api.corr", "gpu.corr", "sync.corr", "sync.record_corr"} if many else set()


def places(get, sizes):
    """Ranks of processes, with the size of their job."""
    return sorted({(s["rank"], s["world"] if sizes else None) for s in get["source"] if s["rank"] is not None}, key=str)


def check(name, before, path, target, format):
    code, _, err = tap.run("convert", path, target)
    after = rows_of(str(target).rstrip("/"), f"{target}".rstrip("/") + ".back.db") if code == 0 else err
    if isinstance(after, str):
        tap.ok(f"{name} reads back", "there is nothing to write" in after, after)
        return
    told = tap.not_written(err)
    gone = {t: n for what, n in told.items() if what in ROWS for t in ROWS[what]}
    if "host" in gone:
        gone["host"] -= before["not host"]
    if "meta" in gone:
        gone["meta"] -= own_facts(before, format)
    columns = {c for what in told for c in COLUMNS.get(what, ())}
    words = {w for f, w in WORDS if f in (ANY, format)} | numbers(before)
    wrong = []
    threads = {r["track"] for t in THREADS for r in before[t] if r["track"]} if BARE in told else set()
    bare = {t for t in threads if None in t[1:] or t[2] < 0}
    if told.get(BARE, 0) < len(bare):  # several may have no number at all
        wrong.append(f"{sorted(bare, key=str)} get numbers")
    sizes = told.get("sizes of jobs", 0) == 0
    if places(before, sizes) != places(after, sizes):
        wrong.append(f"ranks: {places(before, sizes)}, then {places(after, sizes)}")
    for table in TABLES:
        rows = before[table]
        if table == "api" and format == "chrome":  # correlation ids of ranges are arguments there
            rows = [r for r in rows if r["of"] not in RANGES]
        if not rows or table in words:
            continue
        skip = {c.split(".")[1] for c in columns | words if c.startswith(table + ".")}
        missing = lost(rows, after[table], skip)
        if table in THREADS and (renumbered := [r for r in missing if r["track"] in bare]):
            missing = [r for r in missing if r["track"] not in bare] + lost(renumbered, after[table], skip | {"track"})
        if len(missing) != gone.get(table, 0):
            blame = [k for k in rows[0] if len(lost(rows, after[table], skip | {k})) < len(missing)]
            wrong.append(f"{table}: {len(missing)} rows differ, {gone.get(table, 0)} told; {blame} {missing[:1]}")
    tap.ok(f"what {pathlib.Path(target).name} leaves out of {name} is what is missing", not wrong, "\n".join(w[:600] for w in wrong))


# facts, memory of devices without work, devices and threads without a number, spans without a name
SEEDS = ("capture/rocm-memory.asy", "chrome/phases.json", "nsys_csv/no_device.csv", "rocpd/v305.db", "rocpd/v400.db", "rocprof_csv/alloc.csv",
         "rocprof_csv/guid.csv", "rocprof_csv/other.csv", "rocprof_csv/scratch.csv", "rocprof_json/tables_first.json", "rocprof_json/windows.json")
VALUES = {"yes": True, "no": False, "nothing": None, "large": 2**64 - 1, "real": 1.0, "text": " true", "list": [1, "a"], "none": []}


def inputs(tmp):
    yield "train", tap.ROOT / "demo/train.json.gz"
    yield "run", tap.ROOT / "demo/run"
    yield "two ranks", tap.ROOT / "demo/ddp"
    yield "jax", tap.ROOT / "tests/xplane/jax.xplane.pb.gz"
    yield "nsys", tap.ROOT / "tests/fuzz/seeds/nsys/made.sqlite"
    yield "amd", tap.ROOT / "tests/cases/info/capture-amd/in.asy"
    for seed in SEEDS:
        yield seed.replace("/", "_"), tap.ROOT / "tests/fuzz/seeds" / seed
    for out in ("train.pftrace", "train.rocpd.db"):  # what is written is read, too
        tap.run("convert", tap.ROOT / "demo/train.json.gz", pathlib.Path(tmp) / out)
        yield out.replace(".", "_"), pathlib.Path(tmp) / out
    zeros = pathlib.Path(tmp) / "zeros.json"
    zeros.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": cat, "name": cat, "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": args} for cat, args in (
            ("cpu_op", {"External id": 0, "x": 0}), ("cuda_runtime", {"correlation": 0, "External id": 0, "cbid": 0}),
            ("kernel", {"device": 0, "stream": 0, "correlation": 0, "External id": 0, "graph id": 0, "graph node id": 0, "queued": 0,
                        "grid": [4, 1, 1], "block": [64, 1, 1]}),
            ("gpu_memcpy", {"device": 0, "stream": 0, "correlation": 7, "bytes": 0, "queued": 0}),
            ("gpu_user_annotation", {"External id": 0, "device": 0, "stream": 0}))]}))
    yield "zeros", zeros
    tap.run("convert", zeros, zeros.with_suffix(".rocpd.db"))
    yield "zeros of a device that nobody names", zeros.with_suffix(".rocpd.db")
    values = pathlib.Path(tmp) / "values.json"
    values.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": VALUES},
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 3, "dur": 2, "args": {"device": 0, "stream": 7, **VALUES}},
        {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 2,
         "args": {"Addr": 4096, "Bytes": 512, "Device Id": 3, "Device Type": 1, "Ev Idx": 7, **VALUES}}]}))
    yield "values of every kind", values


# of shared traces: recorders, vendors and versions, none larger than a few megabytes of text
SHARED = ("h200/ddp_rank0.json.gz", "h200/jax.xplane.pb.gz", "h200/nvidia_smi.csv", "hta/cpu_only.json.gz", "hta/critical_path/alexnet.json.gz",
          "hta/critical_path/cuda_event_sync_multi_stream.json.gz", "hta/mi250_minitoy_train_ROCm6_2_kineto.json.gz", "nsys/h100_2gpu_1s.sqlite",
          "rocprofv3/kernel_trace.csv", "tracelens/mi210/gpu_only_trace.json.gz", "tracelens/mi300/normalization_layer_test.json.gz", "tracelens/torch_compile_triton.json.gz",
          "tracelens/vllm_decode_graph.json.gz", "waits/cross_device.json", "waits/rocprofv3_failed_record.json")


def shared():
    for name in SHARED:
        if (tap.CORPUS / name).exists():
            yield name.replace("/", "_").split(".")[0], tap.CORPUS / name
        else:
            tap.skip(f"what is left out of {name}", f"no corpus at {tap.CORPUS}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, path in (*inputs(folder), *shared()):
            before = rows_of(path, f"{folder}/{name}.db")
            for out, format in WRITERS.items():
                to = pathlib.Path(folder) / name
                to.mkdir(exist_ok=True)
                check(name, before, path, f"{to}/{out}", format)


main()
tap.done()
