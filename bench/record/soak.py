#!/usr/bin/env python3
"""A long recording on the fake driver: memory of the program and of assay, descriptors, rings and bytes a step must stay as
they are. usage: soak.py [SECONDS [BUILD [OPTIONS...]]]   30 minutes when not given; options of `assay record`. With --keep the file itself
must not grow. Prints a line every tenth; exit status 1 when one grows."""
import glob
import os
import shutil
import struct
import subprocess
import sys
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1800
OPTIONS = sys.argv[3:]
sys.argv = sys.argv[:1] + sys.argv[2:3]  # what the harness looks at
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/record"))
from harness import ASSAY, FAKE, WORK, build_fakes  # noqa: E402

LINES, GROWTH = 10, 1.1  # of the last line over the third: the first ones fill caches


def resident(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def steps(path):
    with open(path, "rb") as f:
        return struct.unpack("<I", f.read(4))[0]


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
        if "--keep" in OPTIONS:
            line["file"] = size
        else:
            line["bytes a step"] = (now[0] - before[0]) / max(1, now[1] - before[1])
        print(f"{now[1]} steps, {size} bytes;", ", ".join(f"{k} {v:.0f}" for k, v in line.items()), flush=True)
        lines.append(line)
        before = now
    os.kill(program, 9)
    p.wait()
    grown = [k for k in lines[0] if lines[-1][k] > GROWTH * lines[2][k]]
    print("grows:" if grown else "nothing grows", ", ".join(grown))
    shutil.rmtree(WORK, ignore_errors=True)
    return bool(grown)


if __name__ == "__main__":
    sys.exit(main())
