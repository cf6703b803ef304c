#!/usr/bin/env python3
"""Run directories of which any file is damaged: every command ends by itself, with a status of its own and, in a build with
sanitizers, without a word from them.

usage: test_damage.py [--runs N] [--seed N] [--recorded] [WORD...]: so many commands; only those with a word in their names;
also of runs that are recorded first, rings among their files (no two recordings
are the same, so that a seed finds the same only nearly always). A failure names its seed: --seed N --runs 1 does it again. ASSAY names the program."""
import argparse
import glob
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "record")]
import tap  # noqa: E402

options = argparse.ArgumentParser()
options.add_argument("--runs", type=int, default=60)
options.add_argument("--seed", type=int, default=1)
options.add_argument("--recorded", action="store_true")
options.add_argument("words", nargs="*")
options = options.parse_args()
sys.argv[1:] = [str(tap.ROOT / "build/release")]  # whose recorder makes what is damaged
from capture import checksum  # noqa: E402
from commands import COMMANDS, OF_RUNS, OF_SHARDS, trouble, words  # noqa: E402
from harness import ASSAY, FAKE, PATIENCE, WORK, build_fakes, child_of, end_work_in, gone, until  # noqa: E402

HEAD, HEAD_SUM = 64, 56  # of a chunk: docs/formats/capture.md


# ---- what is damaged ----

def record(name, *opts, end):
    """A run whose program does steps until it ends in this way, its rings in the run directory."""
    run, told = os.path.join(WORK, name), os.path.join(WORK, name + ".told")
    p = subprocess.Popen([ASSAY, "record", "-q", "-o", run, "--telemetry", "off", "--set", "rings=/nowhere", "--set", "ring=65536", *opts, "--",
                          FAKE + "/program", "tell", "0", told], env=dict(os.environ, LD_LIBRARY_PATH=FAKE), stderr=subprocess.DEVNULL)
    until(lambda: p.poll() is not None or os.path.exists(told) and struct.unpack("<I", open(told, "rb").read(4).ljust(4, b"\0"))[0] > 20, "no steps")
    program = child_of(p.pid)
    end(p.pid, program)
    p.wait(PATIENCE)
    until(lambda: gone(program), "it lives")
    end_work_in(run)
    return run


def end_in_order(_, program):
    os.kill(program, signal.SIGKILL)


def end_both(recorder, program):
    for pid in recorder, program:
        os.kill(pid, signal.SIGSTOP)
    for pid in recorder, program:
        os.kill(pid, signal.SIGKILL)


def small_demo():
    """The demo's run, as much of it as is read in no time."""
    run = os.path.join(WORK, "demo")
    shutil.copytree(tap.ROOT / "demo/run", run)
    trace, = glob.glob(run + "/*.asy")
    os.truncate(trace, 150000)
    return run


def shards():
    out = os.path.join(WORK, "shards")
    for i in range(2):
        subprocess.run([ASSAY, "report", "--shard", f"{i}/2", "-o", out, str(tap.ROOT / "demo/ddp")], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return out


def bases():
    runs = [small_demo()]
    if options.recorded:
        build_fakes()
        runs += [record("whole", end=end_in_order), record("rings", end=end_both), record("kept", "--keep", "30s,16M", end=end_both)]
    return {"runs": runs, "shards": [shards()]}


# ---- how ----

EDGES = [0, 1, 2, 7, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def cut(r, data):
    return data[:r.randrange(len(data) + 1)]


def flip(r, data):
    data = bytearray(data)
    for _ in range(r.choice((1, 3, 30)) if data else 0):
        data[r.randrange(len(data))] ^= 1 << r.randrange(8)
    return bytes(data)


def edges(r, data):
    data = bytearray(data)
    for _ in range(r.choice((1, 4, 40)) if len(data) >= 16 else 0):
        size, code = r.choice(((2, "<H"), (4, "<I"), (8, "<Q")))
        at = r.randrange(len(data) - 8) // size * size
        struct.pack_into(code, data, at, r.choice(EDGES) & (1 << 8 * size) - 1)
    return bytes(data)


def move(r, data):
    """A piece is doubled, taken out, put elsewhere or made zeros."""
    a, b = sorted(r.randrange(len(data) + 1) for _ in range(2))
    b = min(b, a + r.choice((8, 64, 4096, len(data))))
    piece, rest = data[a:b], data[:a] + data[b:]
    at = r.randrange(len(rest) + 1)
    return r.choice((data[:b] + piece + data[b:], rest, rest[:at] + piece + rest[at:], data[:a] + bytes(b - a) + data[b:]))


def sealed(r, data):
    """Records of a capture change, and the sums of their chunks with them."""
    data, at, chunks = bytearray(data), 0, []
    while at + HEAD <= len(data) and data[at:at + 4] == b"ASYC":
        n = struct.unpack_from("<I", data, at + 12)[0]
        if at + HEAD + n > len(data):
            break
        chunks.append((at, n))
        at += HEAD + n
    for at, n in r.sample(chunks, min(len(chunks), 3)):
        body = r.choice((flip, edges))(r, bytes(data[at + HEAD:at + HEAD + n]))
        data[at + HEAD:at + HEAD + n] = body
        struct.pack_into("<Q", data, at + 16, checksum(body))
        struct.pack_into("<Q", data, at + HEAD_SUM, checksum(bytes(data[at:at + HEAD_SUM])))
    return bytes(data)


def damage(r, path):
    """One file, in one way; or something else stands in its place."""
    if r.random() < 0.04:
        os.remove(path)
        r.choice((os.mkdir, os.mkfifo, lambda p: os.symlink("/nowhere", p), lambda p: os.symlink(p, p), lambda p: None))(path)
        return
    with open(path, "rb") as f:
        data = f.read()
    ways = [cut, flip, edges, move] + [sealed] * 4 * path.endswith(".asy")
    for _ in range(r.choice((1, 1, 2))):
        data = r.choice(ways)(r, data)
    with open(path, "wb") as f:
        f.write(data)


def damaged(r, base, where):
    """A copy of the run, one to all of its files damaged."""
    shutil.copytree(base, where, symlinks=True, ignore=shutil.ignore_patterns("control"))  # a socket
    files = sorted(p for p in glob.glob(where + "/*") if os.path.isfile(p))
    for path in r.sample(files, r.randint(1, len(files))):
        damage(r, path)


# ---- and what comes of it ----

def one_run(seed, base_of, whole):
    r = random.Random(seed)
    commands = COMMANDS | OF_RUNS | OF_SHARDS
    name = r.choice([n for n in commands if not options.words or any(w in n for w in options.words)])
    where = os.path.join(WORK, f"seed{seed}")
    os.mkdir(where)
    base = r.choice(base_of["shards" if name in OF_SHARDS else "runs"])
    damaged(r, base, where + "/run")
    said = trouble(words(commands[name], "run", whole), where)
    shutil.rmtree(where, ignore_errors=True)
    return name, os.path.basename(base), said


def main():
    try:
        base_of = bases()
        bad = []
        for seed in range(options.seed, options.seed + options.runs):
            name, base, said = one_run(seed, base_of, base_of["runs"][0])
            if said:
                bad.append((seed, name, base, said))
                print(f"# seed {seed}: {name} of {base}: {said}", flush=True)
        tap.ok(f"{options.runs} commands of damaged runs end as they should", not bad, f"seeds {[b[0] for b in bad]}")
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    tap.done()


main()
