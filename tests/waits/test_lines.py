#!/usr/bin/env python3
"""What docs/waits.md says, line by line: a trace made by hand for each, and the wait that it speaks of. A line that is no longer
in the document fails, too."""
import json
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import forms
import machine
import tap

US = 1000
A, B = 0xe100, 0xe200  # events


class Trace:
    """What a profiler saw of a process. Calls follow each other by 10 us, and have numbers that follow each other."""
    def __init__(self, form="rocprof_json", devices=1):
        self.form, self.devices, self.pid, self.cuda = form, devices, 7, False
        self.calls, self.works, self.barriers, self.syncs, self.records = [], [], [], [], []
        self.streams, self.gone, self.off, self.made, self.vague = [], [], [], {}, set()
        self.tells_creation, self.lost, self.began, self.threads = True, 0, 0, [0, 0]
        self.now, self.corr = 100 * US, 0
        self.chosen = [0, 0]  # by thread
        self.default = [self.stream(handle=0, device=d, legacy=True) for d in range(devices)]

    def stream(self, handle=None, device=0, legacy=False, made=None, blocking=False):
        """made: its creation is recorded."""
        number = len(self.streams)
        s = machine.Stream(device, 0 if legacy else number, 0x100 * number if handle is None else handle, blocking, legacy)
        self.streams.append(s)
        if made:
            self.call("StreamCreateWithFlags", stream=s, flags=0 if blocking else 1)
        return s

    def call(self, name, dur=1, at=None, thread=0, status=0, stream=None, **args):
        """Times in microseconds. Gives the call's number."""
        self.corr += 1
        self.now = at * US if at else self.now + 10 * US
        args = {**args, **({"stream": stream.handle} if stream else {})}
        if name == "SetDevice":
            self.chosen[thread] = args["deviceId"]
        self.calls.append(machine.Call(name, thread, self.corr, self.now, dur * US, args, status, self.chosen[thread], stream, ()))
        return self.corr

    def lose(self):
        """A call that was not recorded."""
        self.corr += 1

    def work(self, s, start, end, corr, copy=None):
        s.ran = True
        self.works.append(machine.Work(f"k{len(self.works)}", s, corr, start * US, (end - start) * US, copy))

    def launch(self, s, start, end, **how):
        corr = self.call("LaunchKernel", stream=s, **how)
        self.work(s, start, end, corr)
        return corr

    def record(self, s, event=A, **how):
        return self.call("EventRecord", stream=s, event=event, **how)

    def wait(self, s, event=A, **how):
        return self.call("StreamWaitEvent", stream=s, event=event, flags=0, **how)

    def sync(self, s, end=None, **how):
        """A thread waits for a stream, until then."""
        return self.until("StreamSynchronize", end, stream=s, **how)

    def until(self, name, end, **args):
        at = args.get("at") or self.now // US + 10
        return self.call(name, dur=end - at if end else 1, **args)

    def barrier(self, waits, corr, event, s, start, end):
        self.barriers.append((waits, corr, event, s, start * US, end * US, s.queue))

    def waits(self):
        with tempfile.TemporaryDirectory() as folder:
            path = forms.FORMS[self.form].write([self], random.Random(1), pathlib.Path(folder))
            code, out, err = tap.run("waits", "--json", path)
        return json.loads(out)["waits"] if not code else err


LINES = []  # (what the document says, trace)


def line(text):
    def keep(make):
        LINES.append((text, make))
        return make
    return keep


# Each gives the trace, the number of a call, and what is to be said of it: class, doubt, number of the work's call. Without class: it
# is no wait.

@line("the recording is known to hold every call; stream and device synchronisation name what they wait for themselves")
def whole():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.record(s)
    return t, t.wait(other), "exact", None, k


@line("| `order_of_calls` | only the order of calls says which record was met")
def order_of_calls():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.record(s)
    t.lose()
    return t, t.wait(other), "likely", "order_of_calls", k


@line("| `uncounted_losses` | the same recording shows work that a lost call may have put in front of the wait, or taken away |")
def uncounted_losses():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.launch(other, 150, 405)
    t.lose()
    return t, t.sync(s, 410), "likely", "uncounted_losses", k


@line("a device synchronisation waited for the device whose work ended last before it returned")
def guessed_place():
    t = Trace(devices=2)
    t.launch(t.stream(device=0), 150, 395)
    k = t.launch(t.stream(device=1), 150, 400)
    return t, t.until("DeviceSynchronize", 405), "likely", "guessed_place", k


@line("a wait for the default stream that ended with its work is taken to have waited for it, and where the two readings differ the class is `likely`")
def default_stream():
    t = Trace()
    t.launch(t.stream(made=True), 150, 395)
    k = t.launch(t.stream(), 150, 400)
    return t, t.sync(t.default[0], 405), "likely", "default_stream", k


@line("| `empty_stream` | a stream in which nothing ran")
def empty_stream():
    t = Trace()
    t.launch(t.default[0], 150, 400)
    return t, t.sync(t.stream()), "likely", "empty_stream", None


@line("| `unseen_work` | a launch is recorded, its work is not |")
def unseen_work():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.call("LaunchKernel", stream=s)
    return t, t.sync(s, 405), "likely", "unseen_work", k


def put(name, dur=1, **args):
    """Something else enters the stream behind its kernel."""
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 395)
    t.call(name, stream=s, dur=dur, **args)
    return t, t.sync(s, 402), k


@line("a fill, memory moved ahead of its use")
def prefetch():
    t, sync, k = put("MemPrefetchAsync")
    return t, sync, "likely", "unseen_work", k


@line("or attached to a stream")
def attached():
    t, sync, k = put("StreamAttachMemAsync")
    return t, sync, "likely", "unseen_work", k


@line("of a fill in a call of 20 us or less only `likely`")
def short_fill():
    """Its work is over before the call is, which took as long anyway."""
    t = Trace()
    fill = t.call("Memset", dur=8, at=150, stream=t.default[0], size=64)
    t.work(t.default[0], 154, 157, fill)
    return t, fill, "likely", "told_by_time", fill


@line("of a fill in a call of 20 us or less only `likely`")
def long_fill():
    t = Trace()
    fill = t.call("Memset", dur=80, at=150, stream=t.default[0], size=64)
    t.work(t.default[0], 154, 227, fill)
    return t, fill, "exact", None, fill


@line("a capture that is not seen to end may be over at any time: waits of its stream are `lost`")
def capture_without_end():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    t.call("StreamBeginCapture", stream=s, mode=0)
    t.launch(other, 150, 400)
    t.lose()
    t.record(other)
    return t, t.wait(s), "lost", None, None


@line("one without work counts if its call took 2 us or more")
def fill():
    t, sync, k = put("MemsetAsync", 4)
    return t, sync, "likely", "unseen_work", k


@line("Fills of no bytes have no work")
def fill_of_nothing():
    t, sync, k = put("MemsetAsync", 1)
    return t, sync, "exact", None, k


def hidden(*calls):
    """A graph whose kernels are over when the stream is waited for, or nearly so."""
    t = Trace()
    s = t.stream(made=True)
    for name in calls:
        t.call(name, stream=s, graph=0x4000)
    t.call("GraphInstantiate", graphExec=0x4001, graph=0x4000)
    g = t.call("GraphLaunch", stream=s, graphExec=0x4001)
    for start, end in (250, 300), (310, 380):
        t.work(s, start, end, g)
    return t, t.sync(s, 402), g


@line("A graph may end with what no profiler shows as work once a call has put such a thing into one")
def hidden_by_node():
    t, sync, g = hidden("GraphAddHostNode")
    return t, sync, "likely", "unseen_work", g


@line("(host functions, memory operations, semaphores, nodes of any kind)")
def hidden_by_capture():
    t, sync, g = hidden("StreamBeginCapture", "LaunchKernel", "LaunchHostFunc", "StreamEndCapture")
    return t, sync, "likely", "unseen_work", g


@line("so may work whose call was lost then")
def hidden_by_lost_launch():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    t.launch(other, 135, 140)
    t.launch(s, 145, 150)
    t.call("GraphAddHostNode", graph=0x4000)
    t.lose()
    t.work(s, 250, 380, t.corr)
    return t, t.sync(s, 402), "likely", "unseen_work", t.corr - 1


@line("A graph launch is one work that ends with its last kernel.")
def hides_nothing():
    t, sync, g = hidden("StreamBeginCapture", "LaunchKernel", "StreamEndCapture", "GraphAddKernelNode")
    return t, sync, "exact", None, g


@line("A copy between devices that is not asynchronous is in turn with all streams of both")
def peer_copy():
    t = Trace("capture_hip", devices=2)
    other = t.stream(device=1, made=True)
    k = t.launch(other, 180, 190)
    copy = t.call("MemcpyPeer", stream=t.default[0])
    t.work(t.default[0], 215, 320, copy, copy=(0, 1))
    t.record(other)
    return t, t.until("EventSynchronize", 324, event=A), "likely", "unseen_work", k


def turn(name, form="capture_cuda", **args):
    """A stream of the other device has nothing of its own behind the copy."""
    t = Trace(form, devices=2)
    t.cuda = "cuda" in form
    other = t.stream(device=1, made=True)
    t.call("SetDevice", deviceId=1)
    k = t.launch(other, 150, 160)
    t.call("SetDevice", deviceId=0)
    copy = t.call(name, stream=t.default[0], **args)
    t.work(t.default[0], 175, 220, copy, copy=(0, 1))
    t.record(other)
    return t, t.until("EventSynchronize", 224, event=A), k


@line("in turn with all streams of both, whatever the name of its call")
def peer_copy_of_blocks():
    t, sync, k = turn("Memcpy3DPeer")
    return t, sync, "likely", "unseen_work", k


@line("in turn with all streams of both, whatever the name of its call")
def copy_between_devices():
    t, sync, k = turn("Memcpy", kind=3)
    return t, sync, "likely", "unseen_work", k


@line("A copy that names its stream is in turn with that alone.")
def copy_of_stream():
    t, sync, k = turn("MemcpyWithStream", "capture_hip", kind=3)
    return t, sync, "exact", None, k


@line("in turn with all streams of both, whatever the name of its call")
def copy_in_no_turn():
    t, sync, k = turn("MemcpyPeerAsync", srcDevice=0, dstDevice=1)
    return t, sync, "exact", None, k


def pushed(form, kernel=True, made=True):
    """A copy to device 1, in a stream of device 0; device 1 has work of its own."""
    t = Trace(form, devices=2)
    s = t.stream(device=0, made=made)
    if kernel:
        t.launch(s, 125, 130)
    copy = t.call("MemcpyPeerAsync", stream=s, srcDevice=0, dstDevice=1)
    t.work(s, 150, 500, copy, copy=(0, 1))
    t.call("SetDevice", deviceId=1)
    other = t.stream(device=1, made=True)
    k = t.launch(other, 220, 495)
    return t, s, k


@line("It is in the stream of its number all the same, on the device of that stream's kernels")
def pushed_from_kernels():
    t, _, k = pushed("rocprof_json")
    return t, t.until("DeviceSynchronize", 504), "exact", None, k


@line("or on which it was made")
def pushed_from_where_it_was_made():
    t, _, k = pushed("capture_hip", kernel=False)
    return t, t.until("DeviceSynchronize", 504), "exact", None, k


@line("where nobody knows, nothing is certain until the devices are waited for")
def pushed_from_nobody_knows():
    t, _, k = pushed("capture_hip", kernel=False, made=False)
    return t, t.until("DeviceSynchronize", 504), "likely", "unseen_work", k - 3


@line("A stream in which nothing ran is of the device that its thread had chosen when it was made.")
def made_on_device():
    t = Trace("capture_hip", devices=2)
    s = t.stream(device=0, made=True, blocking=True)
    k = t.launch(t.default[0], 150, 900)
    t.call("SetDevice", deviceId=1)
    t.launch(t.stream(device=1, made=True), 180, 895)
    t.record(s)
    return t, t.until("EventSynchronize", 904, event=A), "exact", None, k


def branches(form):
    """The branch ends last."""
    t = Trace(form)
    t.cuda = True
    s, inner = t.stream(made=True), t.stream()
    g = t.call("GraphLaunch", stream=s, graphExec=0x4001)
    t.work(s, 150, 300, g)
    t.work(inner, 150, 900, g)
    return t, s, g


@line("Where the launch says its stream (our captures) they are in that one")
def branch_of_launch():
    t, s, g = branches("capture_cuda")
    return t, t.sync(s, 904), "exact", None, g


@line("elsewhere each stream that shows a piece of the graph stands behind all of them, and is `likely`")
def branch_of_nobody_knows():
    t, s, g = branches("kineto_cuda")
    t.launch(t.stream(), 160, 895)
    sync = t.sync(s, 904)
    t.syncs.append(machine.Sync("Stream Sync", sync, 0, s.number, t.now, 904 * US - t.now, None))
    return t, sync, "likely", "guessed_place", g


@line("and it is over when work runs that was launched into its stream")
def capture_over():
    t = Trace("capture_hip")
    s, other = t.stream(made=True), t.stream(made=True)
    t.call("StreamBeginCapture", stream=s, mode=0)
    t.lose()
    t.lost = 1
    k = t.launch(s, 180, 400)
    t.record(s)
    t.call("StreamEndCapture", stream=s, graph=0x4000)
    return t, t.wait(other), "likely", "order_of_calls", k


def attributed(form):
    t = Trace(form)
    t.cuda = "cuda" in form
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.launch(t.stream(made=True), 160, 395)
    t.record(s)
    t.work(other, 200, 210, t.call("LaunchKernelExC", stream=other))
    return t, t.until("EventSynchronize", 404, event=A), k


@line("Where nobody tells of attributes (all but our recorder), so is an event recorded before a launch that may have such ones.")
def attributes_told():
    t, sync, k = attributed("capture_cuda")
    return t, sync, "exact", None, k


@line("Where nobody tells of attributes (all but our recorder), so is an event recorded before a launch that may have such ones.")
def attributes_not_told():
    t, sync, k = attributed("rocprof_json")
    return t, sync, "likely", "order_of_calls", k


@line("those of CUDA's attributes while the kernel runs, nobody knows when: `likely`.")
def attribute():
    t = Trace("capture_cuda")
    t.cuda = True
    s = t.stream(made=True)
    k = t.call("LaunchKernelExC", stream=s, launchEvent=A)
    t.work(s, 150, 400, k)
    return t, t.until("EventSynchronize", 175, event=A), "likely", "graph_events", k


@line("(a launch in any order may outlast later ones)")
def in_any_order():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 400)
    for end in 380, 390:
        t.work(s, 170, end, t.call("ExtLaunchKernel", stream=s, startEvent=0, stopEvent=0, flags=1))
    return t, t.sync(s, 402), "exact", None, k


def overtaking(form, name, **args):
    """Behind a kernel whose work was lost."""
    t = Trace(form)
    t.cuda = "cuda" in form
    s, other = t.stream(made=True), t.stream(made=True)
    t.call("LaunchKernel", stream=s)
    k = t.call(name, stream=s, **args)
    t.work(s, 180, 500, k)
    t.record(s)
    return t, t.wait(other), k


@line("A launch in any order (HIP's flag, any launch with CUDA's attributes) may run beside it and makes nothing certain")
def overtaking_by_flag():
    t, wait, k = overtaking("rocprof_json", "ExtLaunchKernel", startEvent=0, stopEvent=0, flags=1)
    return t, wait, "likely", "unseen_work", k


@line("A launch in any order (HIP's flag, any launch with CUDA's attributes) may run beside it and makes nothing certain")
def not_overtaking():
    t, wait, k = overtaking("capture_cuda", "LaunchKernel")
    return t, wait, "exact", None, k


@line("A launch in any order (HIP's flag, any launch with CUDA's attributes) may run beside it and makes nothing certain")
def overtaking_by_attribute():
    t, wait, k = overtaking("capture_cuda", "LaunchKernelExC")
    return t, wait, "likely", "unseen_work", k


def event_of_overtaking(until, **events):
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 180, 508)
    t.work(s, 200, 500, t.call("ExtLaunchKernel", stream=s, **{"startEvent": 0, "stopEvent": 0, **events}, flags=1))
    return t, t.until("EventSynchronize", until, event=A), k


@line("nor is an event that such a launch records, while work before it goes on")
def end_of_overtaking():
    t, sync, k = event_of_overtaking(504, stopEvent=A)
    return t, sync, "likely", "told_by_time", k


@line("nor is an event that such a launch records, while work before it goes on")
def start_of_overtaking():
    t, sync, k = event_of_overtaking(204, startEvent=A)
    return t, sync, "likely", "told_by_time", k


@line("A graph launch is one work that ends with its last kernel.")
def graph_in_any_order():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 400)
    g = t.call("GraphLaunch", stream=s, graphExec=0x4001)
    for start, end in (170, 350), (180, 395):
        t.work(s, start, end, g)
    return t, t.sync(s, 402), "exact", None, k


def for_context(name):
    """Its own stream's work is over when a wait ends with that of another."""
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 130, 395)
    last = t.launch(other, 150, 400)
    t.record(other if "Wait" in name else s)
    t.call(name, event=A)
    return t, s, k, last


@line("An event recorded for a whole context stands behind nobody knows which of its streams.")
def record_for_context():
    t, _, _, _ = for_context("CtxRecordEvent")
    return t, t.until("EventSynchronize", 405, event=A), "unexplained", "time_left_over", None


@line("A record, wait or pool call whose stream is unknown may be in the default stream")
def wait_of_context():
    t, s, k, _ = for_context("CtxWaitEvent")
    return t, t.sync(s, 402), "likely", "guessed_place", k


@line("Whose device a chosen context is, no call says.")
def context_chosen():
    t = Trace(devices=2)
    t.call("SetDevice", deviceId=0)
    t.launch(t.stream(device=0, made=True), 150, 395)
    t.call("CtxSetCurrent", ctx=0x8000)
    k = t.launch(t.stream(device=1, made=True), 170, 400, thread=1)
    return t, t.until("DeviceSynchronize", 402), "likely", "guessed_place", k


@line("The same holds for host functions, of which nobody records when they end")
def host_function():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.call("LaunchHostFunc", stream=s)
    return t, t.sync(s, 405), "likely", "host_function", k


def pool(end):
    """Stream 2 gets memory while work of stream 1 may run that is in front of its return."""
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    t.launch(s, 130, end)
    k = t.launch(other, 145, 150)
    t.call("FreeAsync", stream=s, dev_ptr=0x7000)
    t.call("MallocAsync", stream=other, dev_ptr=0x7000, size=64, at=300)
    return t, t.sync(other), k


@line("a stream may wait for another one that gives back what it gets")
def memory_pool():
    t, sync, k = pool(290)
    return t, sync, "exact", None, k


@line("`MallocAsync` after `FreeAsync`, as long as the work before the latter runs")
def memory_pool_in_use():
    t, sync, k = pool(400)
    return t, sync, "likely", "memory_pool", k


@line("even if that one began later")
def memory_pool_at_once():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    t.launch(s, 130, 400)
    k = t.launch(other, 135, 140)
    t.call("MallocAsync", stream=other, dev_ptr=0x7000, size=64, at=200, dur=10)
    t.call("FreeAsync", stream=s, dev_ptr=0x7000, at=205, thread=1)
    return t, t.sync(other, at=300), "likely", "memory_pool", k


@line("a wait ends with the first write that satisfies its condition")
def memory_word():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.call("StreamWriteValue64", stream=s, ptr=0x9000, value=3, flags=0)
    t.launch(s, 410, 500)
    t.call("StreamWriteValue64", stream=s, ptr=0x9000, value=4, flags=0)
    return t, t.call("StreamWaitValue64", stream=other, ptr=0x9000, value=3, flags=0), "likely", "memory_word", k


@line("another process can record it")
def other_process():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.record(s)
    t.call("IpcGetEventHandle", event=A, handle=0x55)
    return t, t.wait(other), "likely", "other_process", k


@line("and for an event that some graph records, after any graph was launched")
def graph_events():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    t.call("GraphAddEventRecordNode", graph=0x4000, event=A)
    k = t.launch(s, 180, 400)
    t.record(s)
    t.work(other, 200, 395, t.call("GraphLaunch", stream=other, graphExec=0x4001))
    return t, t.until("EventSynchronize", 401, event=A), "likely", "graph_events", k


@line("nor behind a wait for something unknown or a host function, until the stream's next work")
def behind_unknown():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.launch(t.stream(made=True), 150, 395)
    t.wait(s)
    return t, t.sync(s, 401), "likely", "behind_unknown", k


@line("nor behind a wait for something unknown or a host function, until the stream's next work")
def next_work():
    t = Trace()
    s = t.stream(made=True)
    t.launch(s, 150, 400)
    t.wait(s)
    k = t.launch(s, 410, 600)
    return t, t.sync(s, 605), "exact", None, k


@line("until its first wait for a device, only streams with work of their own are certain")
def began_late():
    t = Trace("kineto_hip")
    t.corr = 50
    s = t.stream()
    t.work(s, 90, 170, 4)
    k = t.launch(s, 175, 400)
    t.launch(t.stream(), 175, 390)
    return t, t.until("DeviceSynchronize", 401), "likely", "began_late", k


@line("What one thread put into a stream, or looked for in it, while another did leaves nothing")
def calls_at_once():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 180, 400, at=150, dur=20)
    return t, t.sync(s, 405, at=160, thread=1), "likely", "calls_at_once", k


def launch_lost(thread):
    t = Trace()
    s = t.stream(made=True)
    t.launch(s, 115, 118)
    t.launch(t.stream(made=True), 135, 140, thread=thread)
    t.lose()
    k = t.corr
    t.work(s, 150, 400, k)
    return t, t.sync(s, 405), k


@line("Work whose call was lost may be such a one where several threads make calls.")
def lost_at_once():
    t, sync, k = launch_lost(1)
    return t, sync, "likely", "calls_at_once", k


@line("Work whose call was lost may be such a one where several threads make calls.")
def lost_before():
    t, sync, k = launch_lost(0)
    return t, sync, "exact", None, k


@line("a wait of a thread has looked 20 us after it began")
def looked_before():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 400)
    sync = t.sync(s, 405, at=160, thread=1)
    t.launch(s, 410, 500, at=185)
    return t, sync, "exact", None, k


@line("is `likely` when the work of one stream ended in it, up to 100 us before it returned")
def told_by_time():
    t = Trace("rocprof_csv")
    k = t.launch(t.stream(), 150, 400)
    t.record(t.streams[-1])
    return t, t.until("EventSynchronize", 450, event=A), "likely", "told_by_time", k


@line("and `ambiguous` when that of several did.")
def several_fit():
    t = Trace("rocprof_csv")
    k = t.launch(t.stream(), 150, 400)
    t.launch(t.stream(), 150, 380)
    t.record(t.streams[-1])
    return t, t.until("EventSynchronize", 450, event=A), "ambiguous", "several_fit", k


@line("| `clocks_disagree` | it ended before what it is said to have waited for, or")
def clocks_disagree():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 400)
    return t, t.sync(s, 389), "likely", "clocks_disagree", k


@line("the wait is `likely`, and `unexplained` when that is most of it")
def time_left_over():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 1000)
    return t, t.sync(s, 1300), "likely", "time_left_over", k


@line("| `unexplained` | a producer is named, but most of the time lies after its end: something else was waited for |")
def unexplained():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 400)
    return t, t.sync(s, 2000), "unexplained", "time_left_over", k


def barred(queue, over):
    """A wait whose barrier names this queue; the record's was over then."""
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    record = t.record(s)
    t.lose()
    wait = t.wait(other)
    t.barrier(False, record, A, s, 145, over)
    t.barriers.append((True, wait, A, other, 160 * US, over * US, queue or s.queue))
    return t, wait, k


@line("when that agrees with the order of calls the wait is `exact`")
def queue_agrees():
    t, wait, k = barred(None, 405)
    return t, wait, "exact", None, k


@line("| `late_barrier` | the record was over long after the work it is said to stand behind |")
def late_barrier():
    t, wait, k = barred(None, 900)
    return t, wait, "likely", "late_barrier", k


@line("HIP puts no barrier for what is over already: such a wait stays `likely`")
def no_barrier():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 150, 160)
    t.barrier(False, t.record(s), A, s, 145, 165)
    t.lose()
    return t, t.wait(other, at=300), "likely", "order_of_calls", k


def unrecorded(lost):
    t = Trace()
    s = t.stream(made=True)
    t.launch(s, 150, 400)
    t.call("EventCreate", event=A)
    if lost:
        t.lose()
    return t, t.wait(s)


@line("the event was created and never recorded, and no call can be missing since its creation: the wait was a no-op |")
def never_recorded():
    return *unrecorded(False), "never_recorded", None, None


@line("where a call since then may be missing")
def record_may_be_lost():
    return *unrecorded(True), "lost", None, None


@line("| `before_trace` | no record of the event was seen, nor its creation |")
def before_trace():
    t = Trace()
    s = t.stream(made=True)
    t.launch(s, 150, 400)
    return t, t.wait(s), "before_trace", None, None


@line("| `captured` | part of a stream capture: it built a graph and waited for nothing |")
def captured():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    t.launch(s, 150, 160)
    t.call("StreamBeginCapture", stream=s, mode=0)
    t.record(s)
    return t, t.wait(other), "captured", None, None


@line("| `failed_call` | the call returned an error, or the event was null |")
def failed_call():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    t.launch(s, 150, 400)
    t.record(s)
    return t, t.wait(other, status=1), "failed_call", None, None


@line("A record that failed does not count")
def failed_record():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.record(s)
    t.launch(s, 400, 600)
    t.record(s, status=1)
    return t, t.wait(other), "exact", None, k


@line("A graph launch is one work that ends with its last kernel.")
def graph_is_one_work():
    t = Trace()
    s = t.stream(made=True)
    g = t.call("GraphLaunch", stream=s, graphExec=0x4001)
    for start, end in (150, 300), (150, 400), (310, 350):
        t.work(s, start, end, g)
    return t, t.sync(s, 405), "exact", None, g


@line("through any number of events, streams and devices")
def relayed():
    t = Trace(devices=2)
    streams = [t.stream(device=i % 2, made=True) for i in range(9)]
    t.streams[2].device = 0
    k = t.launch(streams[0], 400, 900)
    for i in range(8):
        t.record(streams[i], A + i)
        t.wait(streams[i + 1], A + i)
    return t, t.sync(streams[8], 905), "exact", None, k


@line("A destroyed stream goes on with what is in it, and a wait for its device waits for that too")
def gone():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.call("StreamDestroy", stream=s)
    return t, t.until("DeviceSynchronize", 405), "exact", None, k


@line("Whether the default stream does, no interface says: `likely`")
def gone_at_once():
    """While a wait of another thread for the device goes on as well, it tells this one nothing."""
    t = Trace("capture_hip")
    s, other = t.stream(made=True, blocking=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.launch(other, 150, 398)
    t.call("StreamDestroy", stream=s)
    t.until("DeviceSynchronize", 405)
    return t, t.sync(t.default[0], 407, at=200, thread=1), "likely", "default_stream", k


@line("In a recording that may miss calls a stream may have ended while its work ran: what the default stream waits for is `likely` then")
def lost_end_and_beginning():
    t = Trace()
    s, other = t.stream(made=True, blocking=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.launch(other, 150, 398)
    t.lose()
    return t, t.sync(t.default[0], 405), "likely", "uncounted_losses", k


@line("and so is one in which it ended that took no longer than a wait for nothing (20 us)")
def another_by_address():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 115, 155)
    t.lose()
    return t, t.sync(s, 160, at=150), "likely", "uncounted_losses", k


@line("a wait for it that returned before the work named was over is `likely`")
def held_up_by_address():
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, 115, 175)
    t.lose()
    return t, t.sync(s, 180, at=150), "exact", None, k


def lost_end():
    """The default stream does not wait for what goes on in a stream that was destroyed by a call that was lost, or does."""
    t = Trace("capture_hip")
    s = t.stream(made=True, blocking=True)
    other = t.stream(made=True)
    k = t.launch(s, 150, 400)
    t.launch(other, 150, 398)  # times do not tell which of the two it was
    t.lose()
    t.lost = 1
    return t, s, k


@line("A stream whose end no call shows ended when the recorder's table of streams says, or before another was made at its address")
def end_by_table():
    t, s, k = lost_end()
    s.gone = t.now + 5 * US
    return t, t.sync(t.default[0], 405), "likely", "default_stream", k


@line("A stream whose end no call shows ended when the recorder's table of streams says, or before another was made at its address")
def end_by_address():
    t, s, k = lost_end()
    new = t.stream(handle=s.handle, made=True)
    new.made = t.now + 500
    return t, t.sync(t.default[0], 405), "likely", "default_stream", k


@line("A stream is blocking when its creation or the table of streams says so.")
def blocking():
    t = Trace()
    k = t.launch(t.stream(made=True, blocking=True), 150, 400)
    t.launch(t.stream(made=True), 150, 700)
    return t, t.sync(t.default[0], 405), "exact", None, k


def lone(at):
    """One of two devices did something; nobody says which one the call is for."""
    t = Trace(devices=2)
    k = t.launch(t.stream(made=True), 150, 400)
    t.lose()
    return t, t.until("DeviceSynchronize", max(at + 1, 405), at=at), k


@line("a synchronisation that lasted until its work ended was for it")
def held_by_lone():
    t, sync, k = lone(200)
    return t, sync, "exact", None, k


def lone_beside(recorded):
    """Two works end as the call returns; one may be in front of an event that a stream of the other device waits for."""
    t = Trace(devices=2)
    t.launch(t.stream(made=True), 150, 395)
    if recorded:
        t.record(t.streams[-1])
    k = t.launch(t.stream(made=True), 150, 400)
    t.lose()
    return t, t.until("DeviceSynchronize", 405), k


@line("unless other work ended then as well")
def lone_beside_event():
    t, sync, k = lone_beside(True)
    return t, sync, "likely", "guessed_place", k


@line("with an event behind it that a stream of another device may wait for")
def lone_without_event():
    t, sync, k = lone_beside(False)
    return t, sync, "exact", None, k


@line("one that returned at once may have been for another")
def not_held_by_lone():
    t, sync, k = lone(500)
    return t, sync, "likely", "guessed_place", k


@line("a call works on the device its thread has chosen")
def chosen():
    t = Trace(devices=2)
    t.call("SetDevice", deviceId=0)
    t.launch(t.stream(device=0, made=True), 150, 600)
    t.call("SetDevice", deviceId=1)
    k = t.launch(t.stream(device=1, made=True), 180, 400)
    return t, t.until("DeviceSynchronize", 405), "exact", None, k


def before_choice(form, thread):
    """Another choice comes later: they are recorded."""
    t = Trace(form, devices=2)
    t.launch(t.stream(device=0, made=True), 150, 395, thread=1)
    k = t.launch(t.stream(device=1, made=True), 180, 400, thread=thread)
    sync = t.until("DeviceSynchronize", 405)
    t.call("SetDevice", deviceId=0)
    return t, sync, k


@line("until it chooses on that of its last kernel")
def last_kernel():
    t, sync, k = before_choice("kineto_hip", 0)
    return t, sync, "exact", None, k


@line("on device 0, but only where the recording began with the process")
def nothing_chosen():
    t, sync, k = before_choice("kineto_hip", 1)
    return t, sync, "likely", "guessed_place", k


@line("other work launched before (before the event's record, where that is known)")
def launched_after_the_record():
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    k = t.launch(s, 150, 400)
    record = t.record(s)
    t.launch(other, 160, 403)
    t.lose()
    wait = t.wait(other)
    t.launch(other, 410, 500)
    t.barrier(False, record, A, s, 145, 405)
    t.barriers.append((True, wait, A, other, 160 * US, 405 * US, s.queue))
    return t, wait, "exact", None, k


def copy(name, end, until):
    t = Trace()
    corr = t.until(name, until, kind=2, size=64, stream=t.default[0])
    t.work(t.default[0], 115, end, corr, copy=(0, None))
    return t, corr


def beside_late(at, late):
    """The other's work ends 35 us after the wait, by a clock of which launches tell as much as how late they start."""
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    if at > 200:
        t.launch(other, 123, 125, at=120)
    k = t.launch(s, at + late, at + 250, at=at)
    t.launch(other, at + 10 + late, at + 290)
    t.lose()
    return t, t.sync(s, at + 255), k


@line("Where times decide, all that may have ended in time by such clocks counts.")
def clock_known():
    t, sync, k = beside_late(150, 3)
    return t, sync, "exact", None, k


@line("a device's clock may be ahead of the host's by the shortest time from a call to the start of its work")
def clock_ahead():
    t, sync, k = beside_late(150, 60)
    return t, sync, "likely", "uncounted_losses", k


@line("What a launch tells of other moments is 50 us less for each second between")
def clock_known_before():
    t, sync, k = beside_late(300000, 60)
    return t, sync, "exact", None, k


@line("What a launch tells of other moments is 50 us less for each second between")
def clock_drifts():
    t, sync, k = beside_late(900000, 60)
    return t, sync, "likely", "uncounted_losses", k


def behind(late, end):
    """Work of a stream begins so long after its call, or before; the other's ends at the same time as a wait begins."""
    t = Trace()
    s, other = t.stream(made=True), t.stream(made=True)
    t.launch(s, 200 + late, end, at=200)
    k = t.launch(other, 220 + late, 260)
    t.call("FreeAsync", stream=s, dev_ptr=0x7000)
    t.call("MallocAsync", stream=other, dev_ptr=0x7000, size=64, at=400)
    return t, t.sync(other), k


@line("where that is less than none it is behind by as much")
def clock_right():
    t, sync, k = behind(3, 370)
    return t, sync, "exact", None, k


@line("where that is less than none it is behind by as much")
def clock_behind():
    t, sync, k = behind(-30, 370)
    return t, sync, "likely", "memory_pool", k


def joined_devices(end):
    """A stream waits for its own work and for another device's."""
    t = Trace(devices=2)
    s, other = t.stream(device=0, made=True), t.stream(device=1, made=True)
    k = t.launch(s, 203, 400, at=200)
    t.launch(other, 213, end)
    t.record(other)
    t.wait(s)
    return t, t.sync(s, 405), k


@line("the later one is known by clocks alone: `likely` if they may say so wrongly")
def two_clocks():
    t, sync, k = joined_devices(395)
    return t, sync, "likely", "clocks_disagree", k


@line("the later one is known by clocks alone: `likely` if they may say so wrongly")
def two_clocks_that_tell():
    t, sync, k = joined_devices(360)
    return t, sync, "exact", None, k


@line("Copies: device to host in the synchronous form always waits")
def copy_waits():
    t, corr = copy("Memcpy", 300, 305)
    return t, corr, "exact", None, corr


def freed(start, end):
    t = Trace()
    s = t.stream(made=True)
    k = t.launch(s, start, end)
    return t, t.until("Free", 400, at=200, ptr=0x7000), k


@line("Freeing memory and loading modules count only when work that was running when they began ended inside them.")
def free_waits():
    t, corr, k = freed(150, 380)
    return t, corr, "likely", "told_by_time", k


@line("Freeing memory and loading modules count only when work that was running when they began ended inside them.")
def free_of_what_is_over():
    t, corr, k = freed(150, 199)
    return t, corr, None, None, None


@line("Freeing memory and loading modules count only when work that was running when they began ended inside them.")
def free_beside_work():
    t, corr, k = freed(150, 401)
    return t, corr, None, None, None


def shared(form):
    """A process gives an event away and waits for it; then it waits for the device until its only work ends, as far as is seen."""
    t = Trace(form)
    s, other = t.stream(made=True), t.stream(made=True)
    t.record(s)
    t.call("IpcGetEventHandle", event=A, handle=0x77)
    k = t.launch(other, 150, 400)
    t.wait(s)
    return t, t.until("DeviceSynchronize", 405), k


@line("An event that a process gave away may be recorded by another one")
def given_away():
    t, corr, k = shared("rocprof_json")
    return t, corr, "likely", "other_process", k


@line("Where a process is seen to open events of others, or to give away its own, and the recording does not say which")
def some_given_away():
    t, corr, k = shared("rocprof_csv")
    return t, corr, "likely", "other_process", k


def plain(text):
    return " ".join(text.split())


def check(text, make, document):
    t, corr, *wanted = make()
    waits = t.waits()
    got = [[w["class"], w["doubt"], w["producer_correlation"]] for w in waits if w["correlation"] == corr] if isinstance(waits, list) else waits
    there = plain(text) in document
    tap.ok(f"{make.__name__}: {plain(text)}", there and got == ([wanted] if wanted[0] else []), f"wanted {wanted}, got {got}" if there else "not in the document")


def main():
    document = plain((tap.ROOT / "docs/waits.md").read_text())
    for text, make in LINES:
        check(text, make, document)
    tap.done()


if __name__ == "__main__":
    main()
