#!/usr/bin/env python3
"""Waits of real traces resolve as their own cuda_sync rows say, and every other wait is listed too."""
import gzip
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

KINDS = {"Stream Wait Event": "stream_wait_event", "Event Sync": "event_synchronize",
         "Stream Sync": "stream_synchronize", "Context Sync": "device_synchronize"}
FIELDS = ["kind", "correlation", "thread", "consumer_stream", "producer_stream", "record_correlation",
          "producer_kernel", "class", "blocked_ns", "delayed_ns"]
TRACES = ["alexnet", "simple_add", "cuda_event_sync", "cuda_event_sync_multi_stream"]


def load(path):
    return json.load(gzip.open(path))["traceEvents"]


def last_work(events, stream, corr):
    """Ends of the last work before a call on a stream, by brute force."""
    before = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
              and e["args"]["stream"] == stream and e["args"]["correlation"] < corr]
    return max(before, key=lambda e: e["args"]["correlation"])["name"] if before else None


def difference(row, wait, events):
    """What assay says otherwise than the row, or None."""
    a = row["args"]
    if wait is None:
        return "not listed"
    if wait["kind"] != KINDS[row["name"]]:
        return "kind"
    if row["name"] == "Stream Wait Event" and wait["consumer_stream"] != a["stream"]:
        return "consumer"
    if row["name"] in ("Event Sync", "Context Sync") and wait["consumer_stream"] is not None:
        return "consumer"
    if row["name"] == "Stream Sync":
        name = last_work(events, a["stream"], a["correlation"])
        return None if (wait["producer_stream"], wait["producer_kernel"]) == (a["stream"], name) else "work"
    if "wait_on_stream" not in a:
        return None
    stream, record = a["wait_on_stream"], a.get("wait_on_cuda_event_record_corr_id", -1)
    if (wait["producer_stream"], wait["record_correlation"]) != \
            (stream if stream >= 0 else None, record if record >= 0 else None):
        return f"producer {wait['producer_stream']} {wait['record_correlation']}"
    if record >= 0 and wait["class"] != "exact":
        return wait["class"]
    if record >= 0 and wait["producer_kernel"] != last_work(events, stream, record):
        return f"work {wait['producer_kernel']}"
    return None


def check(name):
    path = tap.CORPUS / f"hta/critical_path/{name}.json.gz"
    code, out, err = tap.run("waits", "--json", path)
    if code:
        tap.ok(f"waits of {name}", False, err)
        return
    got, events = json.loads(out), load(path)
    tap.ok(f"waits of {name} have every field", all(list(w)[:10] == FIELDS for w in got["waits"]))
    by_corr = {w["correlation"]: w for w in got["waits"]}
    rows = [e for e in events if e.get("cat") == "cuda_sync"]
    bad = [(e["args"]["correlation"], d) for e in rows
           for d in [difference(e, by_corr.get(e["args"]["correlation"]), events)] if d]
    tap.ok(f"{len(rows)} waits of {name} resolve as their rows say", not bad, bad[:5])
    lost = [w["blocked_ns"] if w["blocked_ns"] is not None else w["delayed_ns"] or 0 for w in got["waits"]]
    tap.ok(f"waits of {name} are sorted by time lost", lost == sorted(lost, reverse=True))
    s = got["summary"]
    tap.ok(f"summary of {name} adds up", s["waits"] == len(got["waits"]) == sum(s["by_class"].values()) and
           s["blocked_ns"] == sum(w["blocked_ns"] or 0 for w in got["waits"]), s)


def main():
    if not tap.CORPUS.is_dir():
        tap.skip("waits of real traces", f"no corpus at {tap.CORPUS}")
        return
    for name in TRACES:
        check(name)
    path = tap.CORPUS / "hta/critical_path/alexnet.json.gz"
    every = json.loads(tap.run("waits", "--json", path)[1])["waits"]
    some = json.loads(tap.run("waits", "--json", "--min", "100us", path)[1])["waits"]
    lost = lambda w: w["blocked_ns"] if w["blocked_ns"] is not None else w["delayed_ns"] or 0
    tap.ok("--min keeps what lost at least that", some == [w for w in every if lost(w) >= 100000])
    some = json.loads(tap.run("waits", "--json", "--stream", "20", path)[1])["waits"]
    tap.ok("--stream keeps both sides", some == [w for w in every if 20 in (w["consumer_stream"], w["producer_stream"])])
    some = json.loads(tap.run("waits", "--json", "--unresolved", path)[1])["waits"]
    tap.ok("--unresolved keeps the rest", some == [w for w in every if w["class"] not in ("exact", "likely", "ambiguous")])
    code, _, err = tap.run("waits", "--thread", "x", path)
    tap.ok("a thread that is no number is wrong usage", code == 2 and "number" in err, err)


main()
tap.done()
