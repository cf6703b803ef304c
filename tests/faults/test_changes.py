#!/usr/bin/env python3
"""Traces of every format that say odd things (changes.py): every command ends by itself, with a status of its own, a word where
it has nothing else to say, and, in a build with sanitizers, without one from them.

usage: test_changes.py [--runs N] [--seed N] [WORD...]: so many commands; only of inputs with a word in their names. A failure
names its seed: --seed N --runs 1 does it again. ASSAY names the program."""
import argparse
import os
import random
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import tap  # noqa: E402
from changes import change  # noqa: E402
from commands import COMMANDS, trouble, words  # noqa: E402

SEEDS = tap.ROOT / "tests/fuzz/seeds"
ENDS = (".json", ".csv", ".pb", ".pftrace", ".sqlite", ".db")
OF = ("chrome", "convert", "goblin", "nsys", "nsys_csv", "path", "perfetto", "rocpd", "rocprof_csv", "rocprof_json", "smi", "xplane")


def is_whole(path, folder):
    """Some seeds are broken already."""
    copy = shutil.copy(path, folder / ("copy" + path.suffix))
    try:
        change(random.Random(0), str(copy))
    except (ValueError, IndexError, KeyError):
        return False
    return True


def bases(folder):
    """Small inputs of every format, those that we write among them."""
    found = [p for name in OF for p in sorted((SEEDS / name).iterdir()) if p.name.endswith(ENDS) and is_whole(p, folder)]
    found.append(tap.ROOT / "demo/run/env.json")
    for end in ".xplane.pb", ".pftrace", ".rocpd.db":
        written = folder / ("written" + end)
        tap.run("convert", SEEDS / "chrome/train-head.json", written)
        found.append(written)
    return found


def one_run(seed, inputs, folder):
    r = random.Random(seed)
    base, name = r.choice(inputs), r.choice(list(COMMANDS))
    where = folder / f"seed{seed}"
    where.mkdir()
    path = where / ("in" + "".join(base.suffixes))
    shutil.copy(base, path)
    change(r, str(path))
    said = trouble(words(COMMANDS[name], path.name, str(base)), where)
    shutil.rmtree(where)
    return f"{name} of {base.name}", said


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=80)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("words", nargs="*")
    options = options.parse_args()
    bad = []
    with tempfile.TemporaryDirectory() as name:
        folder = type(tap.ROOT)(name)
        inputs = [p for p in bases(folder) if not options.words or any(w in str(p) for w in options.words)]
        for seed in range(options.seed, options.seed + options.runs):
            what, said = one_run(seed, inputs, folder)
            if said:
                bad.append(seed)
                print(f"# seed {seed}: {what}: {said}", flush=True)
    tap.ok(f"{options.runs} commands of inputs that say odd things end as they should", not bad, f"seeds {bad}")
    tap.done()


main()
