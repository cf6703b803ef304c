#!/usr/bin/env python3
"""Fail when a module includes a module, or a file of one, that it may not see (rules in src/DEPS). usage: deps.py SRC"""
import pathlib
import re
import sys

root, rules, bad = pathlib.Path(sys.argv[1]), {}, 0
for line in (root / "DEPS").read_text().splitlines():
    module, colon, seen = line.split("#")[0].partition(":")
    if colon:
        rules[module.strip()] = {module.strip(), *seen.split()}
for path in sorted([*root.rglob("*.c"), *root.rglob("*.h")]):
    module = path.relative_to(root).parts[0]
    for n, line in enumerate(path.read_text().splitlines(), 1):
        hit = re.match(r'\s*#\s*include\s+"(([^"]+)/[^"/]+)"', line)
        if hit and not {hit[1], hit[2]} & rules.get(module, set()):
            print(f"{path}:{n}: {module} may not include {hit[1]}")
            bad = 1
sys.exit(bad)
