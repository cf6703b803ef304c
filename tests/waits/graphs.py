"""Graphs of machine.py's programs: made of nodes or captured, with child graphs, events inside, and updates."""


HIDDEN_NODES = ["GraphAddHostNode", "GraphAddNode", "GraphAddBatchMemOpNode", "GraphAddExternalSemaphoresWaitNode"]


class Graphs:
    def start_graphs(self):
        self.graphs = [self.make_graph(i) for i in range(2)]
        if self.rng.random() < 0.4:  # the second one is a child of the first, too
            self.graphs[0]["child"] = self.graphs[1]
        self.captures = 0

    def graph_acts(self):
        return [self.launch_graph] * 2 + [self.capture_graph, self.update_graph]

    def make_graph(self, i):
        """Kernels one after another or at the same time, and perhaps an event that it records or waits for."""
        node = None if self.cuda and not self.capture else self.rng.choice([None, None, "record", "wait"])
        handle = (self.pid << 16) + 0xe000 + i * 0x100
        # what no profiler shows as work, at its end; a recording that begins later does not show that it is there
        hidden = self.rng.choice(HIDDEN_NODES) if not self.late and self.rng.random() < 0.15 else None
        return {"graph": handle, "handle": handle + 1, "node": node, "event": self.rng.randrange(3),
                "after": self.rng.randrange(3), "child": None, "made": True, "hidden": hidden, "over": None,
                "kernels": [(int(10 ** self.rng.uniform(3.5, 5.5)), self.rng.random() < 0.5)
                            for _ in range(self.rng.randrange(0 if hidden else 1, 5))]}

    def make_graphs_known(self):
        for g in reversed(self.graphs):
            if g["node"]:
                name = "GraphAddEventRecordNode" if g["node"] == "record" else "GraphAddEventWaitNode"
                self.call(0, name, {"graph": g["graph"], "event": self.events[g["event"]].handle}, 1000)
            if g["hidden"]:
                self.hiding = True
                self.call(0, g["hidden"], {"graph": g["graph"]}, 1000)
                self.hiding = False
            if g["child"]:
                self.call(0, "GraphAddChildGraphNode", {"graph": g["graph"], "childGraph": g["child"]["graph"]}, 1000)
            self.call(0, "GraphInstantiate", {"graphExec": g["handle"], "graph": g["graph"]}, 1000)
        for g in self.graphs:
            g["events"] = {id(part): self.events[part["event"]] for part in self.parts_of(g)}

    def parts_of(self, g):
        return [g["child"], g] if g["child"] else [g]

    def run_nodes(self, s, corr, start, part, event, done, awaited):
        """One graph, or a child of one, from that time on. Gives when it is over; events it records and awaits are those it was
        made with."""
        if part["node"] == "wait" and awaited:
            start = max(start, awaited.end + 1000)
        for i, (dur, joined) in enumerate(part["kernels"]):
            name = self.new_name()
            self.see_work(name, self.branch_of(s) if i and part["kernels"][i - 1][1] else s, corr, start, dur)
            done = done.join(type(done)(start + dur, name))
            if part["node"] == "record" and i == min(part["after"], len(part["kernels"]) - 1):
                self.note_record(event, corr, s, type(done)(start + dur, name))
            start += 0 if joined else dur + 700
        if part["hidden"]:
            self.kernels += 1
            done = type(done)(max(start, done.end) + int(10 ** self.rng.uniform(3, 5)), f"node {self.kernels} of {corr}")
        return done

    def branch_of(self, s):
        """CUDA runs what is beside other nodes in a stream of its own, and shows it there."""
        if not self.cuda or self.rng.random() < 0.7:
            return s
        return type(s)(s.device, 900 + s.device, 0, False)

    def launch_graph(self, t):
        """One command that ends with its last kernel; events inside are recorded and awaited on the way."""
        s, g = self.pick(t), self.rng.choice(self.graphs)
        parts = self.parts_of(g)
        events = [g["events"][id(part)] for part in parts]
        in_vain = self.rng.random() < self.IN_VAIN
        if any(e not in self.events or (part["node"] == "wait" and not (e.done or in_vain)) for part, e in zip(parts, events)):
            return
        name, args = self.spelled(s, "GraphLaunch", {"graphExec": g["handle"]})
        corr, at = self.call(t, name, args, self.rng.randrange(3000, 9000), stream=s)
        awaited = [e.done for e in events]
        start, done, s.ran = self.start_after(s, at), type(s.tail)(), True
        start = max(start, g["over"] or 0)  # one launch of it at a time
        for part, e, before in zip(parts, events, awaited):
            done = self.run_nodes(s, corr, max(start, done.end + 500), part, e, done, before)
            if part["node"] == "wait":  # for an event that was never recorded: for nothing
                self.inside.setdefault(corr, set()).add(before or type(done)())
        s.tail, g["over"] = done, done.end

    def capture_graph(self, t):
        """What is put into a stream that captures is not done now, nor is what joins it; then the graph is launched, perhaps
        twice, into any stream. What the thread launches into others meanwhile is done; where calls do not say their stream and work
        is lost, nobody could tell it from what is captured."""
        own = [s for s in self.streams if s.device == self.current[t] and s.handle > 2]
        s, other = self.rng.choice(own), self.rng.choice(own)
        inside = [(self.pid << 16) + 0xf800 + k * 16 for k in range(2)]
        self.captures += 1
        graph = (self.pid << 16) + 0xc000 + self.captures * 16
        # a recording that was off does not show that it is there
        hides = self.rng.choice(["LaunchHostFunc", "MemPrefetchAsync"]) if self.rng.random() < 0.2 and not self.is_off(self.threads[t]) else None
        self.hiding = hides
        self.call(t, "StreamBeginCapture", {"stream": s.handle, "mode": 0}, 1000, stream=s)
        self.call(t, "LaunchKernel", {"stream": s.handle}, 2000, stream=s)
        beside = [o for o in own if o not in (s, other)]
        told = self.capture or not self.cuda or not self.lossy
        if beside and told and self.rng.random() < 0.4:
            self.launch_into(t, self.rng.choice(beside))
        if other is not s:
            for name, where, e in [("EventRecord", s, 0), ("StreamWaitEvent", other, 0), ("LaunchKernel", other, None),
                                   ("EventRecord", other, 1), ("StreamWaitEvent", s, 1)]:
                args = {"stream": where.handle, **({} if e is None else {"event": inside[e]}),
                        **({"flags": 0} if name == "StreamWaitEvent" else {})}
                self.call(t, name, args, 1200, stream=where)
        record = self.rng.choice(self.events) if self.rng.random() < 0.3 and (self.capture or not self.cuda) else None
        if record:
            self.call(t, "EventRecordWithFlags", {"event": record.handle, "stream": s.handle, "flags": 1}, 1200, stream=s)
        awaited = self.rng.choice(self.events) if self.rng.random() < 0.3 and (self.capture or not self.cuda) else None
        if awaited and awaited.done and awaited is not record:
            self.call(t, "StreamWaitEvent", {"event": awaited.handle, "stream": s.handle, "flags": 1}, 1200, stream=s)
        else:
            awaited = None
        if hides:
            self.call(t, hides, {"stream": s.handle}, 1200, stream=s)
        self.hiding = False
        self.call(t, "StreamEndCapture", {"stream": s.handle, "graph": graph}, 1000, stream=s)
        self.call(t, "GraphInstantiate", {"graphExec": graph + 1, "graph": graph}, 1000)
        for into in [s] + self.rng.sample(own, 1) if self.rng.random() < 0.3 else [self.rng.choice(own)]:
            self.launch_captured(t, into, graph, record, awaited, hides)
        self.meet(t)  # nobody destroys a stream that captures

    def launch_into(self, t, s):
        corr, at = self.call(t, "LaunchKernel", {"stream": s.handle}, 3000, stream=s)
        self.run_kernel(s, corr, at)

    def launch_captured(self, t, s, graph, record, awaited, hides):
        corr, at = self.call(t, "GraphLaunch", {"graphExec": graph + 1, "stream": s.handle}, 5000, stream=s)
        start, s.ran = self.start_after(s, at), True
        if awaited:
            self.inside.setdefault(corr, set()).add(awaited.done)
            start = max(start, awaited.done.end + 1000)
        dur, name = int(10 ** self.rng.uniform(3.5, 5.5)), self.new_name()
        self.see_work(name, s, corr, start, dur)
        s.tail = type(s.tail)(start + dur, name)
        if record:
            self.note_record(record, corr, s, s.tail)
        if hides:
            s.tail = type(s.tail)(s.tail.end + int(10 ** self.rng.uniform(3, 5)), f"{hides} of {corr}")

    def update_graph(self, t):
        """The event of a node is another one from here on."""
        g = self.rng.choice(self.graphs)
        if not g["node"]:
            return
        e = self.rng.choice(self.events)
        name = "Record" if g["node"] == "record" else "Wait"
        self.call(t, f"GraphExecEvent{name}NodeSetEvent",
                  {"graphExec": g["handle"], "node": g["graph"] + 8, "event": e.handle}, 800)
        g["events"][id(g)] = e
