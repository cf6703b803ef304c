"""A GPU machine that plays random programs: streams, events, default streams, several devices and threads, graphs, memory
words. Knows nothing of the resolver: it plays the timeline and notes, of every command, the kernel that ended last among all
it stood behind. What it saw is a list of plain records; forms.py writes them as profilers do."""


class Done:
    """When a command is over, and the kernel that ended last before that; begun: that is over when the kernel starts."""
    def __init__(self, end=-1, kernel=None, begun=False):
        self.end, self.kernel, self.begun = end, kernel, begun

    def join(self, other):
        return other if other.end > self.end else self


class Stream:
    def __init__(self, device, number, handle, blocking, legacy=False, owner=None):
        self.device, self.number, self.handle, self.blocking, self.legacy = device, number, handle, blocking, legacy
        self.owner = owner  # thread whose own default stream it is
        self.queue = 1 + number % 4  # the hardware has few
        self.tail, self.ran = Done(), False


class Event:
    def __init__(self, handle):
        self.handle = handle
        self.done, self.corr, self.stream = None, 0, None  # of its last record


class Call:
    def __init__(self, name, thread, corr, start, dur, args, status, device):
        self.name, self.thread, self.corr, self.start, self.dur = name, thread, corr, start, dur
        self.args, self.status, self.device = args, status, device


class Work:
    def __init__(self, name, stream, corr, start, dur, copy=None):
        self.name, self.stream, self.corr, self.start, self.dur, self.copy = name, stream, corr, start, dur, copy


class Program:
    """One process. cuda: what CUPTI and Kineto see; else HIP. `words`: it waits for memory words, and so on."""
    def __init__(self, rng, pid, base, cuda, tells_device):
        self.rng, self.pid, self.cuda, self.tells_device = rng, pid, cuda, tells_device
        self.calls, self.works, self.syncs, self.barriers, self.truth = [], [], [], [], {}
        self.vague = set()  # calls whose truth nobody could know
        self.corr = self.kernels = 0
        self.devices = rng.choice([1, 1, 2, 3])
        self.threads = [base + rng.randrange(1000) for _ in range(rng.choice([1, 1, 2]))]
        self.current = [0] * len(self.threads)
        self.tells_creation = rng.random() < 0.7
        self.sees_barriers = not cuda and rng.random() < 0.7
        self.lossy = rng.random() < 0.3
        self.words = {}  # address -> [(value, Done)], in the order of time
        self.make_streams()
        self.events = [Event((pid << 16) + 0xf000 + e * 16) for e in range(3)]
        self.graphs = [self.make_graph() for _ in range(2)]

    def make_streams(self):
        first, default = (13, 7) if self.cuda else (1, 0)
        self.streams = [Stream(d, default, 0, False, True) for d in range(self.devices)]
        number = first
        for d in range(self.devices):
            for i in range(self.rng.randrange(1, 4)):
                handle = (self.pid << 16) + (d << 12) + (i + 1) * 256
                self.streams.append(Stream(d, first + i if self.cuda else number, handle, self.rng.random() < 0.5))
                number += 1
        self.numbers = number + 10

    def make_graph(self):
        """Kernels one after another or at the same time, and perhaps an event that it records or waits for."""
        node = None if self.cuda else self.rng.choice([None, None, "record", "wait"])
        return {"handle": (self.pid << 16) + 0xe000 + self.rng.randrange(1 << 10), "node": node,
                "event": self.rng.randrange(3), "after": self.rng.randrange(3),
                "kernels": [(int(10 ** self.rng.uniform(3.5, 5.5)), self.rng.random() < 0.5)
                            for _ in range(self.rng.randrange(1, 5))]}

    # what is seen

    def loses(self):
        return self.lossy and self.rng.random() < 0.1

    def call(self, t, name, args, dur, status=0, shown=True):
        self.corr += 1
        corr, start = self.pid * 1000 + self.corr, self.threads[t]
        if shown:
            self.calls.append(Call(name, t, corr, start, dur, args, status, self.current[t]))
        self.threads[t] = start + dur
        return corr, start

    def see_work(self, name, s, corr, start, dur, copy=None):
        self.works.append(Work(name, s, corr, start, dur, copy))

    def see_sync(self, kind, corr, device, stream, enter, dur, event=None):
        if self.cuda:
            self.syncs.append((kind, corr, device, stream, enter, dur, event and (event.stream.number, event.corr),
                               event and self.events.index(event)))

    def see_barrier(self, waits, corr, event, s, start, end, source):
        """The end is when a thread of the profiler heard of it, some time later."""
        if self.sees_barriers and not self.loses():
            self.barriers.append((waits, corr, event.handle, s, start, end + self.rng.randrange(1000, 20000), source))

    # what happens

    def behind(self, s):
        """What a command that enters a stream stands behind."""
        done = s.tail
        if s.legacy:
            for o in self.streams:
                if o.device == s.device and o.blocking:
                    done = done.join(o.tail)
        elif s.blocking:
            done = done.join(self.streams[s.device].tail)
        return done

    def enter(self, s):
        s.tail = self.behind(s)
        return s.tail

    def pick(self, t):
        return self.rng.choice([s for s in self.streams if s.device == self.current[t] and s.owner in (None, t)])

    def new_name(self):
        self.kernels += 1
        return f"k{self.pid}_{self.kernels}"

    def start_after(self, s, at):
        return max(at + self.rng.randrange(3000, 9000), self.enter(s).end + self.rng.randrange(500, 3000))

    def run_kernel(self, s, corr, at, copy=None):
        name, start = self.new_name(), self.start_after(s, at)
        dur = int(10 ** self.rng.uniform(3.5, 6))
        s.tail, s.ran = Done(start + dur, name), True
        if not self.loses():
            self.see_work(name, s, corr, start, dur, copy)
        return start

    def launch(self, t):
        s = self.pick(t)
        corr, at = self.call(t, "LaunchKernel", {"stream": s.handle}, self.rng.randrange(2000, 8000))
        self.run_kernel(s, corr, at)

    def peer_copy(self, t):
        """Between devices, in a stream of the current one."""
        s = self.pick(t)
        if self.devices < 2:
            return
        other = self.rng.choice([d for d in range(self.devices) if d != s.device])
        corr, at = self.call(t, "MemcpyPeerAsync", {"stream": s.handle, "srcDevice": other, "dstDevice": s.device},
                             self.rng.randrange(2000, 8000))
        self.run_kernel(s, corr, at, copy=(other, s.device))

    def note_record(self, e, corr, s, done):
        e.done, e.corr, e.stream = done, corr, s

    def launch_with_events(self, t):
        """HIP's launches that record an event when the kernel starts and one when it ends."""
        s, first, last = self.pick(t), self.rng.choice(self.events + [None]), self.rng.choice(self.events + [None])
        if self.cuda or first is last:
            return
        corr, at = self.call(t, "ExtLaunchKernel", {"stream": s.handle, "startEvent": first.handle if first else 0,
                                                    "stopEvent": last.handle if last else 0}, 4000)
        start = self.run_kernel(s, corr, at)
        if first:
            self.note_record(first, corr, s, Done(start, s.tail.kernel, True))
        if last:
            self.note_record(last, corr, s, s.tail)

    def launch_graph(self, t):
        """One command that ends with its last kernel; events inside are recorded and awaited on the way."""
        s, g = self.pick(t), self.rng.choice(self.graphs)
        e = self.events[g["event"]]
        if g["node"] == "wait" and not e.done:
            return
        corr, at = self.call(t, "GraphLaunch", {"graphExec": g["handle"], "stream": s.handle},
                             self.rng.randrange(3000, 9000))
        start, done, s.ran = self.start_after(s, at), Done(), True
        for i, (dur, joined) in enumerate(g["kernels"]):
            if g["node"] == "wait" and i == 0:
                start = max(start, e.done.end + 1000)
            name = self.new_name()
            self.see_work(name, s, corr, start, dur)
            done = done.join(Done(start + dur, name))
            if g["node"] == "record" and i == min(g["after"], len(g["kernels"]) - 1):
                self.note_record(e, corr, s, Done(start + dur, name))
            start += 0 if joined else dur + 700
        s.tail = done

    def record(self, t):
        s, e = self.pick(t), self.rng.choice(self.events)
        failed = not self.cuda and self.rng.random() < 0.05
        corr, at = self.call(t, "EventRecord", {"event": e.handle, "stream": s.handle}, 1500, int(failed),
                             not self.loses())
        if failed:
            return
        self.note_record(e, corr, s, self.enter(s))
        self.see_barrier(False, corr, e, s, at, max(at, e.done.end), s.queue)

    def stream_wait(self, t):
        s, e = self.rng.choice(self.streams), self.rng.choice(self.events)
        if not e.done or s.owner not in (None, t):
            return
        if s.handle in (0, 2):
            s = self.streams[self.current[t]]
        shown = not self.loses()
        corr, at = self.call(t, "StreamWaitEvent", {"stream": s.handle, "event": e.handle, "flags": 0}, 1500, shown=shown)
        if shown or self.rng.random() < 0.5:
            self.see_sync("Stream Wait Event", corr, s.device, s.number, at, 1000, e)
        if e.done.end > at and e.stream is not s:  # HIP leaves out what is over, or in order anyway
            self.see_barrier(True, corr, e, s, at, max(s.tail.end, e.done.end), e.stream.queue)
        self.truth[corr] = e.done.kernel
        self.enter(s)
        s.tail = s.tail.join(e.done)

    FITS = [lambda v, w: v >= w, lambda v, w: v == w, lambda v, w: v & w, lambda v, w: ~(v | w) & (2 ** 64 - 1)]

    def write_value(self, t, batch=False):
        """One stream writes a word, so that its values follow each other in the order of time."""
        s, address = self.streams[-1], (self.pid << 16) + 0xd000
        if s.device != self.current[t] or self.cuda or s.owner is not None:
            return
        value = self.rng.randrange(1, 2 ** self.rng.choice([2, 40]))
        if batch:
            self.call(t, "StreamBatchMemOp", {"stream": s.handle, "count": 1}, 1500)
        else:
            self.call(t, "StreamWriteValue64", {"stream": s.handle, "ptr": address, "value": value, "flags": 0}, 1500,
                      shown=not self.loses())
        self.words.setdefault(address, []).append((value, self.enter(s)))

    def ends_wait(self, written, active, fits):
        """The write that a wait which begins to look at that time ends with."""
        there = [i for i, (v, d) in enumerate(written) if d.end <= active]
        if there and fits(written[there[-1]][0]):
            i = there[-1]
            while i and fits(written[i - 1][0]):
                i -= 1
            return written[i][1]
        later = [d for v, d in written[len(there):] if fits(v)]
        return later[0] if later else None

    def wait_value(self, t, batch=False):
        address, s, when = (self.pid << 16) + 0xd000, self.pick(t), self.rng.randrange(4)
        written = self.words.get(address)
        if not written or self.cuda:
            return
        wanted = self.rng.choice([written[-1][0], self.rng.choice(written)[0], 1])
        active = max(self.threads[t], self.behind(s).end)
        done = self.ends_wait(written, active, lambda v: self.FITS[when](v, wanted))
        if not done:
            return
        if batch:
            self.call(t, "StreamBatchMemOp", {"stream": s.handle, "count": 1}, 1500)
        else:
            corr, _ = self.call(t, "StreamWaitValue64", {"stream": s.handle, "ptr": address, "value": wanted, "flags": when,
                                                         "mask": 2 ** 64 - 1}, 1500)
            self.truth[corr] = done.kernel
        s.tail = self.enter(s).join(done)

    def batch(self, t):
        self.rng.choice([self.write_value, self.wait_value])(t, batch=True)

    def block(self, t, name, args, done):
        at = self.threads[t]
        over = max(at + 1000, done.end) + self.rng.randrange(2000, 9000)
        corr, at = self.call(t, name, args, over - at)
        self.truth[corr] = done.kernel
        if done.begun and self.lossy:  # whoever lost the wait for a start sees nothing end
            self.vague.add(corr)
        return corr, at, over - at

    def event_sync(self, t):
        e = self.rng.choice(self.events)
        if e.done:
            corr, at, dur = self.block(t, "EventSynchronize", {"event": e.handle}, e.done)
            self.see_sync("Event Sync", corr, e.stream.device, -1, at, dur, e)

    def stream_sync(self, t):
        s = self.pick(t)
        done = self.behind(s) if s.legacy else s.tail
        corr, at, dur = self.block(t, "StreamSynchronize", {"stream": s.handle}, done)
        self.see_sync("Stream Sync", corr, s.device, s.number, at, dur)

    def device_sync(self, t):
        done = Done()
        for s in self.streams:
            if s.device == self.current[t]:
                done = done.join(s.tail)
        corr, at, dur = self.block(t, "DeviceSynchronize", {}, done)
        self.see_sync("Context Sync", corr, self.current[t], -1, at, dur)

    def set_device(self, t, device=None):
        self.current[t] = self.rng.randrange(self.devices) if device is None else device
        self.call(t, "SetDevice", {"deviceId": self.current[t]}, 500, shown=self.tells_device)

    def own_stream(self, t):
        """Work in the thread's own default stream, which exists once a device and thread."""
        own = [s for s in self.streams if s.owner == t and s.device == self.current[t]]
        if not own and not self.cuda:
            self.numbers += 1
            self.streams.insert(self.devices, Stream(self.current[t], self.numbers, 2, True, owner=t))

    def make_known(self):
        """Calls that make the streams, and the graphs with their events."""
        for s in self.streams if self.tells_creation else []:
            if s.device != self.current[0]:
                self.set_device(0, s.device)
            if not s.legacy:
                self.call(0, "StreamCreateWithFlags", {"stream": s.handle, "flags": 0 if s.blocking else 1}, 1000)
        for g in self.graphs:
            if g["node"]:
                name = "GraphAddEventRecordNode" if g["node"] == "record" else "GraphAddEventWaitNode"
                self.call(0, name, {"graph": g["handle"] + 1, "event": self.events[g["event"]].handle}, 1000)

    def play(self):
        self.make_known()
        acts = [self.launch] * 6 + [self.record] * 3 + [self.stream_wait] * 3 + [self.launch_graph] * 2 + [
            self.event_sync, self.stream_sync, self.device_sync, self.set_device, self.peer_copy, self.launch_with_events,
            self.write_value, self.wait_value, self.own_stream]
        if self.rng.random() < 0.3:
            acts.append(self.batch)
        for _ in range(self.rng.randrange(10, 40)):
            t = min(range(len(self.threads)), key=lambda i: self.threads[i])
            self.threads[t] += self.rng.randrange(500, 20000)
            t = min(range(len(self.threads)), key=lambda i: self.threads[i])
            self.rng.choice(acts)(t)
        return max(self.threads + [s.tail.end for s in self.streams])
