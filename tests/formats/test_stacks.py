#!/usr/bin/env python3
"""Stacks of calls and looks at threads in files of other formats: what is read back is what was written, and other programs
find the same in them (Python's json here; Perfetto and xprof in test_trace_processor.py and tests/xplane)."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tap

SOURCE = tap.ROOT / "demo/run"
LOOKS = ("select s.ts, s.dur, t.pid, t.tid, s.stack, s.calls, s.state, s.kind, s.call, s.file, s.cpu, s.delay, s.count, s.gil, s.flags, "
         "h.tid holder, n.file library, n.function symbol from sample s join track t on t.id = s.track left join track h on h.id = s.holder "
         "left join code n on n.id = s.native order by s.ts, t.tid, s.id")
CALLS = ("select h.ts, t.tid, h.name, case when a.lent then null else a.stack end stack from host h join track t on t.id = h.track join api a on a.id = h.detail "
         "where h.kind in ('runtime', 'driver') order by h.ts, t.tid, h.name")
STACKS = ("select s.id, s.caller, s.line, s.depth, c.kind, c.file, c.function, c.line first, c.offset, c.own from stack s "
          "join code c on c.id = s.code")


def chains(path):
    """By row of stack: its calls, outermost first."""
    rows = {r["id"]: r for r in tap.sql(path, STACKS)}
    found = {None: ()}

    def chain(i):
        if i not in found:
            r = rows[i]
            found[i] = chain(r["caller"]) + (tuple(v for k, v in r.items() if k not in ("id", "caller")),)
        return found[i]

    sys.setrecursionlimit(10000)
    return {i: chain(i) for i in [None, *sorted(rows)]}


def told(path):
    """Looks and calls with whole stacks; times from the first look on."""
    known = chains(path)
    looks, calls = tap.sql(path, LOOKS), tap.sql(path, CALLS)
    start = looks[0]["ts"] if looks else 0
    return ([tuple(known[v] if k in ("stack", "calls") else v - start if k == "ts" else v for k, v in r.items()) for r in looks],
            [(r["ts"] - start, r["tid"], r["name"], known[r["stack"]]) for r in calls])


def check_back(want, path):
    got = told(path)
    what = path.name
    tap.ok(f"{what}: looks at threads read back the same", want[0] and got[0] == want[0], f"{len(got[0])} of {len(want[0])}")
    tap.ok(f"{what}: stacks of calls read back the same", any(c[3] for c in want[1]) and got[1] == want[1],
           f"{len(got[1])} of {len(want[1])}")


def check_json(want, path):
    """The file as a program would read it that knows only what Chrome's format says of stacks."""
    trace = json.loads(path.read_text())
    frames = trace["stackFrames"]

    def chain(number):
        calls = []
        while number:
            f = frames[str(number)]
            calls.append((f.get("line", None), f["category"], f["name"]))
            number = f.get("parent")
        return tuple(reversed(calls))

    def ours(stack):
        return tuple((c[0], c[3], c[4] or c[3]) for c in stack)

    got = collections.Counter((e["tid"], e["name"], chain(e.get("sf"))) for e in trace["traceEvents"]
                              if e["ph"] == "X" and e.get("cat") in ("cuda_runtime", "cuda_driver"))
    tap.ok("stackFrames tell each call's stack", got == collections.Counter((c[1], c[2], ours(c[3])) for c in want[1]))
    got = collections.Counter((e["tid"], e["args"]["looks"], chain(e.get("sf"))) for e in trace["traceEvents"] if e["ph"] == "P")
    tap.ok("samples lead to their stacks", got == collections.Counter((s[3], s[12], ours(s[4])) for s in want[0]))
    check_lanes(trace["traceEvents"])


def check_lanes(events):
    """Rows of what threads were seen doing: spans lie inside those they were called from."""
    spans = [e for e in events if e.get("args", {}).get("assay_derived") and e["ph"] == "X" and e["tid"] >= 10**9]
    by_id = {e["args"]["Python id"]: e for e in spans if e["cat"] == "python_function"}
    inside = all(up["ts"] - 1e-3 <= e["ts"] and e["ts"] + e["dur"] <= up["ts"] + up["dur"] + 1e-3
                 for e in by_id.values() for up in [by_id.get(e["args"].get("Python parent id"))] if up)
    tap.ok("functions lie inside those that call them", len(by_id) > 1000 and inside, len(by_id))
    names = {e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    tap.ok("rows of functions are named", {e["tid"] for e in spans} <= names)


# Stacks of calls as Perfetto's own message classes read a trace (PyPI package perfetto).
PERFETTO = r"""
import sys, json, collections
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
t = Trace(); t.ParseFromString(open(sys.argv[1], "rb").read())
known = collections.defaultdict(dict)
for p in t.packet:
    q, d = p.trusted_packet_sequence_id, p.interned_data
    for kind, rows in (("function", d.function_names), ("file", d.source_paths), ("frame", d.frames), ("stack", d.callstacks), ("name", d.event_names)):
        known[q, kind].update({r.iid: r for r in rows})
    e = p.track_event
    if not e.callstack_iid: continue
    frames = [known[q, "frame"][i] for i in known[q, "stack"][e.callstack_iid].frame_ids]
    print(json.dumps([known[q, "name"][e.name_iid].name, [[f.line_number, known[q, "file"][f.source_path_iid].str.decode(),
          known[q, "function"][f.function_name_id].str.decode(), f.kind] for f in frames]]))
"""


def check_perfetto(want, path):
    peer = os.environ.get("ASSAY_PEER_PYTHON", "/tmp/hta-venv/bin/python")
    p = subprocess.run([peer, "-c", PERFETTO, path], capture_output=True, text=True, timeout=tap.PATIENCE) if pathlib.Path(peer).exists() else None
    if not p or "No module named" in p.stderr or "no attribute" in p.stderr:
        tap.skip("stacks as Perfetto's own classes read them", "no package perfetto that knows stacks of events (ASSAY_PEER_PYTHON)")
        return
    kinds = {"native": 1, "python": 3}
    calls = [[c[2], [[f[0] or 0, f[3], f[4] or f[3], kinds[f[2]]] for f in c[3]]] for c in want[1] if c[3]]
    names = {c[0] for c in calls}
    got = collections.Counter(line for line in p.stdout.splitlines() if json.loads(line)[0] in names)
    tap.ok("stacks of calls are what Perfetto's own classes read", calls and got == collections.Counter(map(json.dumps, calls)), p.stderr[-500:])


def main():
    want = told(SOURCE)
    with tempfile.TemporaryDirectory() as tmp:
        for name in ("run.json", "run.xplane.pb", "run.grouped.xplane.pb", "run.pftrace"):
            out = pathlib.Path(tmp) / name
            code, _, err = tap.run("convert", SOURCE, out)
            tap.ok(f"{name} is written, stacks and looks too", code == 0 and "sample" not in err and "stacks" not in err, err)
            check_back(want, out)
        check_perfetto(want, pathlib.Path(tmp) / "run.pftrace")
        check_json(want, pathlib.Path(tmp) / "run.json")
        again = pathlib.Path(tmp) / "again.json"
        tap.run("convert", pathlib.Path(tmp) / "run.xplane.pb", again)
        check_back(want, again)


main()
tap.done()
