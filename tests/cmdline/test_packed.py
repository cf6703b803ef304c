#!/usr/bin/env python3
"""One trace in every packing that programs make, read by one thread and by many: the same rows, or the same complaint."""
import gzip
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import done, ok, run, skip

random.seed(5)


def trace():
    events = ['{"ph": "X", "cat": "kernel", "name": "k%d", "pid": 0, "tid": 7, "ts": %d.%03d, "dur": %d, "args": {"correlation": %d, "stream": 7}}'
              % (random.randrange(40), i * 7 + random.randrange(5), random.randrange(1000), random.randrange(9), random.getrandbits(31))
              for i in range(90000)]
    return ('{"traceEvents": [\n' + ",\n".join(events) + "\n]}").encode()


def gz(text, level=6, strategy=zlib.Z_DEFAULT_STRATEGY, flush_every=0, flush=zlib.Z_SYNC_FLUSH):
    c = zlib.compressobj(level, zlib.DEFLATED, 31, 9, strategy)
    step = flush_every or len(text)
    parts = []
    for at in range(0, len(text), step):
        parts.append(c.compress(text[at:at + step]))
        if flush_every:
            parts.append(c.flush(flush))
    return b"".join(parts) + c.flush()


def zstd(text):
    return subprocess.run(["zstd", "-q", "-c"], input=text, stdout=subprocess.PIPE, check=True).stdout


def answer(path, threads):
    env = dict(os.environ, ASSAY_THREADS=str(threads))
    status, out, err = run("info", "--json", path, env=env)
    return status, out.replace(str(path), "FILE"), err.replace(str(path), "FILE")


def main():
    text = trace()
    whole = gz(text)
    packings = {
        "gzip -6": whole,
        "gzip -1": gz(text, 1),
        "fixed codes": gz(text, 6, zlib.Z_FIXED),
        "Huffman codes alone": gz(text, 6, zlib.Z_HUFFMAN_ONLY),
        "stored": gz(text, 0),
        "flushed as pigz does": gz(text, 6, flush_every=131072),
        "flushed whole": gz(text, 6, flush_every=200000, flush=zlib.Z_FULL_FLUSH),
        "members of 64 KiB": b"".join(gzip.compress(text[i:i + 65280], 6) for i in range(0, len(text), 65280)),
        "members with names": b"".join(b"\x1f\x8b\x08\x08\0\0\0\0\0\x03a name\0" + gzip.compress(text[i:i + 900000])[10:]
                                       for i in range(0, len(text), 900000)),
        "cut": whole[:len(whole) * 2 // 3],
        "a bit wrong": whole[:len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 4]) + whole[len(whole) // 2 + 1:],
        "a wrong sum": whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:],
        "other bytes behind": whole + b"and more",
    }
    good = list(packings)[:9]
    if shutil.which("zstd"):
        packings["zstd frames"] = b"".join(zstd(text[i:i + 500000]) for i in range(0, len(text), 500000))
        good.append("zstd frames")
    else:
        skip("zstd frames", "no zstd program")
    with tempfile.TemporaryDirectory() as folder:
        plain = pathlib.Path(folder, "t.json")
        plain.write_bytes(text)
        rows = json.loads(answer(plain, 1)[1])["inputs"][0]["records"]
        ok("the trace has its rows", rows == 90000, rows)
        for name, packed in packings.items():
            path = pathlib.Path(folder, "t.json.gz")
            path.write_bytes(packed)
            one, many = answer(path, 1), answer(path, 8)
            ok(f"{name}: many threads say what one says", one == many and one[0] == 0, f"{one[1:]}\n{many[1:]}")
            if name in good:
                got = json.loads(many[1])["inputs"][0]["records"]
                ok(f"{name}: every row", got == rows, got)
    done()


main()
