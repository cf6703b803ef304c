#!/usr/bin/env python3
"""What the command line promises whatever the input: inputs survive, trouble has an exit status and a
sentence, an option is obeyed or refused, and nothing is lost without a word."""
import base64
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unicodedata
import zlib

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / part) for part in ("", "faults")]
import commands
import tap

DEMO = tap.ROOT / "demo"
TRAIN = DEMO / "train.json.gz"


def refused(name, *args, words, status=2, **kw):
    code, out, err = tap.run(*args, **kw)
    good = code == status and not out and all(w in err for w in words)
    tap.ok(name, good, f"exit status {code}\n{out[:400]}\n{err}")


def pages_stand_alone(folder):
    page = folder / "alone.html"
    tap.run("report", TRAIN, "--html", page)
    text = page.read_text()
    packed = re.search(r'<script type="text/plain" id="script">(.*?)</script>', text)[1]
    script = zlib.decompress(base64.b64decode(packed), -15).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for rule, tag in (("script-src", "script"), ("style-src", "style")):
        parts = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.S) + ([script] if tag == "script" else [])
        hashes = ["'sha256-%s'" % base64.b64encode(hashlib.sha256(p.encode()).digest()).decode() for p in parts]
        tap.ok(f"a page runs no {tag} but its own", parts and rules[rule].split() == hashes, (rules[rule], hashes))
    elsewhere = re.findall(r"https?://[^\s\"'<]*|@import|<link\b|\bsrc=|url\(", text + script)
    tap.ok("a page loads nothing and names no other place", rules["default-src"] == "'none'" and not elsewhere, (policy, elsewhere))


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
    for instead in (["--json"], ["--markdown"], ["--html", folder / "text.html"]):
        for option in (["--section", "steps"], ["--verbose"], ["--full-names"]):
            refused(f"{option[0]} with {instead[0]}", "report", *option, *instead, TRAIN, words=[option[0], instead[0]])
    refused("in a diff, too", "diff", "--json", "--html", "-", TRAIN, TRAIN, words=["--html", "--json"])
    page = folder / "diff.html"
    code, out, _ = tap.run("diff", "--json", "--top", "3", "--html", page, TRAIN, DEMO / "run")
    tap.ok("a diff writes page and JSON when asked for both", code == 1 and page.exists() and json.loads(out))
    tap.ok("--top counts for JSON", len(json.loads(out)["kernels"]) == 3)
    for args in (["--folded", "--json"], ["--timeline", "--folded"], ["--timeline", "--step", "3"]):
        refused(f"scopes {' '.join(args)}", "scopes", *args, TRAIN, words=[args[0], args[1]])
    for command, option in (("report", "--steps"), ("scopes", "--depth")):
        refused(f"{command} {option} 0", command, option, "0", TRAIN, words=["'0'", option])
    refused("a schema of an input", "info", "--schema", TRAIN, words=["--schema"])
    code, out, _ = tap.run("info", "--schema", "--json")
    tap.ok("the schema as JSON", code == 0 and any(t["name"] == "gpu" for t in json.loads(out)["tables"]))
    _, out, _ = tap.run("waits", "--min", "5s", TRAIN)
    tap.ok("a filter says of how many", out.startswith("0 of 13 waits"), out)
    _, out, _ = tap.run("report", "--steps-from", "NVTX:nope", TRAIN)
    tap.ok("step ranges that are not there are said", "'nope'" in out)
    _, _, err = tap.run("report", "--precision", "bf16", TRAIN)
    tap.ok("a precision that nothing uses is said", "precision" in err)


def pager(folder):
    """A terminal gets a pager, whatever it is told by; everything else gets the report."""
    if not shutil.which("script"):
        tap.skip("the pager", "no script")
        return
    seen = folder / "paged"
    line = f"{tap.ASSAY} report {TRAIN}"

    def on_terminal(line, **env):
        seen.unlink(missing_ok=True)
        return subprocess.run(["script", "-qc", line, "/dev/null"], stdin=subprocess.DEVNULL, capture_output=True,
                              env={**os.environ, "TERM": "xterm", **env}, timeout=tap.PATIENCE).stdout.decode()

    for name, env in (("ASSAY_PAGER", {"ASSAY_PAGER": f"cat >{seen}", "PAGER": "false"}), ("PAGER", {"PAGER": f"cat >{seen}"})):
        out = on_terminal(line, **env)
        tap.ok(f"{name} shows the report", seen.exists() and "demo/train" in seen.read_text() and not out, out[:300])
    out = on_terminal(line + " --no-pager", PAGER=f"cat >{seen}")
    tap.ok("--no-pager", not seen.exists() and "demo/train" in out)
    diff = f"{tap.ASSAY} diff {TRAIN} {TRAIN}"
    out = on_terminal(diff, PAGER=f"cat >{seen}", COLUMNS="60")
    tap.ok("a diff goes through the pager, as wide as the terminal", seen.exists() and not out
           and 30 < max(map(len, seen.read_text().splitlines())) <= 60, (out[:300], seen.exists() and seen.read_text()[:300]))
    out = on_terminal(diff + " --no-pager", PAGER=f"cat >{seen}")
    tap.ok("--no-pager of a diff", not seen.exists() and out, out[:300])
    out = on_terminal(line + " | cat", PAGER=f"cat >{seen}")
    tap.ok("a pipe is no terminal", not seen.exists() and "demo/train" in out)
    out = on_terminal(line, PAGER="no-such-pager --at all")
    tap.ok("without its pager the report is shown all the same", "no-such-pager" in out and "demo/train" in out, out[:300])
    tap.ok("leaving the pager early is no error", on_terminal(line + "; echo =$?", PAGER="head -1").strip().endswith("=0"))


def the_first_screen_fits(_):
    for name in ("run", "ddp", "train.json.gz"):
        for columns in (50, 80, 200):
            _, out, _ = tap.run("report", DEMO / name, env={**os.environ, "COLUMNS": str(columns)})
            lines = out.splitlines()
            widest = max(map(len, lines))
            tap.ok(f"{name} in 24 lines of {columns} columns", len(lines) <= 24 and widest <= columns, f"{len(lines)} x {widest}")
            _, out, _ = tap.run("report", "-v", DEMO / name, env={**os.environ, "COLUMNS": str(columns)})
            tap.ok(f"all of {name} in {columns} columns", max(map(len, out.splitlines())) <= columns)
        _, out, _ = tap.run("report", "--section", "kernels", "--top", "0", DEMO / name)
        names = [line[45:] for line in out.splitlines()[3:]]
        tap.ok(f"no two kernels of {name} have one label", len(names) == len(set(names)) > 5, out)


def columns(line):
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in line)


def wide_characters_fit(folder):
    """Names of two columns a character, and accents of none, in every table of the report."""
    name = "\u6570\u636e\u52a0\u8f7d\u30c7\u30fc\u30bf\ub370\uc774\ud130e\u0301" * 4
    events = []
    for step in range(4):
        at = 10000 * step
        events += [{"ph": "X", "cat": cat, "name": text, "ts": at + begin, "dur": dur, "pid": pid, "tid": 7, "args": args} for cat, text, begin, dur, pid, args in (
            ("user_annotation", f"ProfilerStep#{step}", 0, 9990, 100, {}), ("user_annotation", name + "load_data", 50, 4900, 100, {}),
            ("cpu_op", "aten::" + name, 4995, 20, 100, {}), ("cuda_runtime", "cudaLaunchKernel", 5000, 5, 100, {"correlation": step + 1}),
            ("kernel", f"{name}<{name}, int>{step % 2}{name}", 5020, 4000, 0, {"correlation": step + 1, "device": 0, "stream": 7}))]
    trace = folder / (name[:20] + ".json")
    trace.write_text(json.dumps({"traceEvents": events}))
    for width in (40, 51, 80, 93):
        _, out, _ = tap.run("report", "-v", trace, env={**os.environ, "COLUMNS": str(width)})
        widest = max(out.splitlines(), key=columns)
        tap.ok(f"wide characters in {width} columns", columns(widest) <= width and "\ufffd" not in out, widest)


def text_fits_the_terminal(_):
    """Commands whose lines are long: whole in a pipe, and on a terminal with all of their words in as many columns as there are."""
    if not shutil.which("script"):
        tap.skip("text fits the terminal", "there is no script(1)")
        return
    for words in ("waits --chains demo/run", "scopes --ops demo/train.json.gz", "path demo/run", "info demo/run", "info --schema", "diff demo/train.json.gz demo/run"):
        _, piped, _ = tap.run(*words.split(), cwd=tap.ROOT)
        for room in (60, 80):
            line = f"{tap.ASSAY} {words} 2>/dev/null"
            out = subprocess.run(["script", "-qc", line, "/dev/null"], stdin=subprocess.DEVNULL, capture_output=True, cwd=tap.ROOT,
                                 env={**os.environ, "TERM": "dumb", "COLUMNS": str(room), "ASSAY_PAGER": "cat"}, timeout=tap.PATIENCE).stdout.decode()
            lines = out.replace("\r", "").splitlines()
            tap.ok(f"assay {words} fits {room} columns", lines and max(map(columns, lines)) <= room, max(lines, key=len, default=""))
            same = words.startswith("scopes") or re.sub(r"\s", "", out) == re.sub(r"\s", "", piped)
            tap.ok("and has every word", same, out[:400])


def names_command_no_terminal(folder):
    """Every command that takes a name, given one that would colour, turn and break the line."""
    evil = str(folder / "e\x1b[31mvil\u202e\nassay: all is well")
    lines = [[*c.split("-"), evil] for c in tap.run("help", "--list")[1].split() if c != "record"] + [
        [evil.split("/")[-1]], ["report", "--" + evil], ["record", "-o", evil, "--", evil], ["ctl", evil, "status"], ["sql", evil, "x"],
        ["convert", evil, evil + ".json"], *([*c.split(), evil, evil] for c in ("diff", "env diff", "env check"))]
    for words in lines:
        code, out, err = tap.run(*words, stdin=subprocess.DEVNULL)
        tame = not any(c in out + err for c in "\x1b\u202e") and "\nassay: all is well" not in err
        tap.ok(f"{words[0][:9]!r} of {len(words)} words says a hostile name tamely", code and err and tame, repr(err))
    trace = folder / "trace.json"
    events = [{"ph": "X", "cat": c, "name": evil, "pid": p, "tid": 7, "ts": t, "dur": 9, "args": {"stream": 7, "device": 0, "correlation": 3, evil: evil}}
              for c, p, t in (("kernel", 0, 12), ("gpu_memcpy", 0, 30), ("user_annotation", 1, 0), ("cpu_op", 1, 2), ("cuda_runtime", 1, 4))]
    trace.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": evil}], "traceEvents": events + [
        {"ph": "M", "name": n, "pid": 1, "tid": 7, "args": {"name": evil}} for n in ("process_name", "thread_name")]}))
    prints = [c for c in commands.COMMANDS.values() if "OUT" not in " ".join(c)] + [
        ["report", "IN", "--markdown"], ["waits", "--json", "IN"], ["path", "--json", "IN"], ["sql", "--format", "json", "IN", "select * from host"]]
    for words in prints:
        code, out, err = tap.run(*commands.words(words, trace, TRAIN))
        tap.ok(f"{' '.join(words)}: texts of a trace are tame", code in (0, 1, 2) and not any(c in out + err for c in "\x1b\u202e"), repr(out[:500] + err))
    main, terminal = os.openpty()
    with subprocess.Popen([tap.ASSAY, "sql", "--format", "csv", trace, "select name from kernels"], stdout=terminal) as p:
        p.wait()
    out = os.read(main, 4096)
    tap.ok("tables for programs are tame on a terminal", b"e?[31mvil" in out and b"\x1b" not in out, repr(out))
    os.close(main)
    os.close(terminal)
    code, out, err = tap.run("env", env=dict(os.environ, ROCM_PATH=evil))
    tap.ok("values of variables command no terminal", code == 0 and "e?[31mvil" in out and not any(c in out for c in "\x1b\u202e"), out)


def two_runs_are_not_one_job(folder):
    first, second = DEMO / "ddp/ddp_rank0.json.gz", folder / "again.json.gz"
    shutil.copy(first, second)
    refused("two files of one rank are two runs", "report", first, second, words=["rank 0", "again.json.gz", "assay diff"], status=1)
    code, _, _ = tap.run("report", first, DEMO / "ddp/ddp_rank1.json.gz")
    tap.ok("two ranks are one job", code == 0)


def names(value):
    """All names of members, but those of tables whose names are data."""
    if isinstance(value, list):
        return {n for v in value for n in names(v)}
    if not isinstance(value, dict):
        return set()
    return {*value, *(n for k, v in value.items() if k not in ("idle_causes_ns", "parts_ns", "peak") for n in names(v))}


def json_is_documented_and_the_same_with_a_page(folder):
    text = (tap.ROOT / "docs/formats/report-json.md").read_text()
    for name in ("run", "ddp", "train.json.gz"):
        _, alone, _ = tap.run("report", "--json", DEMO / name)
        _, beside, _ = tap.run("report", "--json", "--html", folder / "page.html", DEMO / name)
        tap.ok(f"--html does not change what --json says of {name}", alone == beside)
        report = json.loads(alone)
        missing = sorted(n for n in names(report) if f"`{n}`" not in text and f"`{n}[]`" not in text)
        tap.ok(f"every name in the report of {name} is documented", report["schema"] == 2 and not missing, str(missing))
    run = as_json("report", DEMO / "run")["run_metrics"]
    tap.ok("memory has its unit in its name", run["hbm_peak_gib"] == run["hbm_peak_gb"] and run["waste_budget"]["memory_headroom_gib"] > 100)


def env_leaves_no_file(folder):
    empty = folder / "empty"
    empty.mkdir()
    code, out, _ = tap.run("env", "--no-hash", cwd=empty)
    tap.ok("env writes no file unless it is told to", code == 0 and out and not list(empty.iterdir()))
    tap.run("env", "--no-hash", "-o", "env.json", cwd=empty)
    tap.ok("and the one it is told", [p.name for p in empty.iterdir()] == ["env.json"])


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


def limited_resources(folder):
    """A limit on the size of files is an error of the output that meets it, with its reason, and of nothing else."""
    place = folder / "limited"
    place.mkdir()

    def run(limit, value, *args):
        p = subprocess.run([tap.ASSAY, *map(str, args)], cwd=place, capture_output=True, text=True, check=False,
                           preexec_fn=lambda: resource.setrlimit(limit, (value, value)))
        return p.returncode, p.stderr
    for out in "out.json", "out.json.gz", "out.xplane.pb", "out.pftrace", "out.db", "out.rocpd.db", "out/":
        code, err = run(resource.RLIMIT_FSIZE, 4096, "convert", TRAIN, out)
        good = code == 1 and err.startswith(f"assay: cannot write {out}") and "File too large" in err and not list(place.iterdir())
        tap.ok(f"files may not be large enough for {out}", good, f"{code} {err} {list(place.iterdir())}")
    code, err = run(resource.RLIMIT_FSIZE, 4096, "report", TRAIN, "--html", "page.html")
    tap.ok("nor for a page", code == 1 and "page.html: File too large" in err and not list(place.iterdir()), err)
    code, err = run(resource.RLIMIT_FSIZE, 4096, "info", TRAIN)
    tap.ok("and packed inputs are read all the same", code == 0, err)
    code, err = run(resource.RLIMIT_NOFILE, 4, "info", TRAIN)
    tap.ok("with one descriptor, too", code == 0, err)


def small_stacks_do(folder):
    """Of a shell's limit, and of threads of programs that use the library."""
    def small():
        resource.setrlimit(resource.RLIMIT_STACK, (192 << 10, 192 << 10))
    trouble = []
    inputs = [DEMO / "run", TRAIN, *(sorted((tap.ROOT / "tests/fuzz/seeds" / name).iterdir())[0] for name in (
        "nsys", "nsys_csv", "perfetto", "rocpd", "rocprof_csv", "rocprof_json", "smi", "xplane"))]
    for path in inputs:
        for command in ["info", path], ["report", path, "--html", folder / "page.html"], ["convert", path, folder / "out.xplane.pb"]:
            code, _, err = tap.run(*command, preexec_fn=small, env=dict(PATH=os.environ["PATH"]))
            trouble += [(command, code, err)] * (code not in (0, 1))
    tap.ok("192 kB of stack are enough", not trouble, trouble)


def readers_may_go_away(folder):
    """As in `assay report | head -1`: not a word, and the status of a program that a closed pipe ended; its own where such signals are ignored."""
    env, run = tap.ROOT / "examples/env", DEMO / "run"
    tap.run("report", "--shard", "0/1", "-o", folder / "shards", DEMO / "ddp")
    lines = {
        "top": ["--once", run], "hang": [os.getpid()], "report": ["-v", run], "merge": [folder / "shards"], "diff": [run, run], "waits": [run],
        "scopes": [run], "path": [run], "roofline": [TRAIN], "convert": ["--to", "chrome", run, "-"], "info": [run], "formats": [],
        "sql": [run, "select * from kernels"], "env": [], "env-diff": [env / "a.json", env / "b.json"], "env-check": [env / "rules.txt", env / "b.json"],
        "help": [],
    }
    # these print nothing of their own there
    _, listed, _ = tap.run("help", "--list")
    tap.ok("every command that prints is tried", set(listed.split()) - set(lines) == {"record", "ctl", "mpi"}, listed)
    for command, rest in lines.items():
        args = [*command.split("-"), *map(str, rest)]
        code, out, _ = tap.run(*args, stdin=subprocess.DEVNULL)
        for ignored, status in (signal.SIG_DFL, -signal.SIGPIPE), (signal.SIG_IGN, code):
            reader, writer = os.pipe()
            os.close(reader)
            p = subprocess.run([tap.ASSAY, *args], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, restore_signals=False,
                               preexec_fn=lambda how=ignored: signal.signal(signal.SIGPIPE, how), check=False)
            os.close(writer)
            if command == "convert" and ignored:  # a file that is not whole
                status = 1
            good = (p.returncode, b"ipe" in p.stderr) == (status, status == 1 and command == "convert")
            tap.ok(f"{command} without a reader{', pipes ignored' if ignored else ''}", out and good, f"{p.returncode}, not {status}: {p.stderr}")


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
    tap.ok("what one side does not know is unknown", code == 1 and "nan" not in text and "137.8 GiB unknown" in " ".join(text.split()))


def tables(path):
    return json.loads(tap.run("info", "--json", path)[1])["tables"]


def figures(path):
    report = json.loads(tap.run("report", "--json", path)[1])
    waits = json.loads(tap.run("waits", "--json", path)[1])["summary"]
    devices = [[d[k] for k in ("device", "events", "span_ns", "compute_ns", "idle_ns")] for d in report["devices"]]
    return devices, len(report["steps"]), {k: v for k, v in waits.items() if k != "edges"}


def a_recording_survives_conversion(folder):
    run, before = DEMO / "run", tables(DEMO / "run")
    for name in ("out.json", "out.xplane.pb"):
        out = folder / name
        _, _, err = tap.run("convert", run, out)
        after = tables(out)
        tap.ok(f"figures and waits of {name}", figures(run) == figures(out), f"{figures(run)}\n{figures(out)}")
        for table, word in (("counter", "telemetry"), ("alloc", "memory"), ("host", "spans"), ("gpu", "work")):
            kept = after[table] == before[table]
            tap.ok(f"{name} has every row of {table}, or says so", kept != (word in err), f"{after[table]} {err}")
    trace = json.loads((folder / "out.json").read_text())
    work = [e["ts"] for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    samples = [e["ts"] for e in trace["traceEvents"] if e["ph"] == "C"]
    good = min(samples) < min(work) < max(work) < max(samples)
    tap.ok("telemetry lies around the work it was sampled beside", good, f"{min(samples)} {min(work)}")
    tap.ok("facts of the recording are in the header", trace["recorder"] == "cuda" and trace["env"] and trace["run"])
    tap.ok("processes keep their ids", {e["pid"] for e in trace["traceEvents"] if e.get("cat") == "cuda_runtime"} ==
           {int(next((DEMO / "run").glob("trace-*.asy")).stem.split("-")[-1])})


def a_wall_clock_is_laid_on_the_trace(folder):
    out = folder / "out.json"
    tap.run("convert", TRAIN, DEMO / "nvidia_smi.csv", out)
    trace = json.loads(out.read_text())
    work = [e["ts"] for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    samples = [e["ts"] for e in trace["traceEvents"] if e["ph"] == "C"]
    tap.ok("nvidia-smi's samples lie around the work", min(samples) < min(work) < max(work) < max(samples))


def inputs_are_named_for_what_they_are(_):
    _, out, err = tap.run("report", "--json", TRAIN, TRAIN)
    tap.ok("a file given twice is said", "given twice" in err, err)
    tap.ok("and read once", json.loads(out)["counts"] == as_json("report", TRAIN)["counts"])
    for command in ("report", "info"):
        with subprocess.Popen(["gzip", "-dc", TRAIN], stdout=subprocess.PIPE) as text:
            _, out, _ = tap.run(command, "-", stdin=text.stdout)
        tap.ok(f"{command} of a pipe", "a pipe" in out and " 0 B" not in out, out[:200])


def snapshots_of_run_directories(folder):
    code, out, err = tap.run("env", "diff", DEMO / "run", DEMO / "run/env.json")
    tap.ok("env diff takes run directories", code == 0 and "0 different" in out, err)
    refused("and says which file is missing", "env", "diff", folder, DEMO / "run", words=["env.json"])


def losses_are_said(folder):
    cut = folder / "cut.json.gz"
    cut.write_bytes(TRAIN.read_bytes()[:100000])
    lines = {"waits": [cut], "path": [cut], "diff": [cut, TRAIN], "convert": [cut, folder / "out.json"]}
    for command, args in lines.items():
        _, _, err = tap.run(command, *args)
        tap.ok(f"{command} says that its input is cut", "cut" in err and "input" in err, err)
    _, _, err = tap.run("convert", DEMO / "ddp", folder / "ddp.json")
    tap.ok("ranks joined in one file are said", "2 traces" in err, err)


def recording(folder):
    run = folder / "run"
    code, _, err = tap.run("record", "-o", run, "--", "/nonexistent/program")
    tap.ok("a command that is not there", code == 127 and "cannot run /nonexistent/program" in err, err)
    tap.ok("leaves no directory", not run.exists())
    run.mkdir()
    tap.run("record", "-o", run, "--", "/nonexistent/program")
    tap.ok("or leaves it as it was", run.exists() and not list(run.iterdir()))
    code, _, err = tap.run("record", "-o", run, "--", "true")
    tap.ok("and the next try may use it", code == 0 and (run / "run.json").exists(), err)
    refused("a duration of nothing", "record", "--duration", 0, "-o", folder / "span", "--", "true", words=["--duration"])
    for setting in ("nothing=1", "flush", "flush=soon", "no_api=2"):
        refused(f"--set {setting}", "record", "--set", setting, "-o", folder / "set", "--", "true", words=[setting])


def as_json(*args):
    code, out, err = tap.run(*args, "--json")
    return json.loads(out) if code in (0, 1) else {"error": err}


def agree(name, trace):
    """One input, every command: the same figure wherever it is said."""
    report, info, scopes, diff = as_json("report", trace), as_json("info", trace), as_json("scopes", trace), as_json("diff", trace, trace)
    work = sum(d["events"] for d in report["devices"])
    told = {"report": work, "counts": sum(report["counts"][k] for k in ("kernels", "copies", "memsets")), "info": info["tables"]["gpu"],
            "streams": sum(s["events"] for s in info["streams"]), "scopes": scopes["gpu_events"]}
    tap.ok(f"{name}: as much GPU work everywhere", set(told.values()) == {work}, told)
    step = report["run_metrics"]["step_time_seconds"]
    if step:
        steady = report["steady_step"]["ns"]
        tap.ok(f"{name}: one steady step", abs(diff["step_mean_ns"][0] - steady) < 1, (diff["step_mean_ns"], steady))
    said = tap.run("diff", trace, trace)[1]
    tap.ok(f"{name}: diff says what its step is", not step or f"step is the {diff['step_is']} of" in said, said)
    budget = {b["bucket"]: b for b in report["budget"]}
    parts = sum(p["a_ns"] for p in diff["parts"])
    tap.ok(f"{name}: the parts of diff sum to the budget", abs(parts - budget["total"]["per_step"]) < 1, (parts, budget["total"]))


def figures_agree(folder):
    for name in ("run", "train.json.gz", "ddp"):
        agree(name, DEMO / name)
    agree("jax", tap.ROOT / "tests/xplane/jax.xplane.pb.gz")
    for end in ("json.gz", "xplane.pb"):
        out = folder / f"run.{end}"
        tap.run("convert", DEMO / "run", out)
        agree(f"run as {end}", out)
        a, b = as_json("report", DEMO / "run"), as_json("report", out)
        tap.ok(f"{end} gives the figures of the run", all(a["run_metrics"][k] == b["run_metrics"][k] for k in ("steps", "step_time_seconds", "gpu_util_pct"))
               and a["counts"]["kernels"] == b["counts"]["kernels"])


CALLS = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
ROCPROF = {
    "hip_api_trace": CALLS + "HIP_RUNTIME_API,hipLaunchKernel,10,10,1,100000,110000\nHIP_RUNTIME_API,hipLaunchKernel,10,10,2,120000,130000\n"
                             "HIP_RUNTIME_API,hipDeviceSynchronize,10,10,3,130000,500000\nHIP_RUNTIME_API,hipMemcpyAsync,10,10,4,550000,560000\n",
    "kernel_trace": "Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n"
                    "KERNEL_DISPATCH,1,1,10,1,1,a,1,150000,250000\nKERNEL_DISPATCH,1,1,10,2,1,b,2,300000,400000\n",
    "memory_copy_trace": "Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n"
                         "MEMORY_COPY,MEMORY_COPY_HOST_TO_DEVICE,0,1,4,600000,650000\n",
    "marker_api_trace": CALLS + "MARKER_CORE_API,step 1,10,10,7,90000,115000\nMARKER_CORE_API,step 2,10,10,8,116000,501000\n"
                                "MARKER_CORE_API,step 3,10,10,9,540000,570000\n",
}


def files_of_one_process_are_one_trace(folder):
    """rocprofv3 writes calls, ranges, kernels and copies into a file each; converted they are in one."""
    traces = folder / "traces"
    traces.mkdir()
    for kind, text in ROCPROF.items():
        (traces / f"10_{kind}.csv").write_text(text)
    agree("rocprofv3 CSV", traces)
    out = {"csv": traces}
    for end in ("json", "xplane.pb"):
        out[end] = folder / f"one.{end}"
        tap.run("convert", traces, out[end])
    said = {}
    for name, path in out.items():
        report, scopes, waits = as_json("report", path), as_json("scopes", path), as_json("waits", path)
        said[name] = {"devices": [(d["events"], d["linked"], d["idle_ns"]) for d in report["devices"]],
                      "steps": report["run_metrics"]["step_time_seconds"], "no scope": scopes["gpu_events_in_no_scope"],
                      "waits": [(w["kind"], w["class"], w["producer_kernel"]) for w in waits["waits"]]}
    tap.ok("rocprofv3 CSV is one device with all launches", said["csv"]["devices"] == [(3, 3, 250000)], said["csv"])
    tap.ok("its ranges hold the work", said["csv"]["no scope"] == 0, said["csv"])
    tap.ok("its waits are resolved", said["csv"]["waits"] == [("device_synchronize", "exact", "b")], said["csv"])
    for end in ("json", "xplane.pb"):
        tap.ok(f"{end} says the same", said[end] == said["csv"], said)


def calls_of_two_recordings_do_not_meet(folder):
    """Both count their calls from 1."""
    out = folder / "two.json"
    for rank in range(2):
        (folder / f"rank{rank}.json").write_text(json.dumps({"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": 5, "ts": 10 + 50 * rank, "dur": 2, "args": {"correlation": 1}},
            {"ph": "X", "cat": "kernel", "name": f"k{rank}", "pid": 0, "tid": 7, "ts": 30 + 50 * rank, "dur": 5,
             "args": {"correlation": 1, "device": 0, "stream": 7}}]}))
    tap.run("convert", folder / "rank0.json", folder / "rank1.json", out)
    events = json.loads(out.read_text())["traceEvents"]
    of = lambda cat: [e["args"]["correlation"] for e in events if e.get("cat") == cat and e["ph"] == "X"]
    tap.ok("calls of two ranks have ids of their own", of("cuda_runtime") == of("kernel") and len(set(of("kernel"))) == 2 and of("kernel")[0] == 1, of("kernel"))
    arrows = [(e["ph"], e["id"]) for e in events if e.get("cat") == "ac2g"]
    tap.ok("and arrows of their own", sorted(i for _, i in arrows) == sorted(2 * of("kernel")), arrows)


def whose_devices_they_are(folder):
    text, told = tap.run("info", DEMO / "ddp")[1], as_json("info", DEMO / "ddp")
    tap.ok("info says whose device it is", "device 0 of rank 0:" in text and "stream 7 of device 0 of rank 1:" in text, text)
    tap.ok("so does its JSON", {(s["source"], s["rank"]) for s in told["streams"] + told["devices"]} == {(0, 0), (1, 1)}, told["streams"])
    twice = []
    json.loads(tap.run("info", "--json", DEMO / "ddp")[1], object_pairs_hook=lambda p: twice.extend(k for k, _ in p if [q for q, _ in p].count(k) > 1))
    tap.ok("no key stands twice", not twice, twice)
    tap.ok("each input has its facts", [i["meta"].get("distributedInfo.rank") for i in told["inputs"]] == ["0", "1"], told["inputs"][0]["meta"])
    trace = folder / "rank3.json"
    trace.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": "x", "tid": 7, "ts": 1, "dur": 2, "args": {"stream": 7}}]}))
    out = tap.run("info", trace)[1] + tap.run("report", trace)[1]
    tap.ok("a rank without its job, and a device without a number", " -1" not in out, out)


def nothing_is_not_the_same_as_no_difference(_):
    smi = DEMO / "nvidia_smi.csv"
    refused("two inputs without work are not the same", "diff", smi, smi, words=["nothing to compare"])
    code, out, _ = tap.run("diff", smi, TRAIN)
    tap.ok("one without work is another run", code == 1 and "no GPU work in it" in out, out[:300])


def what_is_left_out_is_one_list(folder):
    for end in ("json", "xplane.pb", "grouped.xplane.pb", "pftrace"):
        code, _, err = tap.run("convert", DEMO / "ddp", folder / f"ddp.{end}")
        tap.ok(f"{end}: two ranks in one file are told", code == 0 and "2 traces go into one file" in err, err)
        tap.ok(f"{end}: one line says what is not written", err.count("not written") == (end != "json"), err)


TESTS = (
    figures_agree,
    calls_of_two_recordings_do_not_meet,
    files_of_one_process_are_one_trace,
    whose_devices_they_are,
    nothing_is_not_the_same_as_no_difference,
    what_is_left_out_is_one_list,
    recording,
    inputs_survive,
    pages,
    pages_stand_alone,
    options_are_obeyed_or_refused,
    pager,
    the_first_screen_fits,
    text_fits_the_terminal,
    wide_characters_fit,
    names_command_no_terminal,
    json_is_documented_and_the_same_with_a_page,
    two_runs_are_not_one_job,
    env_leaves_no_file,
    output_that_cannot_be_written,
    limited_resources,
    small_stacks_do,
    readers_may_go_away,
    parts_of_a_diff_are_those_of_the_budget,
    a_recording_survives_conversion,
    a_wall_clock_is_laid_on_the_trace,
    snapshots_of_run_directories,
    losses_are_said,
    inputs_are_named_for_what_they_are,
)
with tempfile.TemporaryDirectory() as name:
    for test in TESTS:
        place = pathlib.Path(name) / test.__name__
        place.mkdir()
        test(place)
tap.done()
