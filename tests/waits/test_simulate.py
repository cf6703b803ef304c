#!/usr/bin/env python3
"""A GPU with streams, events, default-stream rules and several devices runs random programs; `assay waits` must not
call a wait exact whose producer is another. Knows nothing of the resolver: it plays the timeline and notes, of every
command, the kernel that ended last among all it stood behind.
usage: test_simulate.py [PROGRAMS [SEED]]"""
import json
import os
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

BATCH = 400  # programs a file: each is a process of its own


class Done:
    """When a command is over, and the kernel that ended last before that."""
    def __init__(self, end=-1, kernel=None):
        self.end, self.kernel = end, kernel

    def join(self, other):
        return other if other.end > self.end else self


class Stream:
    def __init__(self, device, number, handle, blocking, legacy=False):
        self.device, self.number, self.handle = device, number, handle
        self.blocking, self.legacy, self.tail, self.ran = blocking, legacy, Done(), False


class Program:
    """One process. kind hip: calls with handles. kind cuda: sync rows, which name records, and no handles."""
    def __init__(self, rng, pid, base, kind, tells_device):
        self.rng, self.pid, self.kind, self.rows, self.truth = rng, pid, kind, [], {}
        self.base, self.corr = base, 0
        self.devices = rng.choice([1, 1, 2])
        self.threads = [base + rng.randrange(1000) for _ in range(rng.choice([1, 1, 2]))]
        self.current = [0] * len(self.threads)
        self.tells_device = tells_device
        self.tells_creation = kind == "hip" and rng.random() < 0.7
        self.lossy = rng.random() < 0.2
        self.events = {}
        self.kernels, self.value, self.written = 0, 0, []
        self.streams = [Stream(d, 7 if kind == "cuda" else 0, 0, False, True) for d in range(self.devices)]
        for d in range(self.devices):
            for i in range(rng.randrange(1, 4)):
                n = (13 if kind == "cuda" else 1) + i
                self.streams.append(Stream(d, n, (pid << 16) + (d << 12) + (i + 1) * 256, rng.random() < 0.5))

    # what is written

    def call(self, t, name, args, dur, shown=True):
        self.corr += 1
        corr = self.pid * 1000 + self.corr
        thread = self.threads[t]
        a = {"correlation": corr, ("cbid" if self.kind == "cuda" else "cid"): 1}
        if self.kind == "hip":
            a.update(args)
        if shown:
            self.rows.append({"ph": "X", "cat": "cuda_runtime", "name": self.kind + name, "pid": self.pid,
                              "tid": self.pid * 10 + t, "ts": thread / 1000, "dur": dur / 1000, "args": a})
        self.threads[t] = thread + dur
        return corr, thread

    def sync_row(self, kind, corr, device, stream, enter, dur, record=None):
        if self.kind != "cuda":
            return
        a = {"cuda_sync_kind": kind, "stream": stream, "correlation": corr, "device": device, "context": device + 1}
        if record:
            a.update({"wait_on_stream": record[1].number, "wait_on_cuda_event_record_corr_id": record[0],
                      "wait_on_cuda_event_id": record[3]})
        self.rows.append({"ph": "X", "cat": "cuda_sync", "name": kind, "pid": device, "tid": abs(stream),
                          "ts": enter / 1000, "dur": dur / 1000, "args": a})

    # what happens

    def loses(self):
        return self.lossy and self.rng.random() < 0.1

    def enter(self, s):
        """A command enters a stream: what it stands behind."""
        if s.legacy:
            for o in self.streams:
                if o.device == s.device and o.blocking:
                    s.tail = s.tail.join(o.tail)
        elif s.blocking:
            s.tail = s.tail.join(self.streams[s.device].tail)
        return s.tail

    def awaited(self, s):
        done = s.tail
        for o in self.streams:
            if s.legacy and o.device == s.device and o.blocking:
                done = done.join(o.tail)
        return done

    def launch(self, t):
        s = self.pick(t)
        self.kernels += 1
        name = f"k{self.pid}_{self.kernels}"
        corr, at = self.call(t, "LaunchKernel", {"hip_stream": hex(s.handle)}, self.rng.randrange(2000, 8000))
        start = max(at + self.rng.randrange(3000, 9000), self.enter(s).end + self.rng.randrange(500, 3000))
        dur = int(10 ** self.rng.uniform(3.5, 6))
        s.tail = Done(start + dur, name)
        s.ran = True
        if self.loses():
            return
        self.kernel_row(name, s, corr, start, dur)

    def kernel_row(self, name, s, corr, start, dur):
        self.rows.append({"ph": "X", "cat": "kernel", "name": name, "pid": s.device, "tid": s.number,
                          "ts": start / 1000, "dur": dur / 1000,
                          "args": {"device": s.device, "stream": s.number, "correlation": corr}})

    def graph(self, t):
        """Kernels of one launch, some at the same time: one command that ends with the last of them."""
        s = self.pick(t)
        corr, at = self.call(t, "GraphLaunch", {"hip_stream": hex(s.handle)}, self.rng.randrange(3000, 9000))
        start = max(at + self.rng.randrange(3000, 9000), self.enter(s).end + self.rng.randrange(500, 3000))
        done, s.ran = Done(), True
        for _ in range(self.rng.randrange(1, 5)):
            self.kernels += 1
            name, dur = f"k{self.pid}_{self.kernels}", int(10 ** self.rng.uniform(3.5, 5.5))
            self.kernel_row(name, s, corr, start, dur)
            done = done.join(Done(start + dur, name))
            start += self.rng.choice([0, dur + 700])
        s.tail = done

    def write_value(self, t):
        """One stream writes a word, so that its values rise in the order of time."""
        s = self.streams[-1]
        if s.device != self.current[t]:
            return
        self.value += 1
        self.call(t, "StreamWriteValue64", {"hip_stream": hex(s.handle), "ptr": hex(self.event(9)), "value": self.value,
                                            "flags": 0, "retval": "0"}, 1500, not self.loses())
        self.written.append(self.enter(s))

    def wait_value(self, t):
        if not self.value:
            return
        s, value = self.pick(t), self.rng.randrange(1, self.value + 1)
        corr, _ = self.call(t, "StreamWaitValue64", {"hip_stream": hex(s.handle), "ptr": hex(self.event(9)), "value": value,
                                                     "flags": 0, "mask": 2 ** 64 - 1, "retval": "0"}, 1500)
        self.truth[corr] = self.written[value - 1].kernel
        self.enter(s)
        s.tail = s.tail.join(self.written[value - 1])

    def record(self, t):
        s, e = self.pick(t), self.rng.randrange(3)
        failed = self.kind == "hip" and self.rng.random() < 0.05
        corr, _ = self.call(t, "EventRecord", {"hip_stream": hex(s.handle), "hip_event": hex(self.event(e)),
                                               "retval": "1" if failed else "0"}, 1500, not self.loses())
        if not failed:
            self.events[e] = (corr, s, self.enter(s), e)

    def event(self, e):
        return (self.pid << 16) + 0xf000 + e * 16

    def stream_wait(self, t):
        s, e = self.rng.choice(self.streams), self.rng.randrange(3)
        if e not in self.events:
            return
        rec = self.events[e]
        if s.handle == 0:
            s = self.streams[self.current[t]]
        shown = not self.loses()
        corr, at = self.call(t, "StreamWaitEvent", {"hip_stream": hex(s.handle), "hip_event": hex(self.event(e)),
                                                    "retval": "0"}, 1500, shown)
        if shown or self.rng.random() < 0.5:
            self.sync_row("Stream Wait Event", corr, s.device, s.number, at, 1000, rec)
        self.truth[corr] = rec[2].kernel
        self.enter(s)
        s.tail = s.tail.join(rec[2])

    def block(self, t, name, args, done):
        at = self.threads[t]
        over = max(at + 1000, done.end) + self.rng.randrange(2000, 9000)
        corr, at = self.call(t, name, args, over - at)
        self.truth[corr] = done.kernel
        return corr, at, over - at

    def event_sync(self, t):
        e = self.rng.randrange(3)
        if e not in self.events:
            return
        rec = self.events[e]
        corr, at, dur = self.block(t, "EventSynchronize", {"hip_event": hex(self.event(e)), "retval": "0"}, rec[2])
        self.sync_row("Event Sync", corr, rec[1].device, -1, at, dur, rec)

    def stream_sync(self, t):
        s = self.pick(t)
        corr, at, dur = self.block(t, "StreamSynchronize", {"hip_stream": hex(s.handle), "retval": "0"},
                                   self.awaited(s))
        self.sync_row("Stream Sync", corr, s.device, s.number, at, dur)

    def device_sync(self, t):
        done = Done()
        for s in self.streams:
            if s.device == self.current[t]:
                done = done.join(s.tail)
        corr, at, dur = self.block(t, "DeviceSynchronize", {"retval": "0"}, done)
        self.sync_row("Context Sync", corr, self.current[t], -1, at, dur)

    def set_device(self, t, device=None):
        self.current[t] = self.rng.randrange(self.devices) if device is None else device
        self.call(t, "SetDevice", {"deviceId": self.current[t]}, 500, self.tells_device and self.kind == "hip")

    def hide_idle_waits(self):
        """Kineto writes no waits of streams without work."""
        if self.kind == "cuda" and self.rng.random() < 0.5:
            idle = {(s.device, s.number) for s in self.streams if not s.ran}
            self.rows = [r for r in self.rows if r["name"] != "Stream Wait Event" or (r["pid"], r["tid"]) not in idle]

    def pick(self, t):
        return self.rng.choice([s for s in self.streams if s.device == self.current[t]])

    def play(self):
        for s in self.streams if self.tells_creation else []:
            if s.device != self.current[0]:
                self.set_device(0, s.device)
            if not s.legacy:
                flags = {"hip_stream": hex(s.handle), "flags": 0 if s.blocking else 1, "retval": "0"}
                self.call(0, "StreamCreateWithFlags", flags, 1000)
        acts = [self.launch] * 6 + [self.record] * 3 + [self.stream_wait] * 3 + [self.event_sync, self.stream_sync,
                                                                              self.device_sync, self.set_device]
        acts += [self.graph] * 2 + ([self.write_value, self.wait_value] if self.kind == "hip" else [])
        for _ in range(self.rng.randrange(10, 40)):
            t = min(range(len(self.threads)), key=lambda i: self.threads[i])
            self.threads[t] += self.rng.randrange(500, 20000)
            t = min(range(len(self.threads)), key=lambda i: self.threads[i])
            self.rng.choice(acts)(t)
        self.hide_idle_waits()
        return max(self.threads + [s.tail.end for s in self.streams])


def check(first, n, rng, seen):
    rows, truth, kinds, base = [], {}, {}, 10 ** 9
    kind, tells_device = rng.choice(["hip", "cuda"]), rng.random() < 0.5
    for pid in range(first, first + n):
        p = Program(rng, pid, base, kind, tells_device)
        base = p.play() + 10 ** 6
        rows += p.rows
        truth.update(p.truth)
    rng.shuffle(rows)  # delivery is in no order
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as f:
        json.dump({"schemaVersion": 1, "traceEvents": rows}, f)
    code, out, err = tap.run("waits", "--json", f.name)
    wrong = []
    for w in json.loads(out)["waits"] if not code else []:
        right = w["producer_kernel"] == truth.get(w["correlation"])
        key = (w["class"], right)
        seen[key] = seen.get(key, 0) + 1
        if w["class"] == "exact" and not right:
            wrong.append((kind, w["kind"], w["correlation"], w["producer_kernel"], truth.get(w["correlation"])))
    if wrong and os.environ.get("KEEP"):
        print("#", f.name, wrong[:3])
    else:
        os.unlink(f.name)
    return wrong if not code else [err]


def main():
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 18)
    seen, wrong = {}, []
    for first in range(1, programs + 1, BATCH):
        wrong += check(first, min(BATCH, programs + 1 - first), rng, seen)
    total = sum(seen.values()) or 1
    exact, right = seen.get(("exact", True), 0), sum(n for (_, r), n in seen.items() if r)
    print(f"# {programs} programs, {total} waits, {100 * exact / total:.1f} % exact, {100 * right / total:.1f} % right")
    print("# " + ", ".join(f"{c} {'right' if r else 'wrong'} {n}" for (c, r), n in sorted(seen.items())))
    tap.ok(f"no wait of {programs} simulated programs is exact and wrong", not wrong and exact > total / 10, str(wrong[:5]))
    tap.done()


if __name__ == "__main__":
    main()
