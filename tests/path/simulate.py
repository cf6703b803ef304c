"""A tiny machine: host threads that run operators, launch kernels, record and await events, synchronise and hand over to
another thread; streams that run kernels in order. Delays are constant, so that a trace of it says everything, and running
the program again with other lengths is the truth that a what-if has to meet."""
import random

LAUNCH, GAP, RETURN, CALL = 7000, 1200, 3000, 2000  # ns; a wait that finds nothing takes CALL
SENT = 20000  # ns before its end that a copy of pageable memory is on its way
QUEUE, ROOM = 1024, 600  # launches a stream takes before the call waits for room; ns until it knows
KERNELS = ["kern_a", "kern_b", "sgemm_c", "ncclDevKernel_AllReduce_x", "kern_d"]
OPS = ["aten::one", "aten::two", "aten::three"]


def program(rng, steps=3):
    """A list of steps, each a list of instructions. The first step shows every delay once."""
    streams = rng.randint(1, 3)
    warm = [("launch", 0, "kern_a", 4000, 400000), ("launch", 0, "kern_b", 4000, 20000), ("sync", 0), ("sync", 0),
            ("launch", 0, "kern_a", 4000, 20000), ("untraced", 200000)]
    return [warm] + [[instruction(rng, streams) for _ in range(rng.randint(4, 25))] for _ in range(steps)]


def flood(kernels, call, dur, steps=4):
    """A host that runs ahead until the queue is full."""
    warm = [("launch", 0, "kern_a", 4000, 20000), ("sync", 0), ("sync", 0)]
    return [warm] + [[("launch", 0, "kern_a", call, dur)] * kernels for _ in range(steps)]


def instruction(rng, streams):
    kind = rng.choices(["launch", "op", "untraced", "data", "record", "wait", "sync", "device_sync", "hand"],
                       [10, 4, 2, 1, 2, 2, 1, 0.3, 0.5])[0]
    t = lambda low, high: 2 * rng.randint(low // 2, high // 2)
    if kind == "launch":
        return (kind, rng.randrange(streams), rng.choice(KERNELS), t(2000, 8000), t(2000, 120000))
    if kind == "op":  # with a launch inside
        return (kind, rng.choice(OPS), t(1000, 30000), rng.randrange(streams), rng.choice(KERNELS), t(2000, 6000),
                t(2000, 90000), t(500, 20000))
    if kind in ("untraced", "data"):
        return (kind, t(2000, 60000))
    if kind in ("record", "wait"):
        return (kind, rng.randrange(streams), rng.randrange(2), t(600, 1500))
    if kind == "sync":
        return (kind, rng.randrange(streams))
    if kind == "device_sync":
        return (kind,)
    return (kind, t(5000, 20000), [(rng.choice(OPS), t(15000, 40000), rng.randrange(streams), rng.choice(KERNELS),
                                    t(2000, 6000), t(2000, 60000), t(500, 9000)) for _ in range(rng.randint(1, 4))],
            t(5000, 20000))


class Machine:
    """`change` maps (kind, name) and a length to another length."""

    def __init__(self, change=lambda kind, name, ns: ns, launch=LAUNCH, noise=0):
        self.change, self.launch_delay, self.noise = change, launch, noise
        self.now, self.corr = 1000000, 0
        self.end = {}      # stream -> (end of its last kernel)
        self.event = {}    # event -> (end of the kernel it stands for, stream, correlation of the record)
        self.behind = {}   # stream -> ends its next kernel waits for
        self.rows = []     # trace events
        self.steps = []    # (marker start, marker end, end of its work)
        self.work_end = 0
        self.ends = {}     # stream -> ends of all its kernels

    def delay(self, ns, salt):
        """The same event is late by the same amount in every run."""
        return int(ns * (1 + self.noise * (2 * random.Random(self.corr * 7 + salt).random() - 1)))

    def row(self, cat, name, ts, dur, tid=1, pid=1, **args):
        us = lambda ns: f"{ns // 1000}.{ns % 1000:03d}"
        a = ", ".join(f'"{k}": {v}' for k, v in args.items())
        self.rows.append(f'{{"ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid}, '
                         f'"ts": {us(ts)}, "dur": {us(dur)}, "args": {{{a}}}}}')

    def call(self, name, dur, tid=1):
        self.corr += 1
        self.row("cuda_runtime", name, self.now, dur, tid, correlation=self.corr)
        self.now += dur

    def launch(self, stream, kernel, call, dur, tid=1):
        gap = self.delay(GAP, 1)
        start = max([self.now + self.delay(self.launch_delay, 2)] + [e + gap for s, e in self.end.items() if s == stream] +
                    [e + gap for e in self.behind.pop(stream, [])])
        dur = self.change("kernel", kernel, dur)
        call = self.change("call", "cudaLaunchKernel", call)
        ends = self.ends.setdefault(stream, [])
        if len(ends) >= QUEUE:
            call = max(call, ends[len(ends) - QUEUE] + ROOM - self.now)
        ends.append(start + dur)
        self.call("cudaLaunchKernel", call, tid)
        self.row("kernel", kernel, start, dur, stream + 7, 0, device=0, stream=stream + 7, correlation=self.corr)
        self.end[stream] = start + dur
        self.work_end = max(self.work_end, start + dur)

    def send(self, stream, dur):
        """A copy of memory that may be paged out: the call is back shortly before the copy is over."""
        start = max([self.now + self.launch_delay] + [e + GAP for s, e in self.end.items() if s == stream])
        self.call("cudaMemcpyAsync", start + dur - SENT - self.now)
        self.row("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", start, dur, stream + 7, 0, device=0, stream=stream + 7,
                 correlation=self.corr)
        self.end[stream] = start + dur
        self.work_end = max(self.work_end, start + dur)

    def pending(self, stream):
        """Ends that whoever waits for the stream waits for: its last kernel and what it still waits for itself."""
        return [e for s, e in self.end.items() if s == stream] + self.behind.get(stream, [])

    def wait_call(self, name, ready, row, stream):
        begin = self.now
        self.call(name, max([self.delay(CALL, 3)] + [e + self.delay(RETURN, 4) - begin for e in ready]))
        self.row("cuda_sync", row, begin, self.now - begin, stream, 0, stream=stream, correlation=self.corr, device=0)

    def op(self, name, pre, stream, kernel, call, dur, post, tid=1):
        begin = self.now
        self.now += self.change("op", name, pre)
        self.launch(stream, kernel, call, dur, tid)
        self.now += self.change("op", name, post)
        self.row("cpu_op", name, begin, self.now - begin, tid)

    def do(self, what, *a):
        if what == "launch":
            self.launch(*a)
        elif what == "op":
            self.op(*a)
        elif what == "send":
            self.send(*a)
        elif what == "untraced":
            self.now += self.change("untraced", "", a[0])
        elif what == "data":
            dur = self.change("data", "", a[0])
            self.row("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", self.now, dur)
            self.now += dur
        elif what == "record":
            self.call("cudaEventRecord", a[2])
            self.event[a[1]] = (max(self.pending(a[0]), default=None), a[0], self.corr)
        elif what == "wait":
            begin, (end, producer, record) = self.now, self.event.get(a[1], (None, None, None))
            self.call("cudaStreamWaitEvent", a[2])
            if record:
                self.row("cuda_sync", "Stream Wait Event", begin, 0, a[0] + 7, 0, stream=a[0] + 7, correlation=self.corr,
                         wait_on_stream=producer + 7, wait_on_cuda_event_record_corr_id=record, device=0,
                         wait_on_cuda_event_id=a[1] + 1)
            if end is not None:
                self.behind.setdefault(a[0], []).append(end)
        elif what == "sync":
            self.wait_call("cudaStreamSynchronize", self.pending(a[0]), "Stream Sync", a[0] + 7)
        elif what == "device_sync":
            self.wait_call("cudaDeviceSynchronize", self.end.values(), "Context Sync", 4294967295)
        elif what == "hand":
            self.now += a[0]
            for i, op in enumerate(a[1]):
                self.op(*op, tid=2)
            self.now += a[2]

    def run(self, steps):
        for number, step in enumerate(steps):
            begin, self.work_end = self.now, 0
            for what in step:
                self.do(*what)
            self.now += 1000
            self.row("user_annotation", f"ProfilerStep#{number}", begin, self.now - begin)
            self.steps.append((begin, self.now, self.work_end))
        return self

    def length(self, number):
        """A step begins with its marker or when the one before is over, it is over with its marker and its work, and it is
        never shorter than its marker."""
        done = lambda s: max(s[1], s[2])
        begin, end = self.steps[number][0], done(self.steps[number])
        before = done(self.steps[number - 1]) if number else 0
        return max(end - (before if begin < before < end else begin), self.steps[number][1] - begin)

    def trace(self):
        return '{"schemaVersion": 1, "traceEvents": [\n' + ",\n".join(self.rows) + "\n]}\n"
