#!/usr/bin/env python3
"""Our JSON reader against Python's, on generated and damaged documents. SEEDS=N for more rounds."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

CONSTANT, ESCAPE = 2, 32  # base/json.h: what Python takes and RFC 8259 does not
sys.setrecursionlimit(10000)


def tool():
    name = "build/release/tests/json/json_tool"
    subprocess.run(["make", "-s", name], cwd=tap.ROOT, check=True)
    return tap.ROOT / name


def ask(binary, docs):
    data = b"".join(struct.pack("<I", len(d)) + d for d in docs)
    out = subprocess.run([binary], input=data, capture_output=True, check=True).stdout
    answers = [line.split(b"\t", 1) for line in out.split(b"\n")[:-1]]
    assert len(answers) == len(docs), (len(answers), len(docs))
    return answers


def value(rng, depth=0):
    kind = rng.randrange(9 if depth < 6 else 6)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice([0, -1, rng.randrange(-10**6, 10**6), rng.randrange(2**63), -2**63, 2**64 - 1, 10**25])
    if kind == 2:
        return rng.choice([0.5, -1e-7, 1e300, rng.random() * 10**rng.randrange(-20, 20), 123456789.123])
    if kind <= 5:
        alphabet = ["a", "\"", "\\", "/", "\n", "\t", "\u00e9", "\u4e2d", "\U0001f600", "{", "}", "[", "]", ",", ":", " ", "\x7f", "\x01"]
        return "".join(rng.choice(alphabet) for _ in range(rng.randrange(rng.choice([3, 20, 200]))))
    if kind <= 7:
        return [value(rng, depth + 1) for _ in range(rng.randrange(6))]
    return {value_key(rng): value(rng, depth + 1) for _ in range(rng.randrange(6))}


def value_key(rng):
    return "".join(rng.choice("ab\"\\\n\u00e9 ") for _ in range(rng.randrange(8)))


def document(rng):
    return json.dumps(value(rng), ensure_ascii=rng.random() < 0.5,
                      indent=rng.choice([None, None, 0, 1, 2]),
                      separators=rng.choice([None, (",", ":"), (" , ", " : ")])).encode()


def damage(rng, doc):
    doc = bytearray(doc)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(doc) + 1)
        what = rng.randrange(4)
        if what == 0 and doc:
            del doc[at % len(doc)]
        elif what == 1:
            doc.insert(at, rng.choice(b"{}[],:\"\\0123456789.eE+-truefalsn \n\t\x01\x80\xff\xc3"))
        elif what == 2 and doc:
            doc[at % len(doc)] = rng.randrange(256)
        else:
            doc = doc[:at]
    return bytes(doc)


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) == type(b) and a == b


def python_reads(doc):
    try:
        return True, json.loads(doc.decode("utf-8"))
    except (ValueError, RecursionError):
        return False, None


def agree(doc, verdict, text):
    good, want = python_reads(doc)
    word, _, number = verdict.partition(b" ")
    odd = int(number or 0) if word == b"odd" else 0
    if good and (word == b"bad" or odd & ~(CONSTANT | ESCAPE)):
        return f"Python reads it, we say {verdict}"
    if not good and word == b"valid":
        return "Python refuses it, we say valid"
    if good and not odd & ESCAPE and not same(json.loads(text), want):
        return f"read as {text!r}"
    return None


def main():
    binary = tool()
    seeds = int(os.environ.get("SEEDS", "20000"))
    rng = random.Random(8259)
    good = [document(rng) for _ in range(seeds)]
    for name, docs in (("generated documents", good), ("damaged documents", [damage(rng, d) for d in good])):
        bad = [(d, why) for d, (v, t) in zip(docs, ask(binary, docs)) if (why := agree(d, v, t))]
        tap.ok(f"{len(docs)} {name} agree with Python", not bad, bad[:5])


main()
tap.done()
