#!/usr/bin/env python3
"""Files that assay writes, opened by xprof's own converters. Needs the PyPI package xprof in this Python, or in the
one that ASSAY_XPROF_PYTHON names; skipped by name when there is none."""
import collections
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tap
from protobuf import fields, first, signed

PYTHON = os.environ.get("ASSAY_XPROF_PYTHON", sys.executable)
TOOLS = ["trace_viewer", "overview_page", "kernel_stats", "framework_op_stats", "hlo_stats", "op_profile",
         "input_pipeline_analyzer", "memory_profile", "roofline_model"]
COUNTED = ["overview_page", "kernel_stats", "framework_op_stats", "hlo_stats", "op_profile", "input_pipeline_analyzer"]
MODES = ["xplane", "xplane-grouped"]
CONVERT = """
import json, sys
from xprof.convert import raw_to_tool_data as r
out = {}
for tool in sys.argv[2:]:
    try:
        data, _ = r.xspace_to_tool_data([sys.argv[1]], tool, {"use_saved_result": False})
        out[tool] = data.decode() if isinstance(data, bytes) else data
    except Exception as e:
        out[tool] = None
        print(tool, repr(e), file=sys.stderr)
json.dump(out, sys.stdout)
"""


def have_xprof():
    try:
        return subprocess.run([PYTHON, "-c", "import xprof.convert.raw_to_tool_data"], capture_output=True,
                              timeout=tap.PATIENCE).returncode == 0
    except OSError:
        return False


def xprof(data, folder, name, tools=TOOLS):
    """Every tool's output for an XSpace, as text."""
    place = folder / name / "plugins/profile/run"
    place.mkdir(parents=True)
    path = place / "host.xplane.pb"
    path.write_bytes(data)
    p = subprocess.run([PYTHON, "-c", CONVERT, str(path), *tools], capture_output=True, text=True, timeout=tap.PATIENCE)
    try:
        return json.loads(p.stdout), p.stderr
    except ValueError:
        return {t: None for t in tools}, p.stderr


def timeline(text):
    """(plane, row) -> events of the trace viewer; an event is (start ns, length ns, name, arguments)."""
    rows, names, planes = collections.defaultdict(list), {}, {}
    events = json.loads(text)["traceEvents"]
    for e in events:
        if e.get("ph") == "M" and e["name"] == "thread_name":
            names[e["pid"], e["tid"]] = e["args"]["name"]
        elif e.get("ph") == "M" and e["name"] == "process_name":
            planes[e["pid"]] = e["args"]["name"].split(" ", 1)[-1] if e["pid"] > 1000 else e["args"]["name"]
    for e in events:
        if e.get("ph") == "X":
            row = (planes.get(e["pid"], ""), names.get((e["pid"], e["tid"]), ""))
            rows[row].append((round(e["ts"] * 1000), round(e.get("dur", 0) * 1000), e["name"], e.get("args", {})))
    return rows


def kernels(text):
    table = json.loads(text)
    table = table[0] if isinstance(table, list) else table
    ids = [c["id"] for c in table["cols"]]
    rows = [[c.get("v") for c in r["c"]] for r in table["rows"]]
    count = sum(r[ids.index("occurrences")] for r in rows)
    total = sum(r[ids.index("total_duration_us")] for r in rows)
    return round(count), round(total * 1000)


def native(path, *options):
    """assay's own derived rows by the names xprof gives them."""
    rows = collections.defaultdict(list)
    for e in json.loads(tap.run("scopes", "--timeline", "--json", *options, path)[1])["timeline"]:
        name = e["row"] if e["row"] == "Steps" else f"{e['row']} - from #{e['stream']}"
        rows[f"/device:GPU:{e['device']}", name].append((e["ts_ns"], e["dur_ns"], e["name"], {}))
    return rows


def spans(events, names=False):
    return sorted((ts, dur, name if names else "") for ts, dur, name, _ in events)


def plain(name):
    """The name of an operator or module without what tells instances apart, and without signs HLO names cannot have."""
    name = re.sub(r"\(\d+\)$|\.\d+$|#\d+$|, (seq|op_id) = .*", "", name)
    return re.sub(r"[^A-Za-z]", "", name)


def operators(text):
    """Framework operators of the device: name -> (number, ns), and how long it idled."""
    table = json.loads(text)
    table = table[0] if isinstance(table, list) else table
    ids = [c["id"] for c in table["cols"]]
    found, idle = {}, 0
    for row in table["rows"]:
        r = dict(zip(ids, (c.get("v") for c in row["c"])))
        if r["host_or_device"] == "Device" and r["operation"] == "IDLE":
            idle = round(r["total_self_time"] * 1000)
        elif r["host_or_device"] == "Device":
            found[r["operation"]] = round(r["total_self_time"] * 1000)
    return found, idle


def framework_name(path):
    parts = (re.sub("#$", "_", p.replace("::", ".").replace(":", ".").replace("/", "_")) for p in path)
    return "/".join(p or "(no name)" for p in parts)


def check_meaning(name, source, tools, report):
    """Time by operator is our time by scope, and xprof's idle time what is left of ours (it adds up work that runs at
    the same time)."""
    scopes = json.loads(tap.run("scopes", "--json", source)[1])
    want = collections.Counter()
    for s in scopes["scopes"]:
        want[framework_name(re.sub(r"#\d+$|, (seq|op_id) = .*", "", part) for part in s["path"])] += s["gpu_self_ns"]
    want["no scope"] += scopes["gpu_sum_in_no_scope_ns"]
    want = {k: v for k, v in want.items() if v}
    got, idle = operators(tools["framework_op_stats"])
    near = {k: abs(got.get(k, 0) - want.get(k, 0)) <= 1000 for k in got.keys() | want.keys()}
    tap.ok(f"xprof: {name} has our time in every scope", want and all(near.values()),
           [(k, got.get(k), want.get(k)) for k, ok in near.items() if not ok][:6])
    ours = sum(max(d["span_ns"] - d["sum_ns"], 0) for d in report["devices"])
    tap.ok(f"xprof: {name} idles as long as we say", abs(idle - ours) <= 1000, f"{idle} {ours}")
    profile = json.loads(tools["op_profile"])["byProgramExcludeIdle"]
    total = round(profile["metrics"]["rawTime"] / 1000)
    whole = sum(want.values())
    tap.ok(f"xprof: {name} has all work in its op profile", abs(total - whole) <= 1000, f"{total} {whole}")


def sql(path, query):
    return [list(r.values()) for r in tap.sql(path, query)]


def check_roofline(name, source, text):
    """Operations and compulsory bytes of everything that is in a scope, and the device's peaks."""
    roof = sql(source, "select bf16, bandwidth from roof where name is not null")
    work = sql(source, "select sum(s.flops), sum(s.bytes) from op_call c join op_shape s on s.id = c.shape "
                       "join gpu_scope g on g.id = c.gpu where g.scope is not null")
    if not roof or ".xplane.pb" in source.name:
        return
    table = json.loads(text)[0]
    ids = [c["id"] for c in table["cols"]]
    whole = dict(zip(ids, (c.get("v") for c in table["rows"][0]["c"])))
    flops, moved = (whole[k] * whole["total_time"] * unit for k, unit in (("measured_flop_rate", 1e3), ("hbm_bw", 2**30 / 1e6)))
    want = [x or 0 for x in work[0]]
    tap.ok(f"xprof: {name} has our operations and bytes", all(abs(a - b) <= 1e-6 * b + 1 for a, b in zip((flops, moved), want)),
           f"{flops} {moved} {want}")
    peaks = float(table["p"]["peak_flop_rate"]) * 1e9, float(table["p"]["peak_hbm_bw"]) * 2**30
    tap.ok(f"xprof: {name} has our peaks", all(abs(a - b) <= 1e-3 * b for a, b in zip(peaks, roof[0])), f"{peaks} {roof}")


def check_memory(name, source, text):
    """The peak of each allocator that says what it holds, and its reserve then."""
    told = sql(source, "select coalesce('GPU_' || device, 'host'), max(total) from alloc group by 1 having min(total) is not null")
    profile = json.loads(text).get("memoryProfilePerAllocator", {}) if told else {}
    for allocator, peak in told:
        got = profile.get(allocator, {}).get("profileSummary", {}).get("peakStats", {})
        tap.ok(f"xprof: {name} has our peak of {allocator}", int(got.get("peakBytesInUse", -1)) == peak, f"{got} {peak}")


def planes(data):
    """(name, bytes) of each plane, and the bytes around them as a plane without a name."""
    for number, value in fields(data):
        if number == 1:
            yield first(value, 2, b"").decode(), value


def without_beside(data):
    """The file without the planes that hold no work."""
    out = b""
    for name, value in planes(data):
        if not name.startswith("/device:CUSTOM:assay "):
            out += b"\x0a" + length(len(value)) + value
    return out


def length(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def roots(data):
    """Scope id -> id at the root of its path, for the ids of the tree plane."""
    up = {}
    for name, value in planes(data):
        if name == "/host:__ScopeRangeCallStack__":
            for f, v in fields(value):
                if f == 6:
                    up[signed(first(v, 1, 0))] = signed(first(v, 4, 0))

    def root(i):
        while i in up:
            i = up[i]
        return i
    return root


def invocations(events, root):
    """Runs of kernels with one root id, in order of start."""
    ids = [root(int(e[3]["scope_range_id"])) for e in sorted(events, key=lambda e: e[:2])
           if "scope_range_id" in e[3] and "kernel_details" in e[3]]
    return sum(1 for i, x in enumerate(ids) if not i or ids[i - 1] != x)


def waits_and_marks(source, folder):
    """What is written beside the work: rows of the source, and waits of calls that have none. A file without derived rows, read back."""
    out = folder / "beside.pb"
    tap.run("convert", "--to", MODES[0], source, out)
    counts = json.loads(tap.run("info", "--json", out)[1])["tables"]
    return counts["sync"] + counts["mark"]


def check(source, folder, mode):
    name = f"{source.name} ({mode})"
    out = folder / f"{source.name}.{mode}.pb"
    # instructions of command buffers are inferred, and xprof makes rows of them that the recording has not
    exact = ["--exact"] if source.name == "jax.xplane.pb.gz" else []
    code, _, err = tap.run("convert", "--to", mode, *exact, source, out)
    if code:
        tap.ok(f"xprof: {name} is written", False, err)
        return None
    data = out.read_bytes()
    tools, err = xprof(data, folder, name, TOOLS + ["trace_viewer@"])
    failed = [t for t, text in tools.items() if not text]
    tap.ok(f"xprof: all {len(tools)} converters take {name}", not failed, f"{failed}\n{err[-800:]}")
    if failed:
        return None
    report = json.loads(tap.run("report", "--json", "--top", "1000000", source)[1])
    ours = (report["counts"]["kernels"], sum(k["total_ns"] for k in report["top_kernels"]))
    theirs = kernels(tools["kernel_stats"])
    tap.ok(f"xprof: {name} has our number of kernels and their time", theirs[0] == ours[0] and
           abs(theirs[1] - ours[1]) <= ours[0], f"{theirs} {ours}")
    check_roofline(name, source, tools["roofline_model"])
    check_memory(name, source, tools["memory_profile"])
    is_xla = ".xplane.pb" in source.name
    if not is_xla:
        check_meaning(name, source, tools, report)
    rows, mine = timeline(tools["trace_viewer"]), native(out, *exact)
    for plane, row in sorted(mine):
        a, b = spans(rows[plane, row], row != "Steps"), spans(mine[plane, row], row != "Steps")
        if not is_xla: # instances have their own names in ours
            a, b = (sorted((ts, dur, plain(n)) for ts, dur, n in e) for e in (a, b))
        tap.ok(f"xprof: {name} {plane} has our row {row}", a == b, f"{len(a)} {a[:4]}\n{len(b)} {b[:4]}")
    root = roots(data)
    for plane, row in sorted(rows):
        stream = row.partition("Modules - from #")[2]
        if not stream:
            continue
        work = [e for r, ev in rows.items() if r[0] == plane and r[1].startswith(f"Stream #{stream}(") for e in ev]
        if any("scope_range_id" in e[3] for e in work): # older recorders write none
            tap.ok(f"xprof: {name} {plane} {row} has one event an invocation", len(rows[plane, row]) ==
                   invocations(work, root), f"{len(rows[plane, row])} {invocations(work, root)}")
    beside = {r: ev for r, ev in timeline(tools["trace_viewer@"]).items() if "CUSTOM:assay" in r[0]}
    counts = json.loads(tap.run("info", "--json", source)[1])["tables"]
    if source.suffix != ".pb" and not source.name.endswith(".pb.gz") and (counts["sync"] or counts["mark"]):
        shown = sum(len(ev) for ev in beside.values())
        told, want = counts["sync"] + counts["mark"], waits_and_marks(source, folder)
        tap.ok(f"xprof: {name} shows {want} waits and annotations beside the work", shown == want >= told,
               f"{shown} {told}: {[(r, len(ev)) for r, ev in beside.items()]}")
        samples = [c for e in json.loads(tools["trace_viewer@"])["traceEvents"] if e.get("ph") == "C" for c in e["entries"]]
        tap.ok(f"xprof: {name} shows {counts['counter']} samples of telemetry", len(samples) == counts["counter"], len(samples))
        bare, err = xprof(without_beside(data), folder, name + " bare", COUNTED)
        same = {t: bare[t] == tools[t] for t in COUNTED}
        tap.ok(f"xprof: {name} counts none of these as work", all(same.values()), f"{same}\n{err[-400:]}")
    return rows


def two_invocations():
    """A Kineto trace with one range invoked twice, two kernels each."""
    events, corr = [], 0
    for i in range(2):
        events.append(dict(ph="X", cat="user_annotation", name="module", pid=1, tid=1, ts=i * 100, dur=90))
        for k in range(2):
            corr += 1
            at = i * 100 + 10 + k * 20
            events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=at, dur=5,
                               args=dict(correlation=corr)))
            events.append(dict(ph="X", cat="kernel", name="k", pid=0, tid=7, ts=at + 5, dur=10, args=dict(
                correlation=corr, device=0, stream=7, grid=[1, 1, 1], block=[32, 1, 1])))
    return json.dumps(dict(traceEvents=events)).encode()


def memory_events():
    """A Kineto trace whose allocator says what it holds: two pieces taken, one given back."""
    events = json.loads(two_invocations())["traceEvents"]
    for ts, size, held in ((1, 4096, 9096), (50, 8192, 17288), (120, -4096, 13192)):
        events.append(dict(ph="i", s="t", cat="cpu_instant_event", name="[memory]", pid=1, tid=1, ts=ts, args={
            "Total Reserved": 20000, "Total Allocated": held, "Bytes": size, "Addr": 4096 + abs(size), "Device Id": 0,
            "Device Type": 1}))
    return json.dumps(dict(traceEvents=events)).encode()


def check_allocator(folder):
    trace = folder / "memory.json"
    trace.write_bytes(memory_events())
    for mode in MODES:
        tap.run("convert", "--to", mode, trace, folder / "memory.pb")
        tools, err = xprof((folder / "memory.pb").read_bytes(), folder, "memory " + mode, ["memory_profile"])
        check_memory(f"an allocator ({mode})", trace, tools["memory_profile"] or "{}")
        summary = json.loads(tools["memory_profile"] or "{}").get("memoryProfilePerAllocator", {}).get("GPU_0", {})
        stats = summary.get("profileSummary", {}).get("peakStats", {})
        tap.ok(f"xprof: what an allocator keeps in reserve is free ({mode})", stats.get("freeMemoryBytes") == "2712", stats)
        tap.ok(f"xprof: the largest piece that is held at the peak comes first ({mode})", summary.get("activeAllocations"),
               err[-400:])


def many_streams(n):
    """A Kineto trace with n streams of two kernels in one range."""
    events = [dict(ph="X", cat="user_annotation", name="module", pid=1, tid=1, ts=0, dur=40 * n)]
    for corr in range(1, 2 * n + 1):
        at, stream = corr * 20, 7 + corr % n
        events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=at, dur=5,
                           args=dict(correlation=corr)))
        events.append(dict(ph="X", cat="kernel", name="k", pid=0, tid=stream, ts=at + 5, dur=10, args=dict(
            correlation=corr, device=0, stream=stream, grid=[1, 1, 1], block=[32, 1, 1])))
    return json.dumps(dict(traceEvents=events)).encode()


def check_many_streams(folder):
    """xprof derives rows of 16 streams; a grouped file has them for as many as there are ids for."""
    trace, got = folder / "many.json", {}
    trace.write_bytes(many_streams(60))
    for mode, want in zip(MODES, (16, 34)):
        _, _, err = tap.run("convert", "--to", mode, trace, folder / "many.pb")
        tools, _ = xprof((folder / "many.pb").read_bytes(), folder, "many " + mode, COUNTED + ["trace_viewer"])
        rows = timeline(tools["trace_viewer"])
        modules = [r for r in rows if r[1].startswith("XLA Modules - from #")]
        tap.ok(f"xprof: {want} of 60 streams have derived rows ({mode})", len(modules) == want, modules)
        tap.ok(f"the rest is told ({mode})", ("27 streams" in err) == (mode == MODES[1]), err)
        got[mode] = kernels(tools["kernel_stats"])
    tap.ok("xprof: no derived row counts as work", got[MODES[0]] == got[MODES[1]] == (120, 1200000), got)


def check_command_buffers(folder):
    """XLA says of work in command buffers only which buffer it was in, and xprof calls the device idle then. We say which
    instruction it is: all the time is there, by the names of the program."""
    source, out = HERE / "jax.xplane.pb.gz", folder / "buffers.pb"
    tap.run("convert", source, "--to", "xplane", out)
    tables = {}
    for name, data in (("recorded", gzip.decompress(source.read_bytes())), ("resolved", out.read_bytes())):
        table = json.loads(xprof(data, folder, "buffers " + name, ["hlo_stats"])[0]["hlo_stats"])
        columns = [c["id"] for c in table["cols"]]
        tables[name] = [dict(zip(columns, (c.get("v") for c in r["c"]))) for r in table["rows"]]
    ours = json.loads(tap.run("sql", "--format", "json", source, "select round(sum(dur) / 1000.0, 3) as us, count(*) as n from gpu")[1])[0]
    sums = {name: (round(sum(r["total_self_time"] for r in rows), 3), sum(r["occurrences"] for r in rows)) for name, rows in tables.items()}
    tap.ok("xprof: instructions of command buffers have all the device's time", sums == {"recorded": (0, 0), "resolved": (ours["us"], ours["n"])},
           (sums, ours))
    tap.run("convert", "--to", "xplane", out, folder / "buffers2.pb")
    tap.ok("xprof: a resolved profile written again is the same", out.read_bytes() == (folder / "buffers2.pb").read_bytes())
    for mode in MODES:
        tap.run("convert", "--to", mode, source, out)
        rows, mine = timeline(xprof(out.read_bytes(), folder, "buffers " + mode, ["trace_viewer"])[0]["trace_viewer"]), native(source)
        differ = [(k, len(rows[k]), len(mine[k])) for k in sorted(mine) if spans(rows[k], True) != spans(mine[k], True)]
        tap.ok(f"xprof: rows of the instructions of command buffers are ours ({mode})", len(mine) > 4 and not differ, differ)


def counts_launches(row):
    """xprof takes a device's number for its place among the planes: a GPU 2 alone has no statistics of launches there."""
    return row[1] != "Launch Stats" or row[0] == "/device:GPU:0"


def as_rocprofv3(folder):
    """A recording of AMD's as tables of rocprofv3."""
    out = folder / "amd.rocprof"
    tap.run("convert", "--to", "rocprof-csv", tap.ROOT / "tests/cases/info/capture-amd/in.asy", out)
    return out


def main():
    if not have_xprof():
        tap.skip("xprof opens files that assay wrote", "no xprof in this Python (pip install xprof)")
        return
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        sources = [tap.ROOT / "demo/run", tap.ROOT / "demo/train.json.gz", HERE / "jax.xplane.pb.gz",
                   tap.ROOT / "tests/cases/info/capture-amd/in.asy", as_rocprofv3(folder)]
        for what, path in (("a JAX profile of an MI300X", "tracelens/mi300/jax_conv.xplane.pb"),
                           ("a PyTorch job of two H100 by nsys", "nsys/h100_2gpu_1s.sqlite"),
                           ("a ResNet on an MI300X by Kineto", "tracelens/mi300/resnet_act_checkpoint.json.gz"),
                           ("a model of transformers on an H100 by Kineto", "tracelens/h100/qwen1.5-0.5b.json.gz"),
                           ("graphs of vLLM by Kineto", "tracelens/vllm_decode_graph.json.gz"),
                           ("a program by rocprofv3", "rocprofv3/kernel_trace.csv")):
            if (tap.CORPUS / path).exists():
                sources.append(tap.CORPUS / path)
            else:
                tap.skip(f"xprof: {what}", f"no corpus at {tap.CORPUS}")
        rows = {}
        for source in sources:
            for mode in MODES:
                rows[mode] = check(source, folder, mode)
            # source lines come from HLO protos, which xprof alone reads; to threads it adds rows of older formats
            raw, grouped = ({k: spans(v, True) for k, v in (rows[m] or {}).items()
                             if k[0].startswith("/device:") and not k[1].startswith("Source code") and counts_launches(k)} for m in MODES)
            differ = [(k, len(raw.get(k, [])), len(grouped.get(k, []))) for k in raw.keys() | grouped.keys()
                      if raw.get(k) != grouped.get(k)]
            tap.ok(f"xprof: {source.name} has the same rows in both modes", raw and not differ, differ)
            if source.name == "jax.xplane.pb.gz":
                original, _ = xprof(gzip.decompress(source.read_bytes()), folder, "original", ["trace_viewer"])
                want = {k: spans(v, True) for k, v in timeline(original["trace_viewer"]).items()}
                again = {k: spans(v, True) for k, v in rows[MODES[0]].items()}
                tap.ok("xprof: a JAX profile written again has every row and event of the original", again == want,
                       [(k, len(v), len(want.get(k, []))) for k, v in again.items() if v != want.get(k)])
        check_command_buffers(folder)
        check_many_streams(folder)
        check_allocator(folder)
        trace = folder / "two.json"
        trace.write_bytes(two_invocations())
        row = "/device:GPU:0", "XLA Modules - from #7"
        for mode in MODES:
            tap.run("convert", "--to", mode, trace, folder / "two.pb")
            data = (folder / "two.pb").read_bytes()
            apart = timeline(xprof(data, folder, "apart " + mode, ["trace_viewer"])[0]["trace_viewer"])[row]
            ids = {e[3].get("scope_range_id") for e in apart}
            want = 2 if mode == MODES[1] else 1 # xprof's own rows do not say which invocation they are
            tap.ok(f"R17 xprof: two invocations are two events ({mode})", len(apart) == 2 and len(ids) == want, apart)
        tap.run("convert", "--to", MODES[0], trace, folder / "two.pb")
        data = (folder / "two.pb").read_bytes().replace(b"scope_range_id", b"scope_range_ix") # a stat nobody knows
        merged = timeline(xprof(data, folder, "merged", ["trace_viewer"])[0]["trace_viewer"])[row]
        tap.ok("R17 xprof: without scope ids they are one", len(merged) == 1, merged)


main()
tap.done()
