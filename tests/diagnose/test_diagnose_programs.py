#!/usr/bin/env python3
"""What first findings of random programs promise, held against what comes of their cure. With arguments (ROUNDS, or ROUNDS
FAMILY...) it says how it goes with each program."""
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import programs
import tap

ROUNDS = 6


def report(text, directory):
    (directory / "trace.json").write_text(text)
    code, out, err = tap.run("report", "--json", directory / "trace.json")
    return json.loads(out) if code == 0 else {"findings": [], "error": err}


def judge(family, seed):
    """(first finding, ns promised, ns that come of its cure, ns of the step, right, within its bounds)."""
    bad, text = programs.run(family, seed, None)
    with tempfile.TemporaryDirectory() as d:
        told = report(text, pathlib.Path(d))
    first = (told["findings"] or [{"cause": None}])[0]
    by_cause = programs.twins(family, seed)
    worth = first.get("worth") or {}
    now, after = worth.get("now_ns") or 0, worth.get("after_ns") or 0
    saved = now - after if first.get("steady") else (now - after) / programs.STEPS
    twin = by_cause.get(first["cause"]) or next(iter(by_cause.values()))
    good, _ = programs.run(family, seed, twin)
    true = bad - good
    least, most = now - (worth.get("after_most_ns") or after), now - (worth.get("after_least_ns") or after)
    return {"seed": seed, "cause": first["cause"], "known": first["cause"] in by_cause, "saved": saved, "true": true, "step": bad,
            "right": abs(saved - true) <= max(0.15 * true, 0.05 * bad), "bounds": bool(worth.get("after_least_ns")),
            "within": 0.95 * least <= true <= 1.05 * most, "others": [f["cause"] for f in told["findings"][1:5]],
            "text": first.get("text"), "least": least, "most": most, "conf": first.get("confidence"), "now": now}


def sums(family, rows):
    worth = [r for r in rows if r["true"] > 0.05 * r["step"]]
    right = sum(r["known"] and r["right"] for r in worth)
    within = sum(r["known"] and not r["right"] and r["bounds"] and r["within"] for r in worth)
    return len(worth), sum(r["known"] for r in worth), right, within


def say(family, rows):
    n, named, right, within = sums(family, rows)
    print(f"{family}: of {n} programs {named} named, {right} with what comes of it, {within} more within the bounds told")
    for r in rows:
        print(f"   {r['seed']:3} {str(r['cause']):18} step {r['step'] / 1e6:7.2f} ({r['now'] / 1e6:7.2f}) promised "
              f"{r['saved'] / 1e6:7.2f} [{r['least'] / 1e6:.2f} {r['most'] / 1e6:.2f}] comes {r['true'] / 1e6:7.2f} "
              f"{'' if r['right'] else '--'}{'' if r['known'] else '?'} {r['others']}")


if sys.argv[1:]:
    for family in sys.argv[2:] or programs.FAMILIES:
        say(family, [judge(family, seed) for seed in range(int(sys.argv[1]))])
    sys.exit()
for family in programs.FAMILIES:
    rows = [judge(family, seed) for seed in range(ROUNDS)]
    n, named, right, within = sums(family, rows)
    off = [r for r in rows if not (r["known"] and r["right"])]
    tap.ok(f"programs {family}: most first findings name the flaw", named >= 0.8 * n, off)
    tap.ok(f"programs {family}: most say what comes of its cure", right + within >= 0.8 * n and right >= 0.75 * n, off)
tap.done()
