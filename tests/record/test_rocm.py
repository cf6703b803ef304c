#!/usr/bin/env python3
"""The AMD recorder without an AMD GPU: a fake rocprofiler-sdk plays HIP programs into it, in the layouts and
numbers of 0.4 to 1.3. usage: test_rocm.py [BUILD]   prints one line a test."""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
import tap  # noqa: E402
from capture import Capture  # noqa: E402

ROOT = str(tap.ROOT)
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(tap.ASSAY))
ASSAY = os.path.join(BUILD, "assay")
CC = os.environ.get("CC", "gcc")
FAKE = os.path.join(BUILD, "tests/fake")
WORK = tempfile.mkdtemp(prefix="assay-rocm-")
PROGRAM = os.path.join(WORK, "hip_program")
KFD = os.path.join(WORK, "kfd.so")
NONE, S1, S2, E1 = 0xffffffff, 0x7f0000001000, 0x7f0000002000, 0x7f0000011000
VERSIONS = ("400", "500", "600", "10000", "10100", "10300")
RT = ["src/vendor/dl.c"] + [p for p in sorted(glob.glob(ROOT + "/src/record/*.c") + glob.glob(ROOT + "/src/wire/*.c"))
                           if not os.path.basename(p).startswith(("cuda", "rocm"))]
tests = []


def test(f):
    tests.append(f)
    return f


def cc(out, *args):
    subprocess.run([CC, "-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-O1", "-g", "-pthread", "-Isrc",
                    "-Itests/fake", *args, "-o", out], cwd=ROOT, check=True)


def build():
    subprocess.run(["make", "-s", os.path.relpath(FAKE, ROOT) + "/librocprofiler-sdk.so"], cwd=ROOT, check=True)
    cc(KFD, "-fPIC", "-shared", "tests/fake/kfd.c")
    cc(PROGRAM, "tests/record/hip_program.c", "-ldl")


def record(script, version, end="return", *more, opts=(), env=None, program=None):
    run = os.path.join(WORK, f"{script}-{version}-{end}")
    shutil.rmtree(run, ignore_errors=True)
    e = dict(os.environ, **{"LD_LIBRARY_PATH": FAKE, "LD_PRELOAD": KFD, "FAKE_ROCPROF": version, **(env or {})})
    p = subprocess.run([ASSAY, "record", "-o", run, "--telemetry", "off", *opts, "--", program or PROGRAM, script,
                        end, *more], env=e, capture_output=True, text=True, timeout=tap.PATIENCE)
    return run, p


def one(run):
    found = sorted(glob.glob(run + "/*.asy"))
    assert len(found) == 1, f"{len(found)} captures"
    c = Capture(found[0])
    c.names = {(r["domain"], r["function"]): c.text(r["name"]) for r in c.rows["API_NAME"]}
    for r in c.rows["API"]:
        r["name"] = c.names[r["domain"], r["function"]]
    c.calls = sorted(c.rows["API"], key=lambda r: r["corr"])
    c.meta = {c.text(r["key"]): c.text(r["value"]) for r in c.rows["META"]}
    return c


def play(script, version, **kw):
    run, p = record(script, version, **kw)
    assert p.returncode == 4, (p.returncode, p.stderr)
    c = one(run)
    eq((c.bad, len(c.rows["END"])), (0, 1))
    c.run, c.err = run, p.stderr
    return c


def eq(got, want):
    assert got == want, f"{got!r}, not {want!r}"


def kernels(c):
    return [(c.text(r["name"]), r["stream"]) for r in sorted(c.rows["KERNEL"], key=lambda r: r["corr"])]


def each(*versions):
    def make(f):
        for v in versions or VERSIONS:
            def g(v=v):
                f(v)
            g.__name__ = f"{f.__name__} ({v})"
            tests.append(g)
        return f
    return make


ADD, MATMUL, GEMM = "_Z3addPfS_i", "_Z6matmulPKfS0_Pfi", "Cijk_Ailk_Bljk_BBS_MT128x128"


class Job:
    """A HIP program under `assay record` that does one thing after the other."""

    def __init__(self, version, *opts):
        self.run = os.path.join(WORK, "obey-" + version)
        e = dict(os.environ, LD_LIBRARY_PATH=FAKE, LD_PRELOAD=KFD, FAKE_ROCPROF=version)
        self.p = subprocess.Popen([ASSAY, "record", "-q", "-o", self.run, "--telemetry", "off", *opts, "--", PROGRAM, "obey"],
                                  env=e, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, *things):
        for thing in things:
            self.p.stdin.write(thing + "\n")
            self.p.stdin.flush()
            eq(self.p.stdout.readline(), "done\n")

    def ctl(self, order):
        p = subprocess.run([ASSAY, "ctl", self.run, order], capture_output=True, text=True, timeout=tap.PATIENCE)
        eq((p.returncode, p.stderr), (0, ""))
        tap.until(lambda: all(p["obeyed"] for p in self.processes()), "it is not obeyed")

    def processes(self):
        out = subprocess.run([ASSAY, "ctl", self.run, "status", "--json"], check=True, capture_output=True, timeout=tap.PATIENCE).stdout
        return json.loads(out)["processes"]

    def end(self):
        self.p.stdin.close()
        eq(self.p.wait(tap.PATIENCE), 4)
        self.p.stdout.close()
        return one(self.run)


@each()
def it_is_recorded_only_while_it_is_switched_on(v):
    job = Job(v, "--paused")
    job.do("make", "launch", "push off")
    job.ctl("start")
    job.do("launch", "pop", "push on", "pop", "push over")
    job.ctl("stop")
    job.do("launch", "pop", "destroy", "make", "launch")
    job.ctl("start")
    job.do("launch")
    c = job.end()
    eq(kernels(c), [(ADD, 1), (ADD, 2)])  # a name, and a stream, that came while it was off
    eq([r["name"] for r in c.calls], ["hipLaunchKernel"] * 2)
    eq([(r["op"], r["text"]) for r in c.rows["RANGE"]], [(1, "on"), (2, ""), (1, "over"), (2, "")])
    eq([(s["on"], s["why"]) for s in c.rows["SWITCH"]], [(0, 1), (1, 0), (0, 0), (1, 0)])


@each()
def work_is_on_the_stream_it_was_launched_on(v):
    c = play("streams", v)
    eq(kernels(c), [(ADD, 1), (MATMUL, 2), (GEMM, 0), (ADD, 3)])
    k = c.rows["KERNEL"][0]
    eq((k["gx"], k["gy"], k["bx"], k["regs"], k["acc_regs"], k["scalar_regs"], k["static"], k["local"], k["queue"]),
       (1024, 2, 256, 64, 4, 48, 4096, 16, 3))
    copies = [(r["kind"], r["stream"], r["size"], r["src"], r["dst"], r["device"])
              for r in sorted(c.rows["COPY"], key=lambda r: r["corr"])]
    eq(copies, [(2, 2, 4096, 3, 8, 0), (1, 0, 64, 8, 3, 0), (1, 2, 128, 8, 3, 0)])
    eq([(d["id"], c.text(d["name"]), c.text(d["arch"]), d["units"], d["warp"]) for d in c.rows["DEVICE"]],
       [(i, "AMD Instinct MI300X", "gfx942", 304, 64) for i in (0, 1)])
    eq(c.meta["rocprofiler.version"], f"{int(v) // 10000}.{int(v) // 100 % 100}.{int(v) % 100}")
    eq(c.meta["code_object.1"], "file:///lib/kernels.co#offset=0")
    assert {r["corr"] for r in c.rows["KERNEL"]} <= {r["corr"] for r in c.calls}


@each("600", "10000")
def a_device_has_the_best_name_that_is_known(v):
    for names in ("none", "unlisted"):
        c = play("streams", v, env={"FAKE_ROCPROF_NAMES": names})
        eq([(c.text(d["name"]), c.text(d["arch"])) for d in c.rows["DEVICE"]], [("gfx942", "gfx942")] * 2)


@each("600", "10000")
def another_clock_is_brought_to_ours(v):
    c = play("streams", v, env={"FAKE_ROCPROF_CLOCK": "3000000000"})
    calls = {r["corr"]: r for r in c.calls}
    assert all(0 < k["start"] - calls[k["corr"]]["start"] < 2e9 for k in c.rows["KERNEL"])
    eq(round(int(c.meta["rocprofiler.clock_offset_ns"]) / 1e9, 2), -3.0)
    eq("rocprofiler.clock_offset_ns" in play("streams", v).meta, False)


@each()
def a_stream_keeps_its_own_number_flags_and_lifetime(v):
    c = play("streams", v)
    last = {}
    for r in c.rows["STREAM"]:
        last[r["id"]] = r
    eq({i: (r["handle"], r["flags"], r["priority"], r["device"]) for i, r in last.items()},
       {0: (0, 1, 0, 0), 1: (S1, 2, -1, 0), 2: (S2, 0, 0, 0), 3: (S1, 0, 0, 0)})
    assert last[1]["created"] and last[1]["destroyed"] > last[1]["created"] and not last[2]["destroyed"]


@each()
def calls_carry_handles_arguments_and_status(v):
    c = play("streams", v)
    got = [(r["name"], r["stream"], r["event"], r["arg0"], r["given"] & 7) for r in c.calls]
    eq(got[:8], [("hipStreamCreateWithPriority", S1, 0, 1, 5), ("hipStreamCreateWithPriority", S2, 0, 0, 5),
                 ("hipEventCreate", 0, E1, 0, 6), ("hipLaunchKernel", S1, 0, 0, 1),
                 ("hipEventRecord", S1, E1, 0, 7), ("hipStreamWaitEvent", S2, E1, 0, 7),
                 ("hipLaunchKernel", S2, 0, 0, 1), ("hipMemcpyAsync", S2, 0, 4096, 1)])
    eq(got[-3:], [("hipDeviceSynchronize", 0, 0, 0, 0), ("hipMemcpy", 0, 0, 64, 1), ("hipMemcpyAsync", S2, 0, 128, 1)])
    assert all(r["end"] >= r["start"] > 0 and r["status"] == 0 for r in c.calls)
    eq(c.calls[0]["arg1"], 0xffffffff)  # priority -1


@each()
def an_event_used_again_and_again_keeps_its_order(v):
    c = play("reuse", v)
    order = [(r["name"], r["stream"]) for r in c.calls if r["event"] == E1][1:-1]
    eq(order, [("hipEventRecord", S1), ("hipStreamWaitEvent", S2)] * 50)
    eq(collections.Counter(s for _, s in kernels(c)), {1: 50, 2: 50})


def told_waits(c, path=None):
    """A busy machine may hold the program in hipMalloc or a copy, which then counts as a wait, too: without these."""
    out = subprocess.run([ASSAY, "waits", "--json", path or c.run], capture_output=True, text=True, check=True).stdout
    return [w for w in json.loads(out)["waits"] if w["kind"] not in ("drain", "blocking_copy")]


@each()
def every_wait_finds_the_kernel_it_waited_for(v):
    for script, count in (("reuse", 51), ("streams", 3)):
        c = play(script, v)
        waits = told_waits(c)
        eq((len(waits), sum(w["class"] in ("exact", "likely") for w in waits)), (count, count))
        for name in ("trace.json", "trace.pftrace", "trace.xplane.pb"):  # an address that two streams had one after the other
            path = os.path.join(WORK, name)
            subprocess.run([ASSAY, "convert", c.run, path], check=True, capture_output=True)
            eq(*([(w["kind"], w["correlation"], w["producer_kernel"], w["producer_stream"]) for w in of] for of in (told_waits(c, path), waits)))


@each()
def kernels_of_a_graph_launch_share_a_call_and_are_numbered(v):
    c = play("graphs", v)
    k = sorted(c.rows["KERNEL"], key=lambda r: (r["corr"], r["node"], r["start"]))
    eq([(r["graph"] > 0, r["node"], r["stream"], c.text(r["name"])) for r in k],
       [(True, 1, 1, ADD), (True, 2, 1, MATMUL), (True, 3, 1, GEMM)] * 2 +
       [(True, 1, 0, ADD), (True, 2, 0, MATMUL), (True, 3, 0, GEMM)] + [(False, 0, 1, ADD)])
    graphs = [r["graph"] for r in k]
    eq(len(set(graphs[:6])), 1)
    if int(v) >= 10300:
        eq(set(graphs[:9]), {41})  # the SDK's own number
    else:
        assert graphs[6] != graphs[0], graphs
    capture = [(r["name"], r["stream"], r["arg0"]) for r in c.calls if "Capture" in r["name"]]
    eq(capture, [("hipStreamBeginCapture", S1, 1), ("hipStreamEndCapture", S1, 0x55)])


@each()
def threads_have_default_streams_of_their_own(v):
    c = play("threads", v)
    eq(len(c.rows["KERNEL"]), 1200)
    by_call = {r["corr"]: r for r in c.calls}
    own = collections.defaultdict(set)
    for r in c.rows["KERNEL"]:
        call = by_call[r["corr"]]
        if call["stream"] == 2:
            own[call["thread"]].add(r["stream"])
        else:
            eq((call["stream"], r["stream"]), (S1, 1))
    eq(sorted(len(s) for s in own.values()), [1] * 4)
    eq(len(set().union(*own.values())), 4)
    eq({r["flags"] for r in c.rows["STREAM"] if r["id"] in set().union(*own.values())}, {4})


@each()
def records_that_come_at_the_end_and_out_of_order_are_whole(v):
    c = play("many", v, env={"FAKE_ROCPROF_LATE": "1"})
    eq(len(c.rows["KERNEL"]), 2000)
    corr = [r["corr"] for r in c.rows["KERNEL"]]
    assert corr != sorted(corr)
    eq(collections.Counter(kernels(c)), {(ADD, 1): 1000, (MATMUL, 2): 1000})


@each()
def numbers_are_found_by_name(v):
    c = play("streams", v, env={"FAKE_ROCPROF_SHIFT": "9"})
    eq(kernels(c), [(ADD, 1), (MATMUL, 2), (GEMM, 0), (ADD, 3)])
    eq(sorted(r["kind"] for r in c.rows["COPY"]), [1, 1, 2])
    eq(c.calls[0]["name"], "hipStreamCreateWithPriority")


@each("600", "10100")
def a_longer_union_of_arguments_moves_the_result(v):
    c = play("odd", v, env={"FAKE_ROCPROF_GROW": "24"})
    eq([r["status"] for r in c.calls[:3]], [2, 0, 600])


@each()
def ranges_are_told_once_with_their_text(v):
    c = play("markers", v)
    r = sorted(c.rows["RANGE"], key=lambda r: r["time"])
    eq([(x["op"], x["text"]) for x in r],
       [(1, "outer"), (1, 'in "quotes"'), (2, ""), (5, "a mark"), (2, ""), (3, "across threads"), (4, "")])
    eq(r[5]["id"], r[6]["id"])
    assert r[5]["thread"] != r[6]["thread"]
    eq("ERROR" in c.err, False)
    eq("trainer" in [c.text(t["name"]) for t in c.rows["THREAD"]], True)
    ranges = json.loads(subprocess.run([ASSAY, "info", "--json", c.run], capture_output=True, text=True).stdout)
    eq(ranges["tables"]["host"], 2 + 4)  # two launches, three ranges and a mark


@each()
def memory_and_scratch_keep_their_fields_in_every_layout(v):
    c = play("memory", v)
    if int(v) >= 600:
        eq([(r["op"], r["address"], r["size"], r["device"]) for r in c.rows["MEMORY"]],
           [(1, 0xd000, 1 << 20, 0), (2, 0xd000, 0, NONE)])
    else:
        eq(c.rows["MEMORY"], [])
    s = c.rows["SCRATCH"][0]
    eq((s["device"], s["queue"], s["flags"], s["op"], s["size"], s["end"] - s["start"]),
       (1, 3, 5, 1, 8192 if int(v) > 10000 else 0, 700))
    eq(s["corr"], [r["corr"] for r in c.calls if r["name"] == "hipSetDevice"][0])
    eq([(r["name"], r["arg0"], r["arg1"]) for r in c.calls],
       [("hipMalloc", 0xd000, 1 << 20), ("hipSetDevice", 1, 0), ("hipFree", 0xd000, 0),
        ("__hipRegisterFatBinary", 0, 0)])


@each("600", "10000", "10300")
def memory_taken_long_after_the_start_is_recorded(v):
    c = play("pauses", v)
    eq([(r["op"], r["address"]) for r in c.rows["MEMORY"]],
       [(1, 0x10000 * (i + 1)) for i in range(20)] + [(2, 0x10000 * (i + 1)) for i in range(0, 20, 2)])
    eq(c.rows["LOST"], [])
    # what the program holds in the end, by device: every second block is given back
    trace = os.path.join(WORK, "pauses.json")
    subprocess.run([ASSAY, "convert", c.run, trace], check=True, capture_output=True)
    held = collections.Counter()
    for e in json.load(open(trace))["traceEvents"]:
        if "Bytes" in e.get("args", {}) and e["ph"] == "i":
            held[e["args"]["Device Id"]] += e["args"]["Bytes"]
    eq(dict(held), {0: 0, 1: sum(4096 * (i + 1) for i in range(1, 20, 2))})


@each("600", "10000")
def more_memory_records_than_a_buffer_holds_are_whole(v):
    c = play("flood", v)
    eq((len(c.rows["MEMORY"]), len({r["address"] for r in c.rows["MEMORY"]})), (20000, 20000))
    eq([r for r in c.rows["LOST"] if r["why"] == 2], [])


@each("400", "600", "10000")
def without_the_driver_the_program_runs_as_without_us(v):
    run, p = record("streams", v, env={"FAKE_KFD": "0"})
    eq((p.returncode, glob.glob(run + "/*.asy")), (4, []))
    # variables that came from another machine
    env = dict(os.environ, ROCP_TOOL_LIBRARIES=BUILD + "/libassay_rocm.so", ASSAY_RECORD=f"1;dir={run}",
               LD_LIBRARY_PATH=FAKE, LD_PRELOAD=KFD, FAKE_KFD="0", FAKE_ROCPROF=v)
    p = subprocess.run([PROGRAM, "streams"], env=env, capture_output=True, text=True, timeout=tap.PATIENCE)
    eq((p.returncode, p.stderr, glob.glob(run + "/*.asy")), (4, "", []))


@each("600", "10000")
def an_exit_in_the_middle_of_a_flush_is_clean(v):
    c = play("streams", v, end="later", env={"FAKE_ROCPROF_SLOW": "100"})
    eq((len(c.rows["KERNEL"]), "ERROR" in c.err), (4, False))


@each("600", "10000")
def a_fork_in_the_middle_of_a_flush_does_not_hold_the_child(v):
    run, p = record("streams", v, end="fork later", env={"FAKE_ROCPROF_SLOW": "100"})
    eq((p.returncode, "ERROR" in p.stderr), (4, False))


@each("600", "10300")
def a_child_never_waits_for_a_lock_that_a_thread_of_its_parent_held(v):
    program = os.path.join(WORK, "held")
    cc(program, "-rdynamic", "tests/record/held.c", "-ldl")
    for how in ("fork", "bare"):
        _, p = record("hip", v, how, "4", str(tap.PATIENCE // 3), program=program)
        eq((p.stdout, p.returncode), ("", 0))


@each("600")
def others_may_have_taken_the_room_for_thread_variables(v):
    source = os.path.join(WORK, "tls.c")
    with open(source, "w") as f:
        f.write("static __thread char taken[64] __attribute__((tls_model(\"initial-exec\")));\n"
                "char *take(void);\nchar *take(void) { return taken; }\n")
    libs = [os.path.join(WORK, f"tls{i}.so") for i in range(40)]
    cc(libs[0], "-fPIC", "-shared", source)
    for lib in libs[1:]:
        shutil.copy(libs[0], lib)
    c = play("streams", v, env={"FAKE_ROCPROF_BEFORE": ":".join(libs)})
    eq(len(c.rows["KERNEL"]), 4)


@each("400", "10100")
def all_api_adds_the_calls_that_only_ask(v):
    c = play("memory", v, opts=["--all-api"])
    eq([r["name"] for r in c.calls[3:]], ["__hipRegisterFatBinary", "__hipPushCallConfiguration", "hipGetLastError"])


@each()
def failing_odd_and_unknown_calls_are_told_as_they_are(v):
    c = play("odd", v)
    got = {r["name"]: r for r in c.calls}
    eq([(r["status"], r["stream"]) for r in c.calls[:2]], [(2, 0), (0, S1)])
    eq(got["hipEventQuery"]["status"], 600)
    ext = got["hipExtLaunchKernel"]
    eq((ext["stream"], ext["event"], ext["arg0"], ext["given"] & 7), (S1, E1 + 8, E1, 7))
    k = kernels(c)
    eq(k[0], (ADD, 1))
    if int(v) >= 10000:
        eq((got["hipLaunchKernelExC"]["stream"], k[1]), (S1, (ADD, 1)))
    eq(k[-1], ("", 0))  # a kernel whose symbol nobody told
    peer = c.rows["COPY"][0]
    # only the SDK's own stream tracking sees a stream in a call nobody heard of
    eq((peer["kind"], peer["size"], peer["stream"]), (10, 256, 1 if int(v) >= 10100 else NONE))
    eq(peer["device"], 0 if int(v) >= 10100 else 1)


@each("500", "10100")
def what_a_batch_does_to_memory_words_is_told_one_by_one(v):
    c = play("batches", v)
    parts = [(r["name"], r["stream"], r["event"], r["arg0"]) for r in c.calls if r["given"] & 32]
    eq(parts, [("hipStreamWriteValue64", S1, 0xa000, 1 << 40), ("hipStreamWriteValue32", S1, 0xb000, 7),
               ("hipStreamWaitValue32", S2, 0xb000, 7)])
    whole = {r["corr"] for r in c.calls if r["name"] == "hipStreamBatchMemOp"}
    eq({r["corr"] for r in c.calls if r["given"] & 32}, whole)
    info = json.loads(subprocess.run([ASSAY, "info", "--json", c.run], capture_output=True, text=True).stdout)
    eq(info["tables"]["host"], len([r for r in c.calls if not r["given"] & 32]))
    eq([(w["kind"], w["event"], w["producer_kernel"]) for w in told_waits(c) if w["class"] in ("exact", "likely")],
       [("stream_wait_value", "0xb000", "add(float*, float*, int)")] * 2 + [("stream_wait_value", "0xa000", "add(float*, float*, int)")])
    masked = {r["name"]: r["arg1"] for r in c.calls if "WaitValue" in r["name"] and not r["given"] & 32}
    eq(masked, {"hipStreamWaitValue32": 1 | 0xffffff04 << 2, "hipStreamWaitValue64": 2 | (~(1 << 40) << 2) % (1 << 64)})
    if int(v) >= 10100:
        eq([(r["stream"], r["arg0"]) for r in c.calls if r["name"] == "hipMemcpyBatchAsync"], [(S2, 5)])
        eq([r["stream"] for r in c.rows["COPY"]], [2])


@each("400", "500", "10100")
def collectives_are_calls_with_their_stream_and_size(v):
    c = play("collectives", v)
    got = [(r["name"], r["domain"], r["stream"], r["arg0"], r["status"]) for r in c.calls if r["name"].startswith("nccl")]
    eq(got, [] if v == "400" else [("ncclGroupStart", 4, 0, 0, 0), ("ncclAllReduce", 4, S1, 1 << 20, 0),
                                   ("ncclGroupEnd", 4, 0, 0, 3)])


@each()
def work_of_two_devices_is_on_its_own(v):
    c = play("devices", v)
    eq([(r["device"], r["stream"]) for r in sorted(c.rows["KERNEL"], key=lambda r: r["corr"])],
       [(0, 1), (0, 0), (0, 2), (1, 3), (1, 0), (1, 2)])
    eq([(r["device"], r["stream"]) for r in sorted(c.rows["COPY"], key=lambda r: r["corr"])], [(0, 1), (1, 3)])
    nulls = sorted(r["device"] for r in c.rows["STREAM"] if r["id"] == 0)
    eq(nulls, [0, 1])
    own = sorted((r["device"], r["flags"]) for r in c.rows["STREAM"] if r["id"] == 2)  # the thread's, on each device
    eq(own, [(0, 4), (1, 4)])


@each("10300")
def barriers_of_events_are_marks_on_the_device(v):
    c = play("events", v)
    eq([(r["op"], r["event"], r["queue"], r["source"], r["stream"], r["end"] - r["start"]) for r in c.rows["BARRIER"]],
       [(1, E1, 3, 4, 1, 100), (2, E1, 3, 4, 0, 100)])
    info = json.loads(subprocess.run([ASSAY, "info", "--json", c.run], capture_output=True, text=True).stdout)
    eq((info["tables"]["mark"], info["tables"]["barrier"], info["tables"]["event_call"]), (2, 2, 3))


@each("500", "10000")
def dropped_records_are_counted(v):
    c = play("many", v, env={"FAKE_ROCPROF_DROP": "30"})
    eq((len(c.rows["KERNEL"]), sum(r["count"] for r in c.rows["LOST"] if r["why"] == 2)), (1970, 30))


@each("600", "10000")
def a_refused_service_is_told_and_borne(v):
    c = play("memory", v, env={"FAKE_ROCPROF_REFUSE": "SCRATCH_MEMORY"})
    eq((len(c.calls), len(c.rows["MEMORY"]), len(c.rows["SCRATCH"])), (4, 2, 0))
    eq([c.text(r["text"]) for r in c.rows["LOST"]],
       ["rocprofiler-sdk refused SCRATCH_MEMORY (status 2): not recorded"])
    c = play("streams", v, env={"FAKE_ROCPROF_REFUSE": "KERNEL_DISPATCH"})
    eq([c.text(r["text"]) for r in c.rows["LOST"]], ["rocprofiler-sdk refused a service: GPU work is not recorded"])


@each("600", "10000")
def a_killed_program_leaves_what_it_did(v):
    for end, code in (("_exit", 5), ("kill", 137)):
        run, p = record("streams", v, end=end)
        c = one(run)
        eq((p.returncode, len(c.rows["KERNEL"]), len(c.calls), len(c.rows["END"])), (code, 4, 17, end == "_exit"))
        if end == "kill":  # without a last word it is a bound that tells how much may be missing
            bound = "unknown: at most" in p.stderr or "no GPU work is missing, though the process was killed" in p.stderr
            assert "nothing was lost" not in p.stderr and bound, p.stderr


@each("600", "10000")
def a_process_ends_with_the_last_thread_of_the_programs(v):
    run, p = record("streams", v, end="pthread_exit")
    c = one(run)
    eq((p.returncode, len(c.rows["KERNEL"]), len(c.calls), len(c.rows["END"])), (0, 4, 17, 1))


@each("600", "10000")
def ends_without_exit_handlers_do_not_wait_for_work_that_never_ends(v):
    for end in ("_exit", "quick_exit"):
        run, p = record("streams", v, end=end, env={"FAKE_ROCPROF_STUCK": "1"})
        eq((p.returncode, len(one(run).rows["KERNEL"])), (5, 4))
        eq((record("streams", v, end=end)[1].returncode, len(one(run).rows["KERNEL"])), (5, 4))


@each("600", "10000")
def another_program_in_its_place_gets_nothing_of_its_work(v):
    run, p = record("streams", v, end="exec")
    c = one(run)
    eq((p.returncode, len(c.rows["KERNEL"]), len(c.rows["COPY"])), (9, 4, 3))
    assert "missing" in p.stderr and "unknown" not in p.stderr, p.stderr
    # nobody says how much of the work the SDK has not told of yet
    run, p = record("streams", v, end="exec", env={"FAKE_ROCPROF_LATE": "1"})
    out = json.loads(subprocess.run([ASSAY, "info", "--json", run], capture_output=True, check=True).stdout)
    eq((p.returncode, sum(r.get("unknown", 0) for r in out["ledger"])), (9, 7))


@each("600", "10000")
def a_launch_that_the_process_died_in_may_be_missing(v):
    launches = [r["corr"] for r in play("streams", v).calls if "Launch" in r["name"]]
    run, p = record("streams", v, env={"FAKE_ROCPROF_DIE": str(launches[-1])})
    eq(p.returncode, 137)
    out = json.loads(subprocess.run([ASSAY, "info", "--json", run], capture_output=True, check=True).stdout)
    unknown = sum(r.get("unknown", 0) for r in out["ledger"])
    assert len(one(run).rows["KERNEL"]) + unknown >= len(launches), (len(launches), unknown)


@each("600", "10100")
def a_flight_recorder_keeps_the_last_stretch(v):
    c = play("streams", v, opts=["--keep", "30s"])
    eq((len(c.rows["KERNEL"]), len(c.calls), c.rows["SWITCH"]), (4, 17, []))
    assert "nothing was lost" in c.err, c.err
    if not check_kept(v, "200ms"):  # the machine stood still for so long
        assert check_kept(v, "20s"), "nothing is kept"


def check_kept(v, stretch):
    shutil.rmtree(os.path.join(WORK, "obey-" + v), ignore_errors=True)
    job = Job(v, "--keep", stretch)
    job.do("make")
    end, steps = time.monotonic() + tap.PATIENCE, 0
    while True:
        job.do("launch")
        steps += 1
        if sum(p["not_kept"] for p in job.processes()) > 100:
            break
        assert time.monotonic() < end, "everything is kept"
    c = job.end()
    if not c.calls:
        return False
    eq([(s["on"], s["why"]) for s in c.rows["SWITCH"]], [(0, 3), (1, 0)])
    with open(job.run + "/run.json") as f:
        rows = json.load(f)["ledger"]
    eq({r["proof"] for r in rows}, {"proved"})
    eq(sum(r.get("made", 0) + r.get("dropped", 0) for r in rows if r["kind"] == "kernels"), steps)
    return True


@each("600", "10100")
def a_forked_child_changes_nothing(v):
    run, p = record("streams", v, end="fork")
    first = [Capture(x) for x in sorted(glob.glob(run + "/*.asy"))]
    eq(p.returncode, 4)
    eq(sorted(len(c.rows["KERNEL"]) for c in first)[-1], 4)


@each("600", "10100")
def calls_of_a_forked_child_keep_their_names(v):
    run, p = record("streams", v, end="fork again")
    eq(p.returncode, 4)
    told = []
    for c in sorted(map(Capture, glob.glob(run + "/*.asy")), key=lambda c: c.rows["PROCESS"][0]["start"]):
        names = {(r["domain"], r["function"]): c.text(r["name"]) for r in c.rows["API_NAME"]}
        told.append([names.get((r["domain"], r["function"])) for r in c.rows["API"]])
    parent, child = told
    eq((child, None in child, len(child)), (parent, False, 17))


@each("600", "10100")
def only_a_range_is_recorded_when_asked(v):
    c = play("markers", v, opts=["--only-range", "outer"])
    eq(kernels(c), [(ADD, 0)])
    eq([r["name"] for r in c.calls], ["hipLaunchKernel"])


@each("600", "10100")
def another_tool_before_us_is_no_trouble(v):
    other = os.path.join(WORK, "libother.so")
    if not os.path.exists(other):
        source = os.path.join(WORK, "other.c")
        with open(source, "w") as f:
            f.write('#include "vendor/rocprof.h"\n'
                    "#include <stdio.h>\n"
                    "static int init(void (*f)(void), void *d)\n"
                    "{ (void)f; (void)d; fprintf(stderr, \"the other tool runs\\n\"); return 0; }\n"
                    "static void fini(void *d) { (void)d; }\n"
                    "rocprof_configure_result *rocprofiler_configure(uint32_t v, const char *r, uint32_t p, void *c);\n"
                    "rocprof_configure_result *rocprofiler_configure(uint32_t v, const char *r, uint32_t p, void *c)\n"
                    "{ static rocprof_configure_result x = {sizeof x, init, fini, 0};\n"
                    "  (void)v; (void)r; (void)p; (void)c; return &x; }\n")
        cc(other, "-fPIC", "-shared", source)
    def is_whole(c):
        eq((kernels(c)[0], len(c.rows["KERNEL"])), ((ADD, 1), 4))
        assert c.meta["rocprofiler.tools_before"] in ("0", "1")
        eq(c.err.count("the other tool runs"), 1)
    for preload in (KFD, other + ":" + KFD):
        is_whole(play("streams", v, env={"ROCP_TOOL_LIBRARIES": other, "LD_PRELOAD": preload}))
    script = os.path.join(WORK, "other.sh")  # as tools are started, below us
    with open(script, "w") as f:
        f.write(f'#!/bin/sh\nROCP_TOOL_LIBRARIES="{other}:$ROCP_TOOL_LIBRARIES" exec {PROGRAM} "$@"\n')
    os.chmod(script, 0o755)
    is_whole(play("streams", v, program=script))


@each("10000")
def a_second_copy_of_the_sdk_is_told(v):
    copy = os.path.join(WORK, "second")
    os.makedirs(copy, exist_ok=True)
    second = os.path.join(copy, "librocprofiler-sdk.so.1")
    subprocess.run(["cp", FAKE + "/librocprofiler-sdk.so", second], check=True)
    subprocess.run(["sed", "-i", "s/librocprofiler-sdk\\.so\\x00/librocprofiler-sdk.s2\\x00/", second], check=True)
    c = play("streams", v, env={"FAKE_ROCPROF_SECOND": second})
    eq(len(c.rows["KERNEL"]), 4)
    eq([r["why"] for r in c.rows["LOST"]], [3])
    eq([os.path.basename(p) for p in c.meta["rocprofiler.copies"].split(":")],
       ["librocprofiler-sdk.so", "librocprofiler-sdk.so.1"])


def variables(name, where, **env):
    e = dict({k: x for k, x in os.environ.items() if k != "LD_LIBRARY_PATH"}, LD_PRELOAD=KFD)
    run = os.path.join(WORK, name)
    p = subprocess.run([ASSAY, "record", "-q", "-o", run, "--telemetry", "off", "--", where], env=dict(e, **env),
                       capture_output=True, text=True, timeout=tap.PATIENCE)
    return dict(line.split("=", 1) for line in p.stdout.splitlines() if "=" in line)


@test
def without_an_sdk_nothing_is_asked_for():
    # rocprofiler-register would abort the program
    if glob.glob("/opt/rocm*/lib/librocprofiler-sdk.so*"):
        return
    v = variables("nosdk", "env")
    eq([k for k in v if k.startswith("ROCP")] + [v["LD_PRELOAD"]], [KFD])


@test
def the_sdk_is_found_and_its_roctx_comes_first():
    lib = os.path.join(WORK, "rocm/lib")
    os.makedirs(lib, exist_ok=True)
    for name in ("librocprofiler-sdk.so.1", "librocprofiler-sdk-roctx.so.1"):
        shutil.copy(FAKE + "/librocprofiler-sdk.so", os.path.join(lib, name))
    recorder = os.path.realpath(BUILD + "/libassay_rocm.so")
    v = variables("sdk", "env", ROCM_PATH=os.path.join(WORK, "rocm"), ROCP_TOOL_LIBRARIES="mine.so")
    eq(v["ROCP_TOOL_LIBRARIES"], recorder + ":mine.so:")  # the SDK does not see what comes after the last colon
    # nor us, when a tool's own script puts its library in front of ours
    eq(variables("alone", "env", ROCM_PATH=os.path.join(WORK, "rocm"))["ROCP_TOOL_LIBRARIES"], recorder + ":")
    eq(v["ROCPROFILER_REGISTER_LIBRARY"], lib + "/librocprofiler-sdk.so.1")
    eq(v["LD_PRELOAD"], lib + "/librocprofiler-sdk-roctx.so.1:" + KFD)


FORMS = {  # of HIP's calls that put work on a stream or order it, after its headers
    "hipMemcpy{}Async": ["", "2D", "3D", "HtoD", "DtoH", "DtoD", "HtoA", "AtoH", "Peer", "3DPeer", "Batch", "3DBatch", "ToSymbol", "FromSymbol", "2DToArray",
                         "2DFromArray", "Param2D"],
    "hipMemcpy{}Async_spt": ["", "2D", "3D", "ToSymbol", "FromSymbol", "2DToArray", "2DFromArray"],
    "hipMemset{}Async": ["", "2D", "3D", "D8", "D16", "D32", "D2D8", "D2D16", "D2D32"],
    "hipMemset{}Async_spt": ["", "2D", "3D"],
    "hipMemPrefetchAsync{}": ["", "_v2"],
    "hipLaunch{}": ["Kernel", "CooperativeKernel", "HostFunc", "Kernel_spt", "CooperativeKernel_spt", "HostFunc_spt"],
    "hipStream{}": ["Query", "Synchronize", "WaitEvent", "AddCallback", "BeginCapture", "EndCapture", "BatchMemOp", "WaitValue32", "WaitValue64", "WriteValue32",
                    "WriteValue64"],
    "hipStream{}_spt": ["Query", "Synchronize", "WaitEvent", "AddCallback", "BeginCapture", "EndCapture"],
    "hip{}": ["EventRecord", "EventRecord_spt", "GraphLaunch", "GraphLaunch_spt", "MallocAsync", "FreeAsync", "SignalExternalSemaphoresAsync",
              "WaitExternalSemaphoresAsync"],
}


@test
def every_form_of_an_asynchronous_call_is_known_with_its_stream():
    text = open(os.path.join(ROOT, "src/vendor/rocprof_hip.def")).read()
    known = set(re.findall(r"^CALL\((\w+),", text, re.M)) & set(re.findall(r"^FIELD\((\w+), STREAM,", text, re.M))
    eq({name.format(form) for name, forms in FORMS.items() for form in forms} - known, set())
    calls = set(re.findall(r"^CALL\((\w+),", text, re.M))
    eq({"hipGraphAddEventRecordNode", "hipGraphAddEventWaitNode", "hipGraphExecEventRecordNodeSetEvent", "hipGraphExecEventWaitNodeSetEvent", "hipModuleLoadData",
        "hipModuleLoadDataEx"} - calls, set())


@test
def without_the_driver_nothing_is_asked_for():
    # SDKs before 1.0 end the program there
    v = variables("nodriver", "env", LD_LIBRARY_PATH=FAKE, FAKE_KFD="0")
    eq([k for k in v if k.startswith("ROCP")] + [v["LD_PRELOAD"]], [KFD])


@test
def a_wheel_s_own_sdk_wins():
    venv = os.path.join(WORK, "venv")
    lib = os.path.join(venv, "lib/python3.12/site-packages/torch/lib")
    os.makedirs(lib, exist_ok=True)
    os.makedirs(venv + "/bin", exist_ok=True)
    shutil.copy(FAKE + "/librocprofiler-sdk.so", lib)
    shutil.copy("/usr/bin/env", venv + "/bin/python")
    v = variables("wheel", venv + "/bin/python", LD_LIBRARY_PATH=FAKE)
    eq(v["ROCPROFILER_REGISTER_LIBRARY"], lib + "/librocprofiler-sdk.so")


@each("600", "10100")
def sanitizers_find_nothing(v):
    sources = RT + ["src/record/rocm.c"] + sorted(glob.glob(os.path.join(ROOT, "src/record/rocm_*.c")))
    for kind in ("address,undefined", "thread"):
        program = os.path.join(WORK, "sanitized-" + kind.split(",")[0])
        if not os.path.exists(program):
            cc(program, f"-fsanitize={kind}", "-fno-sanitize-recover=all", "-DASSAY_CHECKED", "-rdynamic", "tests/record/hip_program.c",
               "tests/fake/librocprofiler-sdk.c", *sources, "-ldl")
        for script in ("streams", "graphs", "threads", "markers", "memory", "odd", "many"):
            # without the path: or the plain recorder comes in, too
            env = {"LD_LIBRARY_PATH": "", "FAKE_ROCPROF_LINKED": "1", "ASAN_OPTIONS": f"verify_asan_link_order=0:log_path={WORK}/races", **tap.sanitizer_env(WORK)}
            run, p = record(script, v, env=env, program=program)
            said = p.stderr + tap.sanitizer_reports(WORK)
            assert p.returncode == 4 and "Sanitizer" not in said and "runtime error" not in said, f"{script}: {p.returncode}\n{said[:6000]}"


def main():
    build()
    for t in tests:
        if sys.argv[2:] and not any(w in t.__name__ for w in sys.argv[2:]):
            continue
        try:
            t()
            tap.ok(t.__name__, True)
        except Exception as e:  # noqa: BLE001
            tap.ok(t.__name__, False, f"{type(e).__name__}: {e}")
    shutil.rmtree(WORK, ignore_errors=True)
    tap.done()


main()
