"""What programs do to streams that profilers show as calls at most: functions of the host, memory given back in the order of a stream,
recording that begins late, pauses or ends early."""


class Hidden:
    def start_hidden(self):
        self.freed = []  # Done behind which a block of memory may be used again
        begins = self.began + self.rng.randrange(1500000)
        self.off = [(0, begins)] if self.late else []  # (from, until): nothing was recorded
        self.clipped = not self.capture and self.rng.random() < 0.1  # it ends before the program does
        self.shows_orphans = not self.capture or self.rng.random() < 0.5
        self.pauses = self.rng.random() < (0.3 if self.capture else 0)

    def hidden_acts(self):
        acts = [self.host_function] if self.rng.random() < 0.4 else []
        acts += [self.free_in_order, self.allocate_in_order] if self.rng.random() < 0.3 else []
        return acts + ([self.pause] if self.pauses else [])

    def host_function(self, t):
        """Runs when the stream gets there, and the stream goes on when it is over."""
        s = self.pick(t)
        name, args = self.spelled(s, self.rng.choice(["LaunchHostFunc", "StreamAddCallback"]), {})
        self.hiding = True
        corr, at = self.call(t, name, args, 2000, stream=s)
        self.hiding = False
        over = max(at, self.enter(s).end) + int(10 ** self.rng.uniform(3.5, 5.5))
        s.tail = type(s.tail)(over, f"function {corr}")

    def free_in_order(self, t):
        s = self.pick(t)
        name, args = self.spelled(s, "FreeAsync", {"dev_ptr": self.pid << 20})
        self.call(t, name, args, 1000, stream=s)
        self.freed.append(self.enter(s))

    def allocate_in_order(self, t):
        """A pool may give what another stream frees, and make the one that gets it wait for that."""
        s = self.pick(t)
        name, args = self.spelled(s, "MallocAsync", {"dev_ptr": self.pid << 20, "size": 4096})
        self.call(t, name, args, 1000, stream=s)
        self.enter(s)
        running = [done for done in self.freed if done.end > self.threads[t]]
        if running and self.rng.random() < 0.7:
            s.tail = s.tail.join(running[0])

    def pause(self, t):
        """Nothing that begins from now on is recorded for a while."""
        until = self.threads[t] + self.rng.randrange(50000, 500000)
        if not self.off or self.off[-1][1] < self.threads[t]:
            self.off.append((self.threads[t], until))

    def is_off(self, time):
        return any(a <= time < b for a, b in self.off)

    def clip(self):
        """What was not over when the recording ended."""
        end = self.began + int((max(self.threads) - self.began) * self.rng.uniform(0.3, 1))
        self.calls = [c for c in self.calls if c.start + c.dur <= end]
        self.works = [w for w in self.works if w.over <= end]
        self.syncs = [s for s in self.syncs if s.start + s.dur <= end]
        self.barriers = [b for b in self.barriers if b[5] <= end]
        self.records = [r for r in self.records if self.made[r[0]] <= end]

    def hide(self):
        """What began while nothing was recorded. Work is told by its call, or by its own start."""
        if self.clipped:
            self.clip()
        unseen = {corr for corr, start in self.made.items() if self.is_off(start)}
        self.calls = [c for c in self.calls if c.corr not in unseen]
        self.works = [w for w in self.works if w.corr not in unseen or (self.shows_orphans and not self.is_off(w.start))]
        if self.late and not any(w.corr in unseen for w in self.works):
            shown = {w.name for w in self.works}  # a recording that does not show that it began late
            self.vague |= {corr for corr, done in self.truth.items() if done.kernel not in shown and not self.capture}
        self.syncs = [s for s in self.syncs if s.corr not in unseen]
        self.barriers = [b for b in self.barriers if b[1] not in unseen]
        self.records = [r for r in self.records if r[0] not in unseen]
