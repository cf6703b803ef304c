#!/usr/bin/env python3
"""Recordings that are switched on and off while the program runs, without a GPU: a fake driver and CUPTI, and a
program that does what it is told. usage: test_control.py [BUILD [WORDS...]]"""
import fcntl
import glob
import json
import os
import pty
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))
from harness import ASSAY, BUILD, FAKE, PATIENCE, ROOT, WORK, Skip, captures, cc, child_of, eq, one, switches, test, until  # noqa: E402
from job import LATE, Job, asked, ctl, query, report, run_all, state  # noqa: E402


def kernels(c):
    return len(c.rows["KERNEL"])


@test
def what_starts_paused_touches_nothing_and_records_nothing():
    job = Job("paused", "--paused")
    eq(job.do("step", "step"), False)
    eq(state(job)["recording"], False)
    err = job.end()
    c = one(job.run)
    eq((kernels(c), c.rows["API"], c.rows["RANGE"], c.rows["API_NAME"]), (0, [], [], []))
    eq(switches(c), [(0, 1)])
    assert "no GPU work was recorded: it was switched off all the time" in err, err


@test
def graphs_made_while_nothing_is_recorded_are_launched_as_a_whole_later():
    job = Job("whole graphs", "--paused", "--graph-nodes", "none")
    job.do("make graph", "launch graph")
    job.ctl("start")
    job.do("launch graph")
    job.ctl("stop")
    job.do("make graph", "launch graph")
    job.ctl("start")
    job.do("launch graph")
    job.do("step")
    job.end()
    eq(len(one(job.run).rows["API"]), 2 + 5)
    out = subprocess.run([ASSAY, "report", job.run, "--section", "trust"], check=True, capture_output=True, text=True).stdout
    assert "recorded as a whole" in out, out


def launch_until(job, told):
    """Launches of graph 1 until a row of the capture says what is waited for."""
    until(lambda: told(one(job.run)) or job.do(*["launch graph 1"] * 8) and False, "it was not told")
    return one(job.run)


def nodes_of(c):
    return [k for k in c.rows["KERNEL"] if k["node"]]


@test
def of_some_launches_of_graphs_the_nodes_are_told():
    job = Job("sampled graphs", "--graph-nodes", "sample")
    job.do("make graph 1", "launch graph 1")
    launch_until(job, nodes_of)
    n = len(one(job.run).rows["GRAPH"])
    launch_until(job, lambda c: len(c.rows["GRAPH"]) > n + 8)  # and then as a whole again
    job.do("make graph 2", "launch graph 2", "launch graph 1")
    job.end()
    c = one(job.run)
    launches = {a["corr"] for a in c.rows["API"] if a["function"] == 311}
    whole, nodes = {g["corr"] for g in c.rows["GRAPH"]}, {k["corr"] for k in nodes_of(c)}
    eq((whole | nodes, whole & nodes, len(nodes_of(c))), (launches, set(), 2 * len(nodes)))
    out = subprocess.run([ASSAY, "report", job.run, "--section", "trust"], check=True, capture_output=True, text=True).stdout
    assert "the nodes were recorded for" in out, out


@test
def a_graph_made_among_nodes_is_never_launched_as_a_whole():
    """The fake CUPTI dies in such a launch, as the real one does."""
    job = Job("graphs made", "--graph-nodes", "sample")
    job.do("make graph 1")
    end, made = time.monotonic() + PATIENCE, 1
    while True:
        made += 1
        job.do(*["launch graph 1"] * 40, f"make graph among {made}", f"launch graph {made}")
        c = one(job.run)
        if "graph_nodes.all" in {c.text(m["key"]) for m in c.rows["META"]}:
            break
        assert time.monotonic() < end, "none was made among nodes"
    job.do(*(f"launch graph {i}" for i in range(1, made + 1)))
    job.ctl("stop")  # as it was: nodes, and whatever is made now is launched so
    job.do(*(f"launch graph {i}" for i in range(1, made + 1)), "make graph 60", "launch graph 60")
    job.ctl("start")
    job.do(*(f"launch graph {i}" for i in [60, *range(1, made + 1)]))
    job.end()
    out = subprocess.run([ASSAY, "report", job.run, "--section", "trust"], check=True, capture_output=True, text=True).stdout
    assert "that was made while nodes were recorded" in " ".join(out.split()), out


@test
def it_is_recorded_between_start_and_stop():
    job = Job("between", "--paused")
    job.do("step")
    job.ctl("start")
    eq(job.do("step", "step"), True)
    job.ctl("stop")
    eq(job.do("step", "step", "step"), False)
    job.ctl("start")
    eq(job.do("step"), True)
    job.end()
    c = one(job.run)
    eq((kernels(c), len(c.rows["COPY"]), len(c.rows["API"]), len(c.rows["RANGE"])), (6, 3, 15, 12))
    eq(switches(c), [(0, 1), (1, 0), (0, 0), (1, 0)])
    eq(len(c.rows["DEVICE"]) >= 1, True)  # made before it was recorded
    eq({s["why"] for s in query(job.run, "select why from off")}, {"started_paused", "asked"})


@test
def no_call_is_told_of_the_time_when_it_was_off():
    job = Job("times")
    job.do("step")
    for _ in range(5):
        job.ctl("stop")
        job.do("step")
        job.ctl("start")
        job.do("step")
    job.end()
    c = one(job.run)
    times = [s["time"] for s in c.rows["SWITCH"]]
    offs = list(zip(times[::2], times[1::2]))
    eq((len(offs), kernels(c)), (5, 12))
    for kind, at in (("API", "start"), ("RANGE", "time")):
        eq([r for r in c.rows[kind] for a, b in offs if a <= r[at] < b], [])


@test
def work_that_was_launched_before_it_was_switched_off_is_kept():
    job = Job("late", "--set", "tick=1")
    job.do("late")
    job.ctl("stop")
    job.do("step")
    job.end()
    eq([one(job.run).text(k["name"]) for k in one(job.run).rows["KERNEL"]], ["late"])


@test
def ranges_pair_over_pauses():
    job = Job("ranges")
    job.do("push before", "step")
    job.ctl("stop")
    job.do("pop", "push inside", "push deeper", "pop", "push left open")
    job.ctl("start")
    job.do("push on", "step", "pop", "pop", "pop", "push last", "pop")
    job.end()
    c = one(job.run)
    texts = [r["text"] for r in c.rows["RANGE"] if r["op"] == 1]
    eq([t for t in texts if t not in ("step", "even")], ["before", "on", "last"])
    eq(sum(r["op"] == 1 for r in c.rows["RANGE"]), sum(r["op"] == 2 for r in c.rows["RANGE"]))
    issues = report(job.run)["issues"]
    eq([i for i in issues if "end" in str(i)], [])


@test
def a_pause_is_no_idle_time():
    job = Job("idle")
    job.do("step", "step")
    job.ctl("stop")
    time.sleep(0.5)
    job.ctl("start")
    job.do("step", "step")
    job.end()
    r = report(job.run)
    device = r["devices"][0]
    eq(device["compute_ns"] + device["exposed_comm_ns"] + device["exposed_copy_ns"] + device["idle_ns"], device["span_ns"])
    first, last = query(job.run, "select min(ts) a, max(ts + dur) b from gpu")[0].values()
    eq(device["off_ns"] + device["span_ns"], last - first)
    assert device["off_ns"] >= 500_000_000, device
    off = query(job.run, "select dur, why from off")
    eq([o["why"] for o in off], ["asked"])
    assert off[0]["dur"] >= 500_000_000, off
    eq(query(job.run, "select count(*) n from gap g, off o where g.ts < o.ts + o.dur and g.ts + g.dur > o.ts")[0]["n"], 0)
    text = subprocess.run([ASSAY, "report", "-v", job.run], check=True, capture_output=True, text=True).stdout
    assert "recording was switched off once" in text, text


@test
def a_step_that_was_cut_is_no_step():
    job = Job("steps", "--steps-from", "nvtx:round")
    for i in range(6):
        job.do(f"push round {i}", "step")
        if i == 2:
            job.ctl("stop")
        job.do("step", "pop")
        if i == 2:
            job.ctl("start")
    job.end()
    eq([s["name"] for s in query(job.run, "select name from step order by ts")], [f"round {i}" for i in (0, 1, 3, 4, 5)])


@test
def a_mark_is_in_every_process():
    job = Job("mark", "--paused")
    job.do("step")
    job.ctl("mark", "here it is")
    job.ctl("start")
    job.ctl("mark", "and here")
    job.do("step")
    job.end()
    c = one(job.run)
    marks = [(r["text"], c.text(r["domain"]), r["op"]) for r in c.rows["RANGE"] if r["op"] == 5]
    eq(marks, [("here it is", "assay", 5), ("and here", "assay", 5)])


@test
def marks_of_one_name_are_steps_when_they_are_chosen():
    job = Job("marked", "--steps-from", "auto:batch")
    for i in range(4):
        job.ctl("mark", f"batch {i}")
        job.do("step", "step")
    job.ctl("mark", "batch 4")
    job.end()
    eq([s["name"] for s in query(job.run, "select name from step order by ts")], [f"batch {i}" for i in range(4)])


@test
def programs_to_come_obey_what_was_said_before():
    job = Job("exec", "--paused")
    job.do("step")
    job.ctl("start")
    job.start_again()
    eq(job.do("step"), True)
    job.ctl("stop")
    job.start_again()
    eq(job.do("step"), False)
    job.end()
    order = sorted(captures(job.run), key=lambda c: c.rows["PROCESS"][0]["start"])
    eq([kernels(c) for c in order], [0, 2, 0])


@test
def a_forked_child_obeys_too():
    counts = {}
    for name, opts in (("fork-off", ["--paused"]), ("fork-on", [])):
        job = Job(name, *opts)
        job.do("fork")
        job.end()
        counts[name] = sorted(len([r for r in c.rows["RANGE"] if r["text"] == "child"]) for c in captures(job.run))
    eq(counts, {"fork-off": [0], "fork-on": [0, 10]})


@test
def it_ends_by_itself_when_told_for_how_long():
    job = Job("for", "--paused")
    job.do("step")
    eq(json.loads(job.ctl("start", "--for", "50ms", "--json"))["ok"], True)
    wait_for(job, False)
    until(lambda: not job.do("step"), "CUPTI stays on")
    eq(job.do("step"), False)
    job.end()
    eq(switches(one(job.run))[-1], (0, 2))


@test
def delay_and_duration_switch_cupti_off_too():
    job = Job("delay", "--delay", "3600s")
    eq(job.do("step"), False)
    job.end()
    eq(switches(one(job.run)), [(0, 2)])


@test
def several_runs_are_asked_at_once():
    folder = os.path.join(WORK, "ranks")
    os.makedirs(folder)
    jobs = [Job(f"rank{i}", "--paused", folder=folder) for i in (10, 2, 0)]
    for job in jobs:
        job.do("step")
    out = ctl([job.run for job in jobs], "start")
    eq(out.count("recording is on"), 3)
    until(lambda: all(p["recording"] for job in jobs for p in state(job)["processes"]), "it is not obeyed")
    eq([job.do("step") for job in jobs], [True] * 3)
    said = ctl([folder], "stop")
    eq(re.findall(r"rank(\d+): recording is off", said), ["0", "2", "10"])
    until(lambda: not any(p["recording"] for job in jobs for p in state(job)["processes"]), "it is not obeyed")
    eq([job.do("step") for job in jobs], [False] * 3)
    for job in jobs:
        job.end()
        eq(kernels(one(job.run)), 2)


def wait_for(job, recording):
    until(lambda: state(job)["recording"] == recording, f"recording is not {recording}")


@test
def only_the_steps_that_were_asked_for_are_recorded():
    for name, opts in (("step {}", []), ("train_step", []), ("solve {}", ["--steps-from", "solve"])):
        job = Job("steps", "--paused", *opts)
        out = job.ctl("start", "--steps", "5-6")
        assert "no step was seen since" in out, out
        for i in range(1, 9):
            job.do("push " + name.format(i))
            if i == 4:
                wait_for(job, True)
                eq(state(job)["processes"][0]["step"], 4)
            else:
                job.do("step")
            job.do("pop")
            if i == 6:
                wait_for(job, False)
        assert "they are over, it is at step 8" in job.ctl("status")
        job.end()
        c = one(job.run)
        eq(kernels(c), 4)
        eq([r["text"] for r in c.rows["RANGE"] if r["op"] == 1 and r["text"].startswith(name[:5])][-2:],
           [name.format(5), name.format(6)])


@test
def a_switch_ends_an_order_of_steps():
    job = Job("no-steps", "--paused")
    job.ctl("start", "--steps", "5-6")
    eq(job.do("step"), False)
    job.ctl("start")
    eq(job.do("step"), True)
    job.ctl("start", "--steps", "1000-1001")
    eq(job.do("step"), False)
    job.ctl("stop")
    eq((job.do("step"), "last_step" in state(job)), (False, False))
    job.end()
    eq(kernels(one(job.run)), 2)


@test
def a_flush_brings_everything_into_the_file():
    job = Job("flush", "--set", "flush=60000", "--set", "tick=60000")
    job.do("step", "step")
    job.ctl("flush")
    c = one(job.run)
    eq((kernels(c), len(c.rows["RANGE"])), (4, 8))
    job.end()


@test
def only_the_user_may_give_orders():
    if os.geteuid():
        raise Skip("not root: there is no other user to be")
    job = Job("users", "--paused")
    job.do("step")
    path = job.run + "/control"
    eq(stat.S_IMODE(os.stat(path).st_mode), 0o600)
    os.chmod(path, 0o777)  # as if somebody got past the file's rights
    os.chmod(job.run, 0o755)
    os.chmod(WORK, 0o755)
    other = subprocess.run([sys.executable, "-c", """
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.close()  # one that says nothing is waited for
os.setuid(65534)
t = socket.socket(socket.AF_UNIX)
t.settimeout(300)
try:
    t.connect(sys.argv[1])
    t.send(b"start\\n")
    print(len(t.recv(100)))
except OSError:
    print(0)
""", path], capture_output=True, text=True, timeout=PATIENCE)
    eq((other.stdout, other.stderr), ("0\n", ""))
    eq(state(job)["recording"], False)
    job.end()


@test
def nonsense_is_refused_and_harms_nothing():
    job = Job("nonsense")
    job.do("step")
    for text in (b"\n", b"begin\n", b"start soon\n", b"start -1\n", b"mark\n", b"mark \n", b"stop it\n", b"x" * 5000, b"\xff\xfe\n"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(job.run + "/control")
        s.settimeout(PATIENCE)
        try:
            s.sendall(text)
            answer = s.recv(4096)
        except OSError:
            answer = b""
        s.close()
        eq(b'"ok": true' in answer, False)
    eq(job.ctl("start", "--for", "1s", "extra", status=2).startswith("assay ctl: expected"), True)
    eq(ctl([job.run], "stop", "--for", "1s", status=2).startswith("assay ctl: --for is for start alone"), True)
    eq(ctl([WORK + "/nowhere"], "stop", status=1), f"assay: cannot reach {WORK}/nowhere: it is not being recorded\n")
    eq(job.do("step"), True)
    job.end()
    eq(kernels(one(job.run)), 4)
    eq(job.ctl("status", status=1), f"assay: cannot reach {job.run}: it is not being recorded\n")
    eq(glob.glob(job.run + "/control"), [])


def talk_to(job):
    s = socket.socket(socket.AF_UNIX)
    s.connect(job.run + "/control")
    s.settimeout(PATIENCE)
    return s


def until_closed(s, text=b"", reads=True, every=0.0):
    """A client that says the same again and again, and hears the answers or not."""
    try:
        while reads or text:
            s.sendall(text)
            if reads and not s.recv(65536):
                break
            time.sleep(every)
    except OSError:
        pass
    s.close()


@test
def requests_that_come_together_are_answered_one_after_the_other():
    job = Job("together")
    s, got = talk_to(job), b""
    s.sendall(b"mark one\nmark two\nsta")
    s.sendall(b"tus\nbegin\n")
    while got.count(b"\n") < 4:
        more = s.recv(65536)
        assert more, got
        got += more
    eq([json.loads(line)["ok"] for line in got.splitlines()], [True, True, True, False])
    job.do("step")
    job.end()


@test
def clients_that_go_on_and_on_keep_nobody_from_asking_and_no_recording_from_its_end():
    job = Job("clients")
    ways = [{"text": b"status\n"}, {"text": b"status\n" * 100}, {"text": b"status\n", "reads": False}, {"text": b"s", "reads": False, "every": 0.1}, {}]
    clients = [threading.Thread(target=until_closed, args=(talk_to(job),), kwargs=way) for way in ways * 2]
    for t in clients:
        t.start()
    for _ in range(5):
        eq(state(job)["ok"], True)
        job.do("step")
    job.end()
    for t in clients:
        t.join(PATIENCE)
    eq((kernels(one(job.run)), [t for t in clients if t.is_alive()], glob.glob(job.run + "/control")), (10, [], []))


@test
def the_socket_can_be_anywhere():
    deep = os.path.join(WORK, "d" * 100, "e" * 100)
    os.makedirs(deep)
    there = os.path.join(deep, "orders")
    job = Job("elsewhere", "--control", there, folder=deep)
    job.do("step")
    eq(os.path.islink(job.run + "/control"), True)
    for way in (there, job.run):
        eq("recording is on" in ctl([way], "status"), True)
    job.end()
    eq((os.path.exists(there), os.path.lexists(job.run + "/control")), (False, False))


@test
def a_profiler_of_the_program_itself_works_while_we_are_off():
    exe = WORK + "/shared"
    cc(exe, "tests/record/shared.c", FAKE + "/libcuda.so.1", FAKE + "/libcupti.so.13")
    run = WORK + "/shared-off"
    p = subprocess.run([ASSAY, "record", "-q", "--paused", "-o", run, "--", exe], text=True, capture_output=True, timeout=PATIENCE,
                       env=dict(os.environ, LD_LIBRARY_PATH=FAKE))
    eq((p.stdout.splitlines()[0], p.returncode), ("kernels 41 calls 121 others 0 unknown 0", 0))
    c = one(run)
    eq((kernels(c), c.rows["API"], c.rows["COPY"], c.rows["LOST"]), (0, [], [], []))


@test
def an_order_that_is_not_obeyed_is_said_to_be():
    job = Job("stopped")
    program = child_of(job.p.pid)
    os.kill(program, signal.SIGSTOP)
    until(lambda: open(f"/proc/{program}/stat").read().rsplit(")", 1)[1].split()[0] in "Tt", "it does not stop")
    p = asked(job.run, "stop", "--json")
    eq((p.returncode, [q["obeyed"] for q in json.loads(p.stdout)["processes"]]), (1, [False]))
    eq(p.stderr, f"assay: {job.run}: 1 of 1 processes have {LATE}; they will when they run again\n")
    os.kill(program, signal.SIGCONT)
    until(lambda: asked(job.run, "status").returncode == 0, "it does not obey")
    eq(job.do("step"), False)
    job.end()
    eq(switches(one(job.run)), [(0, 0)])


PROGRAM = '''
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import _record as assay
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)

def launch(name):
    cuda.fake_launch(7, name.encode())

launch("before")
with assay.record("a part") as began:
    launch("inside")
launch("between")

@assay.record()
def work():
    launch("decorated")
    with assay.record():
        launch("nested")
    launch("still on")
work()

@assay.record
def bare(name):
    launch(name)
bare("bare")
launch("behind")
print(began, assay.start(3600), assay.status()["recording"], assay.flush(), assay.mark("  "), assay.stop(), assay.status()["recording"])
'''


@test
def a_python_program_switches_its_own_recording():
    if "address" in BUILD:
        raise Skip("an interpreter without the sanitizer")
    run = os.path.join(WORK, "python")
    p = subprocess.run([ASSAY, "record", "-o", run, "--paused", "--", sys.executable, "-c", PROGRAM, ROOT + "/python/assay"],
                       capture_output=True, text=True, timeout=PATIENCE, env=dict(os.environ, LD_LIBRARY_PATH=FAKE))
    eq((p.stdout, p.returncode), ("True True True True False True False\n", 0))
    c = one(run)
    eq([c.text(k["name"]) for k in c.rows["KERNEL"]], ["inside", "decorated", "nested", "still on", "bare"])
    eq([r["text"] for r in c.rows["RANGE"]], ["a part"])
    alone = subprocess.run([sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[1]); import _record as a; print(a.start(), a.status())",
                            ROOT + "/python/assay"], capture_output=True, text=True, timeout=PATIENCE)
    eq(alone.stdout, "False None\n")


@test
def what_top_shows_names_the_job_and_fits_the_terminal():
    """Of 50 columns and 12 rows; until the job ends."""
    job = Job("watched")
    job.do("step", "step")
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 50, 0, 0))
    top = subprocess.Popen([ASSAY, "top", "--every", "100ms", job.run], stdout=terminal, env=dict(os.environ, TERM="xterm"))
    os.close(terminal)
    text = b""
    while text.count(b"\x1b[H\x1b[2J") < 3:
        text += os.read(master, 65536)
    job.end()
    try:
        while more := os.read(master, 65536):
            text += more
    except OSError:  # nobody writes any more
        pass
    eq(top.wait(), 0)
    screens = [re.sub("\x1b\\[[0-9;]*m", "", s).replace("\r", "").split("\n") for s in text.decode().split("\x1b[H\x1b[2J")[1:]]
    for lines in screens:
        assert len(lines) <= 12 and max(map(len, lines)) <= 50, lines
        assert "/proc/" not in "".join(lines), lines
    assert screens[0][0].endswith(", 1 process records") and screens[-1][0].endswith(", 0 processes record"), (screens[0], screens[-1])
    named = [line for lines in screens for line in lines if line.startswith("Run ")]
    assert named and all("watched" in line for line in named), named


if __name__ == "__main__":
    sys.exit(run_all())
