#!/usr/bin/env python3
"""Real programs with known answers, on a real GPU with PyTorch: each wait of the main thread must name the kernel that
the program put last in front of it. Under a minute. Prints right and wrong answers by class; exit status 1 when a wait
that is called exact is wrong, or when fewer than half of them are right.
usage: h200.py [ASSAY [TRIALS [SEED]]]"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# operation -> part of its kernel's name
MARKS = {"add_": "CUDAFunctor", "mul_": "MulFunctor", "sqrt_": "sqrt_kernel", "neg_": "neg_kernel", "fill_": "FillFunctor"}
KINDS = {"event_synchronize", "stream_synchronize", "device_synchronize"}


def program(out, trials, seed):
    import random
    import threading
    import torch

    rng = random.Random(seed)
    streams = [torch.cuda.Stream() for _ in range(4)]
    data = {s: torch.ones(1 << 16, device="cuda") for s in streams}
    truth = []

    def mark(s, spin):
        """Some time, and then a kernel that can be told from others."""
        name = rng.choice(list(MARKS))
        with torch.cuda.stream(s):
            torch.cuda._sleep(spin)
            op = getattr(data[s], name)
            op(2) if name in ("add_", "mul_", "fill_") else op()
        return name

    def wait(how, expected):
        how()
        truth.append(expected)

    def chain():
        """Streams that wait for one another: all stand behind the first."""
        order = rng.sample(streams, rng.randrange(2, 5))
        name = mark(order[0], 2_000_000)
        for a, b in zip(order, order[1:]):
            b.wait_stream(a)
        wait(order[-1].synchronize, name)

    def event():
        s, e = rng.choice(streams), torch.cuda.Event()
        name = mark(s, 1_000_000)
        e.record(s)
        mark(s, 3_000_000)  # after the record: not waited for
        wait(e.synchronize, name)
        torch.cuda.synchronize()
        truth.append(None)

    def device():
        short, long = rng.sample(streams, 2)
        mark(short, 500_000)
        wait(torch.cuda.synchronize, mark(long, 3_000_000))

    def other_thread():
        """Another thread launches; this one waits for the stream."""
        s, names = rng.choice(streams), []
        t = threading.Thread(target=lambda: names.append(mark(s, 1_500_000)))
        t.start()
        t.join()
        wait(s.synchronize, names[0])

    def graph():
        s, name = rng.choice(streams), rng.choice(list(graphs))
        with torch.cuda.stream(s):
            torch.cuda._sleep(500_000)
            graphs[name].replay()
        wait(s.synchronize, name)

    graphs = {}
    for name in MARKS:
        g = torch.cuda.CUDAGraph()
        x = torch.ones(1 << 16, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.graph(g):
            op = getattr(x, name)
            op(2) if name in ("add_", "mul_", "fill_") else op()
        graphs[name] = g
    for s in streams:  # load every kernel
        for name in MARKS:
            with torch.cuda.stream(s):
                op = getattr(data[s], name)
                op(2) if name in ("add_", "mul_", "fill_") else op()
    torch.cuda.synchronize()
    for _ in range(trials):
        rng.choice([chain, event, device, other_thread, graph])()
        torch.cuda.synchronize()
        truth.append(None)
    pathlib.Path(out).write_text(json.dumps({"thread": threading.get_native_id(), "truth": truth}))


def judge(waits, told):
    """The program's last waits, in order: what came before was PyTorch's own."""
    mine = sorted((w for w in waits if w["kind"] in KINDS and w["thread"] == told["thread"]), key=lambda w: w["ts_ns"])
    mine = mine[len(mine) - len(told["truth"]):]
    seen, wrong = collections.Counter(), []
    for w, name in zip(mine, told["truth"]):
        if name is None:
            continue
        right = MARKS[name] in (w["producer_kernel"] or "")
        seen[w["class"], right] += 1
        if not right:
            wrong.append((w["kind"], w["class"], MARKS[name], w["producer_kernel"], w["correlation"]))
    return seen, wrong


def main():
    assay = sys.argv[1] if len(sys.argv) > 1 else "build/release/assay"
    trials, seed = (sys.argv[2:4] + ["400", "18"][len(sys.argv[2:4]):])[:2]
    with tempfile.TemporaryDirectory() as folder:
        truth = os.path.join(folder, "truth.json")
        for options in ([], ["--exact-waits"]):
            run = os.path.join(folder, "run" + "".join(options))
            subprocess.run([assay, "record", "-o", run, *options, "--", sys.executable, __file__, "--program", truth, trials, seed],
                           check=True)
            out = subprocess.run([assay, "waits", "--json", run], check=True, capture_output=True, text=True).stdout
            told = json.loads(pathlib.Path(truth).read_text())
            seen, wrong = judge(json.loads(out)["waits"], told)
            right = sum(n for (_, r), n in seen.items() if r)
            print(" ".join(options) or "by handles", f": {right} right, {len(wrong)} wrong;",
                  ", ".join(f"{c} {'right' if r else 'WRONG'} {n}" for (c, r), n in sorted(seen.items())))
            for w in wrong[:10]:
                print("  ", w)
            if seen["exact", False] or right * 2 < right + len(wrong) or not right:
                sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--program"]:
        program(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
