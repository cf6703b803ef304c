"""What else programs put into streams: fills, copies of every kind, memory moved ahead of its use, launches in any order; and calls
that wait by the way."""

# over when the stream gets there and the memory is moved; no profiler shows work of them
UNSHOWN = ["MemPrefetchAsync", "MemDiscardBatchAsync", "MemMapArrayAsync", "StreamAttachMemAsync", "GraphUpload"]


class Commands:
    SHARE = 0.25  # of programs that do such a thing, of each

    def start_commands(self):
        self.frees_at_once = self.rng.random() < 0.5

    def command_acts(self):
        acts = [self.fill, self.move_memory, self.copy_async, self.peer_copy_in_turn, self.launch_in_any_order, self.free_memory,
                self.poll]
        return [act for act in acts if self.rng.random() < self.SHARE]

    def fill(self, t):
        """Of no bytes it is nothing at all."""
        s = self.rng.choice([self.pick(t), self.streams[self.current[t]]])
        size = self.rng.choice([0, 4096])
        name, args = ("Memset", {}) if s.legacy and self.rng.random() < 0.5 else self.spelled(s, "MemsetAsync", {})
        corr, at = self.call(t, name, {**args, "size": size}, self.rng.randrange(2000, 8000) if size else 1000, stream=s)
        if size:
            self.run_kernel(s, corr, at)

    def move_memory(self, t):
        s = self.pick(t)
        name, args = self.spelled(s, self.rng.choice(UNSHOWN), {})
        self.hiding = True
        corr, at = self.call(t, name, args, 2500, stream=s)
        self.hiding = False
        over = max(at, self.enter(s).end) + int(10 ** self.rng.uniform(3.3, 5.3))
        s.tail = type(s.tail)(over, f"{name} {corr}")

    def copy_async(self, t):
        """From or to the host. Memory that can be paged out is copied while the call waits, which may return
        before the last piece has reached the device."""
        s, back, pinned = self.pick(t), self.rng.random() < 0.5, self.rng.random() < 0.5
        name, args = self.spelled(s, "MemcpyAsync", {"kind": 2 if back else 1, "size": 4096})
        corr, at = self.call(t, name, args, self.rng.randrange(2000, 5000), stream=s)
        start = self.run_kernel(s, corr, at, copy=(s.device, None) if back else (None, s.device))
        if self.works and self.works[-1].corr == corr:
            self.works[-1].pinned = pinned
        if pinned:
            return
        over = s.tail.end if back else self.rng.randrange(start, s.tail.end + 1)
        self.hold(t, corr, over + self.rng.randrange(1000, 9000))
        self.truth[corr] = s.tail

    def peer_copy_in_turn(self, t):
        """Begins when all streams of both devices are free, and all that follows in them stands behind it."""
        if self.devices < 2:
            return
        s = self.streams[self.current[t]]
        other = self.rng.choice([d for d in range(self.devices) if d != s.device])
        there = self.rng.choice([(other, s.device), (s.device, other)])
        name, args = self.rng.choice([("MemcpyPeer", {"srcDevice": there[0], "dstDevice": there[1]}), ("Memcpy3DPeer", {}), ("Memcpy", {"kind": 3})])
        corr, at = self.call(t, name, {**args, "size": 4096}, 4000, stream=s)
        turn = [o for o in self.streams + self.gone if o.device in (s.device, other)]
        for o in turn:
            s.tail, s.past = s.tail.join(o.tail), s.past | o.past
        self.run_kernel(s, corr, at, copy=there)
        for o in turn:
            o.tail, o.past = s.tail, o.past | s.past

    def launch_in_any_order(self, t):
        """It may run beside the kernel before it, and end first."""
        s = self.pick(t)
        free = s.tail
        start = self.launch_ordered(t, s)
        if self.behind(s) is not s.tail:
            return
        first = s.tail
        name, args = self.spelled(s, "LaunchKernelExC" if self.cuda else "ExtLaunchKernel", {})
        before, after = self.rng.sample(self.events + [None] * 4, 2) if not self.cuda else (None, None)
        events = {} if self.cuda else {"startEvent": before.handle if before else 0, "stopEvent": after.handle if after else 0, "flags": 1}
        corr, at = self.call(t, name, {**args, **events}, 4000, stream=s)
        start = max(start, at + 3000, free.end) + self.rng.randrange(500, 3000)
        over = start + int(10 ** self.rng.uniform(3.5, 5.5))
        name = self.new_name()
        self.see_work(name, s, corr, start, over - start)
        for e, done in (before, type(first)(start, name)), (after, type(first)(over, name)):
            if e:
                self.note_record(e, corr, s, done)
                e.past = {name}  # not what comes before in the stream
        s.tail = first.join(type(first)(over, name))

    def launch_ordered(self, t, s):
        name, args = self.spelled(s, "LaunchKernel", {})
        corr, at = self.call(t, name, args, 3000, stream=s)
        return self.run_kernel(s, corr, at)

    def free_memory(self, t):
        """Waits for the device, or not."""
        done = type(self.streams[0].tail)()
        for s in self.streams + self.gone:
            if s.device == self.current[t]:
                done = done.join(s.tail)
        if self.frees_at_once:
            self.call(t, "Free", {"ptr": 0x7000}, 3000)
        else:
            self.block(t, "Free", {"ptr": 0x7000}, done)

    def poll(self, t):
        """Asks until it is over."""
        e = self.rng.choice(self.events)
        for _ in range(20 if e.done else 0):
            over = e.done.end <= self.threads[t]
            self.call(t, "EventQuery", {"event": e.handle}, 800, 0 if over else 600)
            if over:
                return
            self.threads[t] += 5000
