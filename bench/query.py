#!/usr/bin/env python3
"""Rows a second of the ways to ask, in one process that has read the input: SQL, beside SQLite over a table of the same columns and
DuckDB over the same Arrow table, and the kernels handed to pyarrow, pandas and polars.
usage: bench/query.py BUILD [MILLIONS] [--alone]     (default 1 million kernels of a rocprofv3 CSV, made once in ${BENCH_DIR:-/tmp/assay-bench};
needs pyarrow and `make BUILD/bench/gen_csv`; duckdb, pandas and polars are left out where they are not installed; --alone leaves out
SQLite and DuckDB, and the question for all rows)"""
import importlib.util
import os
import pathlib
import sqlite3
import subprocess
import sys
import time

ALONE = "--alone" in sys.argv
WORDS = [a for a in sys.argv[1:] if a != "--alone"]
BUILD = pathlib.Path(WORDS[0]).resolve()
ROWS = int(float(WORDS[1]) * 1e6) if len(WORDS) > 1 else 1000000
DIR = pathlib.Path(os.environ.get("BENCH_DIR", "/tmp/assay-bench"))
os.environ["ASSAY_LIBRARY"] = str(BUILD / "libassay.so")
os.environ["ASSAY"] = str(BUILD / "assay")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import assay  # noqa: E402

STATEMENTS = {
    "count and sum": "select count(*), sum(dur) from kernels",
    "group by name": "select name, count(*), sum(dur) from kernels group by name order by 3 desc limit 5",
    "group by stream, name": "select stream, name, count(*), sum(dur) from kernels group by stream, name order by 4 desc limit 5",
    "distinct names": "select distinct name from kernels",
    "the five longest": "select name, ts, dur from kernels order by dur desc, ts limit 5",
    "five columns, all rows": "select name, ts, dur, stream, corr_id from kernels",
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


def sqlite_of(run):
    """SQLite's own table of the columns that are asked for, in memory."""
    db = sqlite3.connect(":memory:")
    db.execute("create table kernels(name text, ts integer, dur integer, stream integer, corr_id integer)")
    rows = run.sql(STATEMENTS["five columns, all rows"])._reader().rows()
    db.executemany("insert into kernels values (?, ?, ?, ?, ?)", rows)
    return db


def duckdb_of(run):
    import duckdb

    kernels = run.sql(STATEMENTS["five columns, all rows"]).to_arrow()  # noqa: F841, found by its name
    db = duckdb.connect()
    db.execute("set threads = 1")
    db.execute("create table kernels as select * from kernels")
    return db


def main():
    run = assay.open(str(input_file()))
    print(f"{ROWS:,} kernels; rows a second of processor time", flush=True)
    row("reading and analyzing", *best(lambda: run.sql("select 1 one").to_arrow(), 1))
    peers = {} if ALONE else {"sqlite3": sqlite_of(run)}
    if not ALONE and importlib.util.find_spec("duckdb"):
        peers["duckdb"] = duckdb_of(run)
    for label, statement in list(STATEMENTS.items())[: -1 if ALONE else None]:
        row("sql: " + label, *best(lambda: run.sql(statement).to_arrow()))
        for peer, db in peers.items():
            row(f"  {peer}", *best(lambda: db.execute(statement).fetchall()))
    for name, take in (("pyarrow", "to_arrow"), ("pandas", "to_pandas"), ("polars", "to_polars")):
        if importlib.util.find_spec(name):
            getattr(run.sql("select 1 one"), take)()  # what the consumer itself loads
            for table in ("kernels", "gpu"):
                row(f"{table} to {name}", *best(lambda: getattr(run[table], take)()))


if __name__ == "__main__":
    main()
