#!/usr/bin/env python3
"""Resolve a recorded run twice, by the vendor's join ids and by handles alone, and count where the two agree.
usage: agree.py RUN...    exit status 0: every wait whose record is in the window is resolved, and both ways agree"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ASSAY = os.environ.get("ASSAY", str(ROOT / "build/release/assay"))
RESOLVED = ("exact", "likely", "ambiguous")
BY_EVENT = ("stream_wait_event", "event_synchronize")


def waits(run, *more):
    p = subprocess.run([ASSAY, "waits", "--json", *more, run], stdout=subprocess.PIPE, check=True)
    return {w["correlation"]: w for w in json.loads(p.stdout)["waits"] if w["kind"] in BY_EVENT}


def main():
    good = True
    for run in sys.argv[1:]:
        ids, handles = waits(run), waits(run, "--handles")
        done = {c: w for c, w in ids.items() if w["class"] in RESOLVED}
        exact = [c for c, w in done.items() if w["class"] == "exact"]
        differ = [c for c in done if any(done[c][k] != handles.get(c, {}).get(k) for k in
                                         ("producer_stream", "record_correlation", "producer_kernel"))]
        inside = [c for c, w in ids.items() if w["class"] in ("lost",)]
        print(f"{run}: {len(ids)} waits for events, {len(done)} resolved ({len(exact)} by join id), "
              f"{len(ids) - len(done) - len(inside)} recorded before the trace, {len(inside)} lost, "
              f"{len(done) - len(differ)} of {len(done)} the same by handles alone")
        for c in differ[:5]:
            print("  differs:", done[c], handles.get(c), sep="\n    ")
        good &= not differ and not inside and bool(done)
    sys.exit(0 if good else 1)


main()
