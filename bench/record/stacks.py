#!/usr/bin/env python3
"""Lines of launches as `assay record` keeps them, beside torch.profiler's with_stack on the same run: for every
kernel launch that both saw, the innermost frame of this file must be the same function (the profiler has no lines).

usage: assay record -o RUN -- python3 stacks.py trace.json     on a machine with a GPU and PyTorch
       python3 stacks.py --compare RUN trace.json
The first runs a small training under both; the second prints how many launches agree, and the first ones that do not.
Calls are paired by their order on the main thread: both record every launch between two markers."""
import argparse
import glob
import json
import os
import re
import sys


def train(out):
    import torch
    from torch.profiler import ProfilerActivity, profile

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(256, 256), torch.nn.Linear(256, 256)

        def forward(self, x):
            y = torch.relu(self.a(x))
            y = y + 1
            return self.b(y) * 2

    model = torch.nn.Sequential(*(Block() for _ in range(4))).cuda()
    x = torch.randn(64, 256, device="cuda")

    def step():
        with torch.no_grad():
            y = model(x)
            z = y.softmax(-1)
            return (z * y).sum()

    step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True) as p:
        torch.cuda.nvtx.mark("begin")
        for _ in range(10):
            step()
        torch.cuda.nvtx.mark("end")
        torch.cuda.synchronize()
    p.export_chrome_trace(out)


def profiler_lines(path):
    """Functions of launches, by time: the innermost python_function of this file around each."""
    events = json.load(open(path))["traceEvents"]
    frames = sorted((e for e in events if e.get("cat") == "python_function" and "stacks.py(" in e["name"]),
                    key=lambda e: e["ts"])
    calls = sorted((e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver") and "Launch" in e["name"]), key=lambda e: e["ts"])
    out = []
    for c in calls:
        inside = [f for f in frames if f["tid"] == c["tid"] and f["ts"] <= c["ts"] <= f["ts"] + f["dur"]]
        m = re.search(r"stacks\.py\((\d+)\): (.*)", max(inside, key=lambda f: f["ts"])["name"]) if inside else None
        out.append(m.group(2) if m else None)  # with_stack names where a function begins, not the line it is at
    return out


def assay_lines(run):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/record"))
    from capture import Capture
    c = Capture(max(glob.glob(run + "/*.asy"), key=os.path.getsize))
    names = {(r["domain"], r["function"]): c.text(r["name"]) for r in c.rows["API_NAME"]}
    marks = [r["time"] for r in c.rows["RANGE"] if r["text"] in ("begin", "end")]
    calls = sorted((r for r in c.rows["API"] if "Launch" in names.get((r["domain"], r["function"]), "") and
                    (len(marks) < 2 or marks[0] <= r["start"] <= marks[-1])), key=lambda r: r["start"])
    return [next(((line, name) for file, name, line in c.stack(r) if file.endswith("stacks.py")), None) for r in calls]


def compare(args):
    ours, theirs = assay_lines(args.files[0]), profiler_lines(args.files[1])
    same = sum(o is not None and t is not None and o[1].split(".")[-1] == t.split(".")[-1] for o, t in zip(ours, theirs))
    print(f"{len(ours)} launches here, {len(theirs)} in the profiler's trace; function the same in {same} of "
          f"{min(len(ours), len(theirs))}; with a line in {sum(o is not None for o in ours)}")
    for o, t in list(zip(ours, theirs)):
        if not o or not t or o[1].split(".")[-1] != t.split(".")[-1]:
            print("  first that differs:", o, t)
            break
    return 0 if ours and len(ours) == len(theirs) and same == len(ours) else 1


if __name__ == "__main__":
    a = argparse.ArgumentParser()
    a.add_argument("--compare", action="store_true")
    a.add_argument("files", nargs="+")
    a = a.parse_args()
    sys.exit(compare(a) if a.compare else train(a.files[0]))
