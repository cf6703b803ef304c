"""Small files that ask for much, by name: functions that make them. What follows the first dot is the file's ending."""
import contextlib
import gzip
import pathlib
import sqlite3
import struct
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/record"))
from capture import TYPES, checksum  # noqa: E402


def event(i, tid=7, name="k", args='"device":0,"stream":7'):
    return ('{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":%d,"ts":%d,"dur":3,"args":{%s,"correlation":%d}}'
            % (name, tid, 10 * i, args, i)).encode()


def listed(events):
    return b'{"traceEvents":[' + b",\n".join(events) + b"]}"


def packed(head, piece, times, tail):
    """Members in a row are one text, so that a large one is made at once."""
    return gzip.compress(head) + gzip.compress(piece, 9) * times + gzip.compress(tail)


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, data):
    """A message or a text, or a number when data is one."""
    if isinstance(data, int):
        return varint(number << 3) + varint(data)
    return varint(number << 3 | 2) + varint(len(data)) + data


def perfetto(*fields, sequence=1, ts=0, flags=0):
    return field(1, field(10, sequence) + field(13, flags) + field(8, ts) + b"".join(fields))


def slice_of(ts, name, extra=b"", sequence=1, track=1):
    """A whole kernel in two packets."""
    begin = field(9, 1) + field(11, track) + field(22, b"kernel") + field(23, name) + extra
    return (perfetto(field(11, begin), ts=ts, sequence=sequence)
            + perfetto(field(11, field(9, 2) + field(11, track)), ts=ts + 1, sequence=sequence))


def asked_often():
    """One interned text, in the arguments of every event."""
    interned = field(12, field(3, field(1, 1) + field(2, b"key")) + field(29, field(1, 1) + field(2, b"t" * 300000)))
    note = field(4, field(1, 1) + field(17, 1))
    return perfetto(interned, flags=1) + b"".join(
        slice_of(i, b"k%d" % i, note + field(4, field(10, b"n") + field(3, i))) for i in range(8000))


def nested(depth):
    value = field(10, b"n") + field(3, 1)
    for _ in range(depth):
        value = field(10, b"n") + field(11, value)
    return field(4, value)


def packets_in_packets():
    data = slice_of(1, b"k")
    for _ in range(3000):
        data = field(1, field(50, zlib.compress(data, 9)))
    return slice_of(5, b"k") + data


# ---------------------------------------------------------------- Chrome

def host(i, kind, name, ts, dur, args="", tid=1):
    return ('{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":%d,"ts":%d,"dur":%d,"args":{"correlation":%d%s}}'
            % (kind, name, tid, ts, dur, i, args)).encode()


def one_correlation():
    """Every call and every kernel says it belongs to every other."""
    return listed([x for i in range(4000) for x in
                   (host(1, "cuda_runtime", "cudaLaunchKernel", 10 * i, 2), event(i).replace(b'"correlation":%d' % i, b'"correlation":1'))])


def one_event():
    """Streams that all record and await one event."""
    rows = []
    for i in range(1200):
        handles = ',"event":"0x1","stream":"0x%x"' % (i % 40 + 1)
        rows += [host(3 * i, "cuda_runtime", "cudaEventRecord", 40 * i, 2, handles),
                 host(3 * i + 1, "cuda_runtime", "cudaStreamWaitEvent", 40 * i + 4, 2, handles),
                 host(3 * i + 2, "cuda_runtime", "cudaLaunchKernel", 40 * i + 8, 2),
                 event(3 * i + 2, tid=i % 40 + 1, args='"device":0,"stream":%d' % (i % 40 + 1))]
    return listed(rows)


def flows():
    """Arrows that all have one number."""
    return listed([('{"ph":"%s","id":1,"cat":"ac2g","name":"ac2g","pid":1,"tid":1,"ts":%d,"bp":"e"}' % ("sf"[i & 1], i)).encode()
                   for i in range(11000)] + [event(i) for i in range(100)])


def long_names_deep():
    return listed([host(i, "user_annotation", chr(97 + i % 26) * 900, i, 9999 - 2 * i) for i in range(1000)]
                  + [host(1, "cuda_runtime", "cudaLaunchKernel", 1500, 2), event(1)])


def python_deep():
    return listed([('{"ph":"X","cat":"python_function","name":"f%d.py(1): f","pid":1,"tid":1,"ts":%d,"dur":%d,"args":{"Python id":%d,"Python parent id":%d}}'
                    % (i, i, 99999 - 2 * i, i, i - 1)).encode() for i in range(6500)])


def many_steps():
    return listed([x for i in range(2700) for x in
                   (host(i, "user_annotation", "ProfilerStep#%d" % i, 10 * i, 9), host(i, "cuda_runtime", "cudaLaunchKernel", 10 * i + 1, 1), event(i))])


def many_collectives():
    return listed([event(i, name="ncclDevKernel_AllReduce_%d" % i,
                         args='"device":0,"stream":%d,"Process Group Name":"g%d","Collective name":"c%d","In msg nelems":9' % (i, i, i)) for i in range(4000)])


# ---------------------------------------------------------------- databases

def database(seed, *statements):
    """A database of the fuzz seeds, with more in it. Statements: SQL text, or (SQL text, rows)."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "made"
        path.write_bytes((ROOT / "tests/fuzz/seeds" / seed).read_bytes())
        with contextlib.closing(sqlite3.connect(path)) as db:
            for s in statements:
                db.executemany(*s) if isinstance(s, tuple) else db.execute(s)
            db.commit()
        return path.read_bytes()


def nsys(*statements):
    return database("nsys/made.sqlite", *statements)


def rocpd(*statements):
    return database("rocpd/v305.db", *statements)


def pid_of(i):
    return 0x1000000 * (i + 1)


def nsys_processes():
    return nsys("CREATE TABLE PROCESSES(globalPid INTEGER, name TEXT)", "CREATE TABLE ThreadNames(nameId INTEGER, priority INTEGER, globalTid INTEGER)",
                ("INSERT INTO PROCESSES VALUES(?, 'p')", ((pid_of(i),) for i in range(16000))),
                ("INSERT INTO ThreadNames VALUES(1, 0, ?)", ((pid_of(i % 16000) + i,) for i in range(16000))),
                ("INSERT INTO NVTX_EVENTS VALUES(?, ?, 59, NULL, 'r', ?, NULL, NULL, NULL)", ((i, i + 5, pid_of(i % 16000) + i) for i in range(9000))))


def nsys_chains():
    return nsys(("INSERT INTO CUDA_CALLCHAINS VALUES(?, ?, ?, ?)", ((100 + i // 5000, i % 5000, i % 7, i % 5000) for i in range(50000))))


def nsys_one_call():
    kernels = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, [end], deviceId, streamId, correlationId, globalPid, demangledName) VALUES(?, ?, 0, ?, 1, 1, 1)"
    calls = "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, [end], globalTid, correlationId, nameId) VALUES(?, ?, 1, 1, 1)"
    return nsys((kernels, ((10 * i, 10 * i + 5, i) for i in range(14000))), (calls, ((10 * i, 10 * i + 1) for i in range(14000))))


ENDS = [0, -1, 255, 2**31, 2**32 - 1, 2**63 - 1, -2**63, 1e308, float("inf"), None, "x", "\0", b"\xff\0", str(2**64 - 1)]


def at_their_ends(seed):
    """Each column of each table with each of these, in a row of its own and in all of one row."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "made"
        path.write_bytes((ROOT / "tests/fuzz/seeds" / seed).read_bytes())
        with contextlib.closing(sqlite3.connect(path)) as db:
            for table, in list(db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")):
                columns = [row[1] for row in db.execute("PRAGMA table_info([%s])" % table)]
                all_alike = "INSERT OR IGNORE INTO [%s] VALUES(%s)" % (table, ", ".join("?1" for _ in columns))
                one_each = ["INSERT OR IGNORE INTO [%s] SELECT %s FROM [%s] LIMIT 1"
                            % (table, ", ".join("?1" if c == changed else "[%s]" % c for c in columns), table) for changed in columns]
                for statement in [all_alike, *one_each]:
                    for value in ENDS:
                        with contextlib.suppress(sqlite3.Error):  # a text as a row's number, or no number left
                            db.execute(statement, [value])
            db.commit()
        return path.read_bytes()


def members_at_their_ends():
    values = [str(v) for v in (0, -1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -2**63, 2**64 - 1, 2**64, 10**30)]
    values += ["1e308", "1e400", "-0.0", "NaN", "null", "true", '"12"', '"x"', "[]", "{}"]
    usual = {"ph": '"X"', "cat": '"kernel"', "name": '"k"', "pid": "0", "tid": "7", "ts": "5", "dur": "3"}
    out = ["{%s}" % ",".join('"%s":%s' % pair for pair in {**usual, key: v, "args": '{"device":0,"correlation":3}'}.items()) for key in usual for v in values]
    keys = ("device", "stream", "correlation", "External id", "grid", "bytes", "Input Dims", "Sequence number", "Fwd thread id", "Python id", "Python parent id",
            "In msg nelems", "Group size", "Process Group Ranks", "Rank", "Ev Idx", "Device Id", "Addr", "Bytes", "wait_on_cuda_event_id", "In split size")
    kinds = (("kernel", "ncclDevKernel_AllReduce_Sum"), ("cpu_op", "aten::mm"), ("cuda_runtime", "cudaLaunchKernel"), ("python_function", "a.py(1): f"))
    for i, (key, v) in enumerate((key, v) for key in keys for v in values):
        out += ['{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":1,"ts":%d,"dur":3,"args":{"%s":%s}}' % (*kind, 9 * i, key, v) for kind in kinds]
    return listed([x.encode() for x in out])


def endless(name, columns):
    """A view where a table is expected, with rows without end."""
    return ["DROP TABLE %s" % name,
            "CREATE VIEW %s AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT %s FROM n" % (name, columns)]


def nsys_endless():
    return nsys(*endless("CUPTI_ACTIVITY_KIND_KERNEL", "i AS start, i + 1 AS [end], 0 AS deviceId, 1 AS contextId, 7 AS streamId, i AS correlationId, "
                         "1 AS globalPid, 1 AS demangledName"))


def rocpd_endless():
    return rocpd(*endless("rocpd_string_a", "i AS id, 'a' AS guid, 's' || i AS string"))


def rocpd_one_event():
    """One event with long texts, of every dispatch."""
    text = '{"a":"%s"}' % ("t" * 200000)
    dispatch = ('INSERT INTO rocpd_kernel_dispatch_a(guid, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, "end", event_id) '
                "VALUES('a', 1, 1, 1, 1, 1, ?, 1, 1, ?, ?, 1)")
    return rocpd(("UPDATE rocpd_event_a SET extdata = ?, call_stack = ?, line_info = ? WHERE id = 1", [(text, text, text)]),
                 (dispatch, ((i, 10 * i, 10 * i + 5) for i in range(6000))))


def rocpd_arguments():
    return rocpd(("INSERT INTO rocpd_arg_a(guid, event_id, position, type, name, value) VALUES('a', 1, ?, 'int', ?, '1')", ((i, "n%d" % i) for i in range(20000))))


def rocpd_many():
    region = ('INSERT INTO rocpd_region_a(guid, nid, pid, tid, start, "end", name_id, event_id) VALUES(\'a\', 1, ?, ?, ?, ?, 1, 1)')
    return rocpd(("INSERT INTO rocpd_info_process_a(guid, nid, pid) VALUES('a', 1, ?)", ((i,) for i in range(9000))),
                 ("INSERT INTO rocpd_info_thread_a(guid, nid, pid, tid) VALUES('a', 1, ?, ?)", ((i, i) for i in range(9000))),
                 (region, ((i, i, i, i + 9) for i in range(9000))))


# ---------------------------------------------------------------- captures

def record(kind, layout="", *values, text=b"", thread=0):
    body = struct.pack("<" + layout, *values) + text
    body += bytes(-len(body) % 8)
    return struct.pack("<HHI", TYPES.index(kind), 8 + len(body), thread) + body


def string(i, text):
    return record("STRING", "II", i, len(text), text=text)


def capture(*records):
    """A capture in one chunk a thread's ring could have written."""
    names = string(1, b"cuda") + string(2, b"name")
    data = names + record("PROCESS", "IIqqIIII", 9, 1, 0, 10**18, 1, 1, 2, 2) + b"".join(records)
    head = struct.pack("<IHHIIQIIQqII", int.from_bytes(b"ASYC", "little"), 1, 6, 64, len(data), checksum(data), 1, 9, 0, 5, 9, 0)
    return head + struct.pack("<Q", checksum(head)) + data


def kernel(i, stream=7, device=0, corr=None):
    return record("KERNEL", "qqQQIIIIIIII", 10 * i, 10 * i + 5, i if corr is None else corr, 0, 0, device, 1, stream, 2, 1, 1, 1, text=bytes(64))


def capture_ranges():
    return capture(*(record("RANGE", "qQIIHHIII", i, 0, 2, 0, 0, 0, 0, 0, 0) for i in range(18000)), kernel(20000))


def capture_many():
    return capture(*(kernel(i, stream=i, device=i % 4000) for i in range(6500)))


def capture_one_call():
    calls = (record("API", "qqQIHHiI", 10 * i, 10 * i + 2, 1, 1, 2, 0, 0, 0) for i in range(7000))
    return capture(record("API_NAME", "IHHII", 1, 2, 0, 2, 0), *calls, *(kernel(i, corr=1) for i in range(4500)))


def capture_stacks():
    """Each calls the one before it."""
    code = record("CODE", "IiHHHH", 1, 1, 0, 1, 1, 0, text=b"fg")
    return capture(code, *(record("STACK", "IIII", i + 1, i, 1, 1) for i in range(30000)), kernel(1))


# ---------------------------------------------------------------- other formats

def xplane_text(events):
    """One long text, a statistic of every event."""
    metadata = field(5, field(1, 1) + field(2, field(1, 1) + field(2, b"note"))) + field(5, field(1, 2) + field(2, field(1, 2) + field(2, b"t" * 300000)))
    line = field(3, field(1, 1) + field(2, b"Stream #1") + b"".join(
        field(4, field(1, 1) + field(2, 1000 * i) + field(3, 500) + field(4, field(1, 1) + field(7, 2))) for i in range(events)))
    return field(1, field(2, b"/device:GPU:0") + line + field(4, field(1, 1) + field(2, field(1, 1) + field(2, b"k"))) + metadata)


def xplane_deep(events):
    line = field(3, field(1, 1) + field(2, b"python") + b"".join(
        field(4, field(1, 1) + field(2, 1000 * i) + field(3, 10**12 - 2000 * i)) for i in range(events)))
    return field(1, field(2, b"/host:CPU") + line + field(4, field(1, 1) + field(2, field(1, 1) + field(2, b"f"))))


def xplane_lines(lines):
    event_one = field(4, field(1, 1) + field(2, 1) + field(3, 5))
    return field(1, field(2, b"/device:GPU:0") + b"".join(field(3, field(1, i) + field(2, b"Stream #%d" % i) + event_one) for i in range(lines))
                 + field(4, field(1, 1) + field(2, field(1, 1) + field(2, b"k"))))


def zstd(head, piece, times, tail):
    """Frames that each say one block over and over (RLE blocks of at most 128 KiB, RFC 8878)."""
    def frame(data):
        return b"\x28\xb5\x2f\xfd" + b"\xa0" + struct.pack("<I", len(data)) + (1 | len(data) << 3).to_bytes(3, "little") + data

    repeated = b"\x28\xb5\x2f\xfd" + b"\xa0" + struct.pack("<I", (1 << 17) * times)
    for i in range(times):
        repeated += (((i + 1 == times) | 1 << 1 | (1 << 17) << 3).to_bytes(3, "little")) + piece
    return frame(head) + repeated + frame(tail)


def rocprof_json(records):
    return ('{"rocprofiler-sdk-tool":[{"metadata":{"pid":1},"agents":[],"strings":{},"kernel_symbols":[],"buffer_records":{"kernel_dispatch":[%s]}}]}' % records).encode()


BOMBS = {
    "a name of 800 MB.json.gz": lambda: packed(b'{"traceEvents":[{"ph":"X","name":"', b"a" * (1 << 20), 800, b'","ts":1,"dur":1}]}'),
    "a header of 800 MB.json.gz": lambda: packed(b'{"x":"', b"a" * (1 << 20), 800, b'","traceEvents":[]}'),
    "blanks of 800 MB.json.gz": lambda: packed(b'{"traceEvents":[', b" " * (1 << 20), 800, b"]}"),
    "many equal events.json.gz": lambda: packed(b'{"traceEvents":[' + event(1), (b"," + event(2)) * 10000, 240, b"]}"),
    "names of 1 MB.json": lambda: listed([event(1, name="n" * 900000)]),
    "names that begin and end alike.json": lambda: listed([event(i, name="a" * 300 + "%06d" % i + "b" * 300) for i in range(1400)]),
    "brackets.json": lambda: b'{"traceEvents":' + b"[" * 1000000,
    "braces in arguments.json": lambda: listed([event(1, args='"a":' + '{"a":' * 150000 + "1" + "}" * 150000)]),
    "many documents.json": lambda: listed([event(1)]) + b"[]" * 450000,
    "many threads.json": lambda: listed([event(i, tid=i, args='"device":0,"stream":%d' % i) for i in range(8000)]),
    "many devices.json": lambda: listed([event(i, args='"device":%d,"stream":7' % i) for i in range(8000)]),
    "many processes.json": lambda: listed([('{"ph":"X","cat":"cpu_op","name":"f","pid":%d,"tid":1,"ts":%d,"dur":3}' % (i, i)).encode() for i in range(13000)]),
    "begins without ends.json": lambda: listed([('{"ph":"B","name":"f","pid":1,"tid":1,"ts":%d}' % i).encode() for i in range(20000)]),
    "deep ranges.json": lambda: listed([('{"ph":"X","cat":"user_annotation","name":"r%d","pid":1,"tid":1,"ts":%d,"dur":%d}' % (i, i, 99999 - 2 * i)).encode() for i in range(10000)]),
    "a span of 292 years.json": lambda: listed([event(0), event(900000000000000)]),
    "lengths that lie.xplane.pb": lambda: b"\x0a" + varint(1 << 40) + b"\x12\x02ab" * 100000,
    "many planes.xplane.pb": lambda: b"".join(field(1, field(2, b"/device:GPU:%d" % i) + field(3, b"\x08\x01")) for i in range(20000)),
    "packets packed to a thousandth.pftrace": lambda: perfetto() + field(1, field(50, zlib.compress(bytes(600 << 20), 9))) + slice_of(1, b"k"),
    "packed events.pftrace": lambda: b"".join(field(1, field(50, zlib.compress(slice_of(5, b"k") * 60000, 9))) for _ in range(60)),
    "a text asked for often.pftrace": asked_often,
    "many processes.pftrace": lambda: b"".join(perfetto(field(60, field(1, i) + field(4, field(1, i) + field(2, i)))) + slice_of(i, b"k", track=i) for i in range(1, 8000)),
    "many sequences with clocks.pftrace": lambda: b"".join(perfetto(field(6, field(1, field(1, 64) + field(2, i)) + field(1, field(1, 70) + field(2, i))), sequence=i) + perfetto(field(58, 64), sequence=i) for i in range(1, 14000)),
    "begins without ends.pftrace": lambda: b"".join(perfetto(field(11, field(9, 1) + field(11, 1) + field(23, b"f")), ts=i) for i in range(30000)),
    "nested arguments.pftrace": lambda: perfetto(flags=1) + slice_of(1, b"k", nested(10000)),
    "a table of commas.csv": lambda: b'"Kind","Agent_Id","Queue_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n' + b"," * 900000,
    "one correlation.json": one_correlation,
    "one event for all streams.json": one_event,
    "arrows with one number.json": flows,
    "long names of deep ranges.json": long_names_deep,
    "deep python.json": python_deep,
    "many steps.json": many_steps,
    "many collectives.json": many_collectives,
    "all at one moment.json": lambda: listed([event(i).replace(b'"ts":%d' % (10 * i), b'"ts":5') for i in range(7000)]),
    "many counters.json": lambda: listed([('{"ph":"C","name":"c%d","pid":1,"ts":%d,"args":{"v":1}}' % (i, i)).encode() for i in range(15000)]),
    "many arguments.json": lambda: listed([event(1, args=",".join('"a%d":1' % i for i in range(80000)))]),
    "many frees.json": lambda: listed([('{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":%d,"args":{"Device Type":1,"Device Id":0,"Addr":%d,"Bytes":%d}}' % (i, i % 50, 8 - 16 * (i & 1))).encode() for i in range(7000)]),
    "a text of 800 MB.json.zst": lambda: zstd(b'{"traceEvents":[{"ph":"X","name":"', b"a", 6400, b'","ts":1,"dur":1}]}'),
    "many processes.sqlite": nsys_processes,
    "long stacks.sqlite": nsys_chains,
    "one call for all.sqlite": nsys_one_call,
    "rows without end.sqlite": nsys_endless,
    "strings without end.db": rocpd_endless,
    "long texts of one event.db": rocpd_one_event,
    "many arguments.db": rocpd_arguments,
    "many processes.db": rocpd_many,
    "ranges without ends.asy": capture_ranges,
    "many streams and devices.asy": capture_many,
    "one call for all.asy": capture_one_call,
    "deep stacks.asy": capture_stacks,
    "a text asked for often.xplane.pb": lambda: xplane_text(20000),
    "deep events.xplane.pb": lambda: xplane_deep(45000),
    "many lines.xplane.pb": lambda: xplane_lines(30000),
    "many records.json": lambda: rocprof_json(",".join('{"start_timestamp":%d,"end_timestamp":%d,"correlation_id":{"internal":1},"dispatch_info":{"kernel_id":%d}}' % (i, i + 1, i) for i in range(8000))),
    "deep records.json": lambda: rocprof_json("[" * 500000),
    "many columns.csv": lambda: ("timestamp,gpu," + ",".join("c%d" % i for i in range(60000)) + "\n" + "1,0," + "1," * 60000 + "\n").encode(),
    "many GPUs.csv": lambda: ("timestamp,gpu,gfx\n" + "".join("%d,%d,5\n" % (i, i) for i in range(50000))).encode(),
    "members at their ends.json": members_at_their_ends,
    "numbers at their ends.sqlite": lambda: at_their_ends("nsys/made.sqlite"),
    "numbers of payloads at their ends.sqlite": lambda: at_their_ends("nsys/payload.sqlite"),
    "numbers at their ends.db": lambda: at_their_ends("rocpd/v305.db"),
    "numbers of 4.0 at their ends.db": lambda: at_their_ends("rocpd/v400.db"),
    "parents in a ring.pftrace": lambda: b"".join(perfetto(field(60, field(1, i) + field(5, i % 18000 + 1))) for i in range(1, 18001)) + slice_of(5, b"k"),
    "groups in groups.pftrace": lambda: slice_of(1, b"k") + field(1, field(11, b"\x0b" * 450000 + b"\x0c" * 450000 + field(9, 1))),
    "packets in packets.pftrace": packets_in_packets,
    "deep facts.json": lambda: b'{"schema_version":"1.1","a":' + b'{"a":' * 170000 + b"1" + b"}" * 170001,
}
