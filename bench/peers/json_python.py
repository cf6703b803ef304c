"""The extraction of bench/run with Python's json module. usage: json_python.py FILE"""
import json
import sys

spans = corr = 0
dur = 0.0
with open(sys.argv[1], "rb") as f:
    for ev in json.load(f)["traceEvents"]:
        if ev.get("ph") == "X":
            spans += 1
            dur += ev.get("dur", 0)
            corr += ev.get("args", {}).get("correlation", 0)
print(f"spans {spans} dur {dur:.0f} us corr {corr}")
