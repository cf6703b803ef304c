#!/usr/bin/env python3
"""Golden cases: tests/cases/<command>/<name>/ holds cmd (a shell line using `assay`), out (expected
standard output), and, when not the usual, err (expected standard error) and status (exit status, 0).
UPDATE=1 writes what came out instead of comparing; read the diff before you commit it."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tap

CASES = tap.ROOT / "tests/cases"
update = os.environ.get("UPDATE")


def run_case(case, bin_dir):
    env = dict(os.environ, PATH=f"{bin_dir}:{os.environ['PATH']}", ROOT=str(tap.ROOT), LC_ALL="C.UTF-8", NO_COLOR="1")
    env.pop("ASSAY_THREADS", None)
    env.pop("COLUMNS", None)
    p = subprocess.run(["sh", "-c", (case / "cmd").read_text()], cwd=case, env=env, capture_output=True,
                       stdin=subprocess.DEVNULL, timeout=tap.PATIENCE)
    got = {"out": p.stdout, "err": p.stderr, "status": b"%d\n" % p.returncode}
    default = {"out": b"", "err": b"", "status": b"0\n"}
    bad = []
    for name, value in got.items():
        path = case / name
        want = path.read_bytes() if path.exists() else default[name]
        if value == want:
            continue
        if update:
            path.write_bytes(value)
        else:
            bad.append(f"{name}:\n--- want\n{want.decode(errors='replace')}--- got\n{value.decode(errors='replace')}")
    return bad


def main():
    with tempfile.TemporaryDirectory() as bin_dir:
        os.symlink(tap.ASSAY, f"{bin_dir}/assay")
        for cmd in sorted(CASES.glob("*/*/cmd")):
            bad = run_case(cmd.parent, bin_dir)
            tap.ok(f"{cmd.parent.relative_to(CASES)}", not bad, "\n".join(bad))


main()
tap.done()
