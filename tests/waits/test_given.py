#!/usr/bin/env python3
"""Waits of random programs (machine.py) as Chrome's JSON: what is written of a recording holds fewer calls than the recording, and
no wait may be surer when it is read than it was."""
import json
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import forms
import tap
import test_simulate

KINDS = ("stream_wait_event", "event_synchronize", "stream_synchronize", "device_synchronize")


def waits_of(path):
    code, out, err = tap.run("waits", "--json", path)
    assert code == 0, err
    return {(w["kind"], w["correlation"]): w for w in json.loads(out)["waits"] if w["kind"] in KINDS}


def compare(before, after):
    """What is wrong, and how many are as sure as before."""
    wrong, kept = [], 0
    for key, w in after.items():
        was = before.get(key, {"class": "not there"})
        same = was["class"] == w["class"] and was.get("producer_correlation") == w["producer_correlation"]
        kept += same
        surer = w["class"] in test_simulate.CERTAIN and not same
        told = w["kind"] != "stream_wait_event" or w["thread"] is not None  # the doubt travels with the call, which may be lost
        doubt = same and told and was["doubt"] != w["doubt"]
        weaker = was["class"] == "exact" != w["class"] and was["producer_correlation"] == w["producer_correlation"]
        if surer or weaker or doubt:
            wrong.append((key, was["class"], was.get("doubt"), w["class"], w["doubt"]))
    return wrong, kept


def check(name, programs):
    form, rng = forms.FORMS[name], random.Random(name)
    wrong, kept, total = [], 0, 0
    for _ in range(programs):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            made = pathlib.Path(folder) / "in"
            made.mkdir()
            path = form.write(test_simulate.simulate(form, 1, 1, rng), rng, made)
            code, _, err = tap.run("convert", path, out)
            assert code == 0, err
            before = waits_of(path)
            found = compare(before, waits_of(out))
        wrong, kept, total = wrong + found[0], kept + found[1], total + len(before)
    tap.ok(f"no wait of {programs} programs as {name} is surer as JSON, or less sure of the same work", not wrong, str(wrong[:5]))
    tap.ok(f"four of five waits of {programs} programs as {name} are as sure as JSON", kept >= 0.8 * total, f"{kept} of {total}")


def main():
    for name in ("capture_cuda", "capture_hip", "rocprof_json", "nsys", "kineto_cuda", "kineto_hip"):
        check(name, 30)
    tap.done()


if __name__ == "__main__":
    main()
