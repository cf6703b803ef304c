#!/usr/bin/env python3
"""`assay hang`: programs that stand still on purpose, alive and dead.
usage: test_hang.py [BUILD [WORDS...]]   prints one line a test; exit status 1 when one fails."""
import contextlib
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from harness import ASSAY, BUILD, FAKE, PATIENCE, WORK, Skip, build_fakes, cc, eq, kill_all, run, test  # noqa: E402

PROGRAM = FAKE + "/hang_program"


def build():
    build_fakes()
    cc(PROGRAM, "tests/record/hang_program.c", FAKE + "/libcuda.so.1")


class Hanging:
    """A recording of a program that stands still; ended with the test."""

    def __init__(self, how, name=None, program=(PROGRAM,), **env):
        self.run = os.path.join(WORK, name or how)
        self.assay = subprocess.Popen([ASSAY, "record", "-q", "-o", self.run, "--telemetry", "off", "--", *program, how],
                                      env=dict(os.environ, LD_LIBRARY_PATH=FAKE, **env), stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        kill_all(*self.pids())
        self.assay.communicate()

    def pids(self):
        try:
            return [int(p) for p in open(f"/proc/{self.assay.pid}/task/{self.assay.pid}/children").read().split()]
        except OSError:
            return []


def hang(*operands, status=0):
    p = subprocess.run([ASSAY, "hang", "--json", *operands], capture_output=True, text=True)
    eq((p.returncode, p.stderr), (status, ""))
    return json.loads(p.stdout)


def when(ready, *runs):
    """The first answer that is as it must become: nobody tells when a program has come to stand still."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        p = subprocess.run([ASSAY, "hang", "--json", *runs], capture_output=True, text=True)
        said = json.loads(p.stdout) if p.returncode == 0 else {"processes": [], "verdicts": []}
        if ready(said):
            return said
        time.sleep(0.02)
    raise AssertionError(json.dumps(said, indent=1)[:3000])


def calls(said):
    return [t["call"]["name"] for p in said["processes"] for t in p["threads"] if t["call"]]


def check_event(said, alive):
    p, = said["processes"]
    eq((p["alive"], calls(said)), (alive, ["cudaStreamSynchronize"]))
    call, = (t["call"] for t in p["threads"] if t["call"])
    eq(call["stream"], "0x100d")
    streams = {s["handle"]: s for s in p["streams"]}
    eq(set(streams), {"0x100d", "0x100e"})
    waits, holds = streams["0x100d"], streams["0x100e"]
    eq((waits["at"]["kind"], waits["at"]["event"], waits["waits_for"]["stream"], waits["queued"]),
       ("event wait", "0x50140", "0x100e", 2))
    eq((holds["at"]["kind"], holds["at"]["kernel"], holds["waits_for"]), ("launch", "spin(long)", None))
    eq([waits["in_cycle"], holds["in_cycle"]], [False, False])


def event_is_ready(said):
    """Streams, and names of calls and kernels, come a moment after the call."""
    at = [s["at"] for p in said["processes"] for s in p["streams"]]
    return len(at) == 2 and calls(said) and not any(" call " in name for name in calls(said)) and all(a["kind"] != "launch" or a["kernel"] for a in at)


@test
def a_stream_that_waits_for_an_event_behind_endless_work_is_explained():
    with Hanging("event") as h:
        check_event(when(event_is_ready, h.run), True)
        pid, = h.pids()
        check_event(hang(str(pid)), True)  # by the number of the process
        text = subprocess.run([ASSAY, "hang", h.run], capture_output=True, text=True, check=True).stdout
        assert "for event 0x50140, which stream 0x100e records behind kernel spin" in text, text
        assert "is in cudaStreamSynchronize" in text, text


@test
def a_dead_process_tells_the_same():
    with Hanging("event", name="dead") as h:
        when(event_is_ready, h.run)
        program = h.pids()
        kill_all(h.assay.pid, *program)
        h.assay.wait()
        said = when(lambda s: s["processes"] and not s["processes"][0]["alive"], h.run)
        check_event(said, False)  # from the rings it left
        subprocess.run([ASSAY, "record", "-q", "--recover", h.run], check=True)
        check_event(hang(h.run), False)  # and from the run they were taken into


@test
def streams_that_wait_for_each_other_are_a_circle():
    with Hanging("circle") as h:
        said = when(calls, h.run)
        eq([s["in_cycle"] for s in said["processes"][0]["streams"]], [True, True])
        assert "wait for each other" in said["verdicts"][0], said["verdicts"]


@test
def a_rank_that_skips_a_collective_is_named():
    with Hanging("rank", name="rank0", RANK="0", WORLD_SIZE="2") as a, \
         Hanging("rank", name="rank1", RANK="1", WORLD_SIZE="2") as b:
        said = when(lambda s: calls(s) and [p["collectives"] for p in s["processes"]] == [4, 3], a.run, b.run)
        eq([p["rank"] for p in said["processes"]], [0, 1])
        assert said["verdicts"][0].startswith("rank 1 has not entered collective 4 (ncclDevKernel_AllReduce"), \
            said["verdicts"]


@test
def of_many_ranks_the_same_is_said_once_and_the_dead_are_named():
    job = WORK + "/many"
    os.mkdir(job)
    with contextlib.ExitStack() as stack:
        ranks = [stack.enter_context(Hanging("rank", name=f"many/rank{i}", RANK=str(i), WORLD_SIZE="12")) for i in range(12)]
        when(lambda s: sorted(p["collectives"] for p in s["processes"]) == [3] + [4] * 11 and len(calls(s)) == 11, job)
        kill_all(*ranks[5].pids())
        ranks[5].assay.wait()
        said = when(lambda s: any("gone" in v for v in s["verdicts"]), job)
        eq([p["rank"] for p in said["processes"]], list(range(12)))
        shown = "\n".join(said["verdicts"])
        assert shown.startswith("rank 1 has not entered collective 4") and "\nrank 5 is gone, last seen " in shown, shown
        assert re.search(r"\nranks 0, 2-11: the main thread is in cudaStreamSynchronize since ", shown), shown
        assert len(said["verdicts"]) < 8, shown


@test
def threads_that_wait_for_each_others_locks_are_told():
    with Hanging("locks") as h:
        said = when(lambda s: sum(bool(t["lock_holder"]) for p in s["processes"] for t in p["threads"]) == 2, h.run)
        threads = {t["tid"]: t["lock_holder"] for t in said["processes"][0]["threads"] if t["lock_holder"]}
        eq({threads[t]: t for t in threads}, threads)  # each holds what the other wants


STANDS = """import ctypes, os, queue, sys, threading
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
cuda.fake_launch(13, b"kernel")


def stand(how):
    lock = threading.Lock()
    if how == "lock":
        with lock, lock:  # lock
            pass
    elif how == "queue":
        queue.Queue().get()  # queue
    else:
        os.read(os.pipe()[0], 1)  # pipe


stand(sys.argv[1])
"""


@test
def where_a_thread_stands_that_launches_nothing_any_more_is_told():
    if "address" in BUILD:
        raise Skip("an interpreter without the sanitizer")
    script = WORK + "/stands.py"
    with open(script, "w") as f:
        f.write(STANDS)
    lines = {line.split("# ")[1]: i for i, line in enumerate(STANDS.splitlines(), 1) if "# " in line}
    for how, what in (("lock", "waits for a lock or another thread"), ("queue", "waits for a lock or another thread"),
                      ("pipe", "waits for another thread or process")):
        with Hanging(how, program=(sys.executable, script)) as h:
            wanted = f"it {what} at stands.py:{lines[how]} stand"
            # long enough for the look before its death to say so, too
            when(lambda s: any(re.search(r"has made no call for [2-9][\d.]* s: " + wanted, v) for v in s["verdicts"]), h.run)
            kill_all(*h.pids())
            h.assay.wait()
            text = subprocess.run([ASSAY, "hang", h.run], capture_output=True, text=True, check=True).stdout
            assert wanted in text and "gone" in text, text


@test
def what_is_no_process_is_a_sentence():
    for operand, word in (("999999999", "no process"), (WORK + "/none", "cannot open")):
        p = subprocess.run([ASSAY, "hang", operand], capture_output=True, text=True)
        eq((p.returncode, p.stdout), (1, ""))
        assert word in p.stderr, p.stderr


if __name__ == "__main__":
    sys.exit(run(build))
