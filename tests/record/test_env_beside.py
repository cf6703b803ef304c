#!/usr/bin/env python3
"""The command does not wait for the machine's identity: env.json is made beside it, and is whole at the end, however that comes.
usage: test_env_beside.py [BUILD [WORDS...]]   prints one line a test; exit status 1 when one fails."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from harness import ASSAY, PATIENCE, WORK, Skip, cc, eq, run, test, until  # noqa: E402

LIBRARIES = WORK + "/libraries"
LARGE = LIBRARIES + "/libnccl.so.2"
MOMENT, AGES = 1 << 25, 1 << 40  # bytes that take a moment to read, at lowest priority beside others, that nobody reads to the end


def build():
    os.mkdir(LIBRARIES)
    with open(WORK + "/empty.c", "w") as f:
        f.write("int empty;\n")
    cc(LARGE, "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2", WORK + "/empty.c")


def large(size):
    """The library has so many bytes, and none of its digests is remembered."""
    try:
        os.truncate(LARGE, size)  # a hole
        os.utime(LARGE)
    except OSError as e:
        raise Skip(f"no file of {size} bytes: {e}")


def environment(name):
    return dict(os.environ, LD_LIBRARY_PATH=LIBRARIES, XDG_CACHE_HOME=WORK + "/cache", RUN=f"{WORK}/{name}")


def start(name, *command, **kw):
    return subprocess.Popen([ASSAY, "record", "-o", f"{WORK}/{name}", "--telemetry", "off", "--set", "rings=" + WORK, "--", *command], env=environment(name), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **kw)


def snapshot(name):
    """env.json, which is whole whenever it is there; None: it is not."""
    try:
        with open(f"{WORK}/{name}/env.json") as f:
            return json.load(f)
    except FileNotFoundError:
        return None


def hashed(name):
    s = snapshot(name)
    return s and s["assay"]["hashed"]


WAITS = """
import json, os, time
path = os.environ["RUN"] + "/env.json"
while not os.path.exists(path) or not json.load(open(path))["assay"]["hashed"]:
    time.sleep(0.01)
"""


def is_incomplete(name):
    s = snapshot(name)
    eq((s["assay"]["hashed"], s["assay"]["files_left"] > 0, s["partial"]), (False, True, True))
    assert any("have no digest" in r for r in s["partial_reasons"]), s["partial_reasons"]
    p = subprocess.run([ASSAY, "report", "-v", f"{WORK}/{name}"], capture_output=True, text=True)
    assert "environment snapshot is incomplete" in " ".join(p.stdout.split()), p.stdout + p.stderr


@test
def libraries_are_read_beside_the_command():
    large(MOMENT)
    p = start("beside", sys.executable, "-c", WAITS)
    p.communicate(timeout=PATIENCE)
    eq(p.returncode, 0)
    s = snapshot("beside")
    eq((s["assay"]["hashed"], s["assay"].get("files_left")), (True, None))
    assert len(s["assay"]["libraries"]["nccl"]["plain"]["sha256"]) == len("sha256:") + 64
    plain = subprocess.run([ASSAY, "env", "--json"], env=environment("beside"), capture_output=True, text=True)
    eq(json.loads(plain.stdout)["assay"]["libraries"], s["assay"]["libraries"])


@test
def what_is_left_when_the_command_ends_is_waited_for():
    large(MOMENT)
    p = start("after", "true")
    eq((p.wait(timeout=PATIENCE), hashed("after")), (0, True))


@test
def a_snapshot_outlives_a_killed_recording():
    large(MOMENT)
    p = start("killed", "sleep", "1000", start_new_session=True)
    until(lambda: snapshot("killed"), "no snapshot")
    os.killpg(p.pid, signal.SIGKILL)
    p.communicate(timeout=PATIENCE)
    until(lambda: hashed("killed"), "the probe died with it")


def waits(p, name):
    """Whether the command has ended and `assay record` waits for the snapshot: from then on it catches signals."""
    if not snapshot(name) or "stop" not in json.load(open(f"{WORK}/{name}/run.json")):
        return False
    with open(f"/proc/{p.pid}/status") as f:
        caught = next(int(line.split()[1], 16) for line in f if line.startswith("SigCgt:"))
    return all(caught >> (sig - 1) & 1 for sig in (signal.SIGINT, signal.SIGTERM))  # others may be ignored, as by nohup


def interrupted(name, command, sig):
    large(AGES)
    p = start(name, *command)
    until(lambda: waits(p, name), "the command does not end")
    p.send_signal(sig)
    return p, p.communicate(timeout=PATIENCE)


@test
def the_command_waits_for_no_library_and_who_does_not_wait_either_is_told_what_is_missing():
    for sig in (signal.SIGINT, signal.SIGTERM):
        name = "impatient" + sig.name
        p, _ = interrupted(name, ("sh", "-c", "exit 7"), sig)
        eq(p.returncode, 7)
        is_incomplete(name)


@test
def ctrl_c_ends_the_command_and_once_more_the_probe():
    large(AGES)
    p = start("twice", sys.executable, "-c", "print(1, flush=True)\nimport time\ntime.sleep(1000)", start_new_session=True)
    eq(p.stdout.readline(), "1\n")
    os.killpg(p.pid, signal.SIGINT)  # as a terminal sends it
    until(lambda: waits(p, "twice"), "the command does not end")
    os.killpg(p.pid, signal.SIGINT)
    p.communicate(timeout=PATIENCE)
    eq(p.returncode, 130)
    is_incomplete("twice")


@test
def a_command_that_cannot_be_started_leaves_nothing():
    large(AGES)
    p = start("none", "/no/such/command")
    eq((p.wait(timeout=PATIENCE), os.path.exists(WORK + "/none")), (127, False))


if __name__ == "__main__":
    sys.exit(run(build))
