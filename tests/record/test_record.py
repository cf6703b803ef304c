#!/usr/bin/env python3
"""The recorder without a GPU: a fake driver and CUPTI, and programs that end in every way there is.
usage: test_record.py [BUILD [WORDS...]]   prints one line a test, of those whose name has one of the WORDS;
exit status 1 when one fails."""
import contextlib
import csv
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
from harness import (ASSAY, BUILD, FAKE, PATIENCE, PLAIN, ROOT, RT, WORK, Skip, assay_record, build_fakes, captures, cc,  # noqa: E402
                     eq, gone, no_rings, one, record, run, sanitizer_env, sanitizer_reports, test, until)
from job import Job  # noqa: E402


def build():
    build_fakes()
    cc(FAKE + "/libnvidia-ml.so.1", "-fPIC", "-shared", "-Wl,-soname,libnvidia-ml.so.1", "tests/fake/nvml.c")
    cc(FAKE + "/libamd_smi.so", "-fPIC", "-shared", "-Wl,-soname,libamd_smi.so", "tests/fake/amdsmi.c")


@test
def kernels_copies_and_calls_are_recorded_once():
    run, p = record("return")
    c = one(run)
    eq((len(c.rows["KERNEL"]), len(c.rows["COPY"]), len(c.rows["SYNC"]), len(c.rows["EVENT"])), (20, 10, 0, 0))
    names = {(r["domain"], r["function"]): c.text(r["name"]) for r in c.rows["API_NAME"]}
    calls = sorted({names[r["domain"], r["function"]] for r in c.rows["API"]})
    eq(calls, ["cuLaunchKernel", "cudaEventRecord", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamWaitEvent"])
    eq(len(c.rows["API"]), 50)
    eq({r["corr"] for r in c.rows["KERNEL"]} <= {r["corr"] for r in c.rows["API"]}, True)
    eq(sorted(c.text(r["name"]) for r in c.rows["KERNEL"])[0], "_Z3addPfS_i")
    eq(list(c.strings.values()).count("_Z3addPfS_i"), 1)
    eq((c.bad, len(c.rows["END"]), p.returncode), (0, 1, 0))
    no_rings(run)


@test
def copies_between_devices_are_recorded_where_there_are_two():
    c = one(record("peers", "0", env={"FAKE_CUPTI_TWO": "1"})[0])
    eq([(r["kind"], r["size"], r["from_device"], r["to_device"]) for r in c.rows["COPY"]], [(10, 4096, 0, 1)] * 5)
    eq(sorted((r["id"], r["device"]) for r in c.rows["CONTEXT"]), [(1, 0), (2, 1)])


def calls_named(c, name):
    numbers = {r["function"] for r in c.rows["API_NAME"] if c.text(r["name"]) == name}
    return [r for r in c.rows["API"] if r["function"] in numbers]


@test
def calls_that_order_work_keep_their_handles():
    c = one(record("return")[0])
    records, waits = calls_named(c, "cudaEventRecord"), calls_named(c, "cudaStreamWaitEvent")
    eq({(r["event"], r["stream"], r["stream_id"], r["context"], r["given"]) for r in records},
       {(0x50140, 0x100d, 13, 1, 31)})
    eq({(r["event"], r["stream"], r["stream_id"]) for r in waits}, {(0x50140, 0, 7)})
    assert all(r["start"] <= r["end"] for r in records + waits)


@test
def a_call_without_arguments_tells_its_context():
    c = one(record("sync")[0])
    eq([(r["given"], r["context"], r["stream_id"]) for r in calls_named(c, "cudaDeviceSynchronize")],
       [(28, 1, 0xffffffff)])


@test
def calls_that_do_several_things_tell_each_of_them():
    c = one(record("orders")[0])
    def told(name, *fields):
        return [tuple(r[f] for f in fields) for r in calls_named(c, name) if "arg0" in r]
    eq(told("cuStreamWriteValue64_v2", "event", "stream", "arg0"), [(0x9000, 0x100d, 3)])
    eq(told("cuStreamWaitValue32_v2", "event", "arg0", "arg1"), [(0x9008, 7, 2)])
    eq([r for r in told("cudaSignalExternalSemaphoresAsync", "event", "arg0", "stream", "given") if r[3] & 32],
       [(0xa000, 11, 0x100d, 63), (0xa008, 12, 0x100d, 63)])
    eq(told("cudaGraphAddEventRecordNode", "event", "arg0"), [(0x50140, 0x600)])
    eq(told("cudaGraphAddChildGraphNode", "arg0", "arg1"), [(0x610, 0x600)])
    eq(told("cudaGraphExecEventRecordNodeSetEvent", "event", "arg0", "arg1"), [(0x50180, 0x700, 0x800)])
    eq((told("cudaMallocAsync", "stream"), told("cudaFreeAsync", "stream", "arg0")), ([(0x100d,)], [(0x100d, 0xb000)]))
    eq((told("cudaMalloc", "stream"), len(calls_named(c, "cudaMalloc"))), ([], 1))
    eq(told("cudaGraphInstantiate", "arg0", "arg1"), [(0x700, 0x600)])
    eq(told("cudaGraphLaunch", "arg0", "stream"), [(0x700, 0x100d)])
    eq((told("cudaLaunchKernelExC", "arg0", "stream"), len(calls_named(c, "cudaLaunchKernelExC"))), ([(0x50180, 0x100d)], 2))


@test
def every_wait_is_resolved():
    run, _ = record("return")
    out = json.loads(subprocess.run([ASSAY, "waits", run, "--json"], check=True, capture_output=True).stdout)
    stream_waits = [w for w in out["waits"] if w["kind"] == "stream_wait_event"]
    eq(len(stream_waits), 10)
    eq({w["class"] for w in stream_waits}, {"exact"})
    eq({(w["producer_stream"], w["producer_kernel"]) for w in stream_waits}, {(13, "Memcpy HtoD (Pinned -> Device)")})


@test
def exact_waits_add_the_vendors_numbers():
    c = one(record("return", opts=["--exact-waits"])[0])
    ids = {r["sync_id"] for r in c.rows["EVENT"]}
    eq((len(c.rows["SYNC"]), len(c.rows["EVENT"]), len(c.rows["API"])), (10, 10, 50))
    assert all(r["sync_id"] in ids for r in c.rows["SYNC"])


@test
def ranges_pair_and_domains_keep_apart():
    c = one(record("domains")[0])
    ops = [(r["op"], c.text(r["domain"]), r["text"]) for r in c.rows["RANGE"]][-4:]
    eq(ops, [(1, "A", "in A"), (1, "B", "in B"), (2, "A", ""), (2, "B", "")])


@test
def all_api_adds_the_calls_that_only_ask():
    c = one(record("pause", opts=["--all-api", "--set", "flush=5"])[0])
    eq([len(calls_named(c, n)) for n in ("cudaGetDevice", "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2")], [10, 10, 0])
    eq(len(c.rows["API"]), 60)  # none of our own thread, which calls cuDriverGetVersion


@test
def launches_are_seen_once_where_the_driver_is_called():
    run, p = record("return", "20", opts=("--set", "driver_launches=1"), name="driver_launches")
    eq(p.returncode, 0)
    c = one(run)
    eq([len(calls_named(c, n)) for n in ("cudaLaunchKernel", "cuLaunchKernel", "cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", "cudaEventRecord", "cuEventRecord")],
       [0, 40, 0, 20, 20, 0])
    eq({k["corr"] for k in c.rows["KERNEL"] + c.rows["COPY"]} <= {a["corr"] for a in c.rows["API"]}, True)


@test
def an_older_cupti_gives_shorter_records():
    c = one(record("return", opts=["--exact-waits"], env={"FAKE_CUPTI_OLD": "1"})[0])
    eq((len(c.rows["KERNEL"]), len(c.rows["SYNC"])), (20, 10))
    eq({r["sync_id"] for r in c.rows["SYNC"]}, {0})


@test
def threads_have_their_own_ids():
    c = one(record("threads")[0])
    eq(len({r["thread"] for r in c.rows["API"]}), 9)
    eq(len({r["thread"] for r in c.rows["RANGE"]}), 9)
    eq(len(c.rows["KERNEL"]), 20 + 8 * 100)
    eq(len(c.rows["RANGE"]), (10 + 400) * 4)


@test
def kill_9_loses_nothing_older_than_the_flush_interval():
    run, p = record("kill", "200")
    c = one(run)
    eq(len(c.rows["KERNEL"]), 400)
    eq(len(c.rows["RANGE"]), 801)  # the last one was written just before: it lay in shared memory
    eq(c.rows["RANGE"][-1]["text"], "last words")
    eq((c.rows["END"], p.returncode), ([], 128 + 9))
    assert "signal 9" in p.stderr and "left behind" in p.stderr, p.stderr
    no_rings(run)


@test
def the_process_itself_writes_while_it_runs():
    run = os.path.join(WORK, "alone")
    os.makedirs(run)
    e = dict(os.environ, LD_LIBRARY_PATH=FAKE, ASSAY_RECORD=f"1;dir={run};flush=100",
             CUDA_INJECTION64_PATH=BUILD + "/libassay_cuda.so", NVTX_INJECTION64_PATH=BUILD + "/libassay_cuda.so")
    p = subprocess.Popen([FAKE + "/program", "sleep", "50"], env=e, stdout=subprocess.PIPE)
    p.stdout.readline()

    def written():
        c = captures(run)
        return c and (len(c[0].rows["KERNEL"]), len(c[0].rows["RANGE"])) == (100, 200)
    try:
        until(written, "nothing is written")
    finally:
        p.kill()
        p.communicate()


@test
def _exit_leaves_everything_in_shared_memory():
    for how in ("_exit", "exit-call"):  # the function, and the system call behind our back
        run, p = record(how)
        c = one(run)
        eq((c.rows["RANGE"][-1]["text"], p.returncode, len(c.rows["END"])), ("last words", 5, how == "_exit"))
        no_rings(run)


@test
def ten_thousand_threads_eight_at_a_time_share_few_rings():
    run = os.path.join(WORK, "short")
    os.makedirs(run)
    cc(WORK + "/stress", "-O2", "tests/record/rt_stress.c", *RT)
    p = subprocess.run([WORK + "/stress", "8", "10", "gone", "1249"], capture_output=True, text=True,
                       env=dict(os.environ, ASSAY_RECORD=f"1;dir={run};flush=3000"))
    eq(p.stdout.split()[1:5], ["committed", "100010", "refused", "0"])
    c = one(run)
    eq((len(c.rows["RANGE"]), c.rows["LOST"]), (100010, []))


def ledger(run):
    """Rows of the capture's ledger by process: {source: {(kind, cause): row}}."""
    out = json.loads(subprocess.run([ASSAY, "info", "--json", run], capture_output=True, check=True).stdout)
    rows = {}
    for r in out["ledger"]:
        rows.setdefault(r["source"], {})[r.get("kind"), r["cause"]] = r
    return list(rows.values())


@test
def nothing_was_lost_is_said_when_the_counts_prove_it():
    run, p = record("return")
    assert "nothing was lost: 1 process ended in order, and the counts agree" in p.stderr, p.stderr
    rows, = ledger(run)
    eq({k: (r["made"], r["read"]) for (k, _), r in rows.items() if k in ("kernels", "calls", "ranges")},
       {"kernels": (20, 20), "calls": (50, 50), "ranges": (40, 40)})
    eq({r["proof"] for r in rows.values()}, {"proved"})
    c, = glob.glob(run + "/*.asy")
    data = open(c, "rb").read()
    body = data.index(b"ASYC", 1)  # the second chunk is taken out: the end is there, and so are the counts
    open(c, "wb").write(data[:body] + data[data.index(b"ASYC", body + 1):])
    rows, = ledger(run)
    assert any(cause == "not_in_file" and r["dropped"] for (_, cause), r in rows.items()), rows
    out = subprocess.run([ASSAY, "report", "-v", run], capture_output=True, text=True).stdout
    assert "nothing was lost" not in out and "the capture does not hold" in out, out


@test
def what_recording_took_is_told():
    run, _ = record("threads", name="cost")
    c = one(run)
    facts = {c.text(m["key"]): json.loads(c.text(m["value"])) for m in c.rows["META"] if c.text(m["key"]).startswith("cost.")}
    calls, writer = facts["cost.callback_ns"], facts["cost.writer"]
    assert len(c.rows["API"]) / 16 <= calls["looked_at"] <= len(c.rows["API"]) / 16 + 9, calls  # nine threads, one in 16 of each
    eq((sum(calls["log2"]), calls["max"] <= calls["sum"]), (calls["looked_at"], True))
    assert 0 < writer["bytes"] <= os.path.getsize(glob.glob(run + "/*.asy")[0]), writer
    out = subprocess.run([ASSAY, "info", run], check=True, capture_output=True, text=True).stdout
    assert f"({calls['looked_at']} looked at)" in out and "page faults" in out, out


@test
def after_a_kill_it_is_said_how_much_may_be_missing():
    run, p = record("kill-now", "200")
    rows, = ledger(run)
    gone = 400 - len(one(run).rows["KERNEL"]) + 200 - len(one(run).rows["COPY"])
    said = f"unknown: at most {gone} piece{'s' * (gone != 1)} of GPU work" if gone else "no GPU work is missing, though the process was killed"
    assert "nothing was lost" not in p.stderr and said in p.stderr, p.stderr
    eq((rows["calls", "none"]["read"], rows["ranges", "none"]["read"]), (1000, 801))
    eq((rows["GPU work", "killed_before_flush"]["unknown"], rows["calls", "none"]["proof"]), (gone, "unknown"))
    # nothing is unknown when all launches have their work
    rows, = ledger(record("kill", "20", name="kill-later")[0])
    eq(rows["GPU work", "killed_before_flush"]["unknown"], 0)


@test
def what_threads_launch_while_their_program_ends_is_told_or_may_be_missing():
    program, count = FAKE + "/goes_on", WORK + "/launched"
    cc(program, "tests/record/goes_on.c", FAKE + "/libcuda.so.1")
    for how in ("exit", "_exit", "exec", "kill", "atexit") * 3:
        run = WORK + "/goes-on"
        shutil.rmtree(run, ignore_errors=True)
        p = assay_record("-o", run, "--telemetry", "off", "--", program, how, count)
        eq(p.returncode, 128 + 9 if how == "kill" else 0)
        launched, = struct.unpack("<Q", open(count, "rb").read(8))
        kernels, rows = len(one(run).rows["KERNEL"]), ledger(run)[0].values()
        told = sum(r.get("unknown", 0) + (r.get("dropped", 0) if r["kind"] == "calls" else 0) for r in rows)
        assert kernels + told >= launched, (how, launched, kernels, told)
        assert kernels >= launched or "nothing was lost" not in p.stderr, (how, launched, kernels, p.stderr)
        no_rings(run)


def outlive(how, launches):
    """A process goes on when the command has ended. Returns the files of rings that it left."""
    cc(FAKE + "/hostile", "tests/record/hostile.c", FAKE + "/libcuda.so.1")
    run, said, fifo = WORK + "/" + how, WORK + "/" + how + ".said", WORK + "/" + how + ".fifo"
    os.mkfifo(fifo)
    script = '"$1" ' + how + ' <"$3" >"$2" 2>&1 & while [ ! -s "$2" ]; do sleep 0.01; done'
    # which has written nothing to its file when the command ends
    writer = subprocess.Popen(["sh", "-c", 'exec 3>"$1"; read line; echo >&3', "sh", fifo], stdin=subprocess.PIPE)
    p = assay_record("-o", run, "--telemetry", "off", "--set", "flush=600000", "--set", "rings=" + WORK, "--", "sh", "-c", script, "sh", FAKE + "/hostile", said,
                     fifo)
    assert "still run and go on recording" in p.stderr and "no room" not in p.stderr and "not seen to use" not in p.stderr, p.stderr
    writer.communicate(b"\n")
    until(lambda: captures(run) and one(run).rows["END"], "it does not end")
    pid, = (int(c.rsplit("-", 1)[1][:-len(".asy")]) for c in glob.glob(run + "/*.asy"))
    until(lambda: gone(pid), "it lives")
    eq((len(one(run).rows["API"]), len(one(run).rows["KERNEL"])), (launches, launches))
    rings = json.load(open(run + "/run.json"))["rings"]
    eq(os.path.dirname(rings), os.path.realpath(WORK))
    left = glob.glob(rings + "/*.ring")
    eq((assay_record("--recover", run).returncode, os.path.exists(rings)), (0, False))
    eq((len(one(run).rows["API"]), len(one(run).rows["END"])), (launches, 1))
    return left


@test
def what_a_process_that_outlives_the_command_records_is_kept():
    outlive("wait", 200)


@test
def a_thread_that_outlives_its_process_keeps_the_rings_for_a_recovery():
    eq(len(outlive("stay", 300)), 1)


@test
def drops_are_told_by_kind_and_cause():
    run, p = record("burst", opts=["--set", "ring=4096", "--set", "flush=1000"])
    assert "lost" in p.stderr and "ring was full" in p.stderr and "nothing was lost" not in p.stderr, p.stderr
    rows, = ledger(run)
    for kind, made in (("calls", 5 * 10000), ("ranges", 4 * 10000)):
        eq(rows[kind, "none"]["read"] + rows[kind, "ring_full"]["dropped"], made)


@test
def exec_and_exit_hand_everything_over_first():
    run, p = record("execs", "5", "30")
    c = captures(run)
    eq((len(c), sum(len(x.rows["KERNEL"]) for x in c), p.returncode), (31, 310, 0))
    assert "nothing was lost: 31 processes" in p.stderr, p.stderr
    for how in ("_exit", "quick_exit"):
        run, p = record(how, "5", name=f"whole-{how}")
        eq((len(one(run).rows["KERNEL"]), p.returncode), (10, 5))
        assert "nothing was lost" in p.stderr, p.stderr


@test
def an_exec_that_fails_goes_on_recording():
    run, p = record("exec-fails", "5")
    c = one(run)
    eq((len(c.rows["KERNEL"]), len(c.rows["END"]), c.rows["DEATH"], p.returncode), (12, 1, [], 0))


@test
def exec_starts_a_second_capture():
    run, p = record("exec", "5")
    c = captures(run)
    eq([len(x.rows["RANGE"]) for x in sorted(c, key=lambda x: x.rows["PROCESS"][0]["start"])], [20, 12])
    eq(len({x.rows["PROCESS"][0]["pid"] for x in c}), 1)


@test
def fork_gives_the_child_its_own_capture():
    run, p = record("fork", "5")
    c = sorted(captures(run), key=lambda x: x.rows["PROCESS"][0]["start"])
    eq(len(c), 2)
    eq((len(c[0].rows["RANGE"]), len(c[0].rows["KERNEL"])), (24, 12))
    eq([r["text"] for r in c[1].rows["RANGE"]], ["child", ""] * 10)
    eq(len(c[1].rows["KERNEL"]), 0)


@test
def dlclose_does_no_harm():
    run, p = record("dlclose", "5")
    eq((p.returncode, len(one(run).rows["KERNEL"])), (0, 12))


@test
def a_program_that_closes_our_files_keeps_its_own():
    mine = WORK + "/mine.txt"
    run, p = record("close", "5", mine)
    eq((p.returncode, os.path.getsize(mine)), (0, 0))
    c = one(run)
    eq((c.bad, len(c.rows["LOST"]), len(c.rows["KERNEL"]), len(c.rows["END"])), (0, 0, 12, 1))
    no_rings(run)


@test
def work_that_never_ends_is_counted():
    c = one(record("hang", "5")[0])
    eq([(r["why"], r["count"]) for r in c.rows["LOST"]], [(5, 1)])
    eq(len(c.rows["KERNEL"]), 10)


@test
def records_the_vendor_drops_are_counted():
    c = one(record("return", env={"FAKE_CUPTI_DROP": "3"})[0])
    eq({(r["why"], r["count"]) for r in c.rows["LOST"]}, {(2, 3)})


@test
def a_trace_without_work_says_why():
    for opts, why in ((["--only-range", "nothing"], "'nothing'"), (["--delay", "3600s"], "before the delay was over")):
        err = record("return", opts=opts, name="empty")[1].stderr
        assert "no GPU work was recorded" in err and why in err, err
    assert "no GPU work" not in record("return", name="work")[1].stderr


@test
def another_profiler_may_take_over_and_is_told():
    run, p = record("taken", opts=["--set", "flush=5"])
    c = one(run)
    eq([r["why"] for r in c.rows["LOST"]], [3])
    assert "another profiler" in p.stderr, p.stderr
    eq((p.returncode, p.stdout), (0, "stolen some\n"))
    eq(len(c.rows["KERNEL"]) >= 20, True)


@test
def a_profiler_of_the_program_itself_goes_on_working_beside_us():
    exe = WORK + "/shared"
    cc(exe, "tests/record/shared.c", FAKE + "/libcuda.so.1", FAKE + "/libcupti.so.13")
    for how in ("", "clock", "quiet", "hasty"):
        run = WORK + "/shared-run" + how
        p = subprocess.run([ASSAY, "record", "--set", "flush=5", "-o", run, "--", exe, *how.split()], text=True,
                           capture_output=True, env=dict(os.environ, LD_LIBRARY_PATH=FAKE))
        slow = how == ""  # a kernel that still runs when the session ends
        early = how == "clock"  # one that is not flushed when the clock changes, before the session
        # it sees its 40 kernels and every call of its session, and no record it did not ask for
        saw, session = p.stdout.splitlines()
        eq(saw, f"kernels {40 + slow} calls {120 + slow} others 0 unknown 0")
        start, stop = (int(w) for w in session.split()[1::2])
        c = one(run)
        # we see all of the program, and only the calls we chose
        eq((len(c.rows["KERNEL"]), len(c.rows["API"]), c.rows["LOST"]), (80 + slow + early, 160 + slow + 2 * early, []))
        # and its session where it was, whatever its clock
        at = sorted(r["start"] for r in c.rows["KERNEL"])
        eq(sum(start <= t < stop for t in at), 40 + slow)
        eq([sum(t < start for t in at), sum(t >= stop for t in at)], [10 + early, 30])


@test
def a_profiler_that_looks_cupti_up_gets_the_subscription():
    cc(FAKE + "/libproton_test.so", "-shared", "-fPIC", "tests/record/looker.c", "-ldl")
    run, p = record("looker", opts=["--set", "flush=5"])
    eq(p.stdout, "subscribed 0\n")
    c = one(run)
    # all eleven steps by callbacks, none by CUPTI's records
    eq((len(calls_named(c, "cudaEventRecord")), len(c.rows["EVENT"]), len(c.rows["SYNC"])), (11, 0, 0))


@test
def calls_are_recorded_where_another_tool_has_the_callbacks():
    run, p = record("return", "13", env={"FAKE_CUPTI_TAKEN": "1"}, name="held")
    c = one(run)
    eq((p.returncode, len(calls_named(c, "cudaLaunchKernel"))), (0, 13))
    eq([c.text(m["value"]) for m in c.rows["META"] if c.text(m["key"]) == "stacks.none"], ["another tool has CUPTI's callbacks"])


@test
def a_profiler_that_uses_callbacks_is_told_the_same_beside_us():
    exe = WORK + "/members"
    cc(exe, "tests/record/members.c", FAKE + "/libcuda.so.1", FAKE + "/libcupti.so.13")
    env = dict(os.environ, LD_LIBRARY_PATH=FAKE)
    alone = subprocess.run([exe], capture_output=True, text=True, env=env, check=True).stdout
    assert "launches: 0 1, 5 and 5\n" in alone and "all calls: 0 1, 15 and 15\n" in alone, alone
    for how in ([], ["--paused"], ["--delay", "150ms"], ["--duration", "150ms"]):
        run = WORK + "/members-run" + "".join(how)
        p = subprocess.run([ASSAY, "record", *how, "-o", run, "--", exe], capture_output=True, text=True, env=env)
        eq((p.returncode, p.stdout), (0, alone))
    c = one(WORK + "/members-run")
    # while we have every call, and none of them from CUPTI's records
    eq((len(calls_named(c, "cudaLaunchKernel")), len(calls_named(c, "cudaEventRecord"))), (46, 45))
    eq((len(c.rows["EVENT"]), len(c.rows["SYNC"]), c.rows["LOST"]), (0, 0, []))


@test
def a_profiler_with_a_cupti_of_its_own_works_as_alone():
    own = WORK + "/own"
    os.makedirs(own, exist_ok=True)
    cc(own + "/libcupti.so", "-fPIC", "-shared", "-Wl,-soname,libcupti.so.12", "tests/fake/cupti.c")
    cc(own + "/libproton.so", "-shared", "-fPIC", "tests/record/looker.c", "-ldl")
    args = ("proton", "10", own + "/libcupti.so", own + "/libproton.so")
    run, p = record(*args)
    # asked for at once after it was loaded: no tick of ours lies between
    eq((p.returncode, p.stdout), (0, "started 0\nkernels 20 callbacks 50\n"))
    c = one(run)
    eq((len(c.rows["KERNEL"]), c.rows["LOST"]), (42, []))
    eq(len(calls_named(c, "cudaLaunchKernel")), 21)


@test
def a_program_without_gpu_runs_as_before():
    run, p = record("nothing")
    eq((p.returncode, p.stdout, captures(run)), (7, "", []))
    assert "not seen to use a GPU" in p.stderr, p.stderr


@test
def a_program_without_its_recorders_says_so():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ASSAY, folder)
        p = subprocess.run([folder + "/assay", "record", "-o", folder + "/run", "--", "true"], capture_output=True, text=True)
    assert p.returncode == 0 and "neither beside the program nor in ../lib/assay" in p.stderr, p.stderr


def press_ctrl_c(name, times):
    """A recording of a program that sleeps, so often interrupted from its terminal."""
    run = os.path.join(WORK, name)
    p = subprocess.Popen([ASSAY, "record", "-o", run, "--", FAKE + "/program", "sleep", "7"],
                         env=dict(os.environ, LD_LIBRARY_PATH=FAKE), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, start_new_session=True)
    p.stdout.readline()
    for _ in range(times):
        os.killpg(p.pid, signal.SIGINT)
    p.communicate(timeout=PATIENCE)
    return run, p


@test
def ctrl_c_reaches_the_program_and_leaves_a_run():
    run, p = press_ctrl_c("ctrl_c", 1)
    eq(p.returncode, 128 + signal.SIGINT)
    c = one(run)
    eq(len(c.rows["RANGE"]), 28)
    eq(json.load(open(run + "/run.json"))["signal"], int(signal.SIGINT))


@test
def sigterm_to_assay_is_passed_on():
    run = os.path.join(WORK, "sigterm")
    p = subprocess.Popen([ASSAY, "record", "-o", run, "--", FAKE + "/program", "sleep", "7"],
                         env=dict(os.environ, LD_LIBRARY_PATH=FAKE), stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    p.stdout.readline()
    p.terminate()
    eq(p.wait(timeout=PATIENCE), 128 + signal.SIGTERM)
    p.stdout.close()
    eq(len(one(run).rows["RANGE"]), 28)


@test
def only_range_keeps_what_is_inside():
    c = one(record("return", "10", opts=["--only-range", "odd"])[0])
    names = {(r["domain"], r["function"]): c.text(r["name"]) for r in c.rows["API_NAME"]}
    eq({names[r["domain"], r["function"]] for r in c.rows["API"]}, {"cudaLaunchKernel"})
    eq(len(c.rows["API"]), 5)


@test
def a_call_inside_a_call_has_a_row_of_its_own():
    c = one(record("first", "0")[0])
    names = {(r["domain"], r["function"]): c.text(r["name"]) for r in c.rows["API_NAME"]}
    rows = sorted(c.rows["API"], key=lambda r: r["start"])
    eq([names[r["domain"], r["function"]] for r in rows], ["cuLaunchKernel", "cuLibraryLoadData"])
    eq([rows[0]["start"] <= rows[1]["start"], rows[1]["end"] <= rows[0]["end"]], [True, True])


@test
def work_launched_inside_a_range_is_kept_when_it_runs_later():
    c = one(record("late", "0", opts=["--only-range", "odd"])[0])
    eq([c.text(r["name"]) for r in c.rows["KERNEL"]], ["late"])


@test
def a_step_of_the_wall_clock_moves_no_work_and_no_telemetry():
    if "address" in BUILD:
        raise Skip("a preload before the sanitizer's")
    cc(FAKE + "/libstep.so", "-shared", "-fPIC", "tests/fake/step.c")
    for seconds in ("3600", "-3600"):
        step = {"LD_PRELOAD": FAKE + "/libstep.so", "STEP_S": seconds, "STEP_FILE": f"{WORK}/stepped{seconds}"}
        run, p = record("a-while", "1", env=step, name="step" + seconds, opts=["--telemetry", "10"])
        c, times = one(run), json.load(open(run + "/run.json"))
        begin, length = times["start"]["unix_ns"], times["stop"]["boottime_ns"] - times["start"]["boottime_ns"]
        rows = [int(line.split(",")[0]) for line in open(run + "/telemetry.csv").read().splitlines()[1:]]
        eq((len(rows) > 2, [t - begin for t in rows if not begin <= t <= begin + length]), (True, []))
        first, last = c.rows["PROCESS"][0]["start"], c.rows["END"][0]["time"]
        eq(len(c.rows["KERNEL"]), 3002)
        eq([r["start"] for r in c.rows["KERNEL"] if not first <= r["start"] <= last], [])
        out = subprocess.run([ASSAY, "report", run], capture_output=True, text=True).stdout
        assert f"the wall clock was set by {seconds}.0" in out or f"set by {seconds[:-1]}" in out, out[-1500:]


def stopped_when_its_capture_has(size, name):
    """A program that is recorded, and stopped for a while; what assay record said, and the run."""
    run = WORK + "/" + name
    p = subprocess.Popen([ASSAY, "record", "-o", run, "--", FAKE + "/program", "a-while", "1"],
                         env=dict(os.environ, LD_LIBRARY_PATH=FAKE), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    until(lambda: any(os.path.getsize(f) >= size for f in glob.glob(run + "/*.asy")), "a capture")
    pid = int(glob.glob(run + "/*.asy")[0].rsplit("-", 1)[1].removesuffix(".asy"))
    time.sleep(0.05)  # it has written just now, and sleeps
    os.kill(pid, signal.SIGSTOP)
    time.sleep(2.5)
    os.kill(pid, signal.SIGCONT)
    return p.communicate(timeout=PATIENCE)[1], run


@test
def a_program_that_is_stopped_as_it_starts_is_recorded():
    said, _ = stopped_when_its_capture_has(0, "early")
    assert "nothing was lost" in said, said


@test
def a_program_that_stood_still_is_not_said_to_wait():
    said, run = stopped_when_its_capture_has(30000, "still")
    assert "nothing was lost" in said, said
    flips = one(run).rows["SWITCH"]
    eq([(r["on"], r["why"]) for r in flips], [(0, 4), (1, 0)])
    assert 1e9 < flips[1]["time"] - flips[0]["time"] < 60e9, flips
    out = subprocess.run([ASSAY, "report", run], capture_output=True, text=True).stdout
    assert "stood still" in out, out
    gaps = subprocess.run([ASSAY, "sql", run, "select count(*) from gap where dur > 1000000000"], capture_output=True, text=True).stdout
    eq(gaps.split()[-1], "0")


@test
def delay_and_duration_bound_the_recording():
    eq(len(one(record("return", opts=["--delay", "3600s"])[0]).rows["KERNEL"]), 0)
    eq(len(one(record("return", opts=["--duration", "3600s"], name="dur")[0]).rows["KERNEL"]), 20)


@test
def run_json_says_what_happened():
    run, p = record("return")
    j = json.load(open(run + "/run.json"))
    eq((j["status"], j["counts"]["kernels"], j["counts"]["waits_resolved"]), (0, 20, 10))
    assert j["start"]["boottime_ns"] < j["stop"]["boottime_ns"]


@test
def secrets_of_a_command_line_are_kept_nowhere():
    run = WORK + "/secrets"
    words = ["--api-key", "hunter2", "--token=hunter2", "https://me:hunter2@host/x", "PGPASSWORD=hunter2", "--steps", "7"]
    eq(assay_record("-o", run, "--", FAKE + "/program", "return", *words).returncode, 0)
    eq(json.load(open(run + "/run.json"))["command"][2:], ["--api-key", "***", "--token=***", "https://***@host/x", "PGPASSWORD=***", "--steps", "7"])
    for name in os.listdir(run):
        assert b"hunter2" not in open(f"{run}/{name}", "rb").read(), name
    told = subprocess.run([ASSAY, "info", "--json", run], capture_output=True, text=True).stdout
    assert "--token=*** https://***@host/x" in told, told


@test
def a_used_directory_is_refused_and_a_missing_command_told():
    run, p = record("return")
    again = subprocess.run([ASSAY, "record", "-o", run, "--", "true"], capture_output=True, text=True)
    eq(again.returncode, 2)
    p = subprocess.run([ASSAY, "record", "-o", WORK + "/none", "--", "/no/such/program"], capture_output=True,
                       text=True)
    eq(p.returncode, 127)
    assert "cannot run /no/such/program" in p.stderr, p.stderr


@test
def missing_folders_are_made_and_taken_back_when_nothing_ran():
    p = assay_record("-o", "up/and/down/", "--", FAKE + "/program", "return")
    eq((p.returncode, len(captures(WORK + "/up/and/down"))), (0, 1))
    eq(assay_record("-o", "left/and/right", "--", "/no/such/program").returncode, 127)
    eq(os.path.exists(WORK + "/left"), False)
    eq(assay_record("-o", "up/and/" + "x" * 200 + "/" + "x" * 250 + "/" + "x" * 250, "--", "true").returncode, 1)
    eq(os.listdir(WORK + "/up/and"), ["down"])


@test
def a_folder_with_other_things_in_it_is_refused_and_left_alone():
    where = WORK + "/mine"
    os.mkdir(where)
    open(where + "/env.json", "w").write("mine")
    eq(assay_record("-o", where, "--", "true").returncode, 2)
    eq((os.listdir(where), open(where + "/env.json").read()), (["env.json"], "mine"))
    eq(assay_record("-o", "", "--", "true").returncode, 2)


@test
def two_runs_in_one_second_have_two_names():
    where = WORK + "/unnamed"
    os.mkdir(where)
    eq([assay_record("-q", "--", "true", cwd=where).returncode for _ in range(3)], [0, 0, 0])
    eq(len(os.listdir(where)), 3)


@test
def what_cannot_be_run_has_the_status_of_a_shell():
    plain = WORK + "/plain"
    open(plain, "w").close()
    eq([assay_record("-o", WORK + "/norun", "--", c).returncode for c in ("nosuchcommand", plain, WORK)], [127, 126, 126])


@test
def a_status_is_the_commands_also_where_ends_of_children_are_ignored():
    ignores = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    shows = "import signal, sys; sys.exit(7 if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN else 8)"
    run = WORK + "/ignored"
    p = subprocess.run([sys.executable, "-c", ignores, ASSAY, "record", "-o", run, "--telemetry", "off", "--", sys.executable, "-c", shows],
                       capture_output=True, text=True, timeout=PATIENCE)
    eq((p.returncode, json.load(open(run + "/run.json"))["status"], os.path.exists(run + "/env.json")), (7, 7, True))


@test
def a_recording_inside_another_says_who_gets_the_work():
    p = assay_record("-o", "outer", "--", ASSAY, "record", "-o", "inner", "--", FAKE + "/program", "return")
    eq((p.returncode, len(captures(WORK + "/outer")), len(captures(WORK + "/inner"))), (0, 0, 1))
    assert "inside another" in p.stderr and "replaces" not in p.stderr, p.stderr


@test
def names_may_hold_any_character():
    for name in ("a;b", "a%3bb", "a b", "a\nb", "%s"):
        p = assay_record("-o", "odd/" + name, "--", FAKE + "/program", "return")
        eq((p.returncode, len(captures(glob.escape(WORK + "/odd/" + name)))), (0, 1))
        eq(subprocess.run([ASSAY, "report", WORK + "/odd/" + name], capture_output=True).returncode, 0)


@test
def rings_in_a_place_of_choice_are_salvaged():
    run, p = record("kill", "5", opts=["--set", "rings=" + WORK], name="rings")
    eq(one(run).rows["RANGE"][-1]["text"], "last words")
    eq(glob.glob(WORK + "/assay-*"), [])


@test
def telemetry_that_cannot_be_read_leaves_no_empty_file():
    p = assay_record("-o", "folder", "--telemetry-file", "/tmp", "--", "true")
    assert "cannot copy /tmp" in p.stderr, p.stderr
    eq(glob.glob(WORK + "/folder/telemetry-*"), [])
    eq(assay_record("-o", "norange", "--only-range", "", "--", "true").returncode, 2)


@contextlib.contextmanager
def small_disk():
    """A folder with room for what comes beside records, and a file in it that takes what is left."""
    small = tempfile.mkdtemp(dir=WORK)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], capture_output=True).returncode:
        raise Skip("no right to mount")
    try:
        yield small, small + "/ballast"
    finally:
        subprocess.run(["umount", "-l", small])


def fill(ballast, run=None):
    """When nobody else writes there any more."""
    until(lambda: not run or has_digests(run), "env.json does not come")
    with open(ballast, "wb", buffering=0) as f, contextlib.suppress(OSError):
        while True:
            f.write(bytes(4096))


def has_digests(run):
    with contextlib.suppress(FileNotFoundError), open(run + "/env.json") as f:
        return json.load(f)["assay"]["hashed"]


def recover(run):
    p = assay_record("--recover", run)
    eq((p.returncode, p.stderr), (0, p.stderr))
    return one(run)


@test
def records_without_room_are_told_and_stay_until_there_is_some():
    with small_disk() as (small, ballast):
        run = small + "/run"
        p = subprocess.Popen([ASSAY, "record", "-o", run, "--telemetry", "off", "--set", "rings=" + WORK, "--", "sh", "-c", 'echo ready; read line; exec "$@"', "sh",
                              FAKE + "/program", "return", "300"], env=dict(os.environ, LD_LIBRARY_PATH=FAKE), text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        p.stdout.readline()
        fill(ballast, run)
        said = p.communicate("\n", timeout=PATIENCE)[1]
        eq((p.returncode, os.path.exists(run + "/.run.json")), (0, False))
        assert "writes of records failed: no space" in said and "nothing was lost" not in said, said
        assert "there is no trace: nothing of it could be written" in said and "not seen to use" not in said and "cannot read" not in said, said
        os.remove(ballast)
        c = recover(run)
        eq((len(c.rows["KERNEL"]), len(c.rows["API"]), c.bad), (600, 1500, 0))


@test
def a_disk_that_becomes_full_is_named():
    with small_disk() as (small, ballast):
        job = Job("run", "--telemetry", "off", "--set", "rings=" + WORK, folder=small)
        until(lambda: os.path.getsize(glob.glob(job.run + "/*.asy")[0]), "there is no capture")
        fill(ballast, job.run)
        job.do(*["step"] * 300)
        said = job.end()
        eq(os.path.exists(job.run + "/.run.json"), False)
        assert "writes of records failed: no space" in said and "nothing was lost" not in said, said
        assert "or more pieces of GPU work" in said and "at most" not in said, said  # the rings hold what nobody read
        os.remove(ballast)
        c = recover(job.run)
        eq((len(c.rows["KERNEL"]), len(c.rows["API"]), c.bad), (600, 1500, 0))


@test
def a_full_disk_is_named_and_leaves_no_halves():
    with small_disk() as (small, ballast):
        p = assay_record("-o", small + "/run", "--set", "rings=" + small, "--", FAKE + "/program", "return", "3")
        assert "no room to record it" in p.stderr and "not seen to use a GPU" not in p.stderr, p.stderr
        with open(small + "/run/run.json") as f:
            eq([(c["why"], c["gpu"]) for c in json.load(f)["unrecorded"]], [("room", True)])
        eq((p.returncode, glob.glob(small + "/run/*.asy")), (0, []))
        fill(ballast)
        p = assay_record("-o", small + "/new", "--", "true")
        eq((p.returncode, os.path.exists(small + "/new")), (1, False))


@test
def a_program_killed_while_its_recorder_starts_leaves_nothing_behind():
    fallocate = 285 if os.uname().machine == "x86_64" else 47  # the ring file is there by then, and nothing in it
    cc(WORK + "/refuse", "tests/record/refuse.c", flags=PLAIN)
    run = WORK + "/at-start"
    p = assay_record("-o", run, "--telemetry", "off", "--", WORK + "/refuse", str(fallocate), "kill", FAKE + "/program", "return", "3")
    eq((p.returncode, glob.glob(run + "/*.asy")), (128 + signal.SIGSYS, []))
    with open(run + "/run.json") as f:
        described = json.load(f)
    eq(([c["why"] for c in described["unrecorded"]], described["rings"]), (["start"], None))
    assert "it ended before its recorder had started" in p.stderr and "rings" not in p.stderr, p.stderr


@test
def a_second_ctrl_c_does_not_lose_the_recording():
    run, _ = press_ctrl_c("ctrl_c_twice", 20)
    eq(len(one(run).rows["RANGE"]), 28)
    no_rings(run)


@test
def a_full_ring_drops_counts_and_marks_the_gap():
    run = os.path.join(WORK, "tiny")
    os.makedirs(run)
    cc(WORK + "/stress", "-O2", "tests/record/rt_stress.c", *RT)
    p = subprocess.run([WORK + "/stress", "4", "20000", "gone", "3"], capture_output=True, text=True,
                       env=dict(os.environ, ASSAY_RECORD=f"1;dir={run};flush=50;ring=8192"))
    words = p.stdout.split()
    committed, refused = int(words[2]), int(words[4])
    c = one(run)
    eq((len(c.rows["RANGE"]), words[6]), (committed, "kept"))
    eq(sum(r["count"] for r in c.rows["LOST"]), refused)
    assert refused and all(r["first"] <= r["last"] for r in c.rows["LOST"] if r["why"] == 1)


def steps_of(*args):
    out = subprocess.run([ASSAY, "report", "--json", *args], capture_output=True, text=True, check=True).stdout
    return json.loads(out)["run_metrics"]["steps"]


@test
def steps_come_from_the_ranges_that_were_chosen():
    run, p = record("return", "5", opts=["--steps-from", "nvtx:even"], name="steps")
    eq(steps_of(run), 3)
    eq(steps_of(*glob.glob(run + "/*.asy")), 3)
    eq([steps_of(run, "--steps-from", x) for x in ("NVTX:odd", "auto:odd", "nvtx:step")], [2, 2, 5])
    out = subprocess.run([ASSAY, "report", run, "--steps-from", "roctx:even"], capture_output=True, text=True).stdout
    assert "repetition" in out, out
    for cmd in (["report", run, "--steps-from", "nvtx:"], ["record", "--steps-from", "nvtx:", "--", "true"]):
        eq(subprocess.run([ASSAY, *cmd], capture_output=True).returncode, 2)


@test
def telemetry_is_sampled_beside_the_trace():
    run, p = record("return", opts=["--telemetry", "10"], name="tele")
    lines = open(run + "/telemetry.csv").read().splitlines()
    eq(lines[0].split(",")[:5], ["time [ns]", "gpu", "util [%]", "mem_util [%]", "mem_used [B]"])
    rows = [line.split(",") for line in lines[1:]]
    eq(sorted({r[1] for r in rows}), ["0", "1"])
    eq({(r[1], r[2], r[6]) for r in rows}, {("0", "50", "123.456"), ("1", "51", "")})
    j = json.load(open(run + "/run.json"))
    assert all(j["start"]["unix_ns"] <= int(r[0]) <= j["stop"]["unix_ns"] for r in rows)
    eq(j["telemetry"], {"from": "NVML", "devices": 2, "rows": len(rows)})
    eq(os.path.exists(record("return", opts=["--telemetry", "off"])[0] + "/telemetry.csv"), False)


def amd_telemetry(release):
    """The last row of each GPU, by column."""
    run = os.path.join(WORK, "amd" + release)
    enough = 'while [ "$(wc -l <"$ASSAY_RUN/telemetry.csv")" -lt 10 ]; do sleep 0.01; done'
    subprocess.run([ASSAY, "record", "-q", "-o", run, "--telemetry", "10", "--", "sh", "-c", enough], check=True, timeout=PATIENCE,
                   env=dict(os.environ, LD_LIBRARY_PATH=FAKE, FAKE_NVML="fail", FAKE_AMDSMI=release))
    eq(json.load(open(run + "/run.json"))["telemetry"]["from"], "AMD SMI")
    rows = list(csv.DictReader(open(run + "/telemetry.csv")))
    assert len(rows) > 6 and [r["gpu"] for r in rows[:4]] == ["0", "1", "0", "1"], len(rows)
    return [{k: v for k, v in r.items() if v and k not in ("time [ns]", "gpu")} for r in rows[-2:]]


MI300 = {"util [%]": "97", "mem_util [%]": "41", "mem_used [B]": "1048576", "mem_total [B]": "206141652992", "power [W]": "746.000",
         "clock_gfx [MHz]": "2095", "clock_mem [MHz]": "1300", "temp_hotspot [C]": "61", "temp_mem [C]": "50", "energy [J]": "1000.000",
         "xgmi_tx [B/s]": "0"}
NAVI = {"util [%]": "3", "mem_total [B]": "1073741824", "power [W]": "25.000", "clock_gfx [MHz]": "500", "clock_mem [MHz]": "96",
        "temp [C]": "44", "temp_hotspot [C]": "48", "throttle": str(1 << 36)}


@test
def telemetry_of_amd_comes_from_amd_smi_of_any_release():
    for release, tells in (("352", {}), ("424", {}), ("1832", {"throttle": "1"}), ("4544", {"throttle": "1"})):
        mi300, navi = amd_telemetry(release)
        assert float(mi300.pop("xgmi_rx [B/s]")) > 0
        eq(mi300, MI300 | tells)
        eq(navi, NAVI)


@test
def an_amd_smi_that_finds_no_driver_is_left_alone():
    run, p = record("return", opts=["--telemetry", "10"], env=dict(FAKE_NVML="fail", FAKE_AMDSMI="fail"))
    eq((p.returncode, os.path.exists(run + "/telemetry.csv")), (0, False))


@test
def telemetry_of_others_is_taken_along():
    with open(WORK + "/smi.csv", "w") as f:
        f.write("timestamp, index\n")
    run, p = record("return", opts=["--telemetry-file", WORK + "/smi.csv"])
    eq(open(run + "/telemetry-smi.csv").read(), "timestamp, index\n")


@test
def several_processes_leave_a_capture_each():
    run = os.path.join(WORK, "several")
    prog = FAKE + "/program"
    subprocess.run([ASSAY, "record", "-q", "-o", run, "--", "sh", "-c", f"{prog} return 3 & {prog} return 4; wait"],
                   env=dict(os.environ, LD_LIBRARY_PATH=FAKE, RANK="1", WORLD_SIZE="2"), check=True)
    c = captures(run)
    eq(sorted(len(x.rows["KERNEL"]) for x in c), [6, 8])
    eq({(x.text(m["key"]), x.text(m["value"])) for x in c for m in x.rows["META"]} >= {("env.RANK", "1")}, True)


@test
def ranks_of_any_launcher_record_beside_each_other():
    run, clean = os.path.join(WORK, "ranks"), {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "SLURM_PROCID")}
    for rank, names in enumerate((("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"), ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
                                  ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"), ("RANK", "WORLD_SIZE"))):
        place = dict(zip(names, (str(rank), "5")), SLURM_ARRAY_TASK_ID="3", SLURM_ARRAY_TASK_COUNT="9")
        p = subprocess.run([ASSAY, "record", "--per-rank", "-o", run, "--", FAKE + "/program", "return"], env=dict(clean, LD_LIBRARY_PATH=FAKE, **place),
                           stderr=subprocess.PIPE, text=True, check=True)
        eq(p.stderr.splitlines()[-1:], [f"next: assay report {run}"] if rank == 0 else [])
    eq(sorted(os.listdir(run)), [f"rank-{rank:05d}" for rank in range(5)])
    r = json.loads(subprocess.run([ASSAY, "report", "--json", run], stdout=subprocess.PIPE, check=True).stdout)
    eq(sorted(x["rank"] for x in r["inputs"] if x["format"] == "capture"), [0, 1, 2, 3, 4])
    eq([w for w in r["run_metrics"]["warnings"] if "missing" in w], [])
    p = subprocess.run([ASSAY, "record", "--per-rank", "-o", run, "--", "true"], env=clean, stderr=subprocess.PIPE, text=True)
    eq((p.returncode, "no launcher" in p.stderr), (2, True))


@test
def rings_fall_back_to_the_run_directory():
    run, p = record("kill", "5", opts=["--set", "rings=/nonexistent"], name="norings")
    c = one(run)
    eq(c.rows["RANGE"][-1]["text"], "last words")
    no_rings(run)


def sanitized(kind):
    exe = WORK + "/stress_" + kind.split(",")[0]
    try:
        cc(exe, "-fsanitize=" + kind, "-DASSAY_CHECKED", "tests/record/rt_stress.c", *RT, flags=PLAIN)
    except subprocess.CalledProcessError:
        raise Skip("no " + kind + " sanitizer")
    for i, how in enumerate((["return"], ["gone", "5"], ["_exit"], ["kill"])):
        run = f"{exe}-{i}"
        os.makedirs(run)
        for ring in (4096, 1 << 20):
            p = subprocess.run([exe, "4", "5000", *how], capture_output=True, text=True,
                               env=dict(os.environ, ASSAY_RECORD=f"1;dir={run};flush=5;ring={ring}", **sanitizer_env(WORK)))
            said = p.stderr + sanitizer_reports(WORK)
            assert "ERROR" not in said and "WARNING" not in said, said[:3000]


@test
def the_runtime_is_clean_under_the_thread_sanitizer():
    sanitized("thread")


@test
def the_runtime_is_clean_under_the_address_and_undefined_sanitizers():
    sanitized("address,undefined")


@test
def the_whole_recorder_is_clean_under_the_thread_sanitizer():
    d = WORK + "/tsan"
    os.makedirs(d)
    flags = [*PLAIN, "-fsanitize=thread", "-DASSAY_CHECKED", "-fPIC"]
    sources = RT + glob.glob(ROOT + "/src/record/cuda*.c") + ["src/vendor/dl.c"]
    try:
        cc(d + "/libassay_cuda.so", "-shared", "-fvisibility=hidden", "-Wl,-z,nodelete", *sources, flags=flags)
        cc(d + "/libcupti.so.13", "-shared", "-Wl,-soname,libcupti.so.13", "tests/fake/cupti.c", flags=flags)
        cc(d + "/libcuda.so.1", "-shared", "-Wl,-soname,libcuda.so.1", "tests/fake/cuda.c", flags=flags)
        cc(d + "/program", "tests/record/program.c", d + "/libcuda.so.1", flags=flags)
        cc(d + "/shared", "tests/record/shared.c", d + "/libcuda.so.1", d + "/libcupti.so.13", flags=flags)
    except subprocess.CalledProcessError:
        raise Skip("no thread sanitizer")
    for i, cmd in enumerate((["program", "threads"], ["program", "domains"], ["program", "taken"], ["shared"], ["program", "a-while"])):
        os.makedirs(f"{d}/run{i}")
        lib = d + "/libassay_cuda.so"
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        switch = f";from={now + 200_000_000};until={now + 900_000_000}" if "a-while" in cmd else ""  # on and off again meanwhile
        p = subprocess.run([d + "/" + cmd[0], *cmd[1:]], capture_output=True, text=True,
                           env=dict(os.environ, LD_LIBRARY_PATH=d, ASSAY_RECORD=f"1;dir={d}/run{i};flush=3{switch}",
                                    CUDA_INJECTION64_PATH=lib, NVTX_INJECTION64_PATH=lib, **sanitizer_env(WORK)))
        said = p.stderr + sanitizer_reports(WORK)
        assert "WARNING" not in said and p.returncode == 0, said[:3000]


def record_ranges(name, *opts):
    """tests/record/nvtx_fake.py recorded: what it says it launched, and the tables of the run."""
    if "address" in BUILD:
        raise Skip("an interpreter without sanitizers")
    run, out = os.path.join(WORK, name), os.path.join(WORK, name + "-tables")
    env = dict(os.environ, LD_LIBRARY_PATH=FAKE)
    p = subprocess.run([ASSAY, "record", "-q", "-o", run, *opts, "--", sys.executable, "tests/record/nvtx_fake.py",
                        FAKE + "/libcuda.so.1"], env=env, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert p.returncode == 0, p.stderr
    subprocess.run([ASSAY, "convert", "--to", "csv", run, out], check=True)
    tables = {}
    for t in ("host", "gpu", "gpu_scope", "scope"):
        with open(f"{out}/{t}.csv", newline="") as f:
            tables[t] = list(csv.DictReader(f))
    return run, json.loads(p.stdout.splitlines()[-1]), tables


def path_of(tables, scope):
    path = []
    while scope:
        row = tables["scope"][int(scope)]
        path.insert(0, row["name"])
        scope = row["up"]
    return "/".join(path)


@test
def every_launch_inside_a_range_has_its_scope():
    run, made, tables = record_ranges("scopes")
    p = subprocess.run([sys.executable, "tests/record/scope_share.py", run], env=dict(os.environ, ASSAY=ASSAY), cwd=ROOT,
                       capture_output=True, text=True)
    assert p.returncode == 0, p.stdout + p.stderr
    want = [f"in a range of its thread: {made['inside']}, with a scope {made['inside']}, 100.00 %",
            f"in a started range only: {made['started']}, with a scope {made['started']}, 100.00 %",
            f"in none: {made['outside']}, with a scope 0"]
    # the main thread's "crossing" is ended by the worker, behind its launch outside all ranges
    assert all(w in p.stdout for w in want), p.stdout
    where = {g["name"]: path_of(tables, s["scope"]) for g, s in zip(tables["gpu"], tables["gpu_scope"])}
    assert where["in worker"] == "worker" and where["in layer"].endswith("/forward/layer"), where
    assert where["in other domain"].endswith("/forward/chosen"), where
    assert where["still in other domain"].endswith("/forward/chosen"), where
    assert where["in step"] == "step 49" and where["in two"] == "two" and where["in one"] == "one", where
    assert where["in left open"] == "left open" and not where["after"] and not where["before"], where
    kinds = {h["name"]: h for h in tables["host"]}
    assert '"end_thread"' in kinds["crossing"]["args"] and '"open_end"' in kinds["left open"]["args"], kinds["crossing"]


@test
def only_range_follows_the_domain_of_its_range():
    run, made, tables = record_ranges("scopes-only", "--only-range", "chosen")
    names = {g["name"] for g in tables["gpu"]}
    # a pop of the other domain does not end the window, that of its own does
    assert {"in other domain", "still in other domain"} <= names, names
    assert not names & {"before", "in layer", "in step", "after", "in one", "in two", "in left open"}, names
    # ranges go on counting while nothing else is recorded, so that paths are whole
    where = {g["name"]: path_of(tables, s["scope"]) for g, s in zip(tables["gpu"], tables["gpu_scope"])}
    assert where["in other domain"].endswith("/forward/chosen") and where["in other domain"].startswith("step "), where


@test
def real_nvtx_headers_reach_us():
    inc = [d for d in ("/usr/local/cuda/include", "/usr/include") if os.path.exists(d + "/nvtx3/nvToolsExt.h")]
    if not inc:
        raise Skip("no NVTX headers here")
    run = os.path.join(WORK, "nvtx-run")
    cc(WORK + "/nvtx", "-isystem", inc[0], "tests/record/nvtx.c", "-ldl")
    subprocess.run([ASSAY, "record", "-q", "-o", run, "--", WORK + "/nvtx"], check=True)
    c = one(run)
    eq([(r["op"], c.text(r["domain"]), r["text"]) for r in c.rows["RANGE"]],
       [(1, "", "plain"), (2, "", ""), (5, "", "m\u00e4rk"), (1, "dom", "registered"), (2, "dom", ""),
        (3, "dom", "span"), (4, "dom", "")])
    eq(c.rows["RANGE"][5]["id"], c.rows["RANGE"][6]["id"])


if __name__ == "__main__":
    sys.exit(run(build))
