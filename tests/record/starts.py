#!/usr/bin/env python3
"""Many short Python programs that start and end in every way, recorded on the fake driver: each must end as it does without
a recorder, all its launches must be told, and sanitizers must find nothing.
usage: starts.py [--starts N] [--kinds KIND,...] [--python PATH]... [BUILD]   once of each kind when not given; BUILD may
be one with sanitizers (make SAN=address,undefined build/gcc-address-undefined/assay
build/gcc-address-undefined/libassay_cuda.so). Prints a line for each hundred, and what went wrong; exit status 1 when
anything did."""
import ctypes
import os
import signal
import sys
import threading
import time

BATCH = 100
REPEAT = 3  # launches of a place


# ---- the programs ----

def launch(api=None, n=REPEAT):
    for _ in range(n):
        (api or cuda).fake_launch(13, b"kernel")


def once():
    launch(n=1)


def nothing():
    """The driver is initialised, and that is all."""


def threads():
    for _ in range(4):
        row = [threading.Thread(target=launch) for _ in range(4)]
        for t in row:
            t.start()
        for t in row:
            t.join()


def fork():
    launch()
    pid = os.fork()
    if not pid:
        os._exit(3)
    assert os.waitpid(pid, 0)[1] == 3 << 8
    launch()


def fork_and_finalise():
    launch()
    pid = os.fork()
    if not pid:
        sys.exit(3)
    assert os.waitpid(pid, 0)[1] == 3 << 8
    launch()


def fork_beside_launches():
    t = threading.Thread(target=launch, args=(None, 200))
    t.start()
    for _ in range(3):
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
    t.join()


def execute():
    launch()
    os.execv(sys.executable, [sys.executable, "-S", __file__, "once"])


def execute_beside_launches():
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    launch()
    os.execv(sys.executable, [sys.executable, "-S", __file__, "nothing"])


def raises():
    launch()
    raise ValueError("on purpose")


def leaves():
    launch()
    os._exit(7)


def leaves_in_thread():
    launch()
    threading.Thread(target=lambda: (launch(), os._exit(8))).start()
    time.sleep(60)


def ends_a_thread():
    t = threading.Thread(target=lambda: (launch(), sys.exit(5)))
    t.start()
    t.join()
    launch()


def forever():
    while True:
        cuda.fake_launch(13, b"more")


def daemons():
    """Threads launch while the interpreter is taken down under them."""
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    launch()


def daemons_leave():
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    launch()
    os._exit(9)


def late_threads():
    """The interpreter waits for it at its end."""
    threading.Thread(target=lambda: (time.sleep(0.002), launch())).start()
    launch()


def killed():
    launch()
    os.kill(os.getpid(), signal.SIGKILL)


def terminated():
    launch()
    os.kill(os.getpid(), signal.SIGTERM)


def interrupted():
    """An exception out of a signal's handler, somewhere among launches."""
    def handler(*_):
        raise SystemExit(6)
    signal.signal(signal.SIGALRM, handler)
    launch()
    signal.setitimer(signal.ITIMER_REAL, 0.0005)
    forever()


def at_exit():
    import atexit
    atexit.register(launch)
    launch()


class Last:
    def __del__(self):
        launch(cuda)


def destructors():
    """Some run when their module is taken down."""
    global last
    last = Last()
    circle = [Last()]
    circle.append(circle)
    launch()


def generators():
    import asyncio

    def inner():
        launch(n=1)
        yield from range(3)

    async def wait():
        await asyncio.sleep(0)
        launch(n=1)

    async def both():
        await asyncio.gather(wait(), wait())
    list(inner())
    asyncio.run(both())


def deep(n=900):
    if n:
        deep(n - 1)
    else:
        launch()


def made():
    for i in range(40):
        exec(compile("\n" * (i % 5) + "def f():\n    launch(n=1)\nf()", "<made %d>" % (i % 3), "exec"), {"launch": launch})


def watched():
    sys.setprofile(lambda *_: None)
    sys.settrace(lambda *_: None)
    launch()


def interpreters():
    try:
        import _interpreters as subs
    except ImportError:
        import _xxsubinterpreters as subs
    launch()
    other = subs.create()
    launch()
    subs.destroy(other)
    launch()


def workers():
    import multiprocessing
    launch()
    p = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.001,))
    p.start()
    p.join()
    launch()


def closes():
    launch()
    os.closerange(3, 1024)
    launch()


def few_descriptors():
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    launch()


# name: (exit status, launches that are told, or None where their number is not known)
KINDS = {
    "nothing": (0, 0), "once": (0, 1), "threads": (0, 16 * REPEAT), "fork": (0, 2 * REPEAT), "fork_and_finalise": (0, 2 * REPEAT),
    "fork_beside_launches": (0, 200), "execute": (0, REPEAT + 1), "execute_beside_launches": (0, None), "raises": (1, REPEAT),
    "leaves": (7, REPEAT), "leaves_in_thread": (8, 2 * REPEAT), "ends_a_thread": (0, 2 * REPEAT), "daemons": (0, None),
    "daemons_leave": (9, None), "late_threads": (0, 2 * REPEAT), "killed": (-9, REPEAT), "terminated": (-15, REPEAT),
    "interrupted": (6, None), "at_exit": (0, 2 * REPEAT), "destructors": (0, 3 * REPEAT), "generators": (0, 3), "deep": (0, REPEAT),
    "made": (0, 40), "watched": (0, REPEAT), "interpreters": (0, 3 * REPEAT), "workers": (0, 2 * REPEAT), "closes": (0, 2 * REPEAT),
    "few_descriptors": (0, REPEAT),
}


# ---- what starts them ----

def start(kinds, first, n, env, *pythons):
    """Starts programs first ... first + n and prints the id of each, its kind and status."""
    import subprocess
    for i in range(first, first + n):
        kind, python = kinds[i % len(kinds)], pythons[i // len(kinds) % len(pythons)]
        p = subprocess.Popen([python, "-S", "-E", __file__, kind], env=dict(os.environ, **env), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = p.communicate()[1]
        wrong = [line for line in said.splitlines() if "anitizer" in line or "runtime error" in line]
        print(p.pid, kind, p.returncode, *wrong[:1], flush=True)


def library(build):
    """What a program must load first, for a recorder with sanitizers."""
    if "address" not in os.path.basename(build):
        return {}
    san = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    return {"LD_PRELOAD": san}


def check(run, out):
    """What is wrong with a batch."""
    told = {}
    for capture in captures(run):
        for process in capture.rows["PROCESS"]:
            told[process["pid"]] = told.get(process["pid"], 0) + len(capture.rows["API"])
        if capture.bad:
            yield "a capture is damaged"
    for line in out.splitlines():
        pid, kind, status, *said = line.split(None, 3)
        want = KINDS[kind]
        if said or int(status) != want[0]:
            yield f"{kind}: status {status}, not {want[0]} {' '.join(said)}"
        elif want[1] not in (None, told.get(int(pid), 0)):
            yield f"{kind}: {told.get(int(pid), 0)} calls told, not {want[1]}"


def batch(pythons, kinds, first, n, env):
    run = WORK + "/run"
    shutil.rmtree(run, ignore_errors=True)
    reports = {"ASAN_OPTIONS": f"detect_leaks=0:log_path={WORK}/races", "UBSAN_OPTIONS": f"log_path={WORK}/races"}
    p = subprocess.run([ASSAY, "record", "--telemetry", "off", "-o", run, "--", sys.executable, __file__, "--inside", kinds, str(first), str(n), *pythons],
                       env=dict(os.environ, LD_LIBRARY_PATH=FAKE, STARTS_FIRST=env.get("LD_PRELOAD", ""), **reports), capture_output=True, text=True)
    wrong = list(check(run, p.stdout))
    lines = len(p.stdout.splitlines())
    if lines != n or p.returncode:
        wrong.append(f"{lines} of {n} programs ended, status {p.returncode}")
    if wrong:
        wrong.append(p.stderr[-1500:])
    if (said := sanitizer_reports(WORK)):
        wrong.append(said[:3000])
        for old in glob.glob(WORK + "/races.*"):
            os.remove(old)
    return wrong


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--starts", type=int)
    options.add_argument("--kinds", default=",".join(KINDS))
    options.add_argument("--python", action="append")
    options.add_argument("build", nargs="?")
    a = options.parse_args(OWN[1:])
    build_fakes()
    env, done, failures, starts = library(BUILD), 0, 0, a.starts or len(a.kinds.split(","))
    try:
        while done < starts:
            n = min(BATCH, starts - done)
            wrong = batch(a.python or [sys.executable], a.kinds, done, n, env)
            done += n
            failures += len(wrong)
            print(f"{done} starts, {failures} wrong", *wrong, sep="\n  ", flush=True)
    finally:
        end_work_in(WORK)
        shutil.rmtree(WORK, ignore_errors=True)
    return failures > 0


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in KINDS:
        cuda = ctypes.CDLL("libcuda.so.1")
        cuda.cuInit(0)
        globals()[sys.argv[1]]()
    elif sys.argv[1:2] == ["--inside"]:
        first = os.environ.pop("STARTS_FIRST")
        start(sys.argv[2].split(","), int(sys.argv[3]), int(sys.argv[4]), {"LD_PRELOAD": first} if first else {}, *sys.argv[5:])
    else:
        import argparse
        import glob
        import shutil
        import subprocess
        OWN = sys.argv
        build = [a for a in OWN[1:] if os.path.isdir(a)]
        sys.argv = [OWN[0], *build[-1:]]  # what the harness looks at
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        from harness import ASSAY, BUILD, FAKE, WORK, build_fakes, captures, end_work_in, sanitizer_reports  # noqa: E402
        sys.exit(main())
