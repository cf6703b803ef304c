#!/usr/bin/env python3
"""A large Kineto trace from a small real one: its events again and again, with times, correlation ids,
external ids and flow ids moved on, text layout kept. usage: gen_kineto.py BASE.json[.gz] OUT BYTES"""
import gzip
import re
import sys

base, out, target = sys.argv[1], sys.argv[2], int(sys.argv[3])
raw = (gzip.open(base) if base.endswith(".gz") else open(base, "rb")).read()
start = re.search(rb'"traceEvents"\s*:\s*\[', raw).end()
end = raw.rindex(b"]")
body = raw[start:end].strip().rstrip(b",")
moving = re.compile(rb'("(?:ts|correlation|External id|Ev Idx|id|Python id|Python parent id)"\s*:\s*)(\d+)')
parts, keys, numbers, last = [], [], [], 0
for m in moving.finditer(body):
    parts.append(body[last:m.end(1)])
    keys.append(m[1].split(b'"')[1])
    numbers.append(int(m[2]))
    last = m.end()
tail = body[last:]
low, high = {}, {}
for k, n in zip(keys, numbers):
    low[k] = min(low.get(k, n), n)
    high[k] = max(high.get(k, n), n)
step = {k: high[k] - (low[k] if k == b"ts" else 0) + 1000 for k in high}
steps = [step[k] for k in keys]
with open(out, "wb", buffering=1 << 22) as f:
    size = f.write(raw[:start])
    copy = 0
    while size < target:
        chunk = b"".join(p + b"%d" % (n + copy * s) for p, n, s in zip(parts, numbers, steps)) + tail
        size += f.write((b",\n  " if copy else b"\n  ") + chunk)
        copy += 1
    f.write(b"\n  " + raw[end:])
