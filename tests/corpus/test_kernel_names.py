#!/usr/bin/env python3
"""Names of kernels from real traces of both vendors: the class that a report counts a kernel in is the one of its family, and each
family has as many names as when they were last read. Skipped by name when the corpus is absent."""
import collections
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

NAMES = tap.CORPUS / "tracelens/kernel_names.txt"
CLASS = {"collective": "communication", "copy": "copy"}  # of all other families: compute
FAMILIES = {  # names of each; whoever changes a number has read the names that moved
    "gemm": 89, "attention": 3, "convolution": 24, "norm": 32, "elementwise": 125, "reduction": 28, "embedding": 3, "optimizer": 1,
    "collective": 1, "other": 5,
}


def trace(names):
    return {"traceEvents": [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5,
                             "args": {"device": 0, "stream": 7}} for i, name in enumerate(names)]}


def main():
    if not NAMES.is_file():
        return tap.skip("kernel names", f"{NAMES} is absent")
    names = sorted(set(NAMES.read_text().splitlines()) - {""})
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "names.json"
        path.write_text(json.dumps(trace(names)))
        rows = tap.sql(path, "select name, family, class from kernel")
    tap.ok("every name is a kernel", sorted(r["name"] for r in rows) == names)
    apart = [r for r in rows if r["class"] != CLASS.get(r["family"], "compute")]
    tap.ok("class and family of a kernel agree", not apart, apart)
    families = dict(collections.Counter(r["family"] for r in rows))
    tap.ok("each family has the names it had when they were read", families == FAMILIES, families)


main()
tap.done()
