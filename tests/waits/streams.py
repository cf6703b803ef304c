"""Streams of machine.py's programs that end while others begin, often at the same address, the default stream by its own handle, and
copies that hold up the thread that asks for them."""


class Streams:
    def start_streams(self):
        self.gone = []  # destroyed; what is in them goes on
        self.joins_gone = self.rng.random() < 0.5  # does the default stream wait for these, too? No interface says

    def stream_acts(self):
        return [self.renew_stream, self.copy_back]

    def renew_stream(self, t):
        """HIP may wait for what is in the stream. The other one is of the same device, and blocking or not."""
        known = [s for s in self.streams[:-1] if s.device == self.current[t] and s.handle > 2]
        if not known:
            return
        old = self.rng.choice(known)
        waits = not self.cuda and self.rng.random() < 0.5
        dur = max(1000, old.tail.end + 2000 - self.threads[t]) if waits else 1000
        self.call(t, "StreamDestroy", {"stream": old.handle}, dur, shown=not self.loses(), stream=old)
        self.numbers += 1
        handle = old.handle + 0x10 if self.rng.random() < 0.3 else old.handle
        new = type(old)(old.device, self.numbers, handle, self.rng.random() < 0.5)
        self.call(t, "StreamCreateWithFlags", {"stream": handle, "flags": 0 if new.blocking else 1}, 1000, shown=not self.loses())
        old.gone, new.made = self.threads[t] - 1000, self.threads[t]
        self.streams[self.streams.index(old)] = new
        self.gone.append(old)
        self.meet(t)

    def gone_before(self, s):
        """Streams that are no more, for which what enters this one may have to wait as long as something runs there."""
        joins = s.legacy and self.joins_gone
        return [o for o in self.gone if joins and o.device == s.device and o.blocking and o.tail.end > self.now]

    def copy_back(self, t):
        """To memory of the host: the call returns when it is there."""
        s = self.streams[self.current[t]]
        corr, at = self.call(t, "Memcpy", {"kind": 2, "size": 4096}, 3000, stream=s)
        self.run_kernel(s, corr, at, copy=(s.device, None))
        self.hold(t, corr, s.tail.end + self.rng.randrange(1000, 9000))
        self.truth[corr] = s.tail
