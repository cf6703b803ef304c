#!/usr/bin/env python3
"""Stacks and samples, without a GPU: real Python programs on a fake driver. Each program writes down the stack that
its interpreter reports at each launch; the recording must say the same, frame by frame and line by line.
usage: test_host.py [BUILD]   every CPython from 3.9 on that is found is tried; ASSAY_PYTHONS names them instead."""
import errno
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import tap  # noqa: E402
from capture import Capture  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(tap.ASSAY))
ASSAY = os.path.join(BUILD, "assay")
PROGRAM = os.path.join(ROOT, "tests/record/host_program.py")
WORK = tempfile.mkdtemp(prefix="assay-host-")
failed, slowly = 0, 1


def build():
    for name, source in (("libcupti.so.13", "cupti.c"), ("libcuda.so.1", "cuda.c")):
        subprocess.run([os.environ.get("CC", "gcc"), "-std=c11", "-D_DEFAULT_SOURCE", "-O1", "-g", "-pthread", "-Isrc",
                        "-Itests/fake", "-fPIC", "-shared", "-Wl,-soname," + name, "tests/fake/" + source, "-o",
                        os.path.join(WORK, name)], cwd=ROOT, check=True)


def pythons():
    """{version: path}, one of each minor version."""
    found = {}
    given = os.environ.get("ASSAY_PYTHONS")
    paths = given.split(":") if given else ["/usr/bin/python3", sys.executable] + \
        sorted(glob.glob("/usr/bin/python3.[0-9]*[0-9t]") + glob.glob("/opt/*/bin/python3") +
               glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    for path in paths:
        ask = "import sys, sysconfig; print('%d.%d%s' % (*sys.version_info[:2], 't' * " \
              "bool(sysconfig.get_config_var('Py_GIL_DISABLED'))), sys.implementation.name)"
        p = subprocess.run([path, "-c", ask], capture_output=True, text=True) if os.path.exists(path) else None
        if p and p.returncode == 0 and p.stdout.endswith("cpython\n"):
            version = p.stdout.split()[0]
            if minor(version) >= 9:
                found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda v: minor(v[0])))


def minor(version):
    return int(version.rstrip("t").split(".")[1])


def has_gil(python):
    ask = "import sys; sys.exit(not getattr(sys, '_is_gil_enabled', lambda: True)())"
    return subprocess.run([python, "-c", ask]).returncode == 0


def eq(got, want):
    assert got == want, f"{got!r}, not {want!r}"


class TooFew(Exception):
    """Looks of the sampler, which a busy machine may have kept waiting."""


def enough(good, detail):
    if not good:
        raise TooFew(detail)


class Recording:
    def __init__(self, python, what, opts=(), wrap=()):
        self.dir = tempfile.mkdtemp(dir=WORK)
        out = self.dir + "/expected.json"
        env = dict(os.environ, LD_LIBRARY_PATH=WORK, PYTHONPATH="", PYTHONDONTWRITEBYTECODE="1", SLOWLY=str(slowly))
        if "address" in BUILD:
            san = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
            env.update(LD_PRELOAD=san, ASAN_OPTIONS="detect_leaks=0")
        self.process = subprocess.run([*wrap, ASSAY, "record", "-q", "-o", self.dir + "/run", *opts, "--", python,
                                       PROGRAM, what, out], env=env, capture_output=True, text=True, timeout=tap.PATIENCE)
        assert self.process.returncode == 0, f"exit {self.process.returncode}: {self.process.stderr[-800:]}"
        self.expected = json.load(open(out)) if os.path.exists(out) else {}
        self.captures = [Capture(p) for p in glob.glob(self.dir + "/run/*.asy")]
        self.main = max(self.captures, key=lambda c: len(c.rows["API"]))
        self.meta = {self.main.text(m["key"]): self.main.text(m["value"]) for m in self.main.rows["META"]}

    def stacks(self):
        """{name of the launch: its stack}"""
        c = self.main
        calls = {r["corr"]: r for r in c.rows["API"]}
        return {c.text(k["name"]): c.stack(calls[k["corr"]]) for k in c.rows["KERNEL"] if k["corr"] in calls}

    def samples(self):
        return [(s, self.main.stack(s)) for s in self.main.rows["SAMPLE"]]


def check_stacks(r):
    got = r.stacks()
    assert r.expected, "the program launched nothing"
    for name, want in r.expected.items():
        want = [tuple(f) for f in want]
        assert name in got, f"launch {name} has no row"
        if got[name] != want:
            at = next((i for i, (a, b) in enumerate(zip(got[name], want)) if a != b), min(len(got[name]), len(want)))
            raise AssertionError(f"launch {name}, call {at} of {len(want)} (recorded {len(got[name])}): "
                                 f"{got[name][at:at + 1]}, not {want[at:at + 1]}")


LINES = {m.group(1): i for i, line in enumerate(open(PROGRAM), 1)
         for m in [re.search(r"# ([\w ]+)$", line.rstrip())] if m and "----" not in line}


def seen_at(r, line, **want):
    """Looks, in ms, whose stack passes that line, with these values."""
    n = 0
    for s, stack in r.samples():
        if any(f == PROGRAM and at == LINES[line] for f, _, at in stack[:6]) and \
                all(s[k] == v for k, v in want.items()):
            n += s["count"]
    return n


RUNNING, BLOCKED, READY = 1, 2, 4
READ, LOCK, SLEEP = 1, 6, 7
HOLDS, WAITS = 2, 3


def stacks_are_what_the_interpreter_says(python):
    for what in ("kinds", "recursion", "reused", "shapes", "threads"):
        check_stacks(Recording(python, what))


def a_thread_with_a_small_stack_is_not_overrun(python):
    plain = subprocess.run([python, PROGRAM, "small_stack", WORK + "/plain.json"], capture_output=True,
                           env=dict(os.environ, LD_LIBRARY_PATH=WORK, PYTHONDONTWRITEBYTECODE="1"))
    if plain.returncode or "address" in BUILD:
        raise Skip("it is too small for the interpreter itself, or for the sanitizer")
    check_stacks(Recording(python, "small_stack"))


def a_forked_child_ends_well_and_the_parents_stacks_are_right(python):
    r = Recording(python, "fork")
    check_stacks(r)


def threads_that_launch_while_python_ends_do_no_harm(python):
    for _ in range(3):
        check_stacks(Recording(python, "daemon"))


def a_thousand_threads_forks_and_interpreters_come_and_go(python):
    r = Recording(python, "churn")
    check_stacks(r)
    calls = [c for capture in r.captures for c in capture.rows["API"]]
    assert len(calls) >= 1000 * 3 * 4, len(calls)


def without_stacks_there_are_none(python):
    r = Recording(python, "kinds", opts=["--stacks", "off", "--sample", "off"])
    assert not r.main.rows["STACK"] and not r.main.rows["SAMPLE"]
    assert r.meta["stacks.none"] == "switched off", r.meta


def what_a_thread_does_between_launches_is_seen(python):
    r = Recording(python, "waits")
    check_stacks(r)
    looks = {
        "sleep": seen_at(r, "sleep", state=BLOCKED, kind=SLEEP) or seen_at(r, "sleep", state=BLOCKED, kind=5),
        "compute": sum(s["count"] for s, stack in r.samples()
                       if s["state"] in (RUNNING, READY) and any(f[1].endswith("spin") for f in stack)),
        "pipe": seen_at(r, "pipe", state=BLOCKED, kind=READ),
        "lock": seen_at(r, "lock", state=BLOCKED, kind=LOCK),
        "produce": seen_at(r, "produce", flags=4),
        "collect": sum(s["count"] for s, stack in r.samples() if s["flags"] & 1),
        "gil": sum(s["count"] for s, stack in r.samples() if s["gil"] == WAITS),
    }
    if not has_gil(python):
        looks.pop("gil")
        looks.pop("collect")  # told by the lock's holder
    few = {k: n for k, n in looks.items() if n < 3}
    enough(not few, f"{few} of {looks}")
    files = {r.main.codes[s["ring"], s["file"]]["file"] for s, _ in r.samples() if s["file"]}
    enough(any(f.startswith("pipe:[") for f in files), files)


def a_worker_process_is_seen_from_its_parent(python):
    r = Recording(python, "workers")
    children = [(s, stack) for s, stack in r.samples() if s["pid"]]
    inside = sum(s["count"] for s, stack in children if any(f[1].endswith("spin") for f in stack))
    enough(inside >= 1, [(s["count"], stack[:2]) for s, stack in children])
    r = Recording(python, "workers", opts=["--children", "off"])
    assert not [s for s, _ in r.samples() if s["pid"]]


def the_sampler_sleeps_through_long_calls_and_is_woken_by_their_end(python):
    r = Recording(python, "returns")
    enough(seen_at(r, "behind a long call") >= 4 * slowly, "it slept on")


def workers_that_are_started_as_programs_are_seen_too(python):
    r = Recording(python, "started_workers")
    check_stacks(r)
    inside = {s["pid"] for s, stack in r.samples() if s["pid"] and any(f[1].endswith("in_worker") for f in stack)}
    enough(len(inside) == 2, f"{len(inside)} of 2 workers were seen at work")


def the_report_names_cause_and_line_of_every_wait(python):
    r = Recording(python, "waits")
    report = json.loads(subprocess.run([ASSAY, "report", "--json", r.dir + "/run"], check=True,
                                       capture_output=True).stdout)
    lines = {}
    for x in report["idle_lines"]:
        lines.setdefault(x["cause"], []).append((x["where"]["line"], x.get("waits_for", {}).get("line")))
    want = {"host_sleep": (LINES["sleep"], None), "host_lock": (LINES["lock"], LINES["produce"])}
    if has_gil(python):
        want["host_gc"] = (LINES["collect"], None)
    for cause, place in want.items():
        enough(place in lines.get(cause, ()), f"{cause}: {lines.get(cause)}, not {place}")
    enough(any(at == LINES["pipe"] for at, _ in lines.get("host_lock", ())), lines)
    hogs = (LINES["hog"], LINES["hog"] - 1, LINES["hog"] - 2)
    enough(not has_gil(python) or any(by in hogs for _, by in lines.get("host_gil", ())), lines)
    enough(report["gaps"][0].get("stack"), report["gaps"][0])
    assert report["gaps"][0]["stack"][-1]["function"] == "<module>", report["gaps"][0]


def an_event_loop_sleeps_or_waits_before_the_line_that_goes_on(python):
    r = Recording(python, "event_loop")
    check_stacks(r)
    report = json.loads(subprocess.run([ASSAY, "report", "--json", r.dir + "/run"], check=True, capture_output=True).stdout)
    lines = {(x["cause"], x["where"]["line"]) for x in report["idle_lines"]}
    enough({("host_sleep", LINES["when time is up"]), ("host_lock", LINES["when something came"])} <= lines, lines)
    enough(not {("host_lock", LINES["when time is up"]), ("host_sleep", LINES["when something came"])} & lines, lines)


READV, PERF, UNSHARE = (310, 298, 272) if os.uname().machine == "x86_64" else (270, 241, 97)  # process_vm_readv, perf_event_open
CLOSE_RANGE = 436
UNUSUAL = (READV, PERF, UNSHARE, CLOSE_RANGE)


def refuse(call, how):
    """A command in front of which a program is refused a system call: with an error, or its life."""
    path = WORK + "/refuse"
    if not os.path.exists(path):
        subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-o", path, ROOT + "/tests/record/refuse.c"], check=True)
    return [path, str(call), str(how)]


def a_filter_of_system_calls_takes_the_samples_stacks_or_nothing(python):
    r = Recording(python, "kinds", wrap=refuse(READV, errno.EPERM))
    check_stacks(r)
    r = Recording(python, "waits", wrap=refuse(READV, errno.EPERM))
    enough(sum(s["count"] for s, stack in r.samples() if stack) > 10, "no samples with stacks through the pipe")


def calls_that_are_forbidden_on_pain_of_death_are_not_made(python):
    os.environ["NATIVE_LIBRARY"] = native_library([])
    r = Recording(python, "natives", wrap=[word for call in UNUSUAL for word in refuse(call, "kill")])
    check_stacks(r)
    enough(any(s["native"] for s in r.main.rows["SAMPLE"]), "blocked threads need no perf events")
    enough(sum(s["count"] for s, stack in r.samples() if stack) > 10, "no samples with stacks through the pipe")


def nor_are_those_that_the_program_forbids_later(python):
    os.environ["FORBIDDEN"] = " ".join(map(str, UNUSUAL))
    r = Recording(python, "forbidden")
    check_stacks(r)
    enough(seen_at(r, "for the worker") >= 1, "no samples of the parent")
    assert not [s for s, stack in r.samples() if s["pid"] and stack], "memory of a child was read"
    assert r.meta.get("samples.without", "").startswith("stacks of child processes"), r.meta


def filters_that_the_recording_itself_lives_under_take_nothing(python):
    r = Recording(python, "workers", wrap=refuse(0xffff, errno.EPERM))
    check_stacks(r)
    enough([s for s, stack in r.samples() if s["pid"] and any(f[2] == LINES["in the worker"] for f in stack)], "no stack of the child")


def most_memory_that_may_be_locked_is_left_to_the_program(python):
    os.environ["NATIVE_LIBRARY"] = native_library([])
    little = ["sh", "-c", "ulimit -l 64; exec \"$@\"", "sh"]
    if subprocess.run([*little, "true"], capture_output=True).returncode:
        raise Skip("the limit cannot be set")
    for wrap, most in ((little, 0), ((), 64)):
        r = Recording(python, "natives", wrap=wrap)
        check_stacks(r)
        rings = int(open(r.dir + "/expected.json.rings").read())
        assert rings <= most, f"{rings} rings of perf events, {wrap}"


def stacks_of_greenlets_are_their_own(python):
    if subprocess.run([python, "-c", "import greenlet"], capture_output=True).returncode:
        raise Skip("greenlet is not installed")
    check_stacks(Recording(python, "greenlets"))


def stacks_below_an_event_loop_that_switches_are_their_own(python):
    if subprocess.run([python, "-c", "import gevent"], capture_output=True).returncode:
        raise Skip("gevent is not installed")
    check_stacks(Recording(python, "events"))


def frames_that_switch_under_the_sampler_are_never_mixed_up(python):
    r = Recording(python, "switching", opts=["--sample", "100us"])
    check_stacks(r)
    program = open(PROGRAM).read().splitlines()
    first = next(i for i, line in enumerate(program, 1) if line.startswith("def switching"))
    last = next(i for i, line in enumerate(program, 1) if i > first and line.startswith("def "))
    inside = 0
    for s, stack in r.samples():
        own = [(name, line) for file, name, line in stack if file == PROGRAM]
        for name, line in own:  # a function's line is one of its own, or 0: some instructions of generators and coroutines have none
            inside += "switching" in name and line > 0
            assert "switching" not in name or first < line < last or not line and name != "switching", (name, line, stack)
        assert not any("switching" in name for name, _ in own) or stack[-1][1] == "<module>", stack
    enough(inside, "nothing was seen")


def what_py_spy_says(pid):
    """{thread: [(file, function, line)], innermost first}; {} when it cannot tell."""
    for _ in range(5):
        p = subprocess.run([shutil.which("py-spy"), "dump", "--json", "--full-filenames", "--pid", pid], capture_output=True, text=True)
        if p.returncode == 0:
            return {t["os_thread_id"]: [(f["filename"], f["name"], f["line"]) for f in t["frames"]] for t in json.loads(p.stdout)}
    return {}


def samples_are_what_py_spy_says(python):
    if not shutil.which("py-spy"):
        raise Skip("py-spy is not installed")
    where = tempfile.mkdtemp(dir=WORK)
    p = subprocess.Popen([ASSAY, "record", "-q", "-o", where + "/run", "--", python, PROGRAM, "stands", where + "/expected.json"],
                         env=dict(os.environ, LD_LIBRARY_PATH=WORK), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said, now = {}, lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    for line in p.stdout:
        place, pid, tid = line.split()
        stacks, start = what_py_spy_says(pid), now()  # it stands there since, and goes on to
        time.sleep(0.05 * slowly)
        said[place] = (int(tid), start, now(), stacks)
        p.stdin.write("x")
        p.stdin.flush()
    eq((p.wait(), len(said)), (0, 9))
    if not any(stacks for *_, stacks in said.values()):
        raise Skip("py-spy cannot read this interpreter")
    c = Capture(glob.glob(where + "/run/*.asy")[0])
    for place, (tid, start, end, stacks) in said.items():
        seen = [s for s in c.rows["SAMPLE"] if s["thread"] == tid and s["start"] < end and s["end"] > start]
        enough(seen, "no sample of " + place)
        got, want = ([(file, name.split(".")[-1], line) for file, name, line in stack] for stack in (c.stack(seen[-1]), stacks[tid]))
        assert got == want, (place, [(a, b) for a, b in zip(got, want) if a != b][:2], len(got), len(want))


def a_program_that_ends_at_once_is_recorded_whole(python):
    for _ in range(10):
        check_stacks(Recording(python, "shortest"))


def functions_compiled_to_machine_code_have_no_line(python):
    ask = "import sys, sysconfig; sys.exit(sys.version_info[:2] == (3, 11) or bool(sysconfig.get_config_var('Py_GIL_DISABLED')))"
    if subprocess.run([python, "-c", ask]).returncode:
        raise Skip("their frames are others")
    check_stacks(Recording(python, "compiled"))


def of_pypy_it_is_told_why_there_are_no_stacks(_):
    pypy = shutil.which("pypy3")
    if not pypy:
        raise Skip("PyPy is not installed")
    where = tempfile.mkdtemp(dir=WORK)
    program = "import ctypes; c = ctypes.CDLL('libcuda.so.1'); c.cuInit(0); c.fake_launch(13, b'k')"
    subprocess.run([ASSAY, "record", "-q", "-o", where + "/run", "--", pypy, "-c", program], check=True, timeout=tap.PATIENCE,
                   env=dict(os.environ, LD_LIBRARY_PATH=WORK))
    c = Capture(glob.glob(where + "/run/*.asy")[0])
    eq(([k["name"] and c.text(k["name"]) for k in c.rows["KERNEL"]], len(c.rows["STACK"])), (["k"], 0))
    eq([c.text(m["value"]) for m in c.rows["META"] if c.text(m["key"]) == "stacks.none"], ["PyPy is not CPython"])
    text = subprocess.run([ASSAY, "report", where + "/run", "--section", "trust"], check=True, capture_output=True, text=True).stdout
    assert "Python stacks were not recorded: PyPy is not CPython" in " ".join(text.split()), text


def with_two_interpreters_there_are_no_stacks(python):
    r = Recording(python, "second_interpreter")
    check_stacks(r)
    calls = {k["corr"] for k in r.main.rows["KERNEL"] if r.main.text(k["name"]) == "two"}
    assert [c["stack"] for c in r.main.rows["API"] if c["corr"] in calls] == [0, 0, 0]


def an_interpreter_that_came_and_went_does_no_harm(python):
    check_stacks(Recording(python, "former_interpreter"))


def an_interpreter_started_again_has_its_own_stacks(python):
    config = python + "-config"
    flags = subprocess.run([config, "--embed", "--cflags", "--ldflags"], capture_output=True, text=True) \
        if os.path.exists(config) else None
    exe = os.path.join(WORK, "embed-" + os.path.basename(os.path.dirname(os.path.dirname(python))))
    if not flags or subprocess.run(["gcc", ROOT + "/tests/record/embed.c", "-o", exe, *flags.stdout.split(), "-ldl"],
                                   capture_output=True).returncode:
        raise Skip("the interpreter cannot be embedded here")
    env = dict(os.environ, LD_LIBRARY_PATH=WORK + ":" + os.path.join(os.path.dirname(os.path.dirname(python)), "lib"))
    for program in ([exe], [exe, "elsewhere"]):
        if subprocess.run(program, env=env, capture_output=True).returncode:
            raise Skip("the interpreter itself does not survive to be started again")
        out = tempfile.mkdtemp(dir=WORK)
        subprocess.run([ASSAY, "record", "-q", "-o", out + "/run", "--", *program], env=env, check=True, timeout=tap.PATIENCE)
        c = Capture(glob.glob(out + "/run/*.asy")[0])
        names = [[name for _, name, _ in c.stack(r)] for r in c.rows["API"] if r["stack"]]
        got = {n[0].split(".")[-1] for n in names if n}
        assert got == {"first", "second", "third"}, (program[1:], got)


CHAIN = ["native_alloca", "native_aligned", "native_outer"]


def native_library(flags):
    out = f"{WORK}/libnative{'-'.join(flags)}.so"
    if not os.path.exists(out):
        subprocess.run([os.environ.get("CC", "gcc"), "-O2", "-g", "-fno-optimize-sibling-calls", *flags, "-fPIC", "-shared", "-o", out,
                        ROOT + "/tests/record/native.c"], check=True)
    return out


def native_stacks(r, line, **want):
    """Names on the native stacks of samples at a line, by how many looks saw them; those without a name are left out."""
    seen = {}
    for s in r.main.rows["SAMPLE"]:
        python = r.main.stack(s)
        if s["native"] and all(s[k] == v for k, v in want.items()) and python and python[0][0] == PROGRAM and python[0][2] == LINES[line]:
            names = [r.main.functions.get((f, n)) for f, n, _ in r.main.stack(dict(s, stack=s["native"]))]
            names = tuple(n for n in names if n)
            seen[names] = seen.get(names, 0) + s["count"]
    return seen


def has_chain(names, first):
    return any(list(names[i:i + 4]) == [first] + CHAIN for i in range(len(names)))


def blocked_threads_are_seen_in_their_library(python):
    for flags in ([], ["-fno-omit-frame-pointer"], ["-O0"]):
        os.environ["NATIVE_LIBRARY"] = native_library(flags)
        r = Recording(python, "natives")
        check_stacks(r)
        for line, first, kind in (("native sleep", "native_sleep", SLEEP), ("native read", "native_read", READ)):
            seen = native_stacks(r, line, kind=kind)
            right = sum(n for names, n in seen.items() if has_chain(names, first))
            enough(right * 2 > sum(seen.values()), (flags, line, seen))  # it may go on while it is looked at


def a_native_stack_ends_in_a_library_without_tables(python):
    """As musl's is, and much that is written by hand: nothing is guessed."""
    os.environ["NATIVE_LIBRARY"] = native_library(["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-Wl,--no-eh-frame-hdr"])
    r = Recording(python, "natives")
    check_stacks(r)
    for line, last, kind in (("native sleep", "native_sleep", SLEEP), ("native read", "native_read", READ)):
        seen = native_stacks(r, line, kind=kind)
        assert not any(set(CHAIN) & set(names) for names in seen), (line, seen)
        right = sum(n for names, n in seen.items() if names and names[-1] == last)
        enough(right * 2 > sum(seen.values()), (line, seen))


def computing_threads_are_seen_in_their_library_where_the_system_allows_it(python):
    os.environ["NATIVE_LIBRARY"] = native_library([])
    r = Recording(python, "natives")
    if not any(s["native"] and s["state"] == RUNNING for s in r.main.rows["SAMPLE"]):
        raise Skip("the system refuses perf events")
    for line in ("native spin", "native spin with the lock"):
        seen = native_stacks(r, line)
        right = sum(n for names, n in seen.items() if has_chain(names, "native_spin"))
        enough(right * 2 > sum(seen.values()), (line, seen))


def the_report_names_library_and_function(python):
    os.environ["NATIVE_LIBRARY"] = native_library([])
    r = Recording(python, "natives")
    report = json.loads(subprocess.run([ASSAY, "report", "--json", r.dir + "/run"], check=True, capture_output=True).stdout)
    got = {(x["where"]["line"], os.path.basename(x.get("library", "")), x.get("symbol")) for x in report["idle_lines"]}
    enough((LINES["native sleep"], "libnative.so", "native_sleep") in got, got)
    text = subprocess.run([ASSAY, "scopes", "--by", "library", "--json", r.dir + "/run"], check=True, capture_output=True).stdout
    places = {(os.path.basename(x["library"]), x["function"]): x for x in json.loads(text)["libraries"]}
    enough({("libnative.so", "native_sleep"), ("libnative.so", "native_read")} <= set(places), places)
    asleep = places["libnative.so", "native_sleep"]
    enough(asleep["running_looks"] * 2 < asleep["looks"], asleep)


def without_native_stacks_there_are_none(python):
    os.environ["NATIVE_LIBRARY"] = native_library([])
    r = Recording(python, "natives", opts=["--set", "no_native=1"])
    assert not [s for s in r.main.rows["SAMPLE"] if s["native"]] and not r.main.functions
    enough([s for s in r.main.rows["SAMPLE"] if s["stack"]], "no samples")


def without_proc_stacks_stay_and_the_run_says_what_is_missing(python):
    hidden = WORK + "/hidden"
    with open(hidden, "w") as f:
        f.write(f"#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none /proc && exec \"$0\" \"$@\"' {python} \"$@\"\n")
    os.chmod(hidden, 0o755)
    if subprocess.run([hidden, "-c", "import os, sys; sys.exit(os.path.exists('/proc/self'))"], capture_output=True).returncode:
        raise Skip("the system does not let us hide /proc")
    r = Recording(hidden, "waits")
    check_stacks(r)
    assert r.meta.get("samples.without") == "system calls and files: /proc is hidden", r.meta
    spins = sum(s["count"] for s, stack in r.samples() if any(f[1].endswith("spin") for f in stack))
    enough(seen_at(r, "sleep") >= 1 and spins >= 1, (seen_at(r, "sleep"), spins))


class Skip(Exception):
    pass


TESTS = [without_proc_stacks_stay_and_the_run_says_what_is_missing, a_filter_of_system_calls_takes_the_samples_stacks_or_nothing,
         calls_that_are_forbidden_on_pain_of_death_are_not_made,
         nor_are_those_that_the_program_forbids_later, filters_that_the_recording_itself_lives_under_take_nothing, most_memory_that_may_be_locked_is_left_to_the_program,
         stacks_of_greenlets_are_their_own,
         stacks_below_an_event_loop_that_switches_are_their_own, frames_that_switch_under_the_sampler_are_never_mixed_up,
         a_program_that_ends_at_once_is_recorded_whole, samples_are_what_py_spy_says,
         functions_compiled_to_machine_code_have_no_line, of_pypy_it_is_told_why_there_are_no_stacks, with_two_interpreters_there_are_no_stacks, an_interpreter_that_came_and_went_does_no_harm,
         an_interpreter_started_again_has_its_own_stacks,
         the_report_names_cause_and_line_of_every_wait, an_event_loop_sleeps_or_waits_before_the_line_that_goes_on, stacks_are_what_the_interpreter_says, a_thread_with_a_small_stack_is_not_overrun, a_forked_child_ends_well_and_the_parents_stacks_are_right,
         threads_that_launch_while_python_ends_do_no_harm,
         a_thousand_threads_forks_and_interpreters_come_and_go, without_stacks_there_are_none,
         what_a_thread_does_between_launches_is_seen, the_sampler_sleeps_through_long_calls_and_is_woken_by_their_end, workers_that_are_started_as_programs_are_seen_too,
         a_worker_process_is_seen_from_its_parent, blocked_threads_are_seen_in_their_library,
         a_native_stack_ends_in_a_library_without_tables, computing_threads_are_seen_in_their_library_where_the_system_allows_it,
         the_report_names_library_and_function, without_native_stacks_there_are_none]


def play(t, python):
    """On a busy machine the sampler may have too few looks at what is short: then everything lasts longer."""
    global slowly
    for slowly in (1, 5, 25):
        try:
            return t(python)
        except TooFew:
            if slowly == 25:
                raise


def try_all():
    global failed
    build()
    for version, path in pythons().items():
        for t in TESTS:
            if len(sys.argv) > 2 and sys.argv[2] not in t.__name__:
                continue
            try:
                play(t, path)
                print(f"ok - {t.__name__} (Python {version})")
            except Skip as e:
                print(f"skip - {t.__name__} (Python {version}): {e}")
            except Exception as e:
                failed += 1
                print(f"not ok - {t.__name__} (Python {version}): {type(e).__name__} {e}")
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(try_all())
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
