#!/usr/bin/env python3
"""Of the GPU work of a run, how much was launched inside a range that its thread had open, and does all of that have a
scope: scope_share.py RUN   Exit status 1 when some of it has none. Looks at the tables on its own: each call against the
ranges of its thread, by time."""
import csv
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ASSAY = os.environ.get("ASSAY", str(ROOT / "build/release/assay"))
HOST_KINDS = ["cpu_op", "user_annotation", "runtime", "driver", "python_function", "overhead", "instant", "marker", "other",
              "process_range"]
NESTING, STARTED = ("user_annotation", "marker"), ("process_range",)
SHOWN = 20


def table(folder, name):
    path = folder / f"{name}.csv"
    if not path.exists():
        return []
    csv.field_size_limit(1 << 30)
    with path.open(newline="") as f:
        return list(csv.DictReader(f))


def open_at(ranges, times):
    """For each time, is a range open: begin <= time < end. Both lists rise."""
    out, last, i = [], None, 0
    for t in times:
        while i < len(ranges) and ranges[i][0] <= t:
            last = ranges[i][1] if last is None else max(last, ranges[i][1])
            i += 1
        out.append(last is not None and t < last)
    return out


def inside(host, calls, kinds):
    """Rows of calls that lie in a range of these kinds on their thread."""
    ranges, times = {}, {}
    for row in host:
        if HOST_KINDS[int(row["kind"])] in kinds and row["dur"] and int(row["dur"]) > 0:
            ranges.setdefault(row["track"], []).append((int(row["ts"]), int(row["ts"]) + int(row["dur"])))
    for c in calls:
        times.setdefault(host[c]["track"], []).append((int(host[c]["ts"]), c))
    found = set()
    for track, list_ in times.items():
        list_.sort()
        flags = open_at(sorted(ranges.get(track, [])), [t for t, _ in list_])
        found.update(c for (_, c), flag in zip(list_, flags) if flag)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp) / "tables"
        subprocess.run([ASSAY, "convert", "--to", "csv", sys.argv[1], folder], check=True)
        host, gpu, launch, scopes = (table(folder, n) for n in ("host", "gpu", "launch", "gpu_scope"))
        names = table(folder, "scope")
    calls = [int(r["host"]) if r["host"] else None for r in launch]
    known = {c for c in calls if c is not None}
    nested = inside(host, known, NESTING)
    started = inside(host, known, STARTED) - nested
    rows = {"in a range of its thread": [], "in a started range only": [], "in none": [], "launch not recorded": []}
    keys = list(rows)
    for g, c in enumerate(calls):
        rows[keys[3] if c is None else keys[0] if c in nested else keys[1] if c in started else keys[2]].append(g)
    print(f"{len(gpu)} GPU events, {len(names)} scopes")
    for key, list_ in rows.items():
        have = sum(1 for g in list_ if scopes[g]["scope"])
        share = f", {100 * have / len(list_):.2f} % of them" if list_ else ""
        print(f"  {key}: {len(list_)}, with a scope {have}{share}")
    lost = [g for key in keys[:2] for g in rows[key] if not scopes[g]["scope"]]
    for g in lost[:SHOWN]:
        call = host[calls[g]]
        print(f"  no scope: {gpu[g]['name']} (correlation {gpu[g]['corr']}, {call['name']} at {call['ts']})")
    if len(lost) > SHOWN:
        print(f"  ... {len(lost) - SHOWN} more")
    wrong = [g for g in rows[keys[2]] if scopes[g]["scope"] and scopes[g]["how"] != "2"]  # 2: the input says so
    print(f"  {len(lost)} without the scope they should have, {len(wrong)} with one they should not have")
    sys.exit(bool(lost or wrong))


if __name__ == "__main__":
    main()
