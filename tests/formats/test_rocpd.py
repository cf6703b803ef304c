#!/usr/bin/env python3
"""rocpd databases of every published version of the schema, made here from its column lists, are read with the
same figures: what SQL says of one, every command says of all."""
import json
import pathlib
import sqlite3
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

SPAN = ["start", "end"]
SHAPE = [f"{what}_size_{d}" for what in ("workgroup", "grid") for d in "xyz"]
# Columns after id and guid, schema 3.0.0.
TABLES = {
    "string": ["string"],
    "info_node": ["hash", "machine_id", "system_name", "hostname", "release", "version", "hardware_name", "domain_name"],
    "info_process": ["nid", "ppid", "pid", "init", "fini", "start", "end", "command", "environment", "extdata"],
    "info_thread": ["nid", "ppid", "pid", "tid", "name", "start", "end", "extdata"],
    "info_agent": ["nid", "pid", "type", "absolute_index", "logical_index", "type_index", "uuid", "name", "model_name",
                   "vendor_name", "product_name", "user_name", "extdata"],
    "info_queue": ["nid", "pid", "name", "extdata"],
    "info_stream": ["nid", "pid", "name", "extdata"],
    "info_pmc": ["nid", "pid", "agent_id", "target_arch", "name", "symbol", "units", "extdata"],
    "info_code_object": ["nid", "pid", "agent_id", "uri", "load_base", "load_size", "extdata"],
    "info_kernel_symbol": ["nid", "pid", "code_object_id", "kernel_name", "display_name", "sgpr_count", "arch_vgpr_count",
                           "accum_vgpr_count", "extdata"],
    "track": ["nid", "pid", "tid", "name_id", "extdata"],
    "event": ["category_id", "stack_id", "parent_stack_id", "correlation_id", "call_stack", "line_info", "extdata"],
    "arg": ["event_id", "position", "type", "name", "value", "extdata"],
    "pmc_event": ["event_id", "pmc_id", "value", "extdata"],
    "region": ["nid", "pid", "tid", *SPAN, "name_id", "event_id", "extdata"],
    "sample": ["track_id", "timestamp", "event_id", "extdata"],
    "kernel_dispatch": ["nid", "pid", "tid", "agent_id", "kernel_id", "dispatch_id", "queue_id", "stream_id", *SPAN,
                        "private_segment_size", "group_segment_size", *SHAPE, "region_name_id", "event_id", "extdata"],
    "memory_copy": ["nid", "pid", "tid", *SPAN, "name_id", "dst_agent_id", "dst_address", "src_agent_id", "src_address",
                    "size", "queue_id", "stream_id", "region_name_id", "event_id", "extdata"],
    "memory_allocate": ["nid", "pid", "tid", "agent_id", "type", "level", *SPAN, "address", "size", "queue_id", "stream_id",
                        "event_id", "extdata"],
}
GRAPH = ["graph_exec_id", "graph_node_id"]
PLACE = ["nid", "pid", "tid", "agent_id", "queue_id", "stream_id"]  # schema 4 has them in tracks
PLACED = ("region", "kernel_dispatch", "memory_copy", "memory_allocate")
VERSIONS = ["3", "3.0.2", "3.0.3", "3.0.4", "4.0.0", "4.1.0"]
KERNELS = 5


def tables_of(version):
    t = {k: list(v) for k, v in TABLES.items()}
    if version >= "3.0.2" and version < "4":
        for name in ("kernel_dispatch", "memory_copy"):
            at = t[name].index("region_name_id")
            t[name][at:at] = GRAPH
        t["graph_launch"] = [*PLACE[:5], *SPAN, "graph_exec_id", "kernel_dispatch_count", "event_id", "extdata"]
    if version >= "3.0.3" and version < "4":
        t["pmc_event"][1:1] = ["sample_id"]
        t["pmc_event"][4:4] = ["xcc", "shader_engine", "instance"]
    if version == "3.0.4":
        t["hip_event"] = ["nid", "pid", "tid", "agent_id", "queue_id", "stream_id", *SPAN, "name_id", "operation",
                          "hip_event_handle", "source_queue_id", "event_id", "extdata"]
    if version >= "4":
        for name in PLACED:
            t[name] = ["track_id", *(c for c in t[name] if c not in PLACE)]
        t["track"] = ["nid", "ppid", "pid", "tid", "agent_id", "queue_id", "stream_id", "name_id", "extdata"]
        t["sample"].insert(1, "name_id")
        t["info_category"] = ["name", "extdata"]
        t["info_agent"].insert(8, "generic_name")
    if version == "4.0.0":
        for columns in t.values():
            for i, c in enumerate(columns):
                if c in ("start", "end", "timestamp") and "track_id" in columns:
                    columns[i] = c + "_id"
        t["timestamp"] = ["value", "phase", "track_id"]
    return t


class Database:
    """One process's tables. put() takes the values of 3.0.0's columns and lays them out as the version has them."""

    def __init__(self, sql, guid, version):
        self.sql, self.guid, self.tables, self.version = sql, guid, tables_of(version), version
        self.suffix = "_" + guid.replace("-", "_")
        self.strings, self.tracks, self.last = {}, {}, {}
        sql.execute(f'CREATE TABLE "rocpd_metadata{self.suffix}" (id INTEGER PRIMARY KEY AUTOINCREMENT, tag TEXT, value TEXT)')
        for name, columns in self.tables.items():
            kinds = ", ".join(f'"{c}"' + (' JSONB DEFAULT "{}"' if c == "extdata" else "") for c in columns)
            sql.execute(f'CREATE TABLE "rocpd_{name}{self.suffix}" (id INTEGER PRIMARY KEY AUTOINCREMENT, '
                        f'guid TEXT DEFAULT "{guid}" NOT NULL, {kinds})')
        for tag, value in (("schema_version", version), ("uuid", self.suffix), ("guid", guid)):
            sql.execute(f'INSERT INTO "rocpd_metadata{self.suffix}"(tag, value) VALUES(?, ?)', (tag, value))
        self.text("")

    def put(self, table, **row):
        columns = self.tables[table]
        if table in PLACED and "track_id" in columns:
            row["track_id"] = self.track(**{c: row.get(c) for c in PLACE})
        if table != "track" and "timestamp" in self.tables:
            for c in ("start", "end", "timestamp"):
                if c + "_id" in columns:
                    row[c + "_id"] = self.put("timestamp", value=row[c], phase=0, track_id=row["track_id"])
        row = {c: v for c, v in row.items() if c in columns or c == "id"}
        names = ", ".join(f'"{c}"' for c in row)
        return self.sql.execute(f'INSERT INTO "rocpd_{table}{self.suffix}"({names}) VALUES({", ".join("?" * len(row))})',
                                list(row.values())).lastrowid

    def track(self, **place):
        key = tuple(place.items())
        if key not in self.tracks:
            self.tracks[key] = self.put("track", **place)
        return self.tracks[key]

    def text(self, text):
        if text not in self.strings:
            self.strings[text] = self.put("string", string=text)
        return self.strings[text]

    def category(self, text):
        if "info_category" not in self.tables:
            return self.text(text)
        known = self.last.setdefault("category", {})
        if text not in known:
            known[text] = self.put("info_category", name=text)
        return known[text]

    def event(self, category, stack=0, extdata="{}"):
        return self.put("event", category_id=self.category(category), stack_id=stack, parent_stack_id=stack,
                        correlation_id=0, call_stack="{}", line_info="{}", extdata=extdata)


def fill(d, pid, rank, shift):
    """A process on the second of two GPUs: launches of kernels in a range, a copy, memory, counters, telemetry."""
    at = {"nid": 5, "pid": pid, "tid": pid + 1}
    d.put("info_node", id=5, hash=99, machine_id="m", system_name="Linux", hostname="node5")
    d.put("info_process", id=pid, nid=5, ppid=1, pid=pid, command="./train",
          environment=json.dumps({"HOME": "/x", "SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "2", "SECRET": "s"}))
    d.put("info_thread", id=pid + 1, nid=5, pid=pid, tid=pid + 1, name="main")
    for i, kind in enumerate(("CPU", "CPU", "GPU", "GPU")):
        d.put("info_agent", id=i, nid=5, pid=pid, type=kind, absolute_index=i, logical_index=i, type_index=i % 2,
              name="gfx942" if kind == "GPU" else "EPYC", generic_name="gfx942", vendor_name="AMD", product_name="AMD Instinct MI300X",
              extdata=json.dumps({"cu_count": 304, "wave_front_size": 64, "nested": {"a": [1, None]}}))
    d.put("info_queue", id=7, nid=5, pid=pid, name="Queue 0")
    d.put("info_stream", id=3, nid=5, pid=pid, name="Stream 3")
    d.put("info_code_object", id=1, nid=5, pid=pid, agent_id=3)
    d.put("info_kernel_symbol", id=4, nid=5, pid=pid, code_object_id=1, kernel_name="_Z4gemmv.kd", display_name="gemm()",
          sgpr_count=32, arch_vgpr_count=8, accum_vgpr_count=4)
    d.put("info_kernel_symbol", id=5, nid=5, pid=pid, code_object_id=1, kernel_name="add.kd", display_name=None)
    d.put("info_pmc", id=1, nid=5, pid=pid, agent_id=3, target_arch="GPU", name="SQ_WAVES", symbol="SQ_WAVES")
    d.put("info_pmc", id=2, nid=5, pid=pid, agent_id=3, target_arch="GPU", name="device_power", symbol="Pow", units="w")
    d.put("region", **at, start=1000 + shift, end=9000 + shift, name_id=d.text("roctxThreadRangeA"),
          event_id=d.event("MARKER_CORE_RANGE_API", 50, '{"message": "step"}'))
    for k in range(KERNELS):
        t = 1100 + 1000 * k + shift
        launch = d.event("HIP_RUNTIME_API_EXT", 100 + k)
        d.put("region", **at, start=t, end=t + 50, name_id=d.text("hipLaunchKernel"), event_id=launch)
        d.put("arg", event_id=launch, position=0, type="hipStream_t", name="stream", value="0x3")
        event = d.event("KERNEL_DISPATCH", 100 + k)
        d.put("kernel_dispatch", **at, agent_id=3, kernel_id=4 + k % 2, dispatch_id=k + 1, queue_id=7, stream_id=3,
              start=t + 100, end=t + 300 + 10 * k, private_segment_size=None, group_segment_size=32, workgroup_size_x=64,
              workgroup_size_y=1, workgroup_size_z=1, grid_size_x=640, grid_size_y=1, grid_size_z=1, region_name_id=d.text(""),
              graph_exec_id=8, graph_node_id=k + 1, event_id=event)
        d.put("pmc_event", event_id=event, pmc_id=1, value=10.5 + k)
    d.put("memory_copy", **at, start=7000 + shift, end=7400 + shift, name_id=d.text("MEMORY_COPY_DEVICE_TO_HOST"), dst_agent_id=0,
          src_agent_id=3, agent_id=3, size=4096, queue_id=None, stream_id=3, region_name_id=None,
          event_id=d.event("MEMORY_COPY", 200))
    d.put("region", **at, start=6950 + shift, end=7450 + shift, name_id=d.text("hipMemcpy"), event_id=d.event("HIP_RUNTIME_API_EXT", 200))
    d.put("region", **at, start=7500 + shift, end=7600 + shift, name_id=d.text("hipStreamSynchronize"),
          event_id=d.event("HIP_RUNTIME_API_EXT", 201))
    d.put("memory_allocate", **at, agent_id=3, type="ALLOC", level="REAL", start=500 + shift, end=510 + shift, address=4660, size=256,
          name_id=d.text("ALLOC"), event_id=d.event("MEMORY_ALLOCATION", 30))
    d.put("memory_allocate", **at, agent_id=None, type="FREE", level="REAL", start=9500 + shift, end=9510 + shift, address=4660, size=0,
          name_id=d.text("FREE"), event_id=None)
    power = d.event("device_power")
    where = d.put("track", nid=5, pid=pid, tid=None, name_id=d.text("device_power"))
    for name in ("device_power", "device_temp"):  # rocprof-sys: several samples share the event of a moment
        d.put("sample", track_id=where, timestamp=2000 + shift, event_id=power, name_id=d.text(name))
    d.put("pmc_event", event_id=power, pmc_id=2, value=321.5)
    d.put("sample", track_id=where, timestamp=3000 + shift, event_id=d.event("MARKER_CORE_API", 60, '{"message": "here"}'),
          name_id=d.text("roctxMarkA"))
    if "sample_id" in d.tables["pmc_event"]:
        sample = d.put("sample", track_id=where, timestamp=2500 + shift, event_id=None)
        d.put("pmc_event", event_id=None, sample_id=sample, pmc_id=1, value=77, xcc=1, shader_engine=2, instance=3)
    if "hip_event" in d.tables:
        for stack, name, stream, source in ((300, "HIP_EVENT_RECORD", 3, None), (301, "HIP_EVENT_WAIT", 9, 7)):
            d.put("hip_event", **at, agent_id=3, queue_id=7, stream_id=stream, start=6000 + stack + shift, end=6001 + stack + shift,
                  name_id=d.text(name), hip_event_handle=4711, source_queue_id=source, event_id=d.event("HIP_EVENT", stack))


def views(sql, databases):
    """The plain names gather the tables of all processes."""
    for name in ("metadata", *databases[0].tables):
        parts = " UNION ALL ".join(f'SELECT * FROM "rocpd_{name}{d.suffix}"' for d in databases)
        sql.execute(f"CREATE VIEW rocpd_{name} AS {parts}")


def make(path, version, processes):
    path.unlink(missing_ok=True)
    sql = sqlite3.connect(path)
    databases = []
    for i in range(processes):
        d = Database(sql, f"0199abcd-92cb-72cb-9169-c7e541b1fcd{i}", version)
        fill(d, 4000 + 10 * i, 1 - i, 100000 * i)
        databases.append(d)
    views(sql, databases)
    sql.commit()
    sql.close()
    return path


def ask(path, query):
    code, out, err = tap.run("sql", "--format", "json", path, query)
    return [list(r.values()) for r in json.loads(out)] if code == 0 else err


KERNEL_SUM = sum(200 + 10 * k for k in range(KERNELS))
FACTS = {  # of one process
    "kernels, by name": ("select name, count(*), sum(dur) from kernels group by name_id order by name",
                         [["add.kd", 2, 2 * 200 + 10 + 30], ["gemm()", 3, 3 * 200 + 20 + 40]]),
    "where kernels ran": ("select distinct device, stream, queue, grid_x, block_x, regs, lds_size, scratch_size from kernels "
                          "where name = 'gemm()'", [[1, 3, 7, 640, 64, 8, 32, None]]),
    "launches": ("select count(*) from launch where host is not null", [[KERNELS + 1]]),
    "copies": ("select name, size, device, stream, dur from memory_copies", [["MEMORY_COPY_DEVICE_TO_HOST", 4096, 1, 3, 400]]),
    "calls and ranges": ("select name, count(*), sum(dur) from regions group by name_id order by name",
                         [["here", 1, 0], ["hipLaunchKernel", KERNELS, 50 * KERNELS], ["hipMemcpy", 1, 500],
                          ["hipStreamSynchronize", 1, 100], ["step", 1, 8000]]),
    "arguments": ("""select count(*) from host where args = '"stream": "0x3"'""", [[KERNELS]]),
    "memory": ("select name, bytes, device from alloc order by ts", [["ALLOC REAL", 256, 1], ["FREE REAL", -256, 1]]),
    "hardware counters": ("select name, dispatch, value from pmc order by dispatch",
                          [["SQ_WAVES", k + 1, 10.5 + k] for k in range(KERNELS)]),
    "telemetry": ("select c.name, c.value, t.pid from counter c join track t on t.id = c.track where c.name = 'power_watts'",
                  [["power_watts", 321.5, 1]]),
    "the scope of the work": ("select path, work, gpu_sum from scopes where name = 'step'", None),
    "devices": ("select id, name, arch, units, warp from device order by 1",
                [[0, "AMD Instinct MI300X", "gfx942", 304, 64], [1, "AMD Instinct MI300X", "gfx942", 304, 64]]),
    "the thread": ("select distinct pid, tid, name from track where kind = 'thread' and tid is not null", [[4000, 4001, "main"]]),
}


def check(version, path):
    for what, (query, want) in FACTS.items():
        got = ask(path, query)
        if want is None:
            want = CHECKED.setdefault(what, got)
        tap.ok(f"{what} of schema {version} are as its tables say", got == want, f"{got}\n{want}")
    if version in ("3.0.2", "3.0.3", "3.0.4"):
        tap.ok(f"graphs of schema {version} are known", ask(path, "select distinct graph from gpu where kind = 'kernel'") == [[8]])
    if version in ("3.0.3", "3.0.4"):
        tap.ok(f"streamed counters of schema {version} keep their moment",
               ask(path, "select ts, value from counter where name = 'SQ_WAVES'") == [[2500, 77]])
    if version == "3.0.4":
        got = ask(path, """select name, args like '%"event": "0x1267"%' from mark order by ts""")
        tap.ok("barriers of events of schema 3.0.4 stand on their queues", got == [["HIP_EVENT_RECORD", 1], ["HIP_EVENT_WAIT", 1]], got)
    code, out, err = tap.run("report", "--json", path)
    told = json.loads(out) if code == 0 else {}
    sums = sum(k["total_ns"] for k in told.get("top_kernels", []))
    tap.ok(f"the report of schema {version} knows kernels, rank and no problem",
           code == 0 and not err and told["inputs"][0]["rank"] == 1 and sums == KERNEL_SUM, f"{sums}\n{err or out[:2000]}")
    for command in ("waits", "scopes", "path", "info"):
        code, out, err = tap.run(command, path)
        tap.ok(f"{command} takes schema {version}", code == 0 and not err and out, err)
    code, out, err = tap.run("info", path)
    tap.ok(f"secrets of the environment stay where they are ({version})", "SECRET" not in out)


def check_merged(version, path):
    got = ask(path, "select s.rank, s.world, count(*), sum(g.dur) from gpu g join track t on t.id = g.track join source s on s.id = t.source "
                    "group by 1 order by 1")
    want = [[r, 2, KERNELS + 1, KERNEL_SUM + 400] for r in (0, 1)]
    tap.ok(f"two processes in one database of schema {version} are two ranks", got == want, f"{got}\n{want}")


def check_round_trip(path, tmp):
    """What we write has the schema, the keys and the sums of what we read."""
    out = tmp / "again.rocpd.db"
    code, _, err = tap.run("convert", path, out)
    lost = [what for what, (q, _) in FACTS.items() if what not in ("telemetry", "the thread") and ask(path, q) != ask(out, q)]
    tap.ok("a database written from another one has the same rows", code == 0 and not lost, f"{lost}\n{err}")
    sql = sqlite3.connect(out)
    got = sql.execute("select count(*), sum(duration) from kernels").fetchone()
    tap.ok("its views count what went in", got == (KERNELS, KERNEL_SUM), got)
    tap.ok("its keys lead somewhere", sql.execute("pragma foreign_key_check").fetchall() == [])


CHECKED = {}


def main():
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        for version in VERSIONS:
            check(version, make(tmp / "one.db", version, 1))
            check_merged(version, make(tmp / "two.db", version, 2))
        check_round_trip(make(tmp / "one.db", "3", 1), tmp)


main()
tap.done()
