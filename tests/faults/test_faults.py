#!/usr/bin/env python3
"""System calls that fail, one at a time: each command ends with a sentence and a status, what was there before is
whole, and nothing else is left. strace makes the N-th call fail, for every N after the program has started.

usage: test_faults.py [--all] [WORD...]: a few calls of each kind, or every one; calls with a word in their names."""
import collections
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

INPUT = tap.ROOT / "demo" / "ddp" / "ddp_rank0.json.gz"
COMMANDS = {
    "convert": ["convert", "in.json.gz", "out"],
    "gzip": ["convert", "--to", "chrome", "in.json.gz", "out"],
    "page": ["report", "in.json.gz", "--html", "out"],
    "folder": ["convert", "--to", "csv", "in.json.gz", "out"],
    "new": ["convert", "--to", "csv", "in.json.gz", "out"],  # a folder that is not there
    "xplane": ["convert", "in.json.gz", "out"],
    "tables": ["convert", "in.json.gz", "out"],
    "rocpd": ["convert", "--to", "rocpd", "in.json.gz", "out"],
    "shard": ["report", "--shard", "0/1", "-o", "out", "in.json.gz"],
    "diff": ["diff", "in.json.gz", "in.json.gz", "--html", "out"],
    "env": ["env", "--no-cache", "--root", "in.json.gz", "-o", "out"],  # an image, and a list of its kernels besides
}
NAMES = {"convert": "out.pftrace", "gzip": "out.json.gz", "page": "out.html", "folder": "out", "new": "out", "xplane": "out.xplane.pb",
         "tables": "out.db", "rocpd": "out.rocpd.db", "shard": "out", "diff": "out.html", "env": "out.json"}
FAULTS = {
    "openat": ["EMFILE", "EACCES"],
    "read": ["EIO", "EINTR"],
    "write": ["ENOSPC", "EINTR"],
    "newfstatat": ["EIO"],
    "lseek": ["ESPIPE"],
    "close": ["EIO"],
    "linkat": ["ENOSPC"],
    "rename": ["EACCES"],
    "mkdir": ["ENOSPC"],
    "clone3": ["EAGAIN"],
    "mmap": ["ENOMEM"],
    "mremap": ["ENOMEM"],
}
# not brk: it never returns an error, and the C library takes one for an address
# files of a folder that is there are renamed one by one: one that cannot be is named, and those before it are new
# (an old snapshot uses no list of kernels but its own)
NOT_TOGETHER = {("folder", "rename"), ("new", "rename"), ("env", "rename")}
MEMORY = {"mmap", "mremap"}
FEW = 3  # of each kind, unless all are asked for


def start(folder, command):
    """A place with the input and an output of before."""
    if command == "env":
        kernels = folder / "in.json.gz" / "opt/rocm/lib/rocblas/library"
        kernels.mkdir(parents=True)
        (kernels / "TensileLibrary_gfx942.dat").write_text("kernels")
    else:
        shutil.copy2(INPUT, folder / "in.json.gz")  # a shard knows its inputs by their times
    out = folder / NAMES[command]
    if command == "folder":
        out.mkdir()
        (out / "columns.csv").write_text("before")
    elif command not in ("new", "shard"):
        out.write_text("before")
    return [NAMES[command] if w == "out" else w for w in COMMANDS[command]]


def content(path):
    """What a file holds, unpacked (the packing of the same text was seen to differ by a few bytes on a busy machine), and
    without what differs between two snapshots."""
    data = path.read_bytes()
    if path.name.startswith("out.json") and data.endswith(b"}"):
        data = re.sub(rb'"probe": \{.*?\n    \}', b"", data, flags=re.S)
    try:
        return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    except (OSError, EOFError, zlib.error):  # half of a file
        return data


def contents(folder):
    return {str(p.relative_to(folder)): content(p) for p in folder.rglob("*") if p.is_file()}


def traced(folder, words, *options):
    env = dict(os.environ, ASSAY_THREADS="2", LC_ALL="C")
    args = ["strace", "-f", "-qq", *options, tap.ASSAY, *words]
    return subprocess.run(args, cwd=folder, env=env, capture_output=True, timeout=tap.PATIENCE)


def calls(folder, words):
    """For each call how many come before the input is opened, and how many in all."""
    log = folder.parent / "log"
    traced(folder, words, "-o", str(log))
    before, all_calls, started = {}, collections.Counter(), False
    for line in log.read_text(errors="replace").splitlines():
        m = re.match(r"\d+ +(\w+)\(", line)
        if not m:
            continue
        if not started and "in.json.gz" in line and m[1] != "execve":
            before, started = dict(all_calls), True
        all_calls[m[1]] += 1
    log.unlink()
    return before, all_calls


def wrong(folder, words, call, error, n, old, new):
    """None, or what is wrong when the n-th call fails."""
    p = traced(folder, words, "-o", "/dev/null", "-e", f"inject={call}:error={error}:when={n}")
    now = contents(folder)
    where = f"{call} {n} {error}: status {p.returncode}, {p.stderr.decode(errors='replace')[-160:]!r}"
    if p.returncode == 0:
        known = new.keys() - {"out.catalog.json"}  # of a database that could not be looked at there is no list
        return None if now == new or error != "EINTR" and known <= now.keys() <= new.keys() else "other files, " + where
    if p.returncode not in (1, 2) and call not in MEMORY:
        return where
    if not re.search(rb"assay[ \w]*: \w", p.stderr):
        return "no sentence, " + where
    if b"cannot write the output:" in p.stderr:  # standard output, after the files
        return None if now == new else "other files, " + where
    return None if now == old else "what was there is not, " + where


def fresh(place, command):
    """The words of the command, in a folder where nothing has happened yet."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return start(place, command)


def check(command, every, only):
    bad, tried = [], 0
    with tempfile.TemporaryDirectory() as temp:
        place = pathlib.Path(temp) / "place"
        words = fresh(place, command)
        before, all_calls = calls(place, words)
        new = contents(place)
        for call, errors in FAULTS.items():
            if (command, call) in NOT_TOGETHER or only and not any(w in call for w in only):
                continue
            places = range(before.get(call, 0) + 1, all_calls[call] + 1)
            if not every and len(places) > FEW:
                places = [places[i * (len(places) - 1) // (FEW - 1)] for i in range(FEW)]
            for error in errors:
                for n in places:
                    words = fresh(place, command)
                    trouble = wrong(place, words, call, error, n, contents(place), new)
                    bad += [trouble] if trouble else []
                    tried += 1
    tap.ok(f"{command}: {tried} faults end well" if every else f"{command}: faults end well", tried and not bad, "\n".join(bad[:20]))


def main():
    words = [a for a in sys.argv[1:] if a != "--all"]
    works = shutil.which("strace") and not subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode
    if not works:
        tap.skip("faults", "strace cannot trace here")
        return
    for command in COMMANDS if "--all" in sys.argv else ("gzip", "folder", "new"):
        check(command, "--all" in sys.argv, words)
    tap.done()


if __name__ == "__main__":
    main()
