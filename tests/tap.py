"""Lines that tests/check counts: 'ok - name', 'not ok - name', 'skip - name: reason'."""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
ASSAY = os.environ.get("ASSAY", str(ROOT / "build/release/assay"))
CORPUS = pathlib.Path(os.environ.get("ASSAY_CORPUS", str(ROOT.parent / "shared/data")))
PATIENCE = 300  # seconds until what must come is given up: only what hangs waits so long, however busy the machine
failed = 0


def ok(name, good, detail=""):
    global failed
    print(("ok - " if good else "not ok - ") + name, flush=True)
    if not good:
        failed += 1
        if detail:
            print("    " + str(detail).replace("\n", "\n    "), file=sys.stderr)


def skip(name, reason):
    print(f"skip - {name}: {reason}", flush=True)


def run(*args, **kw):
    """The program's exit status, standard output and standard error, as text."""
    p = subprocess.run([ASSAY, *map(str, args)], capture_output=True, timeout=PATIENCE, **kw)
    return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")


def report(*args, **kw):
    """The report as a dict; where there is none, {"error": why}."""
    code, out, err = run("report", "--json", *args, **kw)
    return json.loads(out) if code == 0 else {"error": err}


def sql(path, query):
    """Rows of a query, a dict each."""
    code, out, err = run("sql", "--format", "json", path, query)
    assert code == 0, err
    return json.loads(out)


def not_written(err):
    """What convert says that it left out, and how many of each."""
    for line in err.split("\n"):
        if line.startswith("assay: not written") and ": " in line:
            text = line.split(" for it: ", 1)[1]
            return {what: int(n.replace(",", "")) for n, what in re.findall(r"([\d,]*\d) (.+?)(?=, [\d,]*\d |$)", text)}
    return {}


def until(ready, what):
    """What ready() gives as soon as that is something."""
    end = time.monotonic() + PATIENCE
    while not (got := ready()):
        assert time.monotonic() < end, what
        time.sleep(0.005)
    return got


def sanitizer_env(folder):
    """Variables for recorded programs with sanitizers, which do not know two things. The C library frees what dlerror() would
    say of a detached thread behind their back when the thread ends with the process. And threads of the recorder have
    descriptors of their own: a number is not one file, and what these threads report goes nowhere but to a file."""
    leaks, races = pathlib.Path(folder, "known_leaks"), pathlib.Path(folder, "known_races")
    leaks.write_text("leak:_dlerror_run\n")
    races.write_text("race:interceptor_close\n")
    return {"LSAN_OPTIONS": f"suppressions={leaks}:print_suppressions=0",
            "TSAN_OPTIONS": f"suppressions={races}:print_suppressions=0:log_path={folder}/races"}


def sanitizer_reports(folder):
    return "".join(p.read_text(errors="replace") for p in pathlib.Path(folder).glob("races.*"))


def page_data(page):
    """What a page carries besides its events: {"runs": [...], "diff": ...}."""
    block = re.search(r'<script type="text/plain" id="data">(.*?)</script>', pathlib.Path(page).read_text()).group(1)
    return json.loads(zlib.decompress(base64.b64decode(block), -15))


def done():
    sys.exit(1 if failed else 0)
