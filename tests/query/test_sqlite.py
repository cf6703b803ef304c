#!/usr/bin/env python3
"""`convert RUN out.db`: SQLite itself finds in every table and view of the file what `assay sql` says of the run."""
import json
import pathlib
import sqlite3
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

with tempfile.TemporaryDirectory() as folder:
    for name in ("demo/run", "demo/train.json.gz"):
        out = pathlib.Path(folder) / "out.db"
        rc, _, err = tap.run("convert", tap.ROOT / name, out)
        tap.ok(f"{name}: a database is written", rc == 0, err)
        db = sqlite3.connect(out)
        tap.ok(f"{name}: SQLite finds it whole", db.execute("pragma integrity_check").fetchone() == ("ok",))
        relations = [r[0] for r in db.execute("select name from sqlite_master where type in ('table', 'view')")]
        wrong = []
        for relation in relations:
            cursor = db.execute(f'select * from "{relation}" limit 300')
            want = [dict(zip([c[0] for c in cursor.description], row)) for row in cursor]
            rc, text, err = tap.run("sql", tap.ROOT / name, "-f", "json", f'select * from "{relation}" limit 300')
            if rc or json.loads(text) != json.loads(json.dumps(want)):
                wrong.append(relation + ": " + (err or f"{str(want[:1])[:200]} / {text[:200]}"))
        tap.ok(f"{name}: {len(relations)} tables and views equal those of the run", relations and not wrong, wrong[:3])
        out.unlink()
tap.done()
