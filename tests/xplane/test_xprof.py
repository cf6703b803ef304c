#!/usr/bin/env python3
"""Files that assay writes, opened by xprof's own converters. Needs the PyPI package xprof in this Python, or in the
one that ASSAY_XPROF_PYTHON names; skipped by name when there is none."""
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tap

PYTHON = os.environ.get("ASSAY_XPROF_PYTHON", sys.executable)
TOOLS = ["trace_viewer", "overview_page", "kernel_stats", "framework_op_stats", "hlo_stats", "op_profile",
         "input_pipeline_analyzer", "memory_profile", "roofline_model"]
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
                              timeout=120).returncode == 0
    except OSError:
        return False


def xprof(data, folder, name, tools=TOOLS):
    """Every tool's output for an XSpace, as text."""
    place = folder / name / "plugins/profile/run"
    place.mkdir(parents=True)
    path = place / "host.xplane.pb"
    path.write_bytes(data)
    p = subprocess.run([PYTHON, "-c", CONVERT, str(path), *tools], capture_output=True, text=True, timeout=300)
    try:
        return json.loads(p.stdout), p.stderr
    except ValueError:
        return {t: None for t in tools}, p.stderr


def timeline(text):
    """(row name, events) of the trace viewer; an event is (start ns, length ns, name)."""
    rows, names, planes = collections.defaultdict(list), {}, {}
    events = json.loads(text)["traceEvents"]
    for e in events:
        if e.get("ph") == "M" and e["name"] == "thread_name":
            names[e["pid"], e["tid"]] = e["args"]["name"]
        elif e.get("ph") == "M" and e["name"] == "process_name":
            planes[e["pid"]] = e["args"]["name"]
    for e in events:
        if e.get("ph") == "X":
            row = (planes.get(e["pid"], ""), names.get((e["pid"], e["tid"]), ""))
            rows[row].append((round(e["ts"] * 1000), round(e["dur"] * 1000), e["name"]))
    return rows


def kernels(text):
    table = json.loads(text)
    table = table[0] if isinstance(table, list) else table
    ids = [c["id"] for c in table["cols"]]
    rows = [[c.get("v") for c in r["c"]] for r in table["rows"]]
    count = sum(r[ids.index("occurrences")] for r in rows)
    total = sum(r[ids.index("total_duration_us")] for r in rows)
    return round(count), round(total * 1000)


def native(path):
    """assay's own derived rows by the names xprof gives them."""
    rows = collections.defaultdict(list)
    for e in json.loads(tap.run("scopes", "--timeline", "--json", path)[1])["timeline"]:
        name = e["row"] if e["row"] == "Steps" else f"{e['row']} - from #{e['stream']}"
        rows[f"/device:GPU:{e['device']}", name].append((e["ts_ns"], e["dur_ns"], e["name"]))
    return rows


def spans(events):
    return sorted((ts, dur) for ts, dur, _ in events)


def check(write, source, folder):
    name = source.name
    out = folder / (name + ".xplane.pb")
    if subprocess.run([write, source, out], cwd=tap.ROOT).returncode:
        tap.ok(f"xprof: {name} is written", False)
        return None
    tools, err = xprof(out.read_bytes(), folder, name)
    failed = [t for t, text in tools.items() if not text]
    tap.ok(f"xprof: all {len(TOOLS)} converters take {name}", not failed, f"{failed}\n{err[-800:]}")
    if failed:
        return None
    report = json.loads(tap.run("report", "--json", "--top", "1000000", source)[1])
    ours = (report["counts"]["kernels"], sum(k["total_ns"] for k in report["top_kernels"]))
    theirs = kernels(tools["kernel_stats"])
    tap.ok(f"xprof: {name} has our number of kernels and their time", theirs[0] == ours[0] and
           abs(theirs[1] - ours[1]) <= ours[0], f"{theirs} {ours}")
    rows, mine = timeline(tools["trace_viewer"]), native(out)
    for plane, row in sorted(mine):
        a, b = spans(rows[plane, row]), spans(mine[plane, row])
        tap.ok(f"xprof: {name} {plane} has our row {row}", a == b, f"{len(a)} {a[:4]}\n{len(b)} {b[:4]}")
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


def main():
    if not have_xprof():
        tap.skip("xprof opens files that assay wrote", "no xprof in this Python (pip install xprof)")
        return
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        write = folder / "write"
        lib = pathlib.Path(tap.ASSAY).resolve().parent / "libassay.a"
        subprocess.run(["gcc", "-std=c11", "-D_DEFAULT_SOURCE", "-Iinclude", "-Isrc", HERE / "write.c", lib, "-lisal",
                        "-lzstd", "-lsqlite3", "-lcrypto", "-lm", "-pthread", "-o", write], cwd=tap.ROOT, check=True)
        check(write, tap.ROOT / "demo/train.json.gz", folder)
        rows = check(write, HERE / "jax.xplane.pb.gz", folder)
        original, _ = xprof(gzip.decompress((HERE / "jax.xplane.pb.gz").read_bytes()), folder, "original", ["trace_viewer"])
        want = timeline(original["trace_viewer"])
        same = rows is not None and {k: spans(v) for k, v in rows.items()} == {k: spans(v) for k, v in want.items()}
        tap.ok("xprof: a JAX profile written again has every row and event of the original", same,
               rows and [(k, len(v), len(want.get(k, []))) for k, v in rows.items() if spans(v) != spans(want.get(k, []))])
        if (tap.CORPUS / "tracelens/mi300/jax_conv.xplane.pb").exists():
            check(write, tap.CORPUS / "tracelens/mi300/jax_conv.xplane.pb", folder)
        else:
            tap.skip("xprof: a JAX profile of an MI300X", f"no corpus at {tap.CORPUS}")
        trace = folder / "two.json"
        trace.write_bytes(two_invocations())
        subprocess.run([write, trace, folder / "two.pb"], check=True)
        data = (folder / "two.pb").read_bytes()
        row = "/device:GPU:0", "XLA Modules - from #7"
        apart = timeline(xprof(data, folder, "apart", ["trace_viewer"])[0]["trace_viewer"])[row]
        data = data.replace(b"scope_range_id", b"scope_range_ix") # a stat nobody knows: no ids
        merged = timeline(xprof(data, folder, "merged", ["trace_viewer"])[0]["trace_viewer"])[row]
        tap.ok("R17 xprof: two invocations are two events with scope ids, one without",
               (len(apart), len(merged)) == (2, 1), f"{apart} {merged}")


main()
tap.done()
