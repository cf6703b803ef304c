#!/usr/bin/env python3
"""The flight recorder without a GPU: only the last stretch is kept, and it is in the run however it is wanted.
usage: test_keep.py [BUILD [WORDS...]]"""
import collections
import glob
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from harness import ASSAY, PATIENCE, child_of, eq, gone, kill_all, no_rings, one, record, switches, test, until  # noqa: E402
from job import Job, query, report, run_all, state  # noqa: E402

STEP = {"kernels": 2, "copies": 1, "calls": 5, "ranges": 4}  # records of a step of the program


def keeping(much):
    """Nothing is written out because something takes long, as everything may on a busy machine."""
    return "--keep", much, "--steps-from", "nvtx:no such step", "--set", "hang=3600000"


class NothingKept(Exception):
    """The machine stood still for longer than the stretch."""


def stretch(f):
    """A test with a short stretch, or, when nothing happened in it, with a longer one."""
    def patient():
        for keep in ("300ms", "3s"):
            try:
                return f(keep)
            except NothingKept:
                pass
        return f("20s")
    patient.__name__ = f.__name__
    return test(patient)


def ledger(run):
    """What was made of each kind, wherever it went: in the file, not kept, lost."""
    with open(run + "/run.json") as f:
        rows = json.load(f)["ledger"]
    sums = collections.Counter()
    for r in rows:
        sums[r["kind"]] += r.get("made", 0) + (r.get("dropped", 0) if r["cause"] != "not_in_file" else 0)
    return sums, rows


def not_kept(job):
    return sum(p["not_kept"] for p in state(job)["processes"])


def fly(job):
    """Steps until some of them are too old; how many."""
    n, enough = 0, not_kept(job) + 100
    end = time.monotonic() + PATIENCE
    while not_kept(job) < enough:
        assert time.monotonic() < end, "everything is kept"
        job.do("step")
        n += 1
        time.sleep(0.02)
    return n


def kept(job):
    """The capture, which has the last of the steps."""
    c = one(job.run)
    if not c.rows["API"]:
        raise NothingKept
    return c


def check_whole(run, steps):
    sums, rows = ledger(run)
    eq({k: sums[k] for k in STEP}, {k: n * steps for k, n in STEP.items()})
    eq({r["cause"] for r in rows} - {"none", "not_kept"}, set())
    eq({r["proof"] for r in rows}, {"proved"})


def check_names(c):
    """Everything that is kept is named, however long ago its name was told."""
    eq({c.text(k["name"]) for k in c.rows["KERNEL"]} <= {"_Z3addPfS_i", "triton_kernel"}, True)
    eq(len({k["corr"] for k in c.rows["KERNEL"]}), len(c.rows["KERNEL"]))  # each once
    named = {(r["domain"], r["function"]) for r in c.rows["API_NAME"]}
    eq({(a["domain"], a["function"]) for a in c.rows["API"]} - named, set())
    eq({r["text"] for r in c.rows["RANGE"] if r["text"] and r["op"] != 5} <= {"step", "even", "odd", "outer"}, True)
    eq((len(c.rows["PROCESS"]), c.bad), (1, 0))


@stretch
def only_the_last_stretch_is_in_the_run(keep):
    job = Job("last", *keeping(keep))
    steps = fly(job)
    eq(os.path.getsize(glob.glob(job.run + "/*.asy")[0]) < 1 << 20, True)
    err = job.end()
    c = kept(job)
    check_names(c)
    check_whole(job.run, steps)
    eq(switches(c), [(0, 3), (1, 0)])
    eq("lost" in err.replace("nothing was lost", ""), False)
    no_rings(job.run)


@stretch
def what_was_not_kept_is_neither_idle_nor_lost(keep):
    job = Job("idle", *keeping(keep))
    job.do("push outer")
    fly(job)
    job.do("pop")
    job.end()
    kept(job)
    r = report(job.run)
    eq({i["id"] for i in r["issues"]} - {"launch_not_kept", "stream_overlap"}, set())
    eq(query(job.run, "select why from off"), [{"why": "not_kept"}])
    eq(query(job.run, "select count(*) as n from gpu, off where gpu.ts + gpu.dur <= off.ts + off.dur"), [{"n": 0}])
    out = subprocess.run([ASSAY, "report", job.run, "-v"], check=True, capture_output=True, text=True).stdout
    assert "a flight recorder" in out and "neither" in out, out


@stretch
def a_flush_writes_it_out_and_the_next_one_only_what_came_since(keep):
    job = Job("flush", *keeping(keep))
    steps = fly(job)
    job.ctl("flush")
    first = len(kept(job).rows["API"])
    job.do("step")
    job.ctl("flush")
    if len(one(job.run).rows["API"]) == first:
        raise NothingKept
    steps += fly(job)
    job.end()
    c = kept(job)
    check_names(c)
    check_whole(job.run, steps + 1)
    eq([s["on"] for s in c.rows["SWITCH"]][:4], [0, 1, 0, 1])
    times = [s["time"] for s in c.rows["SWITCH"]]
    eq(times, sorted(times))


@stretch
def a_program_that_is_killed_leaves_the_last_stretch(keep):
    job = Job("killed", *keeping(keep))
    fly(job)
    kill(job)
    c = kept(job)
    check_names(c)
    eq([s["on"] for s in c.rows["SWITCH"]], [0, 1])
    eq({r["cause"] for r in ledger(job.run)[1]} - {"none", "not_kept", "killed_before_flush"}, set())
    no_rings(job.run)


def kill(job):
    kill_all(child_of(job.p.pid))
    job.p.communicate(timeout=PATIENCE)


def ranges(job, name):
    return query(job.run, f"select host.ts as ts, host.dur as dur from host where name = '{name}' order by host.ts")


@stretch
def ranges_that_the_stretch_lies_in_keep_their_names(keep):
    for how in ("flush", "end", "kill"):
        job = Job("outer " + how, *keeping(keep))
        job.do("push outer", "push odd", "pop")
        fly(job)
        job.do("push even")
        if how == "flush":
            job.ctl("flush")
            eq(len(ranges(job, "outer")), 1)
            fly(job)  # a second gap: the range goes on behind it
        if how == "kill":
            until(lambda: not_kept(job) and job.do("step"), "it does not go on")
            kill(job)
        else:
            job.do("pop", "pop")
            job.end()
        c = kept(job)
        check_names(c)
        kernels = query(job.run, "select min(ts) as first, max(ts) as last from gpu")[0]
        outer = ranges(job, "outer")
        assert outer and outer[0]["ts"] <= kernels["first"] and outer[-1]["ts"] + outer[-1]["dur"] >= kernels["last"], (how, outer, kernels)
        eq(all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(outer, outer[1:])), True)
        eq(len(outer), 2 if how == "flush" else 1)
        eq({i["id"] for i in report(job.run)["issues"]} & {"unmatched_end"}, set())
        if how != "kill":
            eq({r["proof"] for r in ledger(job.run)[1]}, {"proved"})


@stretch
def a_recording_that_is_killed_too_is_recovered(keep):
    job = Job("recovered", *keeping(keep))
    fly(job)
    child = child_of(job.p.pid)
    kill_all(job.p.pid, child)
    job.p.communicate(timeout=PATIENCE)
    until(lambda: gone(child), "the program lives")
    subprocess.run([ASSAY, "record", "--recover", job.run], check=True, capture_output=True, timeout=PATIENCE)
    check_names(kept(job))
    subprocess.run([ASSAY, "record", "--recover", job.run], check=True, capture_output=True, timeout=PATIENCE)
    kept(job)


@test
def a_signal_writes_it_out_and_reaches_the_program():
    job = Job("signal", *keeping("30s"), before=lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN))
    job.do("step", "step")
    eq(len(one(job.run).rows["KERNEL"]), 0)
    job.p.send_signal(signal.SIGUSR1)
    until(lambda: len(one(job.run).rows["KERNEL"]) == 4, "nothing is written out")
    job.do("step")
    job.end()
    eq(len(one(job.run).rows["KERNEL"]), 6)


@test
def the_file_stays_as_small_as_was_asked_for():
    run, p = record("return", "60000", opts=keeping("16M"), name="small")
    eq(p.returncode, 0)
    size = os.path.getsize(glob.glob(run + "/*.asy")[0])
    # on a machine so busy that the program does not wait for the end, what rings hold comes behind: 4 MiB and 1 MiB a thread
    assert size < (16 << 20) + (8 << 20), size
    sums, rows = ledger(run)
    eq(sums["kernels"], 120000)
    eq({r["cause"] for r in rows} - {"none", "not_kept", "ring_full"}, set())
    assert sum(r["dropped"] for r in rows if r["cause"] == "not_kept" and r["kind"] == "kernels") > 0, rows
    check_names(one(run))


@test
def a_stretch_without_anything_to_drop_is_whole():
    run, p = record("threads", "3", opts=keeping("30s,64M"), name="all")
    eq(p.returncode, 0)
    check_whole(run, 3 + 8 * 50)
    eq(one(run).rows["SWITCH"], [])


@stretch
def switching_off_goes_along(keep):
    job = Job("switched", *keeping(keep))
    steps = fly(job)
    job.ctl("stop")
    job.do("step")
    job.ctl("start")
    steps += fly(job)
    job.ctl("stop")
    job.end()
    kept(job)
    check_whole(job.run, steps)
    eq({o["why"] for o in query(job.run, "select why from off")} <= {"not_kept", "asked"}, True)


def marks(run):
    return [r["text"] for r in one(run).rows["RANGE"] if r["op"] == 5]


@test
def a_step_of_three_times_the_median_writes_it_out():
    job = Job("slow", "--keep", "30s")
    job.do(*["step"] * 16)
    lengths = iter(0.05 * 4**i for i in range(8))  # each is three times as long as all before it

    def slow():
        job.do("push step")
        time.sleep(next(lengths))
        job.do("pop")
        return any(m.startswith("slow step: ") for m in marks(job.run))
    until(slow, "nobody saw it")
    eq(len(one(job.run).rows["KERNEL"]) > 0, True)
    job.end()


@test
def slow_steps_do_not_fill_the_disk():
    job = Job("uneven", "--keep", "50ms", "--set", "flush=10")
    job.do(*["step"] * 16)
    length, seen = 0.05, 0

    def refused():
        nonlocal length, seen
        job.do("step", "step", "step", "step", "push step")
        time.sleep(length)
        job.do("pop")
        time.sleep(0.1)
        now = len([m for m in marks(job.run) if m.startswith("slow step: ")])
        length *= 1 if now > seen else 1.2  # all steps take long here
        seen = now
        return any(c.text(m["key"]) == "keep.limit" for c in [one(job.run)] for m in c.rows["META"])
    until(refused, "there is no limit")
    job.end()
    eq(len([m for m in marks(job.run) if m.startswith("slow step: ")]), 16)
    out = subprocess.run([ASSAY, "report", "-v", job.run], capture_output=True, text=True).stdout
    assert "slow steps had the flight recorder written out 16 times" in " ".join(out.split()), out


def until_written_out(job, why):
    """A busy machine may hold a step before for as long, which is told, too, and work may be told of a moment after."""
    until(lambda: why in marks(job.run) and one(job.run).rows["KERNEL"], "nobody saw it")


@test
def a_step_that_does_not_end_writes_it_out():
    job = Job("stands", "--keep", "30s", "--set", "hang=300")
    job.do(*["step"] * 16)
    job.do("push step 17")
    until_written_out(job, "hangs: a step takes longer than 300 ms")
    job.do("pop")
    job.end()
    eq(len(one(job.run).rows["KERNEL"]), 32)


@test
def a_call_that_does_not_come_back_writes_it_out():
    job = Job("stays", "--keep", "30s", "--set", "hang=300")
    job.do(*["step"] * 16)
    job.do("stay")
    until_written_out(job, "hangs: a call takes longer than 300 ms")
    job.do("step")
    job.end()
    eq(len(one(job.run).rows["KERNEL"]), 34)


@test
def a_job_is_watched_while_it_is_recorded():
    for opts in ((), ("--keep", "30s")):
        began = time.monotonic()
        job = Job("watched", *opts)
        job.do(*["step"] * 15)
        until(lambda: os.path.getsize(glob.glob(job.run + "/*.asy")[0]), "there is no capture")
        out = subprocess.run([ASSAY, "top", job.run, "--once", "--last", "60s"], check=True, capture_output=True, text=True).stdout
        lines = out.splitlines()
        assert lines[0].endswith("1 process records"), out
        who, steps = lines[2].split()[:2]
        # 15 steps in the time between the first and the last, or in a second: no longer than it took to come here
        assert who == "-" and 15 / max(1, time.monotonic() - began) <= float(steps) + 0.005 <= 15.005, out
        assert "Trust" in out, out
        job.end()
    out = subprocess.run([ASSAY, "top", job.run], check=True, capture_output=True, text=True).stdout  # it ended: one look
    assert "0 processes record" in out, out
    p = subprocess.run([ASSAY, "top", "/nonexistent"], capture_output=True, text=True)
    eq((p.returncode, p.stderr), (1, "assay: /nonexistent holds no recording of a process yet\n"))


@test
def a_job_is_watched_again_and_again_until_it_ends():
    job = Job("watched on")
    job.do("push outer", *["step"] * 15)
    until(lambda: os.path.getsize(glob.glob(job.run + "/*.asy")[0]), "there is no capture")
    top = subprocess.Popen([ASSAY, "top", job.run, "--every", "100ms", "--last", "60s"], stdout=subprocess.PIPE, text=True)
    events, end = [0], time.monotonic() + PATIENCE
    while len(events) < 4:  # looks see what came since those before, and lose nothing
        assert time.monotonic() < end, "nothing comes any more"
        line = top.stdout.readline()
        assert line, "it ended"
        words = line.split()
        if words[:1] == ["Trust"]:
            now = int(words[1].replace(",", ""))
            events += [now] if now != events[-1] else []
            job.do(*["step"] * 6)
    job.do("pop")
    job.end()
    last = top.communicate(timeout=PATIENCE)[0]
    eq((top.returncode, events == sorted(events)), (0, True))
    assert "0 processes record" in last, last


@test
def nonsense_is_refused():
    for word in ("30", "5m", "1M", "1s,2s", ""):
        p = subprocess.run([ASSAY, "record", "--keep", word, "--", "true"], capture_output=True, text=True, timeout=PATIENCE)
        eq((p.returncode, "is not a value for --keep" in p.stderr), (2, True))


if __name__ == "__main__":
    sys.exit(run_all())
