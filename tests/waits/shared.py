"""Events that one process makes and another one opens."""


class Opened:
    """Another process's event under this one's own handle."""
    def __init__(self, handle, origin):
        self.handle, self.origin, self.number = handle, origin, 10

    done = property(lambda self: self.origin.done)
    corr = property(lambda self: self.origin.corr)
    stream = property(lambda self: self.origin.stream)
    past = property(lambda self: self.origin.past)
    sync_id = property(lambda self: 0)


class Shared:
    def start_shared(self):
        self.partner = None  # the program whose events this one opens
        self.exported, self.opened = [], []

    def shared_acts(self):
        return [self.export_event, self.open_event] + [self.await_opened] * 2

    def export_event(self, t):
        e = self.rng.choice(self.events)
        if self.partner and not any(x.handle == e.handle for x in self.exported):
            self.call(t, "IpcGetEventHandle", {"handle": e.handle * 7 + 1, "event": e.handle}, 1000)
            self.exported.append(e)

    def open_event(self, t):
        theirs = self.partner.exported if self.partner else []
        if len(self.opened) >= len(theirs):
            return
        origin = theirs[len(self.opened)]
        own = Opened((self.pid << 16) + 0xfc00 + len(self.opened) * 16, origin)
        self.call(t, "IpcOpenEventHandle", {"event": own.handle, "handle": origin.handle * 7 + 1}, 1000)
        self.opened.append(own)

    def await_opened(self, t):
        if self.opened:
            self.rng.choice([self.stream_wait, self.event_sync, self.record])(t, self.rng.choice(self.opened))
