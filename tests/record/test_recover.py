#!/usr/bin/env python3
"""Records outlive every death: of the program, of `assay record`, of both, and of a recovery itself.
usage: test_recover.py [BUILD [WORDS...]]   prints one line a test; exit status 1 when one fails."""
import glob
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from harness import ASSAY, FAKE, PATIENCE, WORK, build_fakes, captures, child_of, end_work_in, eq, gone, kill_all, one, run, test, until  # noqa: E402
from job import Job  # noqa: E402

ENV = dict(os.environ, LD_LIBRARY_PATH=FAKE)
SHM = os.path.join(WORK, "shm")  # in the place of /dev/shm, whose size is the machine's


def build():
    build_fakes()
    os.mkdir(SHM)


class Recording:
    """`assay record` of a program that tells how many steps it has done."""

    def __init__(self, name, rings=SHM, opts=()):
        self.run, self.told = os.path.join(WORK, name), os.path.join(WORK, name + ".told")
        self.assay = subprocess.Popen(
            [ASSAY, "record", "-o", self.run, "--telemetry", "off", "--set", "rings=" + rings, "--set", "ring=4194304", *opts, "--",
             FAKE + "/program", "tell", "0", self.told], env=ENV, stderr=subprocess.PIPE, text=True)
        self.until(lambda: self.steps() > 0)
        self.program = child_of(self.assay.pid)

    def until(self, ready):
        until(lambda: self.assay.poll() is not None or ready(), "its steps do not come")
        assert self.assay.poll() is None, "it ended"

    def steps(self):
        try:
            return struct.unpack("<I", open(self.told, "rb").read(4))[0]
        except (OSError, struct.error):
            return 0

    def end(self):
        """Both were killed; the program is not our child."""
        self.assay.communicate(timeout=PATIENCE)
        until(lambda: gone(self.program), "the program lives")
        end_work_in(self.run)


def recover(*runs, status=0):
    p = subprocess.run([ASSAY, "record", "--recover", *runs], env=ENV, capture_output=True, text=True)
    eq((p.returncode, p.stdout), (status, ""))
    return p.stderr


def check(r):
    """Every step that was done is there, whole, and at most the one under way besides."""
    c, done = one(r.run), r.steps()
    steps = [x for x in c.rows["RANGE"] if x["op"] == 1 and x["text"] == "step"]
    assert done <= len(steps) <= done + 1, (done, len(steps))
    assert 5 * done <= len(c.rows["API"]) <= 5 * (done + 1), (done, len(c.rows["API"]))
    corr = [x["corr"] for x in c.rows["API"]]
    eq((len(set(corr)), c.bad, len(c.rows["DEATH"])), (len(corr), 0, 1))
    eq(glob.glob(SHM + "/*") + glob.glob(r.run + "/*.ring"), [])
    info = json.loads(subprocess.run([ASSAY, "info", "--json", r.run], capture_output=True, text=True, check=True).stdout)
    eq({k for k in info["issues"] if k.startswith(("damaged", "truncated", "left", "lost", "bad"))}, set())


@test
def whoever_is_killed_the_records_are_kept():
    rng = random.Random(1)
    for turn in range(20):
        r = Recording(f"kill{turn}")
        until = r.steps() + rng.randrange(600)
        r.until(lambda: r.steps() >= until)
        whom = turn % 4
        if whom == 0:  # the program: assay takes the rest itself
            kill_all(r.program)
            r.end()
        elif whom == 1:  # assay, then the program
            kill_all(r.assay.pid)
            r.assay.wait()
            kill_all(r.program)
            r.end()
            recover(r.run)
        elif whom == 2:  # both at once
            kill_all(r.assay.pid, r.program)
            r.end()
            recover(r.run)
        else:  # the program, and assay while it takes what is left
            kill_all(r.program)
            time.sleep(rng.random() / 500)
            if r.assay.poll() is None:
                kill_all(r.assay.pid)
            r.end()
            recover(r.run)
        check(r)
        shutil.rmtree(r.run)


@test
def rings_that_are_left_are_said_and_taken_once():
    r = Recording("said", opts=("--set", "flush=60000"))  # something is in the rings whenever it is killed
    r.until(lambda: r.steps() > 1000)
    kill_all(r.assay.pid)
    r.assay.wait()
    said = recover(r.run)  # the program is alive: nothing is taken from it
    assert "1 of its processes still run" in said and "recovered 0 records" in said, said
    kill_all(r.program)
    r.end()
    for command in (["report", "-v"], ["info"]):
        p = subprocess.run([ASSAY, *command, r.run], capture_output=True, text=True)
        assert "record --recover" in " ".join((p.stdout + p.stderr).split()), p.stdout + p.stderr  # in lines as long as the path allows
    said = recover(r.run)
    assert "records were taken from memory" in said, said
    check(r)
    before = {p: open(p, "rb").read() for p in glob.glob(r.run + "/*.asy")}
    assert "recovered 0 records" in recover(r.run)
    eq({p: open(p, "rb").read() for p in glob.glob(r.run + "/*.asy")}, before)
    described = json.load(open(r.run + "/run.json"))
    eq((described["rings"], described["command"][1], described["recovered"]["still_running"]), (None, "tell", 0))
    assert described["counts"]["ranges"] >= r.steps(), described["counts"]


@test
def a_run_that_is_recorded_is_left_to_its_recorder():
    r = Recording("busy")
    said = recover(r.run, status=1)
    assert "still being recorded" in said, said
    kill_all(r.program)
    r.end()
    check(r)


@test
def rings_in_the_run_directory_are_recovered():
    r = Recording("inside", rings="/nonexistent")
    r.until(lambda: r.steps() > 1000)
    kill_all(r.assay.pid, r.program)
    r.end()
    eq(len(glob.glob(r.run + "/*.ring")), 1)
    recover(r.run)
    check(r)


@test
def a_description_cannot_point_recovery_at_other_folders():
    victim, where = os.path.join(WORK, "assay-victim"), os.path.join(WORK, "pointing")
    for path in (victim, where):
        os.mkdir(path)
    ring = victim + "/trace-host-1.ring"
    open(ring, "w").write("somebody's own")
    for rings in (victim, victim + "/../assay-victim", "assay-victim", "/"):
        json.dump({"assay": "0", "recorders": {}, "rings": rings}, open(where + "/run.json", "w"))
        recover(where)
        eq(open(ring).read(), "somebody's own")


@test
def what_cannot_be_recovered_is_a_sentence():
    empty = os.path.join(WORK, "empty")
    os.mkdir(empty)
    assert "run.json" in recover(empty, status=1)
    assert "cannot use" in recover(os.path.join(WORK, "nothing there"), status=1)


@test
def a_capture_cut_at_any_byte_is_read_and_the_loss_counted():
    r = Recording("cut")
    r.until(lambda: r.steps() > 20)
    kill_all(r.program)
    r.end()
    path, = glob.glob(r.run + "/*.asy")
    data, rng = open(path, "rb").read(), random.Random(2)
    for n in sorted(rng.sample(range(1, len(data)), 40)) + [len(data)]:
        open(path, "wb").write(data[:n])
        p = subprocess.run([ASSAY, "info", "--json", r.run], capture_output=True, text=True)
        eq(p.returncode, 0)
        issues = set(json.loads(p.stdout)["issues"])
        if n < len(data):
            assert issues & {"truncated", "damaged_chunk", "no_end", "broken_file", "skipped_file"}, (n, issues)
        captures(r.run)


def recorded_meanwhile(name, change, *between, rings=SHM):
    """What is said of a recording of three steps whose folder is changed after the first; and the folder's name."""
    parent = os.path.join(WORK, name)
    os.mkdir(parent)
    job = Job(parent + "/run", "--telemetry", "off", "--set", "rings=" + rings)
    job.do("step")
    until(lambda: glob.glob(job.run + "/*.asy"), "no trace")
    change(job.run)
    job.do("step", "step")
    said = job.end()
    eq(glob.glob(SHM + "/*"), [])
    return parent, said


@test
def a_run_that_is_moved_is_found():
    for rings in SHM, "/nonexistent":
        parent, said = recorded_meanwhile("moved" + str(len(rings)), lambda run: os.rename(run, run + " elsewhere"), rings=rings)
        there = parent + "/run elsewhere"
        assert there in said and "nothing was lost" in said, said
        eq(os.listdir(parent), ["run elsewhere"])
        eq(sorted(x.split("-")[0] for x in os.listdir(there)), ["env.json", "run.json", "trace"])
        eq(json.load(open(there + "/run.json"))["counts"]["kernels"], len(one(there).rows["KERNEL"]))


@test
def a_run_that_is_removed_is_said_to_be():
    parent, said = recorded_meanwhile("removed", shutil.rmtree)
    eq(os.listdir(parent), [])
    assert "was removed while the command ran" in said and "not seen to use a GPU" not in said, said


@test
def rings_that_are_removed_are_missed():
    _, said = recorded_meanwhile("robbed", lambda run: shutil.rmtree(json.load(open(run + "/run.json"))["rings"]))
    assert "the memory for records was removed while the command ran" in said, said


@test
def a_trace_that_is_removed_is_missed():
    parent, said = recorded_meanwhile("traceless", lambda run: [os.remove(x) for x in glob.glob(run + "/*.asy")])
    assert "1 process left records whose trace is no longer there" in said and "not seen to use a GPU" not in said, said


@test
def a_folder_made_anew_is_recorded_into():
    def again(run):
        shutil.rmtree(run)
        os.mkdir(run)
    parent, said = recorded_meanwhile("again", again)
    assert "1 process left records whose trace is no longer there" in said, said
    eq(json.load(open(parent + "/run/run.json"))["counts"]["processes"], 0)


if __name__ == "__main__":
    sys.exit(run(build))
