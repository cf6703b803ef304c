#!/usr/bin/env python3
"""What the command line promises whatever the input: inputs survive, trouble has an exit status and a
sentence, an option is obeyed or refused, and nothing is lost without a word."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

DEMO = tap.ROOT / "demo"
TRAIN = DEMO / "train.json.gz"


def refused(name, *args, words, status=2, **kw):
    code, out, err = tap.run(*args, **kw)
    good = code == status and not out and all(w in err for w in words)
    tap.ok(name, good, f"exit status {code}\n{out[:400]}\n{err}")


def inputs_survive(folder):
    trace = folder / "train.json.gz"
    ranks = folder / "ranks"
    shutil.copy(TRAIN, trace)
    shutil.copytree(DEMO / "ddp", ranks)
    rank = ranks / "ddp_rank0.json.gz"
    refused("a page does not replace its input", "report", trace, "--html", trace, words=["is an input"], status=1)
    refused("nor does that of a diff", "diff", TRAIN, trace, "--html", trace, words=["is an input"])
    refused("nor a file of an input folder", "report", ranks, "--html", rank, words=["is an input"], status=1)
    refused("nor does convert", "convert", trace, trace, words=["is an input"])
    refused("nor in a folder", "convert", ranks, rank, words=["is an input"])
    same = trace.read_bytes() == TRAIN.read_bytes() and rank.read_bytes() == (DEMO / "ddp" / rank.name).read_bytes()
    tap.ok("inputs are as they were", same)


def pages(folder):
    page = folder / "page.html"
    page.write_text("old")
    refused("a page that cannot be written", "report", TRAIN, "--html", folder / "none/x.html", words=["cannot write"],
            status=1)
    tap.run("report", TRAIN, "--html", page)
    code, out, _ = tap.run("report", TRAIN, "--html", "-", cwd=folder)
    tap.ok("--html - is standard output", code == 0 and out.startswith("<!") and not (folder / "-").exists())
    tap.ok("with the page that a file gets", abs(len(out.encode()) - page.stat().st_size) < 32)


def options_are_obeyed_or_refused(folder):
    for like in ("goblin", "hta", "tracelens"):
        page = folder / "like.html"
        refused(f"--html with --like {like}", "report", "--like", like, "--html", page, TRAIN, words=["--html", like])
    refused("--html - with --json", "report", "--json", "--html", "-", TRAIN, words=["--html", "--json"])
    refused("in a diff, too", "diff", "--json", "--html", "-", TRAIN, TRAIN, words=["--html", "--json"])
    page = folder / "diff.html"
    code, out, _ = tap.run("diff", "--json", "--top", "3", "--html", page, TRAIN, DEMO / "run")
    tap.ok("a diff writes page and JSON when asked for both", code == 1 and page.exists() and json.loads(out))
    tap.ok("--top counts for JSON", len(json.loads(out)["kernels"]) == 3)
    _, _, err = tap.run("report", "--precision", "bf16", TRAIN)
    tap.ok("a precision that nothing uses is said", "precision" in err)


def output_that_cannot_be_written(_):
    env = tap.ROOT / "examples/env"
    lines = {
        1: (["--help"], ["--version"], ["report", "--help"], ["report", TRAIN], ["info", "--schema"],
            ["convert", "--to", "chrome", TRAIN, "-"]),
        2: (["diff", TRAIN, TRAIN], ["diff", TRAIN, DEMO / "run"], ["env", "diff", env / "a.json", env / "b.json"]),
    }
    for status, commands in lines.items():
        for args in commands:
            with open("/dev/full", "w", encoding="ascii") as full:
                p = subprocess.run([tap.ASSAY, *map(str, args)], stdout=full, stderr=subprocess.PIPE, check=False)
            good = p.returncode == status and b"No space left" in p.stderr
            tap.ok(f"{' '.join(map(str, args[:2]))} to a full disk", good, f"{p.returncode} {p.stderr}")


def parts_of_a_diff_are_those_of_the_budget(_):
    code, out, _ = tap.run("diff", "--json", DEMO / "run", TRAIN)
    d = json.loads(out)
    for side in ("a_ns", "b_ns"):
        part = {p["name"]: p[side] for p in d["parts"]}
        budget = {p["name"]: p.get(side) for p in d["budget"]}
        causes = sum(c[side] for c in d["idle_causes"])
        tap.ok(f"{side}: idle is the sum of its causes", abs(part["idle"] - causes) < 1, f"{part['idle']} {causes}")
        total = sum(part.values())
        tap.ok(f"{side}: the parts sum to the budget's total", abs(total - budget["total"]) < 1, f"{part} {budget}")
    _, text, _ = tap.run("diff", DEMO / "run", TRAIN)
    tap.ok("what one side does not know is unknown", code == 1 and "nan" not in text and "136.0 GiB    unknown" in text)


TESTS = (
    inputs_survive,
    pages,
    options_are_obeyed_or_refused,
    output_that_cannot_be_written,
    parts_of_a_diff_are_those_of_the_budget,
)
with tempfile.TemporaryDirectory() as name:
    for test in TESTS:
        place = pathlib.Path(name) / test.__name__
        place.mkdir()
        test(place)
tap.done()
