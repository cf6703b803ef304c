"""Memory words that streams wait for and write, and semaphores of other interfaces: what of machine.py's programs does."""

MASK = 2 ** 64 - 1


def fits(bits, when, v, w, look=MASK):
    """CUDA compares 32 bits, or 64, counted round; HIP looks at some of them, if it is told to."""
    mask = 2 ** bits - 1
    seen = v & look
    return [(seen - w) & mask < 2 ** (bits - 1), seen & mask == w, seen & w & mask, ~(v | w) & look & mask][when]


class Words:
    def start_words(self):
        self.written = {}  # address -> [(value, Done)], in the order of time
        self.word = (self.pid << 16) + 0xd000
        self.bits = self.rng.choice([32, 64])
        self.semaphore = (self.pid << 16) + 0xd800
        self.outside = self.rng.random() < 0.2  # somebody else signals, too, whom nobody records

    def word_acts(self):
        """Profilers of CUDA other than our recorder do not show these calls at all."""
        if self.cuda and not self.capture:
            return []
        acts = [self.write_value, self.wait_value, self.signal, self.wait_signal]
        return acts + ([self.batch] if self.rng.random() < 0.3 else [])

    def write_outside(self, t, address, value):
        """Another process, a device of another kind: not before what was written last."""
        last = self.written[address][-1][1].end if address in self.written else 0
        end = max(last, self.threads[t] + self.rng.randrange(300000))
        self.written.setdefault(address, []).append((value, type(self.streams[0].tail)(end, "somebody else")))

    def put_value(self, t, address, value, name, args, parts=()):
        """One stream writes a word, so that its values follow each other in the order of time."""
        s = self.streams[-1]
        if s.device != self.current[t] or s.owner is not None:
            return
        self.call(t, name, {**args, "stream": s.handle}, 1500, shown=bool(parts) or not self.loses(), stream=s, parts=parts)
        self.written.setdefault(address, []).append((value, self.enter(s)))

    def ends_wait(self, address, active, fits):
        """The write that a wait which begins to look at that time ends with."""
        written = self.written.get(address, [])
        there = [i for i, (v, d) in enumerate(written) if d.end <= active]
        if there and fits(written[there[-1]][0]):
            i = there[-1]
            while i and fits(written[i - 1][0]):
                i -= 1
            return written[i][1]
        later = [d for v, d in written[len(there):] if fits(v)]
        return later[0] if later else None

    def await_value(self, t, address, fits, name, args, parts=(), known=True):
        s = self.pick(t)
        active = max(self.threads[t], self.behind(s).end)
        done = self.ends_wait(address, active, fits)
        if not done:
            return
        self.hiding = done.kernel == "somebody else"  # had the call been lost, nobody could know of the wait
        corr, _ = self.call(t, name, {**args, "stream": s.handle}, 1500, stream=s, parts=parts)
        self.hiding = False
        if known:
            self.truth[corr] = done
        s.tail = self.enter(s).join(done)

    def write_value(self, t, batch=False):
        top = self.rng.choice([2, 40 if self.bits == 64 else 31])
        value = self.rng.randrange(1, 2 ** top)
        if self.bits == 32 and self.cuda and self.rng.random() < 0.3:
            value = 2 ** 32 - value  # about to run over
        args = {"ptr": self.word, "value": value, "flags": 0}
        name = f"StreamWriteValue{self.bits}"
        if self.outside and self.rng.random() < 0.5:
            self.write_outside(t, self.word, value)
        elif batch:
            self.put_value(t, self.word, value, "StreamBatchMemOp", {"count": 1}, [(name, args)])
        else:
            self.put_value(t, self.word, value, name, args)

    def wait_value(self, t, batch=False):
        written, when = self.written.get(self.word), self.rng.randrange(4)
        if not written:
            return
        wanted = self.rng.choice([written[-1][0], self.rng.choice(written)[0], 1])
        look = MASK if self.cuda or self.rng.random() < 0.6 else self.rng.choice([0xff, 0xfffffffe, 3 << 20, self.rng.randrange(2 ** 40)])
        args = {"ptr": self.word, "value": wanted, "flags": when, "mask": look & 2 ** self.bits - 1}
        ends, name = lambda v: fits(self.bits, when, v, wanted, look), f"StreamWaitValue{self.bits}"
        if batch:
            self.await_value(t, self.word, ends, "StreamBatchMemOp", {"count": 1}, [(name, {**args, "mask": MASK})], known=self.capture)
        else:
            self.await_value(t, self.word, ends, name, args)

    def batch(self, t):
        self.rng.choice([self.write_value, self.wait_value, self.batch_several])(t, batch=True)

    def batch_several(self, t, batch):
        """Waits and writes in turn, which the stream does one after another."""
        s, parts, met = self.streams[-1], [], set()
        if s.device != self.current[t] or s.owner is not None or self.outside:
            return
        for _ in range(self.rng.randrange(2, 5)):
            written, when = self.written.get(self.word), self.rng.randrange(4)
            value = self.rng.randrange(1, 2 ** 20)
            if written and self.rng.random() < 0.5:
                value = self.rng.choice(written)[0]
                done = self.ends_wait(self.word, max(self.threads[t], self.behind(s).end), lambda v: fits(self.bits, when, v, value))
                if done:
                    parts.append((f"StreamWaitValue{self.bits}", {"ptr": self.word, "value": value, "flags": when, "mask": MASK}))
                    met.add(done)
                    s.tail = self.enter(s).join(done)
                continue
            parts.append((f"StreamWriteValue{self.bits}", {"ptr": self.word, "value": value, "flags": 0}))
            self.written.setdefault(self.word, []).append((value, self.enter(s)))
        corr, _ = self.call(t, "StreamBatchMemOp", {"count": len(parts), "stream": s.handle}, 1500, stream=s, parts=parts)
        if self.capture:
            self.inside.setdefault(corr, set()).update(met)

    def signal(self, t):
        """Values of a semaphore only grow."""
        value = self.written[self.semaphore][-1][0] + 1 if self.semaphore in self.written else 1
        if self.outside and self.rng.random() < 0.5:
            self.write_outside(t, self.semaphore, value)
            return
        self.put_value(t, self.semaphore, value, "SignalExternalSemaphoresAsync", {"numExtSems": 1},
                       [("SignalExternalSemaphoresAsync", {"semaphore": self.semaphore, "value": value})])

    def wait_signal(self, t):
        written = self.written.get(self.semaphore)
        if not written:
            return
        wanted = self.rng.choice(written)[0]
        self.await_value(t, self.semaphore, lambda v: v >= wanted, "WaitExternalSemaphoresAsync", {"numExtSems": 1},
                         [("WaitExternalSemaphoresAsync", {"semaphore": self.semaphore, "value": wanted})], known=self.capture)
