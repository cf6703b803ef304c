#!/usr/bin/env python3
"""Every fuzz target takes its own seeds: what it checks still holds for each input that once broke it."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

TARGETS = sorted(path.stem for path in (tap.ROOT / "tests/fuzz").glob("*.c"))


def build():
    names = [f"build/release/tests/fuzz/{name}" for name in TARGETS]
    subprocess.run(["make", "-s", *names], cwd=tap.ROOT, check=True)


def replay(name):
    seeds = sorted((tap.ROOT / "tests/fuzz/seeds" / name).iterdir())
    p = subprocess.run([tap.ROOT / "build/release/tests/fuzz" / name, *seeds], capture_output=True, timeout=tap.PATIENCE)
    tap.ok(f"the seeds of {name} hold", seeds and p.returncode == 0, (p.stdout[-300:] + p.stderr[-2000:]).decode("utf-8", "replace"))


def main():
    build()
    for name in TARGETS:
        replay(name)
    tap.done()


main()
