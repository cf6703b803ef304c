#!/usr/bin/env python3
"""The folder that xprof and TensorBoard open, one file a rank: written, and read back as one job. Where xprof is
installed (see test_xprof.py), its figures of all ranks together are those of assay."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

RANKS = [tap.ROOT / f"demo/ddp/ddp_rank{i}.json.gz" for i in range(2)]
PYTHON = os.environ.get("ASSAY_XPROF_PYTHON", sys.executable)
CONVERT = """
import json, sys
from xprof.convert import raw_to_tool_data as r
print(json.dumps({t: r.xspace_to_tool_data(sys.argv[2:], t, {"use_saved_result": False})[0]
                  for t in sys.argv[1].split(",")}, default=bytes.decode))
"""


def report(*paths):
    code, out, err = tap.run("report", "--json", "--top", "100000", *paths)
    return json.loads(out) if code == 0 else {"failed": err}


def without_clock(value):
    """Without places of the files and times since their own starts."""
    if isinstance(value, dict):
        return {k: without_clock(v) for k, v in value.items() if k not in ("start_ns", "path")}
    return [without_clock(v) for v in value] if isinstance(value, list) else value


def check_job(folder):
    log = folder / "log"
    code, _, err = tap.run("convert", "--to", "xplane", *RANKS, f"{log}/")
    files = sorted(log.rglob("*.*"))
    want = [log / "plugins/profile/2026_11_15_02_20_43" / f"rank{i}.xplane.pb" for i in range(2)]
    tap.ok("a job becomes one file a rank where xprof looks for it", code == 0 and files == want, f"{err} {files}")
    tap.ok("what is left out is said once for all ranks", err.count("not written") == 1 and "one file" not in err, err)
    a, b = report(*RANKS), report(log)
    for key in ("devices", "ranks", "steps", "top_kernels", "budget"):
        tap.ok(f"the tree is read back as one job: {key}", key in a and without_clock(a[key]) == without_clock(b.get(key)),
               f"{a.get(key)}\n{b.get(key)}"[:2000])
    starts = [[d["start_ns"] for d in r["devices"]] for r in (a, b)]
    tap.ok("ranks lie beside each other as they did", starts[0][1] - starts[0][0] == starts[1][1] - starts[1][0], starts)
    return log, want


def check_again(folder, log, files):
    again = folder / "again"
    code, _, err = tap.run("convert", "--to", "xplane", log, f"{again}/")
    same = [(again / f.relative_to(log)).read_bytes() == f.read_bytes() for f in files] if code == 0 else [False]
    tap.ok("a tree written again has the same names and bytes", all(same), err)
    run = files[0].parent
    for name in ("ALL_HOSTS.op_stats_v2.pb", "rank0.SSTABLE", "cache_version.txt", "notes.txt"):
        (run / name).write_text("old")
    before = [f.read_bytes() for f in files]
    code, _, err = tap.run("convert", "--to", "xplane", log, log)
    tap.ok("a tree is not written over itself", code == 2 and "is an input" in err and
           [f.read_bytes() for f in files] == before, err)
    code, _, err = tap.run("convert", "--to", "xplane", *RANKS, log)
    left = sorted(f.name for f in run.iterdir())
    tap.ok("what xprof kept of older files goes, and nothing else", code == 0 and
           left == ["notes.txt", "rank0.xplane.pb", "rank1.xplane.pb"], left)


MEMORY = ('"Kind","Operation","Agent_Id","Allocation_Size","Address","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
          '"M","MEMORY_ALLOCATION_ALLOCATE","Agent 1",%d,"0x10",1,10,20\n')
KERNEL = ('"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp",'
          '"End_Timestamp"\n"KERNEL_DISPATCH","Agent 1",1,0,7,1,1,"k",1,1000,2000\n')


def check_threadless(folder):
    """Tables of rocprofv3 do not say which thread took memory, but whose it is."""
    job, log = folder / "amd", folder / "amd-log"
    job.mkdir()
    for rank in range(2):
        (job / f"rank{rank}_7{rank}_kernel_trace.csv").write_text(KERNEL)
        (job / f"rank{rank}_7{rank}_memory_allocation_trace.csv").write_text(MEMORY % (100 + rank))
    code, _, err = tap.run("convert", "--to", "xplane", job, f"{log}/")
    files = sorted(log.rglob("*.pb"))
    held = [json.loads(tap.run("sql", "--format", "json", f, "select bytes from alloc")[1]) for f in files]
    tap.ok("memory of no thread is in the file of its rank alone", held == [[{"bytes": 100}], [{"bytes": 101}]], f"{err} {held}")


def check_names(folder):
    log = folder / "run"
    code, _, err = tap.run("convert", "--to", "xplane-grouped", tap.ROOT / "demo/run", f"{log}/")
    files = [f.relative_to(log).parts for f in log.rglob("*.*")]
    recorded = json.loads((tap.ROOT / "demo/run/run.json").read_text())
    first, last = (recorded[end]["utc"].translate(str.maketrans("-T:", "___")) for end in ("start", "stop"))
    tap.ok("a recording's file has its machine's name, its folder the time", [(*p[:2], p[3]) for p in files] ==
           [("plugins", "profile", f"{recorded['host']}.xplane.pb")] and first <= files[0][2] + "Z" <= last, f"{err} {files}")
    code, out, err = tap.run("sql", "--format", "json", log, "select value from meta where key = 'hostname'")
    tap.ok("and says it inside", code == 0 and json.loads(out) == [{"value": recorded["host"]}], out + err)
    code, _, err = tap.run("convert", "--to", "xplane", tap.ROOT / "demo/run/env.json", f"{folder}/none/")
    tap.ok("an input without events makes no folder", code == 1 and not (folder / "none").exists(), err)
    blocked = folder / "blocked"
    (blocked / "plugins").mkdir(parents=True)
    (blocked / "plugins/profile").write_text("")
    code, _, err = tap.run("convert", "--to", "xplane", RANKS[0], f"{blocked}/")
    tap.ok("a folder that cannot be made is named", code == 1 and "plugins/profile" in err, err)


def step_rows(table):
    ids = [c["id"] for c in table["cols"]]
    return [dict(zip(ids, (c.get("v") for c in r["c"]))) for r in table["rows"]]


def check_xprof(log, files):
    p = subprocess.run([PYTHON, "-c", CONVERT, "overview_page,kernel_stats", *map(str, files)], capture_output=True,
                       text=True, timeout=tap.PATIENCE)
    if "No module named 'xprof'" in p.stderr:
        tap.skip("xprof opens the tree", "no xprof in this Python (pip install xprof)")
        return
    tools = json.loads(p.stdout) if p.returncode == 0 else {}
    ours = report(log)
    table = json.loads(tools.get("kernel_stats") or "{}")
    rows = step_rows(table[0] if isinstance(table, list) else table) if table else []
    total = round(sum(r["total_duration_us"] for r in rows) * 1000)
    want = sum(k["total_ns"] for k in ours["top_kernels"])
    tap.ok("xprof: kernels of all ranks have our time", abs(total - want) <= len(rows), f"{total} {want} {p.stderr[-500:]}")
    pages = json.loads(tools.get("overview_page") or "[]")
    steps = next((step_rows(t) for t in pages if any(c["id"] == "stepnum" for c in t.get("cols", []))), [])
    tap.ok("xprof: all ranks have our steps", len(steps) == len({s["number"] for s in ours["steps"]}), steps)
    place = next((t["p"] for t in pages if "task_count" in t.get("p", {})), {})
    tap.ok("xprof: every rank is a task with a device", place.get("task_count", "").startswith("2 ") and
           place.get("device_core_count") == "2", place)
    again = report(log)
    tap.ok("what xprof leaves in the tree is no trace", without_clock(again["devices"]) == without_clock(ours["devices"]),
           sorted(f.name for f in files[0].parent.iterdir()))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        log, files = check_job(folder)
        check_xprof(log, files)
        check_again(folder, log, files)
        check_threadless(folder)
        check_names(folder)


main()
tap.done()
