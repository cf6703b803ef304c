#!/usr/bin/env python3
"""`convert RUN out.db`: SQLite itself finds in every table and view of the file what `assay sql` says of the run, in groups, orders and
distinct values of any columns too."""
import json
import pathlib
import random
import sqlite3
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap



def questions(view, columns):
    """Groups, orders and narrowed ones over columns that a fixed sequence picks; ids make the order of rows certain."""
    pick = random.Random(view)
    for _ in range(6):
        by = pick.sample(columns, min(len(columns), pick.randint(1, 3)))
        keys = ", ".join(f'"{c}"' for c in by)
        order = ", ".join(f'"{c}" {pick.choice(("asc", "desc"))}' for c in by)
        where = pick.choice(("", f'where "{pick.choice(columns)}" is not null', "where id > 40 and id <= 200"))
        yield f"select {keys}, count(*), min(id), sum(id) from {view} {where} group by {keys} order by {keys}"
        yield f"select {keys}, count(*) from {view} {where} group by {keys} order by {order}"
        yield f"select distinct {keys} from {view} {where} order by {order}"
        yield f"select count(*), sum(length(x)) from (select distinct {keys}, cast({keys.split(',')[0]} as text) x from {view} {where})"
        yield f"select count(*) from (select distinct {keys} from {view} where (id * 7 + {pick.randint(0, 9)}) % 10 < {pick.randint(1, 9)})"
        yield f"select {keys}, id from {view} {where} order by {order}, id desc limit 50"


def answers(trace, questions):
    """What the program says to all of them, in one process."""
    rc, text, err = tap.run("sql", trace, "-f", "json", input=(";\n".join(questions) + ";\n").encode())
    if rc:
        raise SystemExit(err)
    decode, at, said = json.JSONDecoder(), 0, []
    while text[at:].strip():
        rows, at = decode.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        said.append([list(row.values()) for row in rows])
    return said


def differing(db, trace, questions):
    wanted = [json.loads(json.dumps([list(row) for row in db.execute(q)])) for q in questions]
    return [f"{q}: {str(got)[:200]} / {str(want)[:200]}" for q, want, got in zip(questions, wanted, answers(trace, questions), strict=True) if want != got]


with tempfile.TemporaryDirectory() as folder:
    for name in ("demo/run", "demo/train.json.gz"):
        out = pathlib.Path(folder) / "out.db"
        rc, _, err = tap.run("convert", tap.ROOT / name, out)
        tap.ok(f"{name}: a database is written", rc == 0, err)
        db = sqlite3.connect(out)
        tap.ok(f"{name}: SQLite finds it whole", db.execute("pragma integrity_check").fetchone() == ("ok",))
        relations = [r[0] for r in db.execute("select name from sqlite_master where type in ('table', 'view')")]
        wrong = differing(db, tap.ROOT / name, [f'select * from "{r}" limit 300' for r in relations])
        tap.ok(f"{name}: {len(relations)} tables and views equal those of the run", relations and not wrong, wrong[:3])
        asked = []
        for view in ("kernels", "regions", "waits", "counters", "steps"):
            columns = [c[1] for c in db.execute(f'pragma table_info("{view}")') if c[1] != "id"]
            asked += questions(view, columns)
        wrong = differing(db, tap.ROOT / name, asked)
        tap.ok(f"{name}: {len(asked)} groups, orders and distinct values equal SQLite's own", len(asked) > 50 and not wrong, wrong[:3])
        db.close()
        out.unlink()
tap.done()
