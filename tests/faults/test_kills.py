#!/usr/bin/env python3
"""Killed at every system call that changes a file: outputs are old or new and never half, what is left over hinders
nobody, and a recovery that is killed and begun again has every record once. strace kills at the N-th call, for every N.

usage: test_kills.py [--all] [WORD...]: a few calls of each kind, or every one; calls with a word in their names."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ARGS, sys.argv[1:] = sys.argv[1:], []  # the recorder's tests take their build folder from there
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "record")]
import tap  # noqa: E402
import test_faults as faults  # noqa: E402

CALLS = ["openat", "write", "pwrite64", "fchmod", "close", "linkat", "link", "rename", "renameat", "mkdir", "ftruncate", "fsync",
         "fdatasync", "unlink", "unlinkat", "rmdir"]
FEW = 3


def points(before, all_calls, every, only):
    for call in CALLS:
        if only and not any(w in call for w in only):
            continue
        places = range(before.get(call, 0) + 1, all_calls[call] + 1)
        if not every and len(places) > FEW:
            places = [places[i * (len(places) - 1) // (FEW - 1)] for i in range(FEW)]
        for n in places:
            yield call, n


def kill_at(call, n):
    return ["-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={n}"]


# ---------------------------------------------------------------- outputs

def nameless(folder):
    """Whether files can be without a name until they are whole. Where they cannot, a kill leaves one beside the output."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        return False
    return os.path.isdir("/proc/self/fd")


def is_mark(name):
    return pathlib.PurePath(name).name == "UNFINISHED"


def wrong(folder, words, old, new, status):
    """None, or what is wrong after a kill. A folder of which only some files are there says so."""
    now = faults.contents(folder)
    marked = [name for name in now if is_mark(name)]
    for name in marked:
        del now[name]
    if not marked and now not in (old, new) and sum(name.startswith("out/") for name in new) > 2:
        return f"{len(now)} of {len(new)} files, and it is not said"
    half = [name for name in old.keys() | new.keys() if now.get(name) not in (old.get(name), new.get(name))]
    if half:
        return f"half: {half}"
    for name in now.keys() - old.keys() - new.keys():
        base = re.sub(r"\.\d+-\d+$", "", name)  # a whole file between its two names
        if now[name] != new.get(base) and nameless(folder):
            return f"left: {name}"
    if status == 0:
        return None if now == new else "ended well with other files"
    again = faults.traced(folder, words, "-o", "/dev/null")
    now = faults.contents(folder)
    good = again.returncode == 0 and not any(n == "out/UNFINISHED" for n in now) and all(now.get(name) == data for name, data in new.items())
    return None if good else f"again: {again.returncode} {again.stderr[-160:]!r}"


def outputs(command, every, only):
    bad, killed = [], 0
    with tempfile.TemporaryDirectory() as temp:
        place = pathlib.Path(temp) / "place"
        words = faults.fresh(place, command)
        before, all_calls = faults.calls(place, words)
        new = faults.contents(place)
        for call, n in points(before, all_calls, every, only):
            words = faults.fresh(place, command)
            old = faults.contents(place)
            p = faults.traced(place, words, *kill_at(call, n))
            killed += p.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
            trouble = wrong(place, words, old, new, p.returncode)
            bad += [f"{call} {n}: {trouble}"] if trouble else []
    told = f"{command}: {killed} kills leave" if every else f"{command}: kills leave"
    tap.ok(f"{told} old or new files", killed and not bad, "\n".join(bad[:20]))


# ---------------------------------------------------------------- recovery

def recovery(every, only):
    """Of a run whose program and recorder were killed: rings in memory, a capture without its end."""
    import harness
    import test_recover as recover

    class Told:  # what check() wants to know of a recording
        def __init__(self, run, steps):
            self.run, self.steps = run, lambda: steps

    recover.build()
    r = recover.Recording("kills")
    r.until(lambda: r.steps() > 200)
    harness.kill_all(r.assay.pid, r.program)
    r.end()
    steps, kept = r.steps(), pathlib.Path(harness.WORK) / "kept"
    sockets = shutil.ignore_patterns("control")
    shutil.copytree(recover.SHM, kept / "shm", symlinks=True)
    shutil.copytree(r.run, kept / "run", symlinks=True, ignore=sockets)

    def restore():
        for path, name in ((recover.SHM, "shm"), (r.run, "run")):
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(kept / name, path, symlinks=True)

    command = [tap.ASSAY, "record", "--recover", r.run]
    restore()
    log = pathlib.Path(harness.WORK) / "log"
    subprocess.run(["strace", "-f", "-qq", "-o", log, *command], env=recover.ENV, capture_output=True, check=True)
    all_calls = faults.collections.Counter(re.findall(r"^\d+ +(\w+)\(", log.read_text(errors="replace"), re.M))
    bad, killed = [], 0
    for call, n in points({}, all_calls, every, only):
        restore()
        p = subprocess.run(["strace", "-f", "-qq", *kill_at(call, n), *command], env=recover.ENV, capture_output=True)
        killed += p.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
        try:
            again = subprocess.run(command, env=recover.ENV, capture_output=True, text=True)
            assert again.returncode == 0, again.stderr
            recover.check(Told(r.run, steps))
        except AssertionError as e:
            bad.append(f"{call} {n}: {e}")
    shutil.rmtree(harness.WORK, ignore_errors=True)
    tap.ok(f"{killed if every else ''} kills of a recovery lose and double no record".strip(), killed and not bad, "\n".join(bad[:20]))


def main():
    words = [a for a in ARGS if a != "--all"]
    works = shutil.which("strace") and not subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode
    if not works:
        tap.skip("kills", "strace cannot trace here")
        return
    every = "--all" in ARGS
    for command in faults.COMMANDS if every else ("gzip", "folder", "new"):
        outputs(command, every, words)
    recovery(every, words)
    tap.done()


if __name__ == "__main__":
    main()
