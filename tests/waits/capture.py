"""Programs of machine.py as our recorders write them (docs/formats/capture.md): calls with handles and status, streams, work, and on
request CUPTI's numbers of records and waits. A recorder counts what it loses, and says when it was off."""
import struct

import graphs

NONE = 0xffffffff
MASK = 2 ** 64 - 1
STRING, PROCESS, META, DEVICE, CONTEXT, STREAM, API, API_NAME, KERNEL, COPY = 1, 2, 4, 5, 6, 7, 9, 10, 11, 12
SYNC, EVENT, LOST, END, BARRIER, SWITCH = 14, 15, 20, 21, 23, 30
GIVES_STREAM, GIVES_EVENT, ORDERS, GIVEN, PLACED, PART, LAUNCHES = 1, 2, 4, 8, 16, 32, 64

# name -> arguments that are event, arg[0] and arg[1] of a call; all of these order something
ORDER = {"EventRecord": ("event", None, None), "EventRecordWithFlags": ("event", "flags", None),
         "StreamWaitEvent": ("event", "flags", None), "EventSynchronize": ("event", None, None),
         "EventQuery": ("event", None, None), "StreamSynchronize": (None, None, None), "StreamQuery": (None, None, None),
         "DeviceSynchronize": (None, None, None), "CtxSynchronize": (None, None, None), "EventCreate": ("event", None, None), "EventDestroy": ("event", None, None),
         "StreamCreateWithFlags": (None, "flags", None), "StreamCreateWithPriority": (None, "flags", None),
         "StreamDestroy": (None, None, None),          "StreamBeginCapture": (None, None, None), "StreamEndCapture": (None, "graph", None),
         "GraphAddEventRecordNode": ("event", "graph", None), "GraphAddEventWaitNode": ("event", "graph", None),
         **{name: (None, "graph", None) for name in graphs.HIDDEN_NODES},
         "GraphAddChildGraphNode": (None, "graph", "childGraph"), "GraphInstantiate": (None, "graphExec", "graph"),
         "GraphExecEventRecordNodeSetEvent": ("event", "graphExec", "node"),
         "GraphExecEventWaitNodeSetEvent": ("event", "graphExec", "node"), "GraphLaunch": (None, "graphExec", None),
         "LaunchHostFunc": (None, None, None), "StreamAddCallback": (None, None, None),
         "StreamWaitValue64": ("ptr", "value", "flags"), "StreamWriteValue64": ("ptr", "value", "flags"),
         "StreamWaitValue32": ("ptr", "value", "flags"), "StreamWriteValue32": ("ptr", "value", "flags"),
         "IpcGetEventHandle": ("event", "handle", None), "IpcOpenEventHandle": ("event", "handle", None),
         "MallocAsync": (None, "dev_ptr", None), "FreeAsync": (None, "dev_ptr", None)}
HIP_ORDER = {"ExtLaunchKernel": ("stopEvent", "startEvent", None), "SetDevice": (None, "deviceId", None),
             "ExtStreamCreateWithCUMask": (None, None, None), "ExecutionCtxRecordEvent": ("event", "ctx", None),
             "ExecutionCtxWaitEvent": ("event", "ctx", None)}
PARTED = {"StreamBatchMemOp", "SignalExternalSemaphoresAsync", "WaitExternalSemaphoresAsync"}
OF_PART = {"SignalExternalSemaphoresAsync": ("semaphore", "value", None),
           "WaitExternalSemaphoresAsync": ("semaphore", "value", None)}


def check_sum(data):
    h = 0x9e3779b97f4a7c15 ^ len(data) * 0xff51afd7ed558ccd & MASK
    whole = len(data) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        h = (h ^ word) * 0xd6e8feb86659fd93 & MASK
        h ^= h >> 32
    h = (h ^ int.from_bytes(data[whole:], "little")) * 0xd6e8feb86659fd93 & MASK
    return h ^ h >> 32


class Recording:
    """One process's capture: a single chunk of what the recorder itself wrote."""
    def __init__(self, p):
        self.p, self.strings, self.functions = p, {}, {}
        self.head, self.records = [], []
        self.seen_on = {w.stream for w in p.works if not self.is_between(w)} | {b[3] for b in p.barriers}
        self.met = set()  # of these, those that something was seen of by now
        self.put(self.head, PROCESS, 0, struct.pack("<IIqqIIII", p.pid, 1, p.began, p.began + 10 ** 18, self.string(
            "cuda" if p.cuda else "rocm"), self.string("0"), self.string("host1"), self.string("program")))

    def tell(self, key, value):
        key, value = self.string(key), self.string(value)
        self.put(self.head, META, 0, struct.pack("<II", key, value))

    def put(self, to, kind, thread, body):
        body += b"\0" * (-len(body) % 8)
        to.append(struct.pack("<HHI", kind, len(body) + 8, thread) + body)

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.put(self.head, STRING, 0, struct.pack("<II", self.strings[text], len(text)) + text.encode())
        return self.strings[text]

    def function(self, name):
        prefix = ("cu" if "Value" in name or "BatchMem" in name else "cuda") if self.p.cuda else "hip"
        domain = 1 if prefix == "cu" else 2
        if name not in self.functions:
            self.functions[name] = len(self.functions) + 1
            self.put(self.head, API_NAME, 0, struct.pack("<IHHII", self.functions[name], domain, 0,
                                                         self.string(prefix + name), 0))
        return self.functions[name], domain

    def told(self, name, args):
        """AMD's recorder packs which bits of a word do not count into the flags."""
        if self.p.cuda or "mask" not in args:
            return args
        bits = 32 if name.endswith("32") else 64
        return {**args, "flags": args["flags"] | (~args["mask"] & 2 ** bits - 1) << 2}

    def api(self, c, name, args, of, given, place=None, size=88, part=False):
        args = self.told(name, args)
        function, domain = self.function(name)
        event, first, second = (args.get(k, 0) if k else 0 for k in of)
        given |= (GIVES_STREAM if "stream" in args else 0) | (GIVES_EVENT if of[0] else 0)
        end = c.start if part else c.start + c.dur
        body = struct.pack("<qqQIHHiIQQQQII", c.start, end, c.corr, function, domain, given, c.status, 0,
                           args.get("stream", 0), event & MASK, first & MASK, second & MASK, *(place or (0, 0)))
        self.put(self.records, API, self.p.pid * 10 + c.thread, body[:size - 8])

    def call(self, c):
        p, stem = self.p, c.name.split("_")[0]
        orders = {**ORDER, **({} if p.cuda else HIP_ORDER)}
        of = orders.get(stem)
        here = c.stream and c.stream.device == c.device  # CUPTI numbers streams of the call's context
        number = c.stream.number if here and not stem.startswith("StreamCreate") else NONE
        place = (c.device + 1, number if not c.status else NONE) if p.cuda else None
        if p.cuda and "launchEvent" in c.args:
            self.api(c, c.name, c.args, (None, "launchEvent", None), GIVEN | ORDERS | PLACED, (c.device + 1, NONE))
        elif p.cuda and stem in ("LaunchKernel", "LaunchCooperativeKernel", "LaunchKernelExC"):
            self.api(c, c.name, c.args, (None, None, None), GIVEN | LAUNCHES, size=64)
        elif p.cuda and not of and stem not in PARTED:
            self.api(c, c.name, {}, (None, None, None), 0, size=48)
        else:
            given = GIVEN | (PLACED if p.cuda else 0)
            self.api(c, c.name, c.args, of or (None, None, None), given | (ORDERS if of else 0), place)
            for name, args in c.parts:
                self.api(c, name, {**args, "stream": c.args["stream"]}, OF_PART.get(name) or ORDER[name],
                         given | ORDERS | PART, place, part=True)

    def is_between(self, w):
        return not self.p.cuda and w.copy and None not in w.copy and w.stream.owner is None

    def device_of(self, w):
        """AMD's recorder takes a stream to be of the device of its first work, but for copies between devices, which it shows on the
        one that they go to as long as nothing else was seen there."""
        if self.is_between(w):
            return w.copy[1] if w.stream.legacy or w.stream not in self.met else w.stream.device
        self.met.add(w.stream)
        return w.stream.device

    def work_head(self, w):
        return struct.pack("<qqQQIIII", w.start, w.start + w.dur, w.corr, 0, 0, self.device_of(w),
                           w.stream.device + 1, w.stream.number)

    def work(self, w):
        if w.copy:
            host = 2 if w.pinned else 1
            kind, start, to = (1, host, 3) if w.copy[0] is None else (2, 3, host) if w.copy[1] is None else (10, 3, 3)
            body = struct.pack("<QBBBBIII", 4096, kind, start, to, True, w.copy[0] or 0, w.copy[1] or 0, 0)
            self.put(self.records, COPY, 0, self.work_head(w) + body)
        else:
            body = struct.pack("<I3I3HH3I2I2HIqq", self.string(w.name), 1, 1, 1, 64, 1, 1, 0xffff, NONE, NONE, NONE, NONE, NONE,
                               0xffff, 0xffff, 0, 0, 0)
            self.put(self.records, KERNEL, 0, self.work_head(w) + body)

    def stream(self, s):
        flags = 1 if s.legacy else 4 if s.owner is not None else 0 if s.blocking else 2
        known = self.p.tells_creation or not self.p.cuda
        device = NONE if self.p.cuda or s not in self.seen_on else s.device
        context = s.device + 1 if self.p.cuda else NONE
        if s.legacy and not self.p.cuda and not s.ran:
            return
        self.put(self.head, STREAM, 0, struct.pack("<QIIIIiIqq", s.handle if known and not (self.p.cuda and s.owner is not None) else 0, s.number, context,
                                                   device, flags, 0, 0, s.made, s.gone))

    def waits_of_vendor(self):
        kinds = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
        for corr, number, sync_id, s in self.p.records:
            self.put(self.records, EVENT, 0, struct.pack("<QQQqIIII", corr, number, sync_id, 0, s.device, s.device + 1, s.number, 0))
        for y in self.p.syncs:
            self.put(self.records, SYNC, 0, struct.pack(
                "<qqQQQIIIi", y.start, y.start + y.dur, y.corr, y.number & MASK, y.sync_id, kinds[y.kind], y.device + 1,
                y.stream & NONE, 0))

    def barrier(self, b):
        waits, corr, event, s, start, end, source = b
        self.put(self.records, BARRIER, 0, struct.pack("<qqQQIIIIQIIII", start, end, corr, 0, 0, s.device, NONE, s.number, event,
                                                       s.queue, source, 2 if waits else 1, 0))

    def switches(self):
        for a, b in self.p.off:
            self.put(self.records, SWITCH, 0, struct.pack("<qII", max(a, self.p.began), 0, 0 if a else 1))
            self.put(self.records, SWITCH, 0, struct.pack("<qII", b, 1, 0))

    def write(self, path, rng):
        p = self.p
        if p.cuda:
            self.tell("launch_events", "told")
        for d in range(p.devices):
            self.put(self.head, DEVICE, 0, struct.pack("<IIIIQII16s", d, self.string("v"), self.string("gpu"), self.string("a"),
                                                       2 ** 36, 100, 32, bytes(16)))
            if p.cuda:
                self.put(self.head, CONTEXT, 0, struct.pack("<IIII", d + 1, d, 7, 0))
        for s in p.streams + p.gone:
            self.stream(s)
        for c in p.calls:
            if not (p.cuda and c.name == "SetDevice"):
                self.call(c)
        for w in p.works:
            self.work(w)
        for b in p.barriers:
            self.barrier(b)
        if p.cuda and rng.random() < 0.5:
            self.waits_of_vendor()
        rng.shuffle(self.records)
        self.switches()
        if p.lost:
            self.put(self.records, LOST, 0, struct.pack("<QqqII", p.lost, 0, 0, 2, 0))
        last = max([c.start + c.dur for c in p.calls] + [w.start + w.dur for w in p.works] + [p.began])
        self.put(self.records, END, 0, struct.pack("<qq", last + 1, last + 10 ** 18 + 1))
        data = b"".join(self.head + self.records)
        head = struct.pack("<IHHIIQIIQqII", 0x43595341, 1, 7, 64, len(data), check_sum(data), 0, 0, 0, last, p.pid, 0)
        path.write_bytes(head + struct.pack("<Q", check_sum(head)) + data)


def write(programs, rng, folder):
    for p in programs:
        Recording(p).write(folder / f"trace-host1-{p.pid}.asy", rng)
    return folder
