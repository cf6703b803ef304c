#!/usr/bin/env python3
"""Random programs whose critical path is known because they are played here: one thread, three streams, events, waits. `assay path`
must spend the same time on the same kernels, and a kernel of another length must change the whole as playing it again does.
usage: test_programs.py [PROGRAMS [SEED]]"""
import json
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

# ns: from a launch to its work, from work to the next, from work to the return of who waits for it, and of who need not
LATENCY, GAP, RETURN, BARE = 4000, 1500, 6000, 2000
MAIN = 15  # not the default stream: which others wait for that is not in such a trace


class Done:
    """When it was over, and how much of the path up to there was which kernel."""
    def __init__(self, end, on=None):
        self.end, self.on = end, on or {}

    def then(self, ns, name=None):
        on = {**self.on, name: self.on.get(name, 0) + ns} if name else self.on
        return Done(self.end + ns, on)


def latest(of):
    return max((d for d in of if d), key=lambda d: d.end, default=None)


def choose(rng):
    """What a program does, with lengths. Every one begins with something of each kind, for the replay to learn what is usual."""
    streams = [MAIN, 13, 14][:rng.randrange(1, 4)]
    doings = []
    for i in range(rng.randrange(6, 30)):
        what = rng.choices(["launch", "join", "stream", "think"], [60, 15 if len(streams) > 1 else 0, 10, 15])[0]
        doings.append((what, {"launch": lambda: (rng.choice(streams), int(10 ** rng.uniform(3.5, 5.2)), f"kernel_{i}"),
                              "join": lambda: tuple(rng.sample(streams, 2)),
                              "stream": lambda: (rng.choice(streams),),
                              "think": lambda: (rng.randrange(1000, 60000),)}[what]()))
    usual = [("launch", (MAIN, 9000, "first")), ("launch", (MAIN, 9000, "second")), ("device", ()), ("device", ())]
    return usual + doings + [("launch", (MAIN, 5000, "last")), ("device", ())]


class Machine:
    def __init__(self, doings, scale):
        self.host, self.tail, self.rows, self.corr, self.scale = Done(0), {}, [], 0, scale
        for what, of in doings:
            getattr(self, what)(*of)

    def row(self, cat, name, ts, dur, **args):
        self.rows.append({"ph": "X", "cat": cat, "name": name, "pid": 1 if cat == "cuda_runtime" else 0, "ts": ts / 1000, "dur": dur / 1000,
                          "tid": 1 if cat == "cuda_runtime" else abs(args["stream"]), "args": {**args, "device": 0, "context": 1}})

    def call(self, name, dur):
        self.corr += 1
        self.row("cuda_runtime", name, self.host.end, dur, correlation=self.corr)
        began, self.host = self.host, self.host.then(dur)
        return began

    def launch(self, stream, dur, name):
        began, dur = self.call("cudaLaunchKernel", 3000), int(dur * self.scale.get(name, 1))
        before = self.tail.get(stream)
        start = latest([began.then(LATENCY), before and before.then(GAP)])
        self.row("kernel", name, start.end, dur, stream=stream, correlation=self.corr)
        self.tail[stream] = start.then(dur, name)

    def join(self, ahead, behind):
        """One stream waits for what another one has done."""
        self.call("cudaEventRecord", 1000)
        record, began = self.corr, self.call("cudaStreamWaitEvent", 1000)
        self.row("cuda_sync", "Stream Wait Event", began.end, 500, stream=behind, correlation=self.corr, wait_on_stream=ahead,
                 wait_on_cuda_event_record_corr_id=record, wait_on_cuda_event_id=record)
        self.tail[behind] = latest([self.tail.get(behind), self.tail.get(ahead)])

    def wait(self, call, kind, stream, done):
        running = done and done.end > self.host.end
        over = latest([self.host.then(BARE), running and done.then(RETURN)])
        began = self.call(call, over.end - self.host.end)
        self.row("cuda_sync", kind, began.end, over.end - began.end, stream=stream, correlation=self.corr)
        self.host = over

    def stream(self, stream):
        self.wait("cudaStreamSynchronize", "Stream Sync", stream, self.tail.get(stream))

    def device(self):
        self.wait("cudaDeviceSynchronize", "Context Sync", -1, latest(self.tail.values()))

    def think(self, ns):
        self.host = self.host.then(ns)

    def length(self):
        return round((max(r["ts"] + r["dur"] for r in self.rows) - min(r["ts"] for r in self.rows)) * 1000)


def path_of(file, *args):
    code, out, err = tap.run("path", "--json", "--step", "all", *args, file)
    return json.loads(out) if code == 0 else {"error": err}


def on_kernels(found):
    return {k["name"]: k["path_ns"] for k in found.get("kernels", []) if k["path_ns"]}


def is_whole(found):
    """Stretches follow each other and add up."""
    at = found["start_ns"]
    for s in found["segments"]:
        if s["start_ns"] != at:
            return False
        at += s["dur_ns"]
    return at == found["start_ns"] + found["measured_ns"] and sum(found["classes_ns"].values()) == found["measured_ns"]


def check(file, rng, wrong):
    doings = choose(rng)
    played = Machine(doings, {})
    file.write_text(json.dumps({"schemaVersion": 1, "traceEvents": played.rows}))
    found = path_of(file, "--top", "0")
    if "error" in found or found["measured_ns"] != played.length() or not is_whole(found):
        wrong["length"].append((doings, found.get("error")))
    elif on_kernels(found) != {name: ns for name, ns in played.host.on.items() if ns}:
        wrong["path"].append((on_kernels(found), played.host.on))
    name, factor = rng.choice([of[2] for what, of in doings if what == "launch"]), rng.choice([0, 0.5, 3])
    changed = path_of(file, "--what-if", f"{name}={factor}x" if factor else f"{name}=0")
    want = Machine(doings, {name: factor}).length()
    got = changed.get("what_if", {}).get("predicted_ns", -1)
    if abs(got - want) > RETURN:  # what a wait that turns short or long takes is learned, roughly
        wrong["what-if"].append((name, factor, played.length(), want, got))


def main():
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 18)
    wrong = {"length": [], "path": [], "what-if": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(programs):
            check(pathlib.Path(folder) / "trace.json", rng, wrong)
    tap.ok(f"the path of {programs} programs is as long as they took, without holes", not wrong["length"], wrong["length"][:1])
    tap.ok(f"the path of {programs} programs is over the kernels that they hung on", not wrong["path"], wrong["path"][:3])
    tap.ok(f"what-if of {programs} programs is what playing them again gives", not wrong["what-if"], wrong["what-if"][:5])
    tap.done()


if __name__ == "__main__":
    main()
