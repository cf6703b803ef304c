"""A machine that runs a training loop and writes the trace PyTorch's profiler would: one host thread, streams in order, calls
that block, copies, device memory, events. Running a program with and without its flaw gives the true cost of the flaw."""
import json

LAUNCH, GAP, RETURN, CALL = 6000, 1200, 3000, 4000  # ns: call to work, between queued work, return of a wait, a call
START_OF_RUN = 5_000_000
PAGEABLE, PINNED, START = 5.0, 50.0, 2000           # bytes a ns, and ns before the first byte


class Machine:
    def __init__(self, rng, rank=None, world=1):
        self.rng, self.rank, self.world = rng, rank, world
        self.now, self.corr, self.frame_id = START_OF_RUN, 0, 0
        self.free = {}       # stream -> when its last work ends
        self.after = {}      # stream -> ends that its next work waits for
        self.rows, self.ends, self.frames = [], [], []
        self.work_end = 0
        self.slow = None     # chance and factor by which work takes longer
        self.event = 0
        self.copied = None   # event behind the batch that was copied last
        self.blocking = False  # launches return when their kernel is over
        self.stacks = True     # frames of Python are traced

    # ---- rows
    def row(self, cat, name, ts, dur, tid=1, pid=1, **args):
        self.rows.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts / 1000, "dur": dur / 1000,
                          "args": args})

    def call(self, name, dur=CALL, **args):
        self.corr += 1
        self.row("cuda_runtime", name, self.now, dur, correlation=self.corr, **args)
        self.now += dur
        return self.corr

    def idle_at(self):
        return max(self.free.values(), default=0)

    # ---- the host
    def python(self, name, dur, inner=None):
        """A frame; inner: a function of C that all of its time is in."""
        begin, mine = self.now, self.frame_id
        self.frame_id += 2
        parent = self.frames[-1] if self.frames else None
        self.now += dur
        self.row("python_function", name, begin, dur, **{"Python id": mine, "Python parent id": parent})
        if inner:
            self.row("python_function", inner, begin + 500, dur - 1000, **{"Python id": mine + 1, "Python parent id": mine})

    def nested(self, names, dur):
        """Frames inside one another, the outer ones first."""
        begin, parent, edge = self.now, self.frames[-1] if self.frames else None, 300
        for depth, name in enumerate(names):
            mine = self.frame_id
            self.frame_id += 1
            self.row("python_function", name, begin + depth * edge, dur - 2 * depth * edge,
                     **{"Python id": mine, "Python parent id": parent})
            parent = mine
        self.now += dur

    def unseen(self, dur):
        """Nothing that a profiler without stacks would see."""
        self.stacks = False
        self.now += int(dur)

    def data(self, dur):
        self.row("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", self.now, dur)
        self.now += dur

    def range(self, name, dur):
        self.row("user_annotation", name, self.now, dur)
        self.now += dur

    # ---- the device
    def work(self, cat, name, dur, stream, ready, **args):
        start = max([ready, self.free.get(stream, 0) + GAP] + [e + GAP for e in self.after.pop(stream, [])])
        if self.slow and self.rng.random() < self.slow[0]:
            dur = int(dur * self.slow[1])
        self.row(cat, name, start, dur, tid=stream, pid=0, device=0, stream=stream, correlation=self.corr, context=1, **args)
        self.free[stream] = start + dur
        self.work_end = max(self.work_end, start + dur)
        return start + dur

    def launch(self, name, dur, stream=7, blocks=1024):
        begin = self.now
        self.corr += 1
        end = self.work("kernel", name, int(dur * self.rng.uniform(0.99, 1.01)), stream, begin + LAUNCH, grid=[blocks, 1, 1],
                        block=[256, 1, 1])
        took = end + RETURN - begin if self.blocking else CALL
        self.row("cuda_runtime", "cudaLaunchKernel", begin, took, correlation=self.corr)
        self.now += took
        return end

    def op(self, name, dur, before=6000, behind=3000, **more):
        begin = self.now
        self.now += before
        self.launch(f"void at::native::{name}_kernel<float>(float*)", dur, **more)
        self.now += behind
        self.row("cpu_op", f"aten::{name}", begin, self.now - begin)

    def inside(self, name, what, **args):
        """An operator around what launches."""
        begin = self.now
        self.now += 5000
        what()
        self.now += 3000
        self.row("cpu_op", name, begin, self.now - begin, **args)

    def copy(self, bytes, to="HtoD", pageable=False, stream=7, wait=False):
        """A copy of pageable memory holds up its call; wait: and the host synchronises behind it."""
        begin, rate = self.now, PAGEABLE if pageable else PINNED
        self.corr += 1
        kind = "Pageable" if pageable else "Pinned"
        name = f"Memcpy HtoD ({kind} -> Device)" if to == "HtoD" else f"Memcpy DtoH (Device -> {kind})"
        end = self.work("gpu_memcpy", name, START + int(bytes / rate), stream, begin + LAUNCH, bytes=bytes)
        dur = max(CALL, end + RETURN - begin) if pageable else CALL
        self.row("cuda_runtime", "cudaMemcpyAsync", begin, dur, correlation=self.corr)
        self.now += dur
        if wait:
            self.sync()

    def copy_within(self, dur):
        begin = self.now
        self.call("cudaMemcpyAsync")
        self.work("gpu_memcpy", "Memcpy DtoD (Device -> Device)", dur, 7, begin + LAUNCH, bytes=dur * 2000)

    def reset(self):
        begin = self.now
        self.call("cudaMemsetAsync")
        self.work("gpu_memset", "Memset (Device)", 1000, 7, begin + LAUNCH, bytes=4)

    def sync(self, name="cudaStreamSynchronize"):
        begin = self.now
        self.call(name, max(CALL // 2, self.idle_at() + RETURN - begin))
        self.row("cuda_sync", "Stream Sync", begin, self.now - begin, tid=7, pid=0, stream=7, device=0, correlation=self.corr)

    def item(self):
        self.copy(4, to="DtoH", wait=True)

    def take(self, dur):
        self.call("cudaMalloc", dur)

    def give_back(self, dur):
        """Waits for the device."""
        self.call("cudaFree", max(dur, self.idle_at() + RETURN - self.now))

    def record(self, stream):
        self.event += 1
        self.call("cudaEventRecord", 1500)
        return self.event, self.free.get(stream, 0), stream, self.corr

    def wait(self, stream, event, told=True):
        """Kineto on CUDA 13 has the call alone."""
        number, end, producer, record = event
        begin = self.now
        self.call("cudaStreamWaitEvent", 1500)
        if told:
            self.row("cuda_sync", "Stream Wait Event", begin, 0, tid=stream, pid=0, stream=stream, device=0, correlation=self.corr,
                     wait_on_stream=producer, wait_on_cuda_event_record_corr_id=record, wait_on_cuda_event_id=number)
        self.after.setdefault(stream, []).append(end)

    def arrive(self, name, bytes):
        """The launch of a collective: its row is made when all ranks are there."""
        begin = self.now
        self.call("cudaLaunchKernel")
        return max(begin + LAUNCH, self.free.get(20, 0) + GAP, self.free.get(7, 0) + GAP), self.corr, name, bytes

    def reduce(self, arrived, end):
        start, corr, name, bytes = arrived
        self.row("kernel", f"ncclDevKernel_{name}_Sum_f32_RING_LL(ncclDevKernelArgs)", start, end - start, tid=20, pid=0, device=0,
                 stream=20, correlation=corr, grid=[24, 1, 1], block=[512, 1, 1],
                 **{"Collective name": name.lower(), "In msg nelems": bytes // 4, "Out msg nelems": bytes // 4, "dtype": "Float",
                    "Group size": self.world, "Process Group Name": "0", "Process Group Ranks": str(list(range(self.world)))})
        self.free[20] = end
        self.after.setdefault(7, []).append(end)
        self.work_end = max(self.work_end, end)

    # ---- steps
    def step(self, number, body):
        begin, mine = self.now, self.frame_id
        self.frame_id += 1
        self.frames.append(mine)
        self.now += 2000
        body(self)
        self.now += 2000
        self.frames.pop()
        self.row("python_function", "train.py(40): train", begin, self.now - begin,
                 **{"Python id": mine, "Python parent id": None})
        self.row("user_annotation", f"ProfilerStep#{number}", begin, self.now - begin)
        self.ends.append(max(self.work_end, 0))

    def period(self):
        """ns a step, from the begin of the first one."""
        return (self.ends[-1] - START_OF_RUN) / len(self.ends)

    def trace(self):
        job = {"distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": self.world}} if self.rank is not None else {}
        rows = [r for r in self.rows if self.stacks or r["cat"] != "python_function"]
        return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}], **job,
                           "baseTimeNanoseconds": 0, "traceEvents": rows})
