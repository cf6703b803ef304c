#!/usr/bin/env python3
"""Jobs of many ranks, made by bench/gen_ranks.py with faults that are known: who is late and why, whatever the clocks of the hosts; ranks
that are missing, cut or different; and what it costs."""
import ctypes
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

RANKS, SLOW, STEPS = 40, 5, 3
SAID = {"compute": "computes", "data": "input data"}


def make(where, ranks, slow="compute", steps=STEPS):
    subprocess.run([sys.executable, tap.ROOT / "bench/gen_ranks.py", where, str(ranks), "--steps", str(steps), "--slow", slow], check=True)
    return where


def check_late(where, slow):
    r = tap.report(make(where / slow, RANKS, slow))
    by_rank = {x["rank"]: x for x in r["ranks"]}
    last = by_rank[SLOW]
    tap.ok(f"the rank with slow {slow} comes last every time", last["arrived_last"] == last["collectives"] == 8 * STEPS, last)
    tap.ok(f"it is late by its {slow}", last["late_by"] == slow and last["late_by_ns"] > 0, last)
    verdict = next((v for v in r["verdicts"] if v["id"] == "straggler"), {})
    tap.ok(f"the verdict names it, its host and its {slow}", f"rank {SLOW} on node000" in verdict.get("text", "") and
           SAID[slow] in verdict.get("evidence", ""), verdict)
    tap.ok(f"others lose no more than is exposed ({slow})", 0 < last["lost_by_each_ns"] <= max(d["exposed_comm_ns"] for d in r["devices"]), last)
    return r


def check_clocks(r):
    import random
    off = [x for x in r["ranks"] if x["rank"] // 8 and
           abs(x["clock_offset_ns"] - random.Random(x["rank"] // 8).randrange(-5_000_000, 5_000_000)) > 3000]
    tap.ok("clocks of hosts are found to 3 us", len({x["clock_offset_ns"] for x in r["ranks"]}) > 4 and not off, off)
    waits = [x["waited_ns"] for x in r["ranks"] if x["rank"] not in (SLOW, RANKS - 2)]
    tap.ok("hosts with other clocks wait as long as others", max(waits) - min(waits) < 0.05 * max(waits), waits)


def check_faults(where, r):
    said = "\n".join(r["run_metrics"]["warnings"])
    tap.ok("a missing rank is named", f"missing: {RANKS - 3}." in said, said)
    tap.ok("a rank that was cut off is named", f"rank{RANKS - 2}.json.gz: the gzip data is cut short" in said, said)
    tap.ok("a rank with another driver is named", f"rank {RANKS - 1} 12040" in said, said)
    tap.ok("JSON has every rank, device and host", len(r["ranks"]) == len(r["devices"]) == len(r["inputs"]) == RANKS - 1 and
           len(r["hosts"]) == RANKS // 8)
    broken = where / "compute" / f"node000_rank{RANKS - 3}.json.gz"
    broken.write_bytes(b"\x1f\x8b\x08nothing")
    again = tap.report(where / "compute")
    tap.ok("a rank that cannot be read is named", any(broken.name in w for w in again["run_metrics"]["warnings"]), again["run_metrics"]["warnings"])
    broken.unlink()


def check_text(where):
    code, out, _ = tap.run("report", where / "compute")
    tap.ok("text stays a page", code == 0 and out.count("\n") < 130, out.count("\n"))
    code, out, _ = tap.run("info", where / "compute")
    tap.ok("so does info", code == 0 and out.count("\n") < 40 and f"{RANKS - 1} files in all" in out, out)
    code, _, err = tap.run("report", where / "compute", "--html", where / "page.html")
    tap.ok("the page has events of few ranks", code == 0 and (where / "page.html").stat().st_size < 1_000_000, err)
    code, out, err = tap.run("diff", where / "compute", where / "compute")
    tap.ok("a job does not differ from itself", code == 0, out + err)
    code, out, err = tap.run("diff", where / "compute", where / "data")
    tap.ok("a job differs from a slower one", code == 1, out + err)


def rank_with_memory(rank, ranks):
    """Eight steps, of which the first warms up; rank 9 alone has a large allocator, rank 11 alone attention."""
    events = []
    for step in range(8):
        length = 900 if step else 5900
        at = step * 1000 - (0 if step else 5000)
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": at, "dur": length})
        for k, (ts, dur, name) in enumerate(((20, length - 300 - rank, "flash_fwd" if rank == 11 else "gemm"), (length - 250 - rank, 200 + rank, "nccl"))):
            ids = {"correlation": step * 10 + k + 1}
            more = {"Collective name": "allreduce", "Group size": ranks, "Process Group Name": "0"} if k else {}
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 6 * k + 10, "dur": 5, "args": ids})
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7 + k, "ts": at + ts, "dur": dur,
                           "args": dict(ids, device=0, stream=7 + k, **more)})
        size = (8 if rank == 9 else 3) << 30
        events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": at + 12,
                       "args": {"Device Type": 1, "Device Id": 0, "Bytes": 512, "Addr": 1, "Total Allocated": size, "Total Reserved": size}})
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 80 << 30}],
            "distributedInfo": {"rank": rank, "world_size": ranks}, "traceEvents": events}


def in_full(path):
    """The report of the library, which holds every file whatever their number."""
    lib = ctypes.CDLL(pathlib.Path(tap.ASSAY).parent / "libassay.so")
    lib.assay_run_new.restype = ctypes.c_void_p
    lib.assay_run_report_json.restype = ctypes.c_char_p
    run = ctypes.c_void_p(lib.assay_run_new())
    lib.assay_run_read(run, os.fsencode(path), None)
    lib.assay_run_analyze(run, None, None)
    out = json.loads(lib.assay_run_report_json(run, None))
    lib.assay_run_free(run)
    return out


def comparable(r):
    """All that is said about the job, without numbers of files and what only ranks in full have."""
    rows = lambda key: sorted(json.dumps({k: v for k, v in x.items() if k not in ("source", "queued_ns", "in_full")}) for x in r[key])
    return {**{k: r[k] for k in ("run_metrics", "counts", "budget", "verdicts", "metrics", "issues", "kernel_families", "collectives")},
            "top_kernels": [{**k, "median_ns": None} for k in r["top_kernels"]],  # a median needs every launch
            **{k: rows(k) for k in ("inputs", "devices", "ranks", "steps")}}


def check_limit(where):
    """One rank more than are held in full: the same ranks must give the same figures, read either way."""
    for ranks in (16, 17):
        job = where / f"limit{ranks}"
        job.mkdir()
        for rank in range(ranks):
            (job / f"rank{rank}.json").write_text(json.dumps(rank_with_memory(rank, ranks)))
        r, full = tap.report(job), in_full(job)
        a, b = comparable(r), comparable(full)
        tap.ok(f"{ranks} ranks say what they say in full", a == b, [k for k in a if a[k] != b[k]])
        tap.ok(f"the largest allocator of {ranks} ranks is the peak", r["run_metrics"]["hbm_peak_gb"] == 8, r["run_metrics"])
        unknown = [d["rank"] for d in r["devices"] if d["queued_ns"] is None]
        tap.ok(f"what is not known of a rank is null ({ranks} ranks)", bool(unknown) == (ranks > 16) and 0 not in unknown, unknown)


def check_one_gpu(where):
    """More processes than are held in full, all on one GPU."""
    job = where / "shared"
    job.mkdir()
    for pid in range(64):
        shutil.copy(next(tap.ROOT.glob("demo/run/*.asy")), job / f"trace-vm-{1000 + pid}.asy")
    r = tap.report(job)
    tap.ok("64 captures of one GPU are a job", len(r.get("devices", [])) == 64 and 1 <= sum(i["in_full"] for i in r["inputs"]) <= 4, r.get("inputs"))


def peak(*args):
    """Peak memory in kB of the program, with few file descriptors."""
    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    p = subprocess.Popen([tap.ASSAY, *map(str, args)], stdout=subprocess.DEVNULL, preexec_fn=few_files,
                         env=dict(os.environ, ASSAY_THREADS="2"))  # each holds a rank
    _, status, usage = os.wait4(p.pid, 0)
    return usage.ru_maxrss if status == 0 else None


def check_memory(where):
    small, large = make(where / "s", 32), make(where / "l", 256)
    for command in ("report", "info", "waits", "scopes", "path"):
        a, b = peak(command, small), peak(command, large)
        tap.ok(f"{command}: a rank costs less than 60 kB more", a and b and (b - a) / 224 < 60, (a, b))


def without_others(text, is_json):
    """Who waited for whom in collectives is said of the whole job, whichever ranks are shown."""
    if not is_json:
        return text.split("\nIn collectives ranks waited")[0]
    said = json.loads(text)
    said.pop("collectives", None)
    return said


def check_chosen(where):
    """Commands that show events show those of few ranks, or of those that are asked for, as if only these had been given."""
    job = where / "compute"
    one = next(job.glob("*rank7.json.gz"))
    for command in (["waits"], ["scopes"], ["path"], ["waits", "--json"], ["scopes", "--json"], ["path", "--json"]):
        code, _, err = tap.run(*command, job)
        tap.ok(f"{' '.join(command)} says which ranks it shows", code == 0 and f"shown are 3 of {RANKS - 1} ranks (0, {SLOW}, " in err, err)
        chosen, alone = tap.run(*command, "--ranks", "7", job), tap.run(*command, one)
        same = without_others(chosen[1], "--json" in command) == without_others(alone[1], "--json" in command)
        tap.ok(f"{' '.join(command)} of a rank is that of its file", chosen[0] == 0 and same, chosen[2])
    collectives, report = json.loads(tap.run("waits", "--json", "--ranks", "7", job)[1])["collectives"], tap.report(job)
    shares = [o["share"] for o in report["ops"]]
    tap.ok("operators launched all work of the ranks that they are told of", abs(sum(shares) - 1) < 1e-9, shares)
    ranks, late = report["ranks"], collectives["waits"]
    same = all(collectives[k] == sum(r[k] for r in ranks) > 0 for k in ("waited_ns", "transfer_ns"))
    tap.ok("collectives of waits have the sums of the report's ranks", same, collectives)
    tap.ok("collectives of all ranks are told beside the waits of one", late and {w["last_rank"] for w in late} == {SLOW}, late[:3])
    code, _, err = tap.run("waits", "--ranks", "all", job)
    tap.ok("all ranks can be asked for", code == 0 and "shown" not in err, err)
    count = lambda *how: json.loads(tap.run("sql", *how, "-f", "json", "select count(*) n from gpu")[1])
    tap.ok("SQL over two ranks has their rows", count(job, "--ranks", "7,8") == count(one, next(job.glob("*rank8.json.gz"))) != count(one))
    code, _, err = tap.run("convert", job, where / "two.json", "--ranks", "7-8")
    ranks = {x["rank"] for x in json.loads(tap.run("report", "--json", one)[1])["inputs"]}
    tap.ok("two ranks are converted", code == 0 and "2 traces go into one file" in err and ranks == {7}, err)
    for ranks, what in ("5000", "none of the ranks 5000"), ("x", "ranks are numbers"):
        code, out, err = tap.run("path", "--ranks", ranks, job)
        tap.ok(f"ranks {ranks!r} are refused", code == 2 and what in err and not out, err)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        where = pathlib.Path(tmp)
        first = check_late(where, "compute")
        check_late(where, "data")
        check_clocks(first)
        check_faults(where, first)
        check_text(where)
        check_chosen(where)
        check_one_gpu(where)
        if "address" not in tap.ASSAY:  # a library with sanitizers cannot be loaded into Python
            check_limit(where)
        if "sanitize" in tap.ASSAY or "address" in tap.ASSAY:
            tap.skip("memory of many ranks", "sanitizers need memory of their own")
        else:
            check_memory(where)


main()
tap.done()
