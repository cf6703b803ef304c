#!/usr/bin/env python3
"""A long recording on the fake driver: memory of the program and of assay, descriptors, rings and bytes a step must stay as
they are. usage: soak.py [--minutes N] [BUILD] [-- OPTIONS of `assay record`]   30 minutes when not given. With --keep (-- --keep 30s) the file
itself must not grow but when a slow step has it written out, which is counted. Prints a line every tenth; exit status 1 when one grows."""
import argparse
import glob
import os
import shutil
import struct
import subprocess
import sys
import time


def arguments():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--minutes", type=float, default=30)
    options.add_argument("build", nargs="?", default=os.path.join(HERE, "../../build/release"))
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    a = options.parse_args(sys.argv[1:split])
    return a.minutes * 60, a.build, sys.argv[split + 1:]


HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS, BUILD, OPTIONS = arguments()
sys.argv = [sys.argv[0], BUILD]  # what the harness looks at
sys.path.insert(0, os.path.join(HERE, "../../tests/record"))
from harness import ASSAY, FAKE, WORK, build_fakes  # noqa: E402

LINES, GROWTH = 10, 1.1  # of the last line over the third: the first ones fill caches
NAMES = 1 << 20  # bytes that a flight recorder's file may have besides what was written out


def resident(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def steps(path):
    with open(path, "rb") as f:
        return struct.unpack("<I", f.read(4))[0]


def written_out(run):
    """Why a flight recorder was written out before the end."""
    p = subprocess.run([ASSAY, "sql", "-f", "csv", run, "select name from host where name like 'slow step:%' or name like 'hangs:%'"], capture_output=True, text=True)
    return [line.strip('"') for line in p.stdout.splitlines()[1:]]


def main():
    build_fakes()
    run, told, rings = WORK + "/run", WORK + "/told", WORK + "/rings"
    os.mkdir(rings)
    p = subprocess.Popen([ASSAY, "record", "-q", "-o", run, "--set", "rings=" + rings, *OPTIONS, "--", FAKE + "/program", "tell", "0", told],
                         env=dict(os.environ, LD_LIBRARY_PATH=FAKE))
    lines, before = [], (0, 0)
    for _ in range(LINES):
        time.sleep(SECONDS / LINES)
        with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
            program = int(f.read().split()[0])
        size = sum(os.path.getsize(f) for f in glob.glob(run + "/*.asy"))
        now = (size, steps(told))
        line = {"program": resident(program), "assay": resident(p.pid),
                "descriptors": len(os.listdir(f"/proc/{program}/fd")) + len(os.listdir(f"/proc/{p.pid}/fd")),
                "rings": sum(os.stat(f).st_blocks * 512 for f in glob.glob(rings + "/*/*.ring"))}
        if "--keep" not in OPTIONS:
            line["bytes a step"] = (now[0] - before[0]) / max(1, now[1] - before[1])
        print(f"{now[1]} steps, {size} bytes;", ", ".join(f"{k} {v:.0f}" for k, v in line.items()), flush=True)
        lines.append(line)
        before = now
    os.kill(program, 9)
    p.wait()
    grown = [k for k in lines[0] if k != "rings" and lines[-1][k] > GROWTH * lines[2][k]]
    most = max(line["rings"] for line in lines)
    if "--keep" in OPTIONS:
        causes = written_out(run)
        print(f"written out {len(causes)} times before the end:", "; ".join(causes) or "never")
        if size > len(causes) * most + NAMES:
            grown.append("file")
    if most > 1.5 * max(line["rings"] for line in lines[:LINES // 2]):  # they breathe
        grown.append("rings")
    print("grows:" if grown else "nothing grows", ", ".join(grown))
    shutil.rmtree(WORK, ignore_errors=True)
    return bool(grown)


if __name__ == "__main__":
    sys.exit(main())
