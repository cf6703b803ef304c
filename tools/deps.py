#!/usr/bin/env python3
"""Fail when a module includes a module it may not see (rules in src/DEPS), or a function grows past 80
lines. usage: deps.py SRC"""
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
    start = None
    for n, line in enumerate(path.read_text().splitlines(), 1):
        hit = re.match(r'\s*#\s*include\s+"([^"]+)/', line)
        if hit and hit[1] not in rules.get(module, ()):
            print(f"{path}:{n}: {module} may not include {hit[1]}")
            bad = 1
        if line == "{":
            start = n
        if line == "}" and start:
            if n - start - 1 > 80:
                print(f"{path}:{start}: function of {n - start - 1} lines")
                bad = 1
            start = None
sys.exit(bad)
