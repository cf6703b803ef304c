#!/usr/bin/env python3
"""`assay report --like goblin` equals the reference port on generated directories, to the last bit."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tap

CASES = 300
command = f"{tap.ASSAY} report --like goblin --json {{precision}} --steps {{steps}} {{path}}"
p = subprocess.run([sys.executable, HERE / "compare.py", command, str(CASES)], capture_output=True, text=True)
tap.ok(f"{CASES} generated directories agree with the reference", p.returncode == 0, p.stdout + p.stderr)
tap.done()
