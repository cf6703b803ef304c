"""Programs that are recorded while a test tells them what to do, and what is asked of them meanwhile."""
import json
import os
import shutil
import subprocess

from harness import ASSAY, FAKE, PATIENCE, WORK, build_fakes, eq, run, until


class Job:
    """A program under `assay record` that does one thing after the other."""

    def __init__(self, name, *opts, folder=WORK, before=None):
        self.run = os.path.join(folder, name)
        shutil.rmtree(self.run, ignore_errors=True)
        self.p = subprocess.Popen([ASSAY, "record", "-o", self.run, *opts, "--", FAKE + "/program", "obey", "0"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=dict(os.environ, LD_LIBRARY_PATH=FAKE), preexec_fn=before)
        self.do("ready")

    def do(self, *things):
        """Whether CUPTI is on after the last of them."""
        for thing in things:
            self.p.stdin.write(thing + "\n")
            self.p.stdin.flush()
            answer = self.p.stdout.readline().strip()
            assert answer in ("on", "off"), f"answer {answer!r} to {thing}"
        return answer == "on"

    def start_again(self):
        """The program becomes itself; its new self answers the next request."""
        self.p.stdin.write("exec\n")
        self.p.stdin.flush()

    def ctl(self, *words, status=0):
        return ctl([self.run], *words, status=status)

    def end(self):
        self.p.stdin.close()
        out, err = self.p.stdout.read(), self.p.stderr.read()
        eq((self.p.wait(PATIENCE), out), (0, ""))
        self.p.stdout.close()
        self.p.stderr.close()
        return err


LATE = "not obeyed the last order yet"


def asked(*words):
    return subprocess.run([ASSAY, "ctl", *words], capture_output=True, text=True, timeout=PATIENCE)


def ctl(runs, *words, status=0):
    """What is said of an order that was obeyed, however long that took."""
    p = asked(*runs, *words)
    if status == 0 and LATE in p.stderr:
        eq(p.returncode, 1)
        until(lambda: LATE not in asked(*runs, "status").stderr, "it is not obeyed")
        return ctl(runs, "status", *(w for w in words if w == "--json"))
    eq((p.returncode, p.stderr if status == 0 else ""), (status, ""))
    return p.stdout if status == 0 else p.stderr


def state(job):
    return json.loads(job.ctl("status", "--json"))


def report(run):
    return json.loads(subprocess.run([ASSAY, "report", run, "--json"], check=True, capture_output=True).stdout)


def query(run, text):
    out = subprocess.run([ASSAY, "sql", run, text, "--format", "json"], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def run_all():
    return run(build_fakes)
