"""Programs of machine.py as other profilers of NVIDIA write them: Nsight Systems' exports, and Kineto with the sync rows of newer and older
CUDA, or with none."""
import sqlite3

NONE = 0xffffffff
WORK = "start, [end], deviceId, contextId, streamId, correlationId, globalPid"
TABLES = {
    "StringIds": "id INTEGER PRIMARY KEY, value",
    "META_DATA_EXPORT": "name, value",
    "TARGET_INFO_GPU": "id, name, totalMemory, smCount, cuDevice",
    "TARGET_INFO_CUDA_STREAM": "streamId, hwId, vmId, processId, contextId, priority, flag",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId, hwId, vmId, processId, deviceId, contextId, parentContextId, isGreenContext",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{WORK}, demangledName",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{WORK}, bytes, copyKind, srcKind, dstKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start, [end], eventClass, globalTid, correlationId, nameId, returnValue",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{WORK}, syncType, eventId, eventSyncId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "deviceId, contextId, streamId, correlationId, globalPid, eventId, eventSyncId",
}
SYNC_TYPES = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}


class Export:
    def __init__(self, path):
        self.db, self.strings = sqlite3.connect(path), {}
        self.db.executescript("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF")
        for table, columns in TABLES.items():
            self.db.execute(f"CREATE TABLE {table} ({columns})")
        self.put("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.25.0")

    def put(self, table, **row):
        names = ", ".join(f"[{c}]" for c in row)
        self.db.execute(f"INSERT INTO {table}({names}) VALUES({', '.join('?' * len(row))})", list(row.values()))

    def text(self, s):
        if s not in self.strings:
            self.strings[s] = len(self.strings) + 1
            self.put("StringIds", id=self.strings[s], value=s)
        return self.strings[s]


def numbers(p, rng):
    """Streams count from 7, through all contexts of a process, or, as many think, in each of them."""
    step = rng.choice([0, 100])
    return lambda device, stream: stream if stream < 0 else stream + step * device


def copy_kind(w):
    """As CUPTI numbers them: 1 from the host, 2 to it, 10 between devices."""
    return 1 if w.copy[0] is None else 2 if w.copy[1] is None else 10


def driver_twin(c, rng):
    """Launches are also calls of the driver, with the same number, or nothing else."""
    if c.name != "LaunchKernel" or rng.random() < 0.5:
        return [("cuda", c.name, c.start, c.dur)]
    if rng.random() < 0.3:
        return [("cu", c.name, c.start, c.dur)]
    return [("cuda", c.name, c.start, c.dur), ("cu", c.name, c.start + c.dur // 4, c.dur // 2)]


def nsys_program(db, p, rng):
    process = 1 << 48 | p.pid << 24
    p.shows_ends = False
    number = numbers(p, rng)
    shown, shows_ids = rng.random() < 0.7, rng.random() < 0.7  # records of events are an option, ids came with CUDA 12.8

    def place(device, stream, corr):
        return dict(deviceId=device, contextId=device + 1, streamId=number(device, stream) % (NONE + 1), correlationId=corr,
                    globalPid=process)
    for c in rng.sample(p.calls, len(p.calls)):
        for prefix, name, start, dur in driver_twin(c, rng):
            db.put("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=start + dur, eventClass=int(prefix == "cu"), globalTid=process | c.thread + 1,
                   correlationId=c.corr, nameId=db.text(prefix + name + ("_v3020" if prefix == "cuda" else "")), returnValue=c.status)
    for w in rng.sample(p.works, len(p.works)):
        row = dict(start=w.start, end=w.start + w.dur, **place(w.stream.device, w.stream.number, w.corr))
        if w.copy:
            db.put("CUPTI_ACTIVITY_KIND_MEMCPY", **row, bytes=4096, copyKind=copy_kind(w),
                   srcKind=2 if w.copy[0] is not None else int(w.pinned), dstKind=2 if w.copy[1] is not None else int(w.pinned))
        else:
            db.put("CUPTI_ACTIVITY_KIND_KERNEL", **row, demangledName=db.text(w.name))
    for corr, event, sync_id, s in p.records if shown else []:
        db.put("CUPTI_ACTIVITY_KIND_CUDA_EVENT", **place(s.device, s.number, corr), eventId=event,
               eventSyncId=sync_id if shows_ids else 0)
    for y in p.syncs:
        row = place(y.device, y.stream, y.corr)
        row["deviceId"] = 0  # whatever it is
        db.put("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=y.start, end=y.start + y.dur, **row, syncType=SYNC_TYPES[y.kind],
               eventId=y.number if y.number >= 0 else NONE, eventSyncId=y.sync_id if shows_ids else 0)
    for d in range(p.devices) if rng.random() < 0.5 else []:
        db.put("TARGET_INFO_CUDA_CONTEXT_INFO", nullStreamId=number(d, 7), hwId=0, vmId=1, processId=p.pid, deviceId=d, contextId=d + 1)
    for s in p.streams + p.gone if p.tells_creation else []:
        if not s.legacy or rng.random() < 0.5:
            db.put("TARGET_INFO_CUDA_STREAM", streamId=number(s.device, s.number), hwId=0, vmId=1, processId=p.pid,
                   contextId=s.device + 1, priority=0, flag=3 if s.legacy else 1 if s.blocking else 2)


def nsys(programs, rng, folder):
    path = folder / "report.sqlite"
    db = Export(path)
    for d in range(max(p.devices for p in programs)):
        db.put("TARGET_INFO_GPU", id=d, name="GPU", totalMemory=1 << 34, smCount=80, cuDevice=d)
    for p in programs:
        nsys_program(db, p, rng)
    db.db.commit()
    db.db.close()
    return path
