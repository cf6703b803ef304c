#!/usr/bin/env python3
"""Jobs of many ranks, made by bench/gen_ranks.py with faults that are known: who is late and why, whatever the clocks of the hosts; ranks
that are missing, cut or different; and what it costs."""
import json
import os
import pathlib
import resource
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


def report(*args, **kw):
    code, out, err = tap.run("report", "--json", *args, **kw)
    return json.loads(out) if code == 0 else {"error": err}


def check_late(where, slow):
    r = report(make(where / slow, RANKS, slow))
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
    again = report(where / "compute")
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


def peak(*args):
    """Peak memory in kB of the program, with few file descriptors."""
    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    p = subprocess.Popen([tap.ASSAY, *map(str, args)], stdout=subprocess.DEVNULL, preexec_fn=few_files)
    _, status, usage = os.wait4(p.pid, 0)
    return usage.ru_maxrss if status == 0 else None


def check_memory(where):
    small, large = make(where / "s", 32), make(where / "l", 256)
    for command in ("report", "info"):
        a, b = peak(command, small), peak(command, large)
        tap.ok(f"{command}: a rank costs less than 60 kB more", a and b and (b - a) / 224 < 60, (a, b))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        where = pathlib.Path(tmp)
        first = check_late(where, "compute")
        check_late(where, "data")
        check_clocks(first)
        check_faults(where, first)
        check_text(where)
        if "sanitize" in tap.ASSAY or "address" in tap.ASSAY:
            tap.skip("memory of many ranks", "sanitizers need memory of their own")
        else:
            check_memory(where)


main()
tap.done()
