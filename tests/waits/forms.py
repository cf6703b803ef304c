"""Programs of machine.py as profilers write them. Each form takes programs and a folder, and gives the path to read."""
import csv
import functools
import json
import sqlite3

import capture
import nvidia

NUMBERS = ("flags", "value", "deviceId", "count", "retval", "priority", "numDevices", "numExtSems", "size", "mode", "kind")
FIRST_NODE = 2  # two processors come before the GPUs in the system's list of agents


def copy_kind(w):
    """As AMD numbers them: 2 from the host, 3 to it, 4 between devices."""
    return 2 if w.copy[0] is None else 3 if w.copy[1] is None else 4


def us(ns):
    return ns / 1000


def kineto_call(p, c, prefix, args):
    a = {"correlation": c.corr, ("cbid" if p.cuda else "cid"): 1, **args}
    return {"ph": "X", "cat": "cuda_runtime", "name": prefix + c.name, "pid": p.pid, "tid": p.pid * 10 + c.thread,
            "ts": us(c.start), "dur": us(c.dur), "args": a}


def kineto_copy(w):
    host = "Pinned" if w.pinned else "Pageable"
    return {2: f"Memcpy HtoD ({host} -> Device)", 3: f"Memcpy DtoH (Device -> {host})", 4: "Memcpy PtoP (Device -> Device)"}[copy_kind(w)]



def kineto_works(p, number=lambda device, stream: stream):
    return [{"ph": "X", "cat": "gpu_memcpy" if w.copy else "kernel", "name": kineto_copy(w) if w.copy else w.name, "pid": w.stream.device,
             "tid": number(w.stream.device, w.stream.number), "ts": us(w.start), "dur": us(w.dur),
             "args": {"device": w.stream.device, "stream": number(w.stream.device, w.stream.number), "correlation": w.corr}} for w in p.works]


def kineto_files(programs, rng, rows_of, folder):
    """One a process, as ranks of a job."""
    for rank, p in enumerate(programs):
        rows = list(rows_of(p))
        rng.shuffle(rows)  # delivery is in no order
        devices = [{"id": d, "name": "GPU"} for d in range(p.devices)]
        text = {"schemaVersion": 1, "deviceProperties": devices, "distributedInfo": {"rank": rank, "world_size": len(programs)}, "traceEvents": rows}
        (folder / f"rank{rank}.json").write_text(json.dumps(text))
    return folder


def kineto_hip(programs, rng, folder):
    """Kineto as designed for ROCm: handles as arguments of the calls."""
    def rows(p):
        for c in p.calls:
            spelled = {"stream": "hip_stream", "event": "hip_event"}
            args = {spelled.get(k, k): v if k in NUMBERS else hex(v) for k, v in c.args.items()}
            yield kineto_call(p, c, "hip", {**args, "retval": str(c.status)})
        yield from kineto_works(p)
    return kineto_files(programs, rng, rows, folder)


# calls that Kineto leaves out on NVIDIA
UNSHOWN = ("SetDevice", "StreamCreateWithFlags", "StreamCreateWithPriority", "EventCreate", "EventDestroy")


def kineto_cuda(programs, rng, folder, names=True, events=False, syncs=True):
    """Kineto on NVIDIA: sync rows that name record calls, no handles, no choice of device. names: the rows know the record;
    events: rows of their own tell of records."""
    def rows(p):
        idle = {(s.device, s.number) for s in p.streams + p.gone if not s.ran} if rng.random() < 0.5 else ()
        number = nvidia.numbers(p, rng)
        for c in p.calls:
            for prefix, name, start, dur in nvidia.driver_twin(c, rng) if c.name not in UNSHOWN else []:
                yield {**kineto_call(p, c, prefix, {}), "cat": "cuda_runtime" if prefix == "cuda" else "cuda_driver", "ts": us(start), "dur": us(dur)}
        # a device of which nothing is shown: stream numbers are then taken for another's
        shown = {w.stream.device for w in p.works}
        p.vague |= {y.corr for y in p.syncs if y.record and y.record_device not in shown}
        told = {r[0] for r in p.records}  # Kineto forgets records from before its window
        for corr, event, _, s in p.records if events else []:
            yield {"ph": "X", "cat": "cuda_event", "name": "cudaEvent", "pid": s.device, "tid": number(s.device, s.number), "ts": us(p.made[corr]), "dur": 0.001,
                   "args": {"event_id": event, "stream": number(s.device, s.number), "correlation": corr, "device": s.device, "context": s.device + 1}}
        for y in p.syncs if syncs else []:
            if y.kind == "Stream Wait Event" and (y.device, y.stream) in idle:
                continue  # Kineto writes no waits of streams without work
            a = {"cuda_sync_kind": y.kind, "stream": number(y.device, y.stream), "correlation": y.corr, "device": y.device,
                 "context": y.device + 1}
            if y.number >= 0:
                stream, corr = y.record if names and y.record and y.record[1] in told else (-1, -1)
                a.update({"wait_on_stream": number(y.record_device, stream) if stream >= 0 else -1, "wait_on_cuda_event_record_corr_id": corr,
                          "wait_on_cuda_event_id": y.number})
            yield {"ph": "X", "cat": "cuda_sync", "name": y.kind, "pid": y.device, "tid": abs(number(y.device, y.stream)), "ts": us(y.start),
                   "dur": us(y.dur), "args": a}
        yield from kineto_works(p, number)
    return kineto_files(programs, rng, rows, folder)


# ------------------------------------------------------------------ rocprofv3

KINDS = ["NONE", "HIP_RUNTIME_API_EXT", "KERNEL_DISPATCH", "MEMORY_COPY", "HIP_EVENT"]
COPIES = ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
          "MEMORY_COPY_DEVICE_TO_DEVICE"]


def handle(n):
    return {"handle": n}


def node(device):
    return 0 if device is None else FIRST_NODE + device


def agent(device):
    return handle(0xa000 + node(device))


def agents(p):
    return [{"size": 312, "id": handle(0xa000 + n), "type": 1 if n < FIRST_NODE else 2, "node_id": n,
             "name": "EPYC" if n < FIRST_NODE else "gfx942",
             "runtime_visibility": {"hsa": 1, "hip": 1}} for n in range(FIRST_NODE + p.devices)]


def span(kind, op, corr, start, end):
    return {"size": 64, "kind": KINDS.index(kind), "operation": op, "correlation_id": {"internal": corr, "external": 0},
            "start_timestamp": start, "end_timestamp": end}


def json_call(p, c, ops):
    args = [{"type": "x", "name": k, "value": str(v) if k in NUMBERS else hex(v)}
            for k, v in c.args.items()]
    return {**span("HIP_RUNTIME_API_EXT", ops.index("hip" + c.name), c.corr, c.start, c.start + c.dur),
            "thread_id": p.pid * 10 + c.thread, "args": args, "retval": str(c.status)}


def json_work(p, w, names):
    if w.copy:
        return {**span("MEMORY_COPY", copy_kind(w), w.corr, w.start, w.start + w.dur), "thread_id": p.pid * 10,
                "src_agent_id": agent(w.copy[0]), "dst_agent_id": agent(w.copy[1]), "bytes": 4096,
                "stream_id": handle(w.stream.number)}
    info = {"agent_id": agent(w.stream.device), "queue_id": handle(w.stream.queue), "kernel_id": names.index(w.name),
            "dispatch_id": w.corr, "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 64, "y": 1, "z": 1}}
    return {**span("KERNEL_DISPATCH", 2, w.corr, w.start, w.start + w.dur), "thread_id": p.pid * 10,
            "dispatch_info": info, "stream_id": handle(w.stream.number)}


def json_barrier(p, b):
    waits, corr, event, s, start, end, source = b
    return {**span("HIP_EVENT", 2 if waits else 1, corr, start, end), "thread_id": p.pid * 10,
            "agent_id": agent(s.device), "queue_id": handle(s.queue), "hip_event_handle": event,
            "source_queue_id": handle(source), "stream_id": handle(s.number)}


def json_process(p, rng):
    ops = sorted({"hip" + c.name for c in p.calls})
    names = [w.name for w in p.works]
    operations = {"HIP_RUNTIME_API_EXT": ops, "MEMORY_COPY": COPIES,
                  "HIP_EVENT": ["HIP_EVENT_NONE", "HIP_EVENT_RECORD", "HIP_EVENT_WAIT"]}
    buffers = {"hip_api": [json_call(p, c, ops) for c in p.calls],
               "kernel_dispatch": [json_work(p, w, names) for w in p.works if not w.copy],
               "memory_copy": [json_work(p, w, names) for w in p.works if w.copy],
               "hip_event": [json_barrier(p, b) for b in p.barriers]}
    for rows in buffers.values():
        rng.shuffle(rows)
    return {"metadata": {"pid": p.pid, "init_time": 0, "fini_time": 1 << 60}, "agents": agents(p),
            "strings": {"buffer_records": [{"kind": k, "operations": operations.get(k, [])} for k in KINDS],
                        "marker_api": []},
            "kernel_symbols": [{"kernel_id": i, "formatted_kernel_name": n} for i, n in enumerate(names)],
            "buffer_records": buffers}


def rocprof_json(programs, rng, folder):
    path = folder / "results.json"
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [json_process(p, rng) for p in programs]}))
    return path


def write_csv(path, head, rows):
    with open(path, "w", newline="") as f:
        w = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        w.writerow(head)
        w.writerows(rows)


def rocprof_csv(programs, rng, folder):
    """One set of files a process; calls have no arguments and no status."""
    for p in programs:
        calls = [["HIP_RUNTIME_API_EXT", "hip" + c.name, p.pid, p.pid * 10 + c.thread, c.corr, c.start, c.start + c.dur]
                 for c in p.calls]
        kernels = [["KERNEL_DISPATCH", f"Agent {FIRST_NODE + w.stream.device}", w.stream.queue, w.stream.number, p.pid * 10,
                    w.corr, 1, w.name, w.corr, w.start, w.start + w.dur] for w in p.works if not w.copy]
        copies = [["MEMORY_COPY", COPIES[copy_kind(w)], w.stream.number, f"Agent {node(w.copy[0])}",
                   f"Agent {node(w.copy[1])}", w.corr, w.start, w.start + w.dur] for w in p.works if w.copy]
        for rows in (calls, kernels, copies):
            rng.shuffle(rows)
        times = ["Correlation_Id", "Start_Timestamp", "End_Timestamp"]
        write_csv(folder / f"{p.pid}_hip_api_trace.csv", ["Domain", "Function", "Process_Id", "Thread_Id"] + times, calls)
        write_csv(folder / f"{p.pid}_kernel_trace.csv", ["Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id",
                                                         "Dispatch_Id", "Kernel_Id", "Kernel_Name"] + times, kernels)
        if copies:
            write_csv(folder / f"{p.pid}_memory_copy_trace.csv", ["Kind", "Direction", "Stream_Id", "Source_Agent_Id",
                                                                  "Destination_Agent_Id"] + times, copies)
    return folder


# ------------------------------------------------------------------ rocpd

SCHEMA = """
rocpd_metadata(id INTEGER PRIMARY KEY, tag, value)
rocpd_string(id INTEGER PRIMARY KEY, guid, string)
rocpd_info_node(id INTEGER PRIMARY KEY, guid, hash, machine_id, system_name, hostname)
rocpd_info_process(id INTEGER PRIMARY KEY, guid, nid, ppid, pid, command, extdata)
rocpd_info_thread(id INTEGER PRIMARY KEY, guid, nid, ppid, pid, tid, name)
rocpd_info_agent(id INTEGER PRIMARY KEY, guid, nid, pid, type, absolute_index, logical_index, type_index, name, product_name, extdata)
rocpd_info_queue(id INTEGER PRIMARY KEY, guid, nid, pid, name)
rocpd_info_stream(id INTEGER PRIMARY KEY, guid, nid, pid, name)
rocpd_info_kernel_symbol(id INTEGER PRIMARY KEY, guid, nid, pid, kernel_name, display_name)
rocpd_event(id INTEGER PRIMARY KEY, guid, category_id, stack_id, parent_stack_id, correlation_id, extdata)
rocpd_arg(id INTEGER PRIMARY KEY, guid, event_id, position, type, name, value)
rocpd_region(id INTEGER PRIMARY KEY, guid, nid, pid, tid, start, "end", name_id, event_id)
rocpd_kernel_dispatch(id INTEGER PRIMARY KEY, guid, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, "end", event_id)
rocpd_memory_copy(id INTEGER PRIMARY KEY, guid, nid, pid, tid, start, "end", name_id, dst_agent_id, src_agent_id, size, queue_id, stream_id, event_id)
rocpd_hip_event(id INTEGER PRIMARY KEY, guid, nid, pid, tid, agent_id, queue_id, stream_id, start, "end", name_id, hip_event_handle, source_queue_id, event_id)
"""


class Database:
    def __init__(self, path):
        self.db, self.strings, self.ids = sqlite3.connect(path), {}, {}
        self.db.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF")
        for table in SCHEMA.strip().splitlines():
            self.db.execute("CREATE TABLE " + table)

    def add(self, table, **values):
        self.ids[table] = values.pop("id", self.ids.get(table, 0) + 1)
        row = {"id": self.ids[table], **values}
        if table != "metadata":
            row["guid"] = "g"
        names = ",".join(f'"{n}"' for n in row)
        self.db.execute(f"INSERT INTO rocpd_{table}({names}) VALUES({','.join('?' * len(row))})", list(row.values()))
        return row["id"]

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = self.add("string", string=text)
        return self.strings[text]

    def event(self, category, corr):
        return self.add("event", category_id=self.string(category), stack_id=corr, parent_stack_id=corr, correlation_id=0,
                        extdata="{}")


def rocpd_rows(db, p, rng):
    own = {"nid": 1, "pid": p.pid}
    for c in rng.sample(p.calls, len(p.calls)):
        event = db.event("HIP_RUNTIME_API_EXT", c.corr)
        db.add("region", **own, tid=p.pid * 10 + c.thread, start=c.start, end=c.start + c.dur,
               name_id=db.string("hip" + c.name), event_id=event)
        for i, (k, v) in enumerate({**c.args, "retval": c.status}.items()):
            number = k in NUMBERS
            db.add("arg", event_id=event, position=i, type="x", name=k, value=str(v) if number else hex(v))
    for i, w in enumerate(p.works):
        place = {"queue_id": w.stream.queue, "stream_id": w.stream.number, "start": w.start, "end": w.start + w.dur}
        if w.copy:
            db.add("memory_copy", **own, **place, tid=p.pid * 10, name_id=db.string(COPIES[copy_kind(w)]), size=4096,
                   src_agent_id=node(w.copy[0]), dst_agent_id=node(w.copy[1]),
                   event_id=db.event("MEMORY_COPY", w.corr))
            continue
        db.add("info_kernel_symbol", id=i, **own, kernel_name=w.name, display_name=w.name)
        db.add("kernel_dispatch", **own, **place, tid=p.pid * 10, agent_id=FIRST_NODE + w.stream.device, kernel_id=i,
               dispatch_id=w.corr, event_id=db.event("KERNEL_DISPATCH", w.corr))
    for waits, corr, event, s, start, end, source in p.barriers:
        db.add("hip_event", **own, tid=p.pid * 10, agent_id=FIRST_NODE + s.device, queue_id=s.queue, stream_id=s.number,
               start=start, end=end, name_id=db.string("HIP_EVENT_WAIT" if waits else "HIP_EVENT_RECORD"),
               hip_event_handle=event, source_queue_id=source, event_id=db.event("HIP_EVENT", corr))


def rocpd(programs, rng, folder):
    """A database a process."""
    for p in programs:
        db = Database(folder / f"{p.pid}_results.db")
        db.add("metadata", tag="schema_version", value="3.0.4")
        db.add("info_node", machine_id="m", hostname="host1")
        db.add("info_process", id=p.pid, nid=1, pid=p.pid, command="x")
        for n in range(FIRST_NODE + p.devices):
            gpu = n >= FIRST_NODE
            db.add("info_agent", id=n, nid=1, pid=p.pid, type="GPU" if gpu else "CPU", absolute_index=n, logical_index=n,
                   type_index=n - FIRST_NODE if gpu else n, name="gfx942" if gpu else "EPYC", extdata="{}")
        for t in range(len(p.threads)):
            db.add("info_thread", id=p.pid * 10 + t, nid=1, pid=p.pid, tid=p.pid * 10 + t, name="t")
        for s in {s.number for s in p.streams + p.gone}:
            db.add("info_stream", id=s, nid=1, pid=p.pid, name=f"Stream {s}")
        rocpd_rows(db, p, rng)
        db.db.commit()
        db.db.close()
    return folder


class Form:
    """cuda: what the machine looks like; batch: programs a file or folder; late: recording may begin at any time. least, plain: so
    many of 100 waits are exact, at least, of any program and of those that do nothing unusual, when the usual ones are played."""
    def __init__(self, write, cuda, batch, least, plain, capture=False, late=False):
        self.write, self.cuda, self.batch, self.capture, self.late = write, cuda, batch, capture, late
        self.least, self.plain = least, plain


# Kineto does not show how streams are made on NVIDIA, the CSV no arguments
FORMS = {"kineto_hip": Form(kineto_hip, False, 12, 18, 99, late=True), "kineto_cuda": Form(kineto_cuda, True, 12, 21, 67, late=True),
         "kineto_cuda13": Form(functools.partial(kineto_cuda, names=False), True, 12, 18, 35, late=True),
         "kineto_events": Form(functools.partial(kineto_cuda, events=True), True, 12, 22, 67, late=True),
         "kineto_bare": Form(functools.partial(kineto_cuda, syncs=False), True, 12, 14, 31, late=True),
         "nsys": Form(nvidia.nsys, True, 12, 22, 83, late=True),
         "rocprof_json": Form(rocprof_json, False, 200, 18, 99), "rocprof_csv": Form(rocprof_csv, False, 1, 9, 33),
         "rocpd": Form(rocpd, False, 1, 16, 99), "capture_cuda": Form(capture.write, True, 8, 25, 99, capture=True, late=True),
         "capture_hip": Form(capture.write, False, 8, 24, 99, capture=True, late=True)}
