#!/usr/bin/env python3
"""What-if against the truth: random programs of a simulated machine are recorded, `assay path` predicts a step with other
lengths from the trace, and the machine runs the same program with these lengths."""
import json
import os
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import simulate
import tap

ROUNDS = int(os.environ.get("ROUNDS", "150"))
# what-if, how it changes the machine
CHANGES = [
    ([], {}),
    (["kern_a=0.5x"], {"change": lambda k, n, d: d // 2 if n == "kern_a" else d}),
    (["kern_?=0"], {"change": lambda k, n, d: 0 if n.startswith("kern_") else d}),
    (["compute=2x"], {"change": lambda k, n, d: 2 * d if k == "kernel" and "nccl" not in n else d}),
    (["gemm=10us", "kern_*=3x"], {"change": lambda k, n, d: 10000 if n == "sgemm_c" else 3 * d if n[:5] == "kern_" else d}),
    (["communication=0.5x"], {"change": lambda k, n, d: d // 2 if "nccl" in n else d}),
    (["data=0"], {"change": lambda k, n, d: 0 if k == "data" else d}),
    (["op=0.5x"], {"change": lambda k, n, d: d // 2 if k == "op" else d}),
    (["cudaLaunchKernel=0.5x"], {"change": lambda k, n, d: d // 2 if k == "call" else d}),
    (["launch_latency=0"], {"launch": 0}),
    (["launch_latency=0", "kern_b=0"], {"launch": 0, "change": lambda k, n, d: 0 if n == "kern_b" else d}),
]


def predict(trace, step, rules):
    args = [x for r in rules for x in ("--what-if", r)]
    code, out, err = tap.run("path", "--json", "--step", str(step), *args, trace)
    return (json.loads(out), err) if code == 0 else (None, err)


def check(rng, number, directory):
    steps = simulate.program(rng)
    machine = simulate.Machine().run(steps)
    path = pathlib.Path(directory) / f"{number}.json"
    path.write_text(machine.trace())
    step = rng.randrange(1, len(steps))
    rules, changed = CHANGES[number % len(CHANGES)]
    got, err = predict(path, step, rules)
    if not got:
        return ("skip", "") if "matches nothing" in err else ("bad", err)
    measured = machine.length(step)
    truth = simulate.Machine(**changed).run(steps).length(step)
    predicted = got["what_if"]["predicted_ns"] if rules else got["replay"]["step_ns"]
    segments = got["segments"]
    tiled = segments[0]["start_ns"] == got["start_ns"] and sum(s["dur_ns"] for s in segments) == measured and all(
        a["start_ns"] + a["dur_ns"] == b["start_ns"] for a, b in zip(segments, segments[1:]))
    bad = []
    if got["measured_ns"] != measured:
        bad.append(f"measured {got['measured_ns']}, the machine took {measured}")
    if got["replay"]["step_ns"] != measured or got["replay"]["violated"] or got["replay"]["left_out"]:
        bad.append(f"replay {got['replay']}, the machine took {measured}")
    if not tiled:
        bad.append("the segments do not tile the step")
    if predicted != truth:
        bad.append(f"{rules}: predicted {predicted}, truth {truth}, measured {measured} ({100 * (predicted / truth - 1):.2f} %)")
    return ("bad", f"{path} step {step}: " + "; ".join(bad)) if bad else ("good", measured != truth)


def check_flood(directory):
    """A device-bound program with a full queue: its launches get shorter with the work, until the host sets the pace."""
    steps = simulate.flood(700, 4000, 30000)
    machine = simulate.Machine().run(steps)
    path = pathlib.Path(directory) / "flood.json"
    path.write_text(machine.trace())
    for factor in (0.5, 0.25, 0.1):
        got, err = predict(path, 3, [f"kern_a={factor}x"])
        truth = simulate.Machine(lambda k, n, d: int(d * factor) if k == "kernel" else d).run(steps).length(3)
        predicted, measured = got["what_if"]["predicted_ns"], machine.length(3)
        tap.ok(f"a full queue drains with work at {factor}x", got["measured_ns"] == measured and abs(predicted / truth - 1) < 0.01 and
               got["replay"]["full_queue_launches"] > 500, f"predicted {predicted}, truth {truth}, measured {measured}, {got['replay']}")


def check_begun_late(directory):
    """Recorded from when the queue is full on: no launch with little in front says what one takes."""
    steps = [[("launch", 0, "kern_b", 4000, 900000)] + [("launch", 0, "kern_a", 4000, 3000)] * 60 for _ in range(50)]
    machine = simulate.Machine().run(steps)
    path, begun = pathlib.Path(directory) / "late.json", machine.steps[25][0] / 1000
    rows = [r for r in json.loads(machine.trace())["traceEvents"] if r["cat"] == "kernel" or r["ts"] >= begun]
    path.write_text(json.dumps({"traceEvents": rows}))
    got, err = predict(path, 46, ["kern_b=0"])
    truth = simulate.Machine(lambda k, n, d: 0 if n == "kern_b" else d).run(steps).length(46)
    tap.ok("a queue that is full when the recording begins drains, too", got and abs(got["what_if"]["predicted_ns"] / truth - 1) < 0.02,
           f"truth {truth}, {got['what_if'] if got else err}")


def check_send(directory):
    """Copies of pageable memory behind much work: their calls wait for it, though no record says so."""
    steps = [[("launch", 0, "kern_a", 4000, 30000)] * 100 + [("send", 0, 400000), ("untraced", 200000)]] * 5
    path = pathlib.Path(directory) / "send.json"
    path.write_text(simulate.Machine().run(steps).trace())
    for factor in (0.5, 0.1):
        got, err = predict(path, 3, [f"kern_a={factor}x"])
        truth = simulate.Machine(lambda k, n, d: int(d * factor) if k == "kernel" else d).run(steps).length(3)
        tap.ok(f"a call that copies waits less for work at {factor}x", got and abs(got["what_if"]["predicted_ns"] / truth - 1) < 0.01,
               f"truth {truth}, {got['what_if'] if got else err}")


def check_noise(directory, rounds=60):
    """Delays that vary by a third: what-ifs are off by little, and less on the whole."""
    rng, off = random.Random(3), []
    for number in range(rounds):
        steps = simulate.program(rng)
        path = pathlib.Path(directory) / "noise.json"
        path.write_text(simulate.Machine(noise=0.33).run(steps).trace())
        rules, changed = CHANGES[1 + number % (len(CHANGES) - 1)]
        got, err = predict(path, 2, rules)
        if got:
            truth = simulate.Machine(**changed, noise=0.33).run(steps).length(2)
            off.append(abs(got["what_if"]["predicted_ns"] / truth - 1))
    off.sort()
    tap.ok("with noisy delays what-ifs stay near the truth", len(off) > rounds // 2 and sum(off) / len(off) < 0.01 and off[-1] < 0.05,
           f"mean {sum(off) / len(off):.4f}, worst {off[-3:]}")


def main():
    rng = random.Random(int(os.environ.get("SEED", "7")))
    seen = {"good": 0, "bad": 0, "skip": 0}
    moved, texts = 0, []
    with tempfile.TemporaryDirectory() as directory:
        check_flood(directory)
        check_begun_late(directory)
        check_send(directory)
        check_noise(directory)
        for number in range(ROUNDS):
            what, detail = check(rng, number, sys.argv[1] if len(sys.argv) > 1 else directory)
            seen[what] += 1
            moved += what == "good" and bool(detail)
            texts += [detail] * (what == "bad")
    tap.ok("what-ifs of random programs meet the machine", not texts, "\n".join(texts[:8]))
    tap.ok("and most of them change the step", seen["good"] > ROUNDS // 2 and moved > ROUNDS // 3, f"{seen}, {moved} changed")


main()
tap.done()
