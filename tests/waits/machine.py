"""A GPU machine that plays random programs: streams, events, default streams, several devices and threads. Knows nothing of the
resolver: it plays the timeline and notes, of every command, the work that ended last among all it stood behind. What it saw is a list
of plain records; forms.py and capture.py write them as profilers do. words.py, graphs.py, hidden.py, shared.py, streams.py,
commands.py and clocks.py add to what programs do."""
from clocks import Clocks
from commands import Commands
from graphs import Graphs
from hidden import Hidden
from shared import Shared
from streams import Streams
from words import Words


class Done:
    """When a command is over, and the work that ended last before that, or whose start it is."""
    def __init__(self, end=-1, kernel=None):
        self.end, self.kernel = end, kernel

    def join(self, other):
        return other if other.end > self.end else self


class Stream:
    def __init__(self, device, number, handle, blocking, legacy=False, owner=None):
        self.device, self.number, self.handle, self.blocking, self.legacy = device, number, handle, blocking, legacy
        self.owner = owner  # thread whose own default stream it is
        self.queue = 1 + number % 4  # the hardware has few
        self.made = self.gone = 0  # when
        self.tail, self.ran = Done(), False
        self.past = set()  # all work that comes before what enters it next


class Event:
    def __init__(self, handle, number):
        self.handle, self.number = handle, number  # number: the profiler's own, never given again
        self.done, self.corr, self.stream = None, 0, None  # of its last record
        self.sync_id, self.past = 0, set()

    @property
    def origin(self):
        return self


class Call:
    def __init__(self, name, thread, corr, start, dur, args, status, device, stream, parts):
        self.name, self.thread, self.corr, self.start, self.dur = name, thread, corr, start, dur
        self.args, self.status, self.device = args, status, device
        self.stream = stream  # it works on, a Stream or None
        self.parts = parts  # (name, arguments) of what it does at once


class Work:
    def __init__(self, name, stream, corr, start, dur, copy=None):
        self.name, self.stream, self.corr, self.start, self.dur, self.copy = name, stream, corr, start, dur, copy
        self.pinned = False  # copy from or to memory of the host that stays where it is
        self.over = start + dur  # truly; start and dur are as the profiler tells them


class Sync:
    """A wait as CUPTI reports it; record is of the event it met, number the event's own."""
    def __init__(self, kind, corr, device, stream, start, dur, event):
        self.kind, self.corr, self.device, self.stream, self.start, self.dur = kind, corr, device, stream, start, dur
        own = event is not None and event.origin is event
        self.record_device = event.stream.device if own and event.done else None
        self.record = (event.stream.number, event.corr) if own and event.done else None
        self.sync_id = event.sync_id if event is not None and event.done else 0
        self.number = event.number if event is not None else -1


class Program(Words, Graphs, Hidden, Shared, Streams, Commands, Clocks):
    """One process. cuda: what CUPTI and Kineto see; else HIP. capture: a recorder that sees more and counts its losses."""
    DEVICES, THREADS, FAILS, IN_VAIN = [1, 1, 2, 3], [1, 1, 1, 1, 2, 2, 3], 0.05, 0.5
    OVERTAKES, LOSES, LOSES_ANY, LENGTH = 0.2, 0.1, 0.02, (10, 50)

    def __init__(self, rng, pid, base, cuda, tells_device, capture=False, late=False):
        self.rng, self.pid, self.cuda, self.tells_device, self.capture = rng, pid, cuda, tells_device or capture, capture
        self.late = late and rng.random() < 0.3  # recording began when the program ran already
        self.calls, self.works, self.syncs, self.barriers, self.records, self.truth = [], [], [], [], [], {}
        self.made = {}  # call -> when
        self.shows_ends = True  # which stream a call destroys
        self.orphaned = 0  # call that was lost; what it launched is not, or nobody could know
        self.hiding = False  # calls now put into a graph what cannot be told without them
        self.numbered = {}  # thread -> number of the call that it has begun
        self.redundant = set()  # waits for what comes before in the stream that waits anyway
        self.inside = {}  # launch of a graph -> works that nodes of it wait for
        self.vague = set()  # calls whose truth nobody could know
        self.corr = self.kernels = self.sync_ids = 0
        self.devices = rng.choice(self.DEVICES)
        self.threads = [base + rng.randrange(1000) for _ in range(rng.choice(self.THREADS))]
        self.began = self.now = base
        self.current = [0] * len(self.threads)
        self.tells_creation = rng.random() < 0.7
        self.sees_barriers = not cuda and rng.random() < 0.7
        self.lossy = rng.random() < 0.3
        self.lost = 0
        self.busy = rng.random() < 0.3  # devices have other things to do now and then
        self.make_streams()
        self.events = [Event((pid << 16) + 0xf000 + e * 16, e) for e in range(3)]
        self.made_events = 20
        self.start_words()
        self.start_graphs()
        self.start_hidden()
        self.start_shared()
        self.start_streams()
        self.start_commands()
        self.start_clocks()
        self.acts = self.choose_acts()
        self.single_acts = [act for act in self.acts if act not in (
            self.capture_graph, self.renew_event, self.renew_stream, self.launch_in_any_order)]  # of one call
        self.left = rng.randrange(*self.LENGTH)

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

    def choose_acts(self):
        acts = [self.launch] * 9 + [self.record] * 5 + [self.stream_wait] * 4 + [
            self.event_sync, self.stream_sync, self.device_sync] * 2 + [self.set_device, self.peer_copy, self.launch_with_events,
            self.own_stream, self.query, self.launch_together, self.renew_event]
        return acts + self.word_acts() + self.graph_acts() + self.hidden_acts() + self.shared_acts() + self.stream_acts() + self.command_acts() + self.clock_acts()

    # what is seen

    def loses(self):
        lost = self.lossy and self.rng.random() < self.LOSES
        self.lost += lost
        return lost

    def call(self, t, name, args, dur, status=0, shown=True, stream=None, parts=()):
        corr, start = self.numbered.pop(t, 0) or self.next_corr(), self.threads[t]
        if shown and not self.hiding and self.lossy and self.rng.random() < self.LOSES_ANY:
            self.lost, shown = self.lost + 1, False
            self.orphaned = corr
        self.made[corr] = self.now = start
        if shown:
            self.calls.append(Call(name, t, corr, start, dur, args, status, self.current[t], stream, parts))
        self.threads[t] = start + dur
        return corr, start

    def hold(self, t, corr, until):
        """The call lasts until then."""
        self.threads[t] = until
        if self.calls and self.calls[-1].corr == corr:
            self.calls[-1].dur = until - self.calls[-1].start

    def next_corr(self):
        self.corr += 1
        return self.pid * 1000 + self.corr

    def see_work(self, name, s, corr, start, dur, copy=None):
        self.works.append(Work(name, s, corr, start, dur, copy))

    def see_sync(self, kind, corr, device, stream, enter, dur, event=None):
        if self.cuda:
            self.syncs.append(Sync(kind, corr, device, stream, enter, dur, event))

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
            for o in self.gone_before(s):
                done = done.join(o.tail)
        elif s.blocking:
            done = done.join(self.streams[s.device].tail)
        return done

    def enter(self, s):
        before = [o for o in self.streams if o.device == s.device and o.blocking] if s.legacy else \
            [self.streams[s.device]] if s.blocking else []
        for o in before + self.gone_before(s):
            s.past |= o.past
        s.tail = self.behind(s)
        s.past.add(s.tail.kernel)
        return s.tail

    def pick(self, t):
        return self.rng.choice([s for s in self.streams if s.device == self.current[t] and s.owner in (None, t)])

    def spelled(self, s, name, args):
        """Calls on a thread's own stream give its handle, or none in a form of the call that means it."""
        if s.legacy:
            return name, {**args, "stream": self.rng.choice([0, 0, 1])}
        if s.owner is None or self.rng.random() < 0.5:
            return name, {**args, "stream": s.handle}
        return name + ("_ptsz" if self.cuda else "_spt"), {**args, "stream": 0}

    def new_name(self):
        self.kernels += 1
        return f"k{self.pid}_{self.kernels}"

    def start_after(self, s, at):
        late = self.rng.randrange(300000) if self.busy and self.rng.random() < 0.1 else 0
        return max(at + self.rng.randrange(3000, 9000), self.enter(s).end + self.rng.randrange(500, 3000)) + late

    def run_kernel(self, s, corr, at, copy=None):
        name, start = self.new_name(), self.start_after(s, at)
        dur = int(10 ** self.rng.uniform(3.5, 6))
        s.tail, s.ran = Done(start + dur, name), True
        if corr == self.orphaned or not self.loses():
            self.see_work(name, s, corr, start, dur, copy)
        return start

    def launch(self, t):
        s = self.pick(t)
        name, args = self.spelled(s, "LaunchCooperativeKernel" if self.rng.random() < 0.1 else "LaunchKernel", {})
        corr, at = self.call(t, name, args, self.rng.randrange(2000, 8000), stream=s)
        self.run_kernel(s, corr, at)

    def launch_together(self, t):
        """One kernel a device, which start when all of their streams are free; all that follows stands behind all of them."""
        if self.devices < 2 or self.rng.random() < 0.7:
            return
        chosen = [self.rng.choice([s for s in self.streams if s.device == d and s.handle > 2]) for d in range(self.devices)]
        corr, at = self.call(t, "LaunchCooperativeKernelMultiDevice", {"numDevices": self.devices, "flags": 0}, 9000)
        before = Done()
        for s in chosen:
            before = before.join(self.enter(s))
        start, over = max(at + 5000, before.end + 2000), Done()
        for s in chosen:
            name, dur = self.new_name(), int(10 ** self.rng.uniform(3.5, 6))
            self.see_work(name, s, corr, start, dur)
            s.ran, over = True, over.join(Done(start + dur, name))
        for s in chosen:
            s.tail = over

    def peer_copy(self, t):
        """Between devices, in a stream of the current one."""
        s = self.pick(t)
        if self.devices < 2:
            return
        other = self.rng.choice([d for d in range(self.devices) if d != s.device])
        there = self.rng.choice([(other, s.device), (s.device, other)])
        corr, at = self.call(t, "MemcpyPeerAsync", {"stream": s.handle, "srcDevice": there[0], "dstDevice": there[1]},
                             self.rng.randrange(2000, 8000), stream=s)
        self.run_kernel(s, corr, at, copy=there)

    def note_record(self, e, corr, s, done):
        self.sync_ids += 1
        e.done, e.corr, e.stream, e.sync_id = done, corr, s, self.pid * 1000 + self.sync_ids
        e.past = s.past | {done.kernel}
        if self.cuda and e in self.events:
            self.records.append((corr, e.number, e.sync_id, s))

    def launch_with_events(self, t):
        """HIP's launches that record an event when the kernel starts and one when it ends."""
        s, first, last = self.pick(t), self.rng.choice(self.events + [None]), self.rng.choice(self.events + [None])
        if first is last:
            return
        if self.cuda:
            self.launch_with_attribute(t, s, last)
            return
        corr, at = self.call(t, "ExtLaunchKernel", {"stream": s.handle, "startEvent": first.handle if first else 0,
                                                    "stopEvent": last.handle if last else 0}, 4000, stream=s)
        start = self.run_kernel(s, corr, at)
        if first:
            self.note_record(first, corr, s, Done(start, s.tail.kernel))
        if last:
            self.note_record(last, corr, s, s.tail)

    def launch_with_attribute(self, t, s, e):
        """CUDA's launches may record an event when all blocks of their kernel have begun or said so, which only our recorder tells."""
        name, args = self.spelled(s, "LaunchKernelExC", {})
        corr, at = self.call(t, name, {**args, **({"launchEvent": e.handle} if e else {})}, 4000, stream=s)
        start = self.run_kernel(s, corr, at)
        if e:
            self.note_record(e, corr, s, Done(self.rng.randrange(start, s.tail.end + 1), s.tail.kernel))

    def record(self, t, e=None):
        s, e = self.pick(t), e or self.rng.choice(self.events)
        failed = self.fails()
        how = {"flags": 0} if self.rng.random() < 0.2 else {}
        name, args = self.spelled(s, "EventRecordWithFlags" if how else "EventRecord", {"event": e.handle, **how})
        corr, at = self.call(t, name, args, 1500, int(failed), not self.loses(), stream=s)
        if failed:
            return
        self.note_record(e.origin, corr, s, self.enter(s))
        self.see_barrier(False, corr, e, s, at, max(at, s.tail.end), s.queue)

    def fails(self):
        """Only where somebody records what calls return."""
        return (self.capture or not self.cuda) and self.rng.random() < self.FAILS

    def renew_event(self, t):
        """The event is destroyed and another one made, often at the same address. What waits for it goes on."""
        i, shown = self.rng.randrange(3), self.tells_creation or self.capture
        old = self.events[i]
        self.call(t, "EventDestroy", {"event": old.handle}, 500, shown=shown)
        moved = self.rng.random() < 0.3 and old.handle & 0xffff < 0xf600  # further on there are others
        self.made_events += 1
        self.events[i] = Event(old.handle + 0x200 if moved else old.handle, self.made_events)
        self.call(t, "EventCreate", {"event": self.events[i].handle}, 500, shown=shown)
        self.meet(t)

    def meet(self, t):
        """The other threads go on when this one is done: they use what it has made."""
        self.threads = [max(time, self.threads[t]) for time in self.threads]

    def stream_wait(self, t, e=None):
        s, e = self.rng.choice(self.streams), e or self.rng.choice(self.events)
        in_vain = e in self.events and self.rng.random() < self.IN_VAIN
        if s.owner not in (None, t) or not (e.done or in_vain):
            return
        if s.legacy:
            s = self.streams[self.current[t]]
        if s.owner is not None and s.device != self.current[t]:
            return
        shown, failed = not self.loses(), self.fails()
        name, args = self.spelled(s, "StreamWaitEvent", {"event": e.handle, "flags": 0})
        corr, at = self.call(t, name, args, 1500, int(failed), shown=shown, stream=s)
        if failed:
            return
        if not e.done:  # never recorded: the call does nothing
            self.truth[corr] = Done()
            return
        if shown or self.rng.random() < 0.5:
            self.see_sync("Stream Wait Event", corr, s.device, s.number, at, 1000, e)
        if e.done.end > at and e.stream is not s:  # HIP leaves out what is over, or in order anyway
            self.see_barrier(True, corr, e, s, at, max(s.tail.end, e.done.end), e.stream.queue)
        self.truth[corr] = e.done
        self.enter(s)
        if e.done.kernel in s.past:
            self.redundant.add(corr)
        s.tail = s.tail.join(e.done)
        s.past |= e.past

    def block(self, t, name, args, done, stream=None):
        at = self.threads[t]
        over = max(at + 1000, done.end) + self.rng.randrange(2000, 9000)
        corr, at = self.call(t, name, args, over - at, stream=stream)
        self.truth[corr] = done
        return corr, at, over - at

    def event_sync(self, t, e=None):
        e = e or self.rng.choice(self.events)
        if not e.done and e in self.events and self.rng.random() < self.IN_VAIN:
            self.block(t, "EventSynchronize", {"event": e.handle}, Done())
        elif e.done:
            corr, at, dur = self.block(t, "EventSynchronize", {"event": e.handle}, e.done)
            self.see_sync("Event Sync", corr, e.stream.device if e.origin is e else 0, -1, at, dur, e)

    def stream_sync(self, t):
        s = self.pick(t)
        done = self.behind(s) if s.legacy else s.tail
        name, args = self.spelled(s, "StreamSynchronize", {})
        corr, at, dur = self.block(t, name, args, done, s)
        self.see_sync("Stream Sync", corr, s.device, s.number, at, dur)

    def device_sync(self, t):
        done = Done()
        for s in self.streams + self.gone:
            if s.device == self.current[t]:
                done = done.join(s.tail)
        corr, at, dur = self.block(t, self.rng.choice(["DeviceSynchronize", "DeviceSynchronize", "CtxSynchronize"]), {}, done)
        self.see_sync("Context Sync", corr, self.current[t], -1, at, dur)

    def query(self, t):
        """Is it over? Makes nobody wait."""
        s, e = self.pick(t), self.rng.choice(self.events)
        if self.rng.random() < 0.5 and e.done:
            self.call(t, "EventQuery", {"event": e.handle}, 800, 0 if e.done.end <= self.threads[t] else 600)
        else:
            done = self.behind(s) if s.legacy else s.tail
            name, args = self.spelled(s, "StreamQuery", {})
            self.call(t, name, args, 800, 0 if done.end <= self.threads[t] else 600, stream=s)

    def set_device(self, t, device=None):
        self.current[t] = self.rng.randrange(self.devices) if device is None else device
        self.call(t, "SetDevice", {"deviceId": self.current[t]}, 500, shown=self.tells_device)

    def own_stream(self, t):
        """Work in the thread's own default stream, which exists once a device and thread."""
        own = [s for s in self.streams if s.owner == t and s.device == self.current[t]]
        if not own:
            self.numbers += 1
            self.streams.insert(self.devices, Stream(self.current[t], self.numbers, 2, True, owner=t))

    def make_known(self):
        """Calls that make the streams, and the graphs with their events."""
        for s in self.streams if self.tells_creation else []:
            if s.device != self.current[0]:
                self.set_device(0, s.device)
            if not s.legacy:
                ranked = {"priority": self.rng.choice([-1, 0])} if self.rng.random() < 0.3 else {}
                self.call(0, "StreamCreateWithPriority" if ranked else "StreamCreateWithFlags",
                          {"stream": s.handle, "flags": 0 if s.blocking else 1, **ranked}, 1000)
        for e in self.events if self.tells_creation else []:
            self.call(0, "EventCreate", {"event": e.handle}, 500)
        self.make_graphs_known()

    # playing

    def begin(self):
        self.make_known()

    def time(self):
        return min(self.threads)

    def step(self):
        t = min(range(len(self.threads)), key=lambda i: self.threads[i])
        self.threads[t] += self.rng.randrange(500, 20000)
        t = min(range(len(self.threads)), key=lambda i: self.threads[i])
        self.now = self.threads[t]
        beside = self.overtake(t)
        self.rng.choice(self.single_acts if beside else self.acts)(t)
        self.numbered.clear()
        self.left -= 1

    def overtake(self, t):
        """Another thread's call begins later, and takes effect before this one's does. One call: before a second one this one
        would have returned."""
        other = len(self.threads) - 1 - t
        if other == t or self.rng.random() >= self.OVERTAKES or self.threads[other] > self.threads[t] + 100000:
            return False
        self.numbered[t] = self.next_corr()
        self.threads[t] = max(self.threads[t], self.threads[other] - self.rng.randrange(400))
        self.threads[other] = max(self.threads[other], self.threads[t] + self.rng.randrange(1, 400))
        self.rng.choice(self.single_acts)(other)
        return True

    def end(self):
        self.hide()
        self.tell_time()
        return max(self.threads + [s.tail.end for s in self.streams + self.gone])


class Plain(Program):
    """One thread and one device, kernels, events and waits: nothing is hidden, lost or at once."""
    DEVICES, THREADS, FAILS, IN_VAIN, SKEWS = [1], [1], 0, 0, 0

    def __init__(self, rng, pid, base, cuda, capture):
        super().__init__(rng, pid, base, cuda, True, capture)
        self.lossy = self.busy = self.pauses = self.sees_barriers = False
        self.tells_creation = True

    def choose_acts(self):
        return [self.launch] * 9 + [self.record] * 5 + [self.stream_wait] * 4 + [
            self.event_sync, self.stream_sync, self.device_sync] * 2

    def make_graphs_known(self):
        pass


class Leaning(Program):
    """Does a few things far more often than others, and some not at all: what two of them do to each other happens more."""
    def __init__(self, rng, *how):
        self.OVERTAKES, self.LOSES = rng.choice([0, 0.2, 0.8]), rng.choice([0.02, 0.1, 0.3])
        self.LENGTH = rng.choice([(5, 15), (10, 50), (50, 100)])
        super().__init__(rng, *how)

    def choose_acts(self):
        acts = super().choose_acts()
        kinds = list(dict.fromkeys(acts))
        return [self.launch] * 4 + [act for act in kinds for _ in range(self.rng.choice([0, 0, 1, 1, 2, 8]))]


def play(programs):
    """At the same time, one act after another. Gives the time when all of them are over."""
    for p in programs:
        p.begin()
    while True:
        alive = [p for p in programs if p.left > 0]
        if not alive:
            return max(p.end() for p in programs)
        min(alive, key=Program.time).step()
