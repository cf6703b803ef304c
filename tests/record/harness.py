"""What the tests of the recorder share: the fake driver and CUPTI, built once, and programs recorded on them.
A test is a function marked @test; run(build) runs them all."""
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import tap  # noqa: E402
from capture import Capture  # noqa: E402
from tap import PATIENCE, sanitizer_env, sanitizer_reports, until  # noqa: E402,F401

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(tap.ASSAY))
ASSAY = os.path.join(BUILD, "assay")
CC = os.environ.get("CC", "gcc")
FLAGS = ["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-O1", "-g", "-pthread", "-Isrc", "-Iinclude",
         "-Itests/fake"]
PLAIN = list(FLAGS)
if "address" in BUILD:  # a library built with sanitizers wants programs built so, too
    FLAGS += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
RT = [p for p in sorted(glob.glob(ROOT + "/src/record/*.c") + glob.glob(ROOT + "/src/wire/*.c"))
      if not os.path.basename(p).startswith(("cuda", "rocm"))]
WORK = tempfile.mkdtemp(prefix="assay-record-")
FAKE = os.path.join(WORK, "fake")
tests = []


def test(f):
    tests.append(f)
    return f


class Skip(Exception):
    pass


def cc(out, *args, flags=FLAGS):
    subprocess.run([CC, *flags, *args, "-o", out], cwd=ROOT, check=True)


def build_fakes():
    os.mkdir(FAKE)
    cc(FAKE + "/libcupti.so.13", "-fPIC", "-shared", "-Wl,-soname,libcupti.so.13", "tests/fake/cupti.c")
    cc(FAKE + "/libcuda.so.1", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1", "tests/fake/cuda.c")
    cc(FAKE + "/program", "tests/record/program.c", FAKE + "/libcuda.so.1")


def record(how, *more, opts=(), env=None, name=None):
    run = os.path.join(WORK, name or how)
    shutil.rmtree(run, ignore_errors=True)
    e = dict(os.environ, LD_LIBRARY_PATH=FAKE, **(env or {}))
    p = subprocess.run([ASSAY, "record", "-o", run, *opts, "--", FAKE + "/program", how, *more], env=e,
                       capture_output=True, text=True, timeout=PATIENCE)
    return run, p


def captures(run):
    return [Capture(p) for p in sorted(glob.glob(run + "/*.asy"))]


def one(run):
    c = captures(run)
    assert len(c) == 1, f"{len(c)} captures"
    return c[0]


def switches(c):
    """But for times in which nothing of the process ran, which are the machine's."""
    flips = [(s["on"], s["why"]) for s in c.rows["SWITCH"]]
    return [f for before, f in zip([(1, 0), *flips], flips) if 4 not in (before[1], f[1])]


def eq(got, want):
    assert got == want, f"{got!r}, not {want!r}"


def kill_all(*pids):
    """Kills processes, some of which may be gone by now."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def gone(pid):
    """Whether a process that was killed is: all of its threads, whoever reaps it."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        return all(open(f"/proc/{pid}/task/{t}/stat").read().rsplit(")", 1)[1].split()[0] in "ZX" for t in tasks)
    except OSError:  # between two looks
        return not os.path.exists(f"/proc/{pid}")


def working_in(place):
    """Processes whose command names the place, or something in it. The probe of a recorder that was killed is one: it goes on."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read()
        except OSError:  # it has ended, or is not ours
            continue
        if os.fsencode(place) in words and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def end_work_in(place):
    """Nobody writes there any more. The probe of a recorder that was killed would take its time."""
    kill_all(*working_in(place))
    until(lambda: not working_in(place), "somebody still works in " + place)


def child_of(pid):
    """The one child of a process."""
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        child, = f.read().split()
    return int(child)


def no_rings(run):
    eq(glob.glob(run + "/*.ring"), [])


def assay_record(*args, cwd=WORK, **kw):
    return subprocess.run([ASSAY, "record", *args], capture_output=True, text=True, cwd=cwd, timeout=PATIENCE,
                          env=dict(os.environ, LD_LIBRARY_PATH=FAKE), **kw)


def run(build):
    failed = 0
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
    only = sys.argv[2:]
    try:
        build()
        for f in tests:
            name = f.__name__.replace("_", " ").strip()
            if only and not any(o in name for o in only):
                continue
            try:
                f()
                print("ok -", name, flush=True)
            except Skip as why:
                print(f"skip - {name}: {why}", flush=True)
            except Exception as e:  # one test's trouble is not the others'
                failed += 1
                print(f"not ok - {name}\n#   {type(e).__name__}: {str(e)[:2000]}", flush=True)
    finally:
        end_work_in(WORK)
        shutil.rmtree(WORK, ignore_errors=True)
    return 1 if failed else 0
