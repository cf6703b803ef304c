#!/usr/bin/env python3
"""Exports of Nsight Systems: what assay reads equals SQL straight on the file."""
import json
import pathlib
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

FILES = ["h100_2gpu_1s", "mfu_2gpu_before"]
PAIRS = [
    ("kernels by device", "select deviceId, count(*), sum(end - start) from CUPTI_ACTIVITY_KIND_KERNEL group by 1 order by 1",
     "select device, count(*) n, sum(dur) s from kernels group by 1 order by 1"),
    ("kernels by name", "select value, count(*), sum(end - start) from CUPTI_ACTIVITY_KIND_KERNEL k join StringIds s on s.id = k.demangledName group by 1 order by 1",
     "select name, count(*) n, sum(dur) s from kernels group by 1 order by 1"),
    ("copies by bytes", "select count(*), sum(bytes), sum(end - start) from CUPTI_ACTIVITY_KIND_MEMCPY",
     "select count(*) n, sum(size) b, sum(dur) s from memory_copies"),
    ("calls by thread", "select globalTid & 0xffffff, count(*), sum(end - start) from CUPTI_ACTIVITY_KIND_RUNTIME where eventClass in (0, 1) group by 1 order by 1",
     "select tid, count(*) n, sum(dur) s from regions where category in ('runtime', 'driver') group by 1 order by 1"),
    ("NVTX ranges", "select coalesce(text, value) t, count(*), sum(end - start) from NVTX_EVENTS n left join StringIds s on s.id = n.textId where eventType in (59, 60) and end not null group by 1 order by 1",
     "select name, count(*) n, sum(dur) s from regions where category in ('marker', 'process_range') and dur >= 0 and t is not null group by 1 order by 1"),
    ("kernels whose call is in the window",
     "select count(*) from CUPTI_ACTIVITY_KIND_KERNEL k where exists (select 1 from CUPTI_ACTIVITY_KIND_RUNTIME r where r.correlationId = k.correlationId and r.globalTid >> 24 = k.globalPid >> 24 and r.eventClass in (0, 1))",
     "select count(*) n from kernels where call is not null"),
]


def ours(path, statement):
    rc, out, err = tap.run("sql", path, "-f", "json", statement)
    return [tuple(row.values()) for row in json.loads(out)] if rc == 0 else err


for name in FILES:
    path = tap.CORPUS / "nsys" / f"{name}.sqlite"
    if not path.exists():
        tap.skip(f"nsys {name}", "no shared corpus")
        continue
    db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    for what, theirs, mine in PAIRS:
        want, got = db.execute(theirs).fetchall(), ours(path, mine)
        tap.ok(f"nsys {name}: {what} equal SQL on the export", sorted(want, key=str) == sorted(got, key=str) and want,
               f"want {str(want)[:300]}\ngot  {str(got)[:300]}")
tap.done()
