#!/usr/bin/env python3
"""Rows a second of the ways to ask, in one process that has read the input: SQL to pyarrow, and the kernels handed to pyarrow,
pandas and polars.
usage: bench/query.py BUILD [MILLIONS]     (default 1 million kernels of a rocprofv3 CSV, made once in ${BENCH_DIR:-/tmp/assay-bench};
needs pyarrow and `make BUILD/bench/gen_csv`; pandas and polars are left out where they are not installed)"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROWS = int(float(sys.argv[2]) * 1e6) if len(sys.argv) > 2 else 1000000
DIR = pathlib.Path(os.environ.get("BENCH_DIR", "/tmp/assay-bench"))
os.environ["ASSAY_LIBRARY"] = str(BUILD / "libassay.so")
os.environ["ASSAY"] = str(BUILD / "assay")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import assay  # noqa: E402

STATEMENTS = {
    "sql: count and sum": "select count(*), sum(dur) from kernels",
    "sql: group by name": "select name, count(*), sum(dur) from kernels group by name_id order by 3 desc limit 5",
    "sql: five columns, all rows": "select name, ts, dur, stream, corr_id from kernels",
}


def input_file():
    path = DIR / f"query-{ROWS}" / "kernel_trace.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(str(path) + ".new", "wb") as f:
            subprocess.run([str(BUILD / "bench/gen_csv"), str(ROWS)], stdout=f, check=True)
        os.rename(str(path) + ".new", path)
    return path


def best(work, runs=3):
    """Least wall and processor seconds of a few runs."""
    got = []
    for _ in range(runs):
        start, cpu = time.perf_counter(), os.times()
        work()
        now = os.times()
        got.append((time.perf_counter() - start, sum(now[:4]) - sum(cpu[:4])))
    return min(g[0] for g in got), min(g[1] for g in got)


def row(label, wall, cpu):
    print(f"  {label:32} {wall:8.3f} s {cpu:8.2f} s processor {ROWS / cpu / 1e6 if cpu > 0.01 else float('inf'):8.1f} M rows/s", flush=True)


def main():
    run = assay.open(str(input_file()))
    print(f"{ROWS:,} kernels; rows a second of processor time", flush=True)
    row("reading and analysing", *best(lambda: run.sql("select 1 one").to_arrow(), 1))
    for label, statement in STATEMENTS.items():
        row(label, *best(lambda: run.sql(statement).to_arrow()))
    for name, take in (("pyarrow", "to_arrow"), ("pandas", "to_pandas"), ("polars", "to_polars")):
        if importlib.util.find_spec(name):
            getattr(run.sql("select 1 one"), take)()  # what the consumer itself loads
            row(f"kernels to {name}", *best(lambda: getattr(run.kernels, take)()))


if __name__ == "__main__":
    main()
