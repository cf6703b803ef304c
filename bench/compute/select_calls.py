#!/usr/bin/env python3
"""Which of the calls that operators.py recorded are tests/compute/torch_calls.json: those of operators that src/work/work.def models, in
their order, the first few of each.

usage: select_calls.py ALL [OUT]     ALL: a file that `operators.py --all` wrote; default: tests/compute/torch_calls.json"""
import collections
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEFAULT = ROOT / "tests/compute/torch_calls.json"
MOST = {"aten::bmm": 20, "aten::convolution": 40, "aten::convolution_backward": 40, "aten::mul": 12, "aten::add": 12, "aten::copy_": 6}
BY_GRID = {"aten::index"}  # its arguments do not say how much it takes
MOST_COUNTED, MOST_OTHERS = 12, 5  # of an operator whose operations PyTorch counts, of another


def is_modelled(name, rows):
    """As the analyzer finds its row: by name, by the start of it, or as the operator that is not in place."""
    names = [name, name[:-1]] if name.endswith("_") else [name]
    return any(row == n or row.endswith("*") and n.startswith(row[:-1]) for n in names for row in rows)


def selected(calls):
    rows = re.findall(r'WORK\("([^"]+)"', (ROOT / "src/work/work.def").read_text(encoding="utf-8"))
    count, kept = collections.Counter(), []
    for call in calls:
        name, flops = call[0], call[5]
        most = MOST.get(name, MOST_OTHERS if flops is None else MOST_COUNTED)
        if is_modelled(name, rows) and name not in BY_GRID and count[name] < most:
            count[name] += 1
            kept.append(call)
    return kept


def write(calls, path):
    pathlib.Path(path).write_text("[\n" + ",\n".join(map(json.dumps, calls)) + "\n]\n", encoding="utf-8")
    print(f"{len(calls)} calls of {len({c[0] for c in calls})} operators")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    write(selected(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))), sys.argv[2] if len(sys.argv) == 3 else DEFAULT)
