#!/usr/bin/env python3
"""What assay writes, checked with things nobody here wrote: Python's json, HTA, protoc and Perfetto's own
message classes. Each is skipped by name when absent. ASSAY_PEER_PYTHON is an interpreter that has
HolisticTraceAnalysis (with a pandas it works with: < 3) and perfetto."""
import collections
import decimal
import gzip
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "xplane"))
import tap
from protobuf import fields, first

PEER = os.environ.get("ASSAY_PEER_PYTHON", "/tmp/hta-venv/bin/python")

HTA = r"""
import sys, warnings, logging
warnings.filterwarnings("ignore"); logging.disable(logging.CRITICAL)
from collections import Counter
from hta.trace_analysis import TraceAnalysis
t = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=sys.argv[2])
g, ok = t.critical_path_analysis(rank=0, annotation=sys.argv[3], instance_id=int(sys.argv[4]))
kinds = Counter(str(g.edges[e]["object"].type) for e in g.edges)
print(ok, len(g.critical_path_nodes), len(g.critical_path_edges_set), sorted(kinds.items()))
"""

# Packets of a trace, events with their track and time: what they leave out is their sequence's default, and its clocks count on.
PACKETS = r"""
import sys, collections, json
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as p

def packets(path):
    t = p.Trace(); t.ParseFromString(open(path, "rb").read())
    defaults, clocks = {}, {}
    for k in t.packet:
        q = k.trusted_packet_sequence_id
        for c in k.clock_snapshot.clocks:
            if c.is_incremental: clocks[q, c.clock_id] = c.timestamp
        if k.HasField("trace_packet_defaults"): defaults[q] = k.trace_packet_defaults
        d = defaults.get(q, p.TracePacketDefaults())
        clock, time = k.timestamp_clock_id or d.timestamp_clock_id, k.timestamp
        if (q, clock) in clocks and k.HasField("timestamp"): time = clocks[q, clock] = clocks[q, clock] + time
        e = k.track_event
        yield k, q, e, e.track_uuid if e.HasField("track_uuid") else d.track_event_defaults.track_uuid, time
"""

PERFETTO = PACKETS + r"""
tracks, names, stacks, last, start, end, bad = set(), set(), collections.Counter(), {}, {}, {}, collections.Counter()
begun = 0
for k, q, e, track, time in packets(sys.argv[1]):
    tracks.add(k.track_descriptor.uuid) if k.HasField("track_descriptor") else None
    names.update(n.iid for n in k.interned_data.event_names)
    if not k.HasField("track_event"): continue
    bad["unknown track"] += track not in tracks
    bad["unknown name"] += bool(e.name_iid) and e.name_iid not in names
    if e.type != p.TrackEvent.TYPE_COUNTER:
        bad["time goes back"] += time < last.get(track, 0); last[track] = time
    stacks[track] += (e.type == p.TrackEvent.TYPE_SLICE_BEGIN) - (e.type == p.TrackEvent.TYPE_SLICE_END)
    bad["end without begin"] += stacks[track] < 0
    begun += e.type == p.TrackEvent.TYPE_SLICE_BEGIN
    for f in e.flow_ids: bad["flow starts twice"] += f in start; start[f] = time
    for f in e.terminating_flow_ids: bad["flow ends twice"] += f in end; end[f] = time
bad["never ends"] = sum(stacks.values())
bad["dangling flow"] = len(set(start) ^ set(end))
bad["backward flow"] = sum(end[f] < start[f] for f in start if f in end)
print(begun, {k: v for k, v in bad.items() if v})
"""


# Times of slices by name, as Perfetto's own classes read a trace.
SLICES = PACKETS + r"""
names, cats, open_, sums = {}, {}, collections.defaultdict(list), collections.defaultdict(lambda: [0, 0])
for k, q, e, track, time in packets(sys.argv[1]):
    names.update({(q, n.iid): n.name for n in k.interned_data.event_names})
    cats.update({(q, n.iid): n.name for n in k.interned_data.event_categories})
    if not k.HasField("track_event"): continue
    if e.type == p.TrackEvent.TYPE_SLICE_BEGIN:
        open_[track].append((time, names[q, e.name_iid], cats[q, e.category_iids[0]]))
    if e.type == p.TrackEvent.TYPE_SLICE_END:
        ts, name, cat = open_[track].pop()
        if cat in ("kernel", "memcpy", "memset"):
            sums[name][0] += 1; sums[name][1] += time - ts
print(json.dumps(sorted([n, *v] for n, v in sums.items())))
"""


def has(module):
    return pathlib.Path(PEER).exists() and subprocess.run([PEER, "-c", f"import {module}"],
                                                          capture_output=True).returncode == 0


def events(path):
    data = json.load(gzip.open(path) if str(path).endswith(".gz") else open(path), parse_float=decimal.Decimal)
    return data["traceEvents"] if isinstance(data, dict) else data


def spans(path):
    """Every span as exact text, without what assay adds."""
    return collections.Counter((e["name"], e["ts"] * 1000, e.get("dur", 0) * 1000) for e in events(path)
                               if e.get("ph") == "X" and "assay_derived" not in e.get("args", {}))


def check_json(name, path, out):
    code, _, err = tap.run("convert", path, out)
    tap.ok(f"{name} converts", code == 0, err)
    if code:
        return
    tap.ok(f"{name} keeps every span and its times", spans(path) == spans(out))
    ours = [e for e in events(out) if e.get("cat") == "stream_dep"]
    ends = collections.Counter((e["name"], e["id"]) for e in ours if e["ph"] == "f")
    starts = collections.Counter((e["name"], e["id"]) for e in ours if e["ph"] == "s")
    tap.ok(f"{name} has no dangling arrow of ours", starts == ends and max(starts.values(), default=1) == 1)
    rows = collections.defaultdict(list)
    for e in events(out):
        if e.get("cat") == "cuda_sync":
            rows[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    overlap = [k for k, v in rows.items() for (_, a), (b, _) in zip(sorted(v), sorted(v)[1:]) if b < a]
    tap.ok(f"{name} draws no wait over another", not overlap, overlap[:3])


def check_hta(tmp, name, path, annotation, instance):
    def critical_path(file):
        place = tempfile.mkdtemp(dir=tmp)
        copy = shutil.copy(file, place)
        p = subprocess.run([PEER, "-c", HTA, copy, place, annotation, str(instance)], capture_output=True, text=True)
        return p.stdout.strip().split("\n")[-1] if p.returncode == 0 else p.stderr[-300:]
    out = tmp / f"hta-{name}.json.gz"
    tap.run("convert", path, out)
    want, got = critical_path(path), critical_path(out)
    if not want.startswith("True"):
        tap.skip(f"HTA finds the same critical path in {name} as we write it", f"HTA fails on the original: {want.strip()[-60:]!r}")
        return
    tap.ok(f"HTA finds the same critical path in {name} as we write it", got.startswith("True") and got == want,
           f"{got}\n{want}")


def check_perfetto(tmp, name, path):
    out = tmp / f"{name}.pftrace"
    code, _, err = tap.run("convert", path, out)
    tap.ok(f"{name} converts to Perfetto's format", code == 0, err)
    if shutil.which("protoc"):
        with open(out, "rb") as f:
            p = subprocess.run(["protoc", "--decode_raw"], stdin=f, capture_output=True)
        tap.ok(f"protoc decodes the Perfetto trace of {name}", p.returncode == 0, p.stderr[-200:])
    else:
        tap.skip(f"protoc decodes the Perfetto trace of {name}", "no protoc")
    if has("perfetto"):
        p = subprocess.run([PEER, "-c", PERFETTO, out], capture_output=True, text=True)
        count = sum(1 for e in events(path) if e.get("ph") == "X")
        tap.ok(f"Perfetto's classes find nothing wrong in {name}", p.stdout.strip() == f"{count} {{}}",
               f"{p.stdout} want {count} {p.stderr[-300:]}")
    else:
        tap.skip(f"Perfetto's classes find nothing wrong in {name}", "no perfetto package")
    check_read_back(name, path, out)


WORK = "select name, count(*), sum(dur) from gpu group by name_id"
SAME = {
    "work": "select kind, name, count(*), sum(dur), sum(corr), sum(external), sum(grid_x), sum(block_x), sum(bytes) from gpu group by 1, 2 order by 1, 2",
    "spans": "select kind, name, count(*), sum(dur) from host group by 1, 2 order by 1, 2",
    "links": "select count(*) from launch where host is not null",
    "waits": "select kind, class, count(*), sum(dur) from waits group by 1, 2 order by 1, 2",
    "steps": "select name, sum(dur) from step group by 1 order by 1",
}


def rows(path, query):
    code, out, err = tap.run("sql", "--format", "json", path, query)
    return [list(r.values()) for r in json.loads(out)] if code == 0 else err


def check_read_back(name, path, out):
    differ = [what for what, query in SAME.items() if rows(path, query) != rows(out, query)]
    tap.ok(f"{name} is read back from Perfetto's format as it was", not differ, differ)
    if not has("perfetto"):
        tap.skip(f"Perfetto's classes see the same work in {name}", "no perfetto package")
        return
    p = subprocess.run([PEER, "-c", SLICES, out], capture_output=True, text=True)
    tap.ok(f"Perfetto's classes see the same work in {name}",
           p.returncode == 0 and json.loads(p.stdout) == sorted(rows(out, WORK)), p.stderr[-300:])


def events_named(path, name):
    """Slices of that name in a trace, whose names are interned."""
    iids, count = set(), 0
    for _, packet in fields(open(path, "rb").read()):
        parts = list(fields(packet))
        for number, value in parts:
            if number == 12:
                iids.update(first(v, 1, 0) for f, v in fields(value) if f == 2 and first(v, 2, b"") == name)
        count += sum(number == 11 and first(value, 10, None) in iids for number, value in parts)
    return count


def check_waits_of_a_recording(tmp, run):
    """It has no rows of waits, only the calls: Perfetto shows them all the same."""
    out = tmp / "recording.pftrace"
    tap.run("convert", run, out)
    waits = json.loads(tap.run("waits", "--json", run)[1])["waits"]
    want = sum(w["kind"] == "stream_synchronize" for w in waits)
    got = events_named(out, b"Stream Sync")
    tap.ok("waits of a recording are on lines of their own in Perfetto's format",
           got == want > 0 and b" waits" in open(out, "rb").read(), f"{got}, want {want}")


# The same of a rocpd database, by SQLite through the views that AMD's tools know.
VIEWS = {
    "select count(*), sum(duration) from kernels": "select count(*), sum(dur) from gpu where kind = 'kernel'",
    "select count(*), sum(duration), coalesce(sum(size), 0) from memory_copies": "select count(*), sum(dur), coalesce(sum(bytes), 0) from gpu where kind <> 'kernel'",
    "select count(*), sum(duration) from regions": "select count(*), sum(dur) from host where kind <> 'instant'",
    "select count(*) from samples": "select count(*) from host where kind = 'instant'",
    "select name, total_calls from top_kernels order by 1": "select name, count(*) from gpu where kind = 'kernel' group by 1 order by 1",
}


def check_rocpd(tmp, name, path):
    out = tmp / f"{name}.rocpd.db"
    code, _, err = tap.run("convert", path, out)
    tap.ok(f"{name} converts to a rocpd database", code == 0, err)
    if code:
        return
    db = sqlite3.connect(out)
    differ = [view for view, query in VIEWS.items() if [list(r) for r in db.execute(view)] != rows(path, query)]
    tap.ok(f"the views of the rocpd database of {name} have its sums", not differ, differ)
    tap.ok(f"the rocpd database of {name} is sound",
           db.execute("pragma integrity_check").fetchone() == ("ok",) and not db.execute("pragma foreign_key_check").fetchall())
    db.close()
    differ = [what for what, query in SAME.items() if what != "waits" and rows(path, query) != rows(out, query)]
    tap.ok(f"{name} is read back from a rocpd database as it was", not differ, differ)


def check_rocprof_csv(tmp, name, path):
    """Tables with rocprofv3's own headers, and the rows they were made of."""
    out = tmp / f"{name}.rocprof"
    code, _, err = tap.run("convert", path, f"{out}/")
    tap.ok(f"{name} converts to tables of rocprofv3", code == 0, err)
    headers = {f.stem.split("_", 1)[1]: open(f).readline() for f in out.glob("*.csv")}
    samples = {"kernel_trace": "kernel_trace", "memory_copy_trace": "memory_copy_trace", "hip_api_trace": "hip_trace",
               "hsa_api_trace": "hsa_api_trace", "marker_api_trace": "marker_api_trace", "rccl_api_trace": "rccl_trace",
               "memory_allocation_trace": "memory_allocation_trace", "counter_collection": "counter_collection"}
    wrong = [k for k, v in headers.items() if k in samples and
             v.rstrip() != open(tap.CORPUS / "rocprofv3" / f"{samples[k]}.csv").readline().rstrip()]
    tap.ok(f"the tables of {name} have rocprofv3's headers", "kernel_trace" in headers and not wrong, wrong)
    differ = [what for what, query in SAME.items() if rows(path, query) != rows(out, query)]
    tap.ok(f"{name} is read back from tables of rocprofv3 as it was", not differ, differ)


def check_errors(tmp, demo):
    code, _, err = tap.run("convert", demo, tmp / "x.nothing")
    tap.ok("an unknown end of name is wrong usage that lists the formats", code == 2 and "--to chrome" in err, err)
    code, _, err = tap.run("convert", demo, "/nonexistent/x.json")
    tap.ok("a place that is not there is an error", code == 1 and "/nonexistent/x.json" in err, err)
    copy = shutil.copy(demo, tmp / "same.json.gz")
    code, _, err = tap.run("convert", copy, copy)
    tap.ok("an input is never overwritten", code == 2 and spans(copy) == spans(demo), err)
    code, _, err = tap.run("convert", tmp / "absent.json", tmp / "y.json")
    tap.ok("a failed read leaves no output", code == 1 and not list(tmp.glob("y.json*")), err)
    code, out, _ = tap.run("convert", "--to", "chrome", demo, "-")
    tap.ok("standard output gets the trace", code == 0 and len(json.loads(out)["traceEvents"]) > 1000)


def check_alias(tmp):
    path = tap.CORPUS / "hta/mi250_minitoy_train_ROCm6_2_kineto.json.gz"
    out = tmp / "alias.json"
    tap.run("convert", "--hta", path, out)
    names = {e["name"] for e in events(out) if e.get("cat") == "cuda_runtime"}
    tap.ok("--hta gives HIP calls CUDA names", names and not any(n.startswith("hip") for n in names) and
           "cudaLaunchKernel" in names, sorted(names))


def check_product(tmp):
    """The one GPU that the header tells of, under another number than that of its work."""
    trace = tmp / "product.json"
    trace.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4, "numSms": 304}],
                                 "hip_runtime_version": 70226015, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 2, "tid": 7, "ts": 1, "dur": 5, "args": {"device": 2, "stream": 7, "correlation": 1}}]}))
    for end in ("xplane.pb", "rocpd.db", "pftrace", "json"):
        out = tmp / ("product." + end)
        tap.run("convert", trace, out)
        first = tap.run("report", out)[1].splitlines()[:1]
        tap.ok(f"what a GPU is sold as goes through {end}", first and "AMD Instinct MI300X" in first[0], first)


def main():
    demo = tap.ROOT / "demo/train.json.gz"
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        check_json("the bundled run", demo, tmp / "demo.json")
        check_errors(tmp, demo)
        check_product(tmp)
        check_waits_of_a_recording(tmp, demo.parent / "run")
        check_perfetto(tmp, "train", demo)
        check_rocpd(tmp, "train", demo)
        hta = has("hta.trace_analysis")
        if hta:
            check_hta(tmp, "train", demo, "ProfilerStep", 1)
        else:
            tap.skip("HTA finds the same critical path in train as we write it", "no HolisticTraceAnalysis")
        if not tap.CORPUS.is_dir():
            tap.skip("conversion of real traces", f"no corpus at {tap.CORPUS}")
            return
        corpus = tap.CORPUS / "hta/critical_path"
        for trace in ("alexnet", "simple_add", "cuda_event_sync", "cuda_event_sync_multi_stream"):
            check_json(trace, corpus / f"{trace}.json.gz", tmp / f"{trace}.json.gz")
            check_perfetto(tmp, trace, corpus / f"{trace}.json.gz")
        for trace in ("hta/mi250_minitoy_train_ROCm6_2_kineto.json.gz", "tracelens/rocprofv3_908_results.json.gz", "nsys/h100_2gpu_1s.sqlite"):
            check_rocpd(tmp, pathlib.Path(trace).name, tap.CORPUS / trace)
        check_rocprof_csv(tmp, "rocprofv3_908", tap.CORPUS / "tracelens/rocprofv3_908_results.json.gz")
        check_alias(tmp)
        if hta:
            check_hta(tmp, "alexnet", corpus / "alexnet.json.gz",
                      "[param|pytorch.model.alex_net|0|0|0|measure|forward]", 1)
            check_hta(tmp, "cuda_event_sync", corpus / "cuda_event_sync.json.gz", "ProfilerStep", 0)


main()
tap.done()
