#!/usr/bin/env python3
"""The recorder harms nobody: programs that close, fork, limit and forge what the recorder stands on.
usage: test_safe.py [BUILD [WORDS...]]   prints one line a test; exit status 1 when one fails."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from harness import ASSAY, BUILD, FAKE, PATIENCE, PLAIN, WORK, Skip, assay_record, build_fakes, captures, cc, eq, no_rings, one, run, test, until  # noqa: E402

API = 9  # the record's number
HOSTILE, SANDBOX = FAKE + "/hostile", FAKE + "/sandbox"


def build():
    build_fakes()
    cc(HOSTILE, "tests/record/hostile.c", FAKE + "/libcuda.so.1")
    cc(SANDBOX, "tests/record/sandbox.c")


def hostile(how, *more, name=None, opts=(), before=()):
    """A recording of the program: the run, the process that ran it, and a folder of its own."""
    where = os.path.join(WORK, name or how)
    shutil.rmtree(where, ignore_errors=True)
    os.mkdir(where)
    os.chmod(where, 0o711)
    p = subprocess.run([ASSAY, "record", "-o", where + "/run", *opts, "--", *before, HOSTILE, how, *(more or (where,))],
                       env=dict(os.environ, LD_LIBRARY_PATH=FAKE), capture_output=True, text=True, timeout=PATIENCE)
    return where + "/run", p, where


def both_tables():
    """With descriptors of its own, and where a sandbox refuses that."""
    return (("own", ()), ("shared", (SANDBOX,)))


@test
def files_of_the_program_are_never_written():
    for name, before in both_tables():
        run, p, _ = hostile("close", name="close-" + name, before=before)
        eq((p.stdout, p.returncode), ("", 0))
        c = one(run)
        eq((len(c.rows["KERNEL"]), len(c.rows["API"]), c.rows["LOST"], c.bad), (1000, 1000, [], 0))
        assert "nothing was lost" in p.stderr, p.stderr


@test
def launches_inside_launches_are_told_apart():
    """As the handler of a signal makes them, in the middle of the recorder's callback."""
    program, n = FAKE + "/interrupted", 2000
    cc(program, "-rdynamic", "tests/record/interrupted.c", FAKE + "/libcuda.so.1", flags=PLAIN)
    # no buffer fills up: the fake hands those over under its lock
    p = assay_record("-o", WORK + "/interrupted", "--telemetry", "off", "--set", "buffer=16777216", "--", program, str(n))
    eq((p.stdout, p.returncode), ("", 0))
    c = one(WORK + "/interrupted")
    kernels = {k["corr"]: (c.text(k["name"]), k["stream"]) for k in c.rows["KERNEL"]}
    calls = {r["corr"]: r for r in c.rows["API"]}
    names = [name for name, _ in kernels.values()]
    eq((names.count("outside"), names.count("inside") >= 2 * n), (n, True))
    eq(len(calls), len(c.rows["API"]))
    dropped = sum(r["count"] for r in c.rows["TALLY"] if r["kind"] == API and r["cause"])
    eq((len(calls) + dropped, set(calls) <= set(kernels)), (len(kernels), True))
    inside = []
    for corr, r in calls.items():
        assert r["start"] <= r["end"], r
        inside += [(r["start"], r["end"])] if kernels[corr][0] == "inside" else []
    ends = sorted(inside)
    assert all(a[1] <= b[0] for a, b in zip(ends, ends[1:])), "two of them at once"


@test
def files_of_a_child_are_never_closed():
    for name, before in both_tables():
        for how in ("fork", "raw-fork"):
            run, p, _ = hostile(how, name=how + name, before=before)
            eq((p.stdout, p.returncode), ("", 0))
            # CUDA is not recorded in the child, so it has nothing to tell
            eq(max(len(c.rows["KERNEL"]) for c in captures(run)), 200)


@test
def a_child_finds_the_loader_free():
    libs = WORK + "/libs"
    os.mkdir(libs)
    with open(libs + "/one.c", "w") as f:
        f.write("void *dlopen(const char *, int);\nvoid *one(void);\nvoid *one(void) { return dlopen(0, 1); }\n")
    cc(libs + "/lib0.so", "-fPIC", "-shared", libs + "/one.c", flags=PLAIN)
    for i in range(1, 100):
        shutil.copy(libs + "/lib0.so", f"{libs}/lib{i}.so")
    _, p, _ = hostile("fork-load", libs, opts=("--set", "tick=1"))
    eq((p.stdout, p.returncode), ("", 0))


@test
def a_child_never_waits_for_a_lock_that_a_thread_of_its_parent_held():
    held = FAKE + "/held"
    cc(held, "-rdynamic", "tests/record/held.c", "-ldl")
    for how in ("fork", "bare"):
        p = assay_record("-o", f"{WORK}/held-{how}", "--telemetry", "off", "--", held, "cuda", how, "3", str(PATIENCE // 3))
        eq((p.stdout, p.returncode), ("", 0))


@test
def a_limit_on_the_size_of_files_does_not_end_the_program():
    for name, before in both_tables():
        run, p, _ = hostile("limit", name="limit-" + name, before=before)
        eq((p.stdout, p.returncode), ("", 0))
        # what the program may not write any more, `assay record` does; what had no ring is counted
        c = one(run)
        eq(len(c.rows["API"]) + sum(r["count"] for r in c.rows["TALLY"] if r["kind"] == API and r["cause"]), 1800)
        assert len(c.rows["API"]) >= 200 and "nothing was lost" not in p.stderr, p.stderr


@test
def no_path_in_memory_of_the_program_is_believed():
    victim = WORK + "/victim"
    open(victim, "w").write("root's own")
    os.chmod(victim, 0o600)
    run, p, _ = hostile("path", victim)
    eq((p.stdout, p.returncode, open(victim).read()), ("", 128 + 9, "root's own"))
    eq(len(one(run).rows["API"]), 200)


@test
def a_capture_that_became_a_link_is_not_followed():
    for how in ("link", "hard-link"):
        victim = WORK + "/victim-" + how
        open(victim, "w").write("somebody's own")
        run, p, _ = hostile(how, victim, opts=("--set", "rings=" + WORK))  # which stay: they are refused
        eq((p.stdout, p.returncode, open(victim).read()), ("", 128 + 9, "somebody's own"))
        assert "not of this run" in p.stderr, p.stderr


@test
def a_link_in_the_run_directory_is_not_written_through():
    where, victim = WORK + "/planted", WORK + "/victim-planted"
    open(victim, "w").write("somebody's own")
    os.mkdir(where)
    os.symlink(victim, where + "/.run.json")
    p = subprocess.run([ASSAY, "record", "-o", where, "--", "true"], capture_output=True, text=True)
    eq((p.returncode, open(victim).read()), (2, "somebody's own"))
    assert "not empty" in p.stderr, p.stderr


def sleeps(pid, thread):
    """How often that thread of the process has slept so far, when it does; or 0."""
    for task in glob.glob(f"/proc/{pid}/task/*"):
        try:
            with open(task + "/comm") as comm, open(task + "/status") as status:
                words = status.read().split() if comm.read().strip() == thread else None
        except OSError:  # one that ends
            continue
        if words and words[words.index("State:") + 1] == "S":
            return int(words[words.index("voluntary_ctxt_switches:") + 1])
    return 0


def wait_for_looks(pid):
    """Until the recorder has looked at all children, and for a GPU in each, since now."""
    before = until(lambda: sleeps(pid, "assay-children"), "nobody looks at children")
    until(lambda: sleeps(pid, "assay-children") > before + 24, "nobody looks at children")


def record_child(name, *command, **how):
    """A program that waits, started by the command in its own way, until it was looked at; what the run says of it."""
    run = os.path.join(how.pop("where", WORK), name)
    p = subprocess.Popen([ASSAY, "record", "-o", run, "--telemetry", "off", "--", "sh", "-c", '"$@"; true', "sh", *command],
                         env=dict(os.environ, LD_LIBRARY_PATH=FAKE), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         stdin=subprocess.PIPE, **how)
    while p.stdout.readline() != "ready\n":
        wait_for_looks(p.pid)
        p.stdin.write("\n")
        p.stdin.flush()
    wait_for_looks(p.pid)
    said = p.communicate("\n", timeout=PATIENCE)[1]
    with open(run + "/run.json") as f:
        return run, said, json.load(f)["unrecorded"]


@test
def children_that_cannot_be_recorded_are_named():
    env = ["env", "-i", "LD_LIBRARY_PATH=" + FAKE]
    cases = [("cleaned", [*env, HOSTILE, "wait"], "environment", True)]
    still = FAKE + "/still"
    try:
        cc(still, "-static", "tests/record/still.c", flags=PLAIN)
        cases += [("static", [still], "static", False)]
    except subprocess.CalledProcessError:
        print("# no static C library: that case is left out")
    for name, command, why, gpu in cases:
        run, said, unrecorded = record_child(name, *command)
        eq([(c["name"], c["why"], c["gpu"]) for c in unrecorded], [(os.path.basename(command[-2 if gpu else -1]), why, gpu)])
        p = subprocess.run([ASSAY, "info", "--json", run], capture_output=True, text=True, check=True)
        eq(json.loads(p.stdout)["issues"].get("unrecorded_gpu", 0), int(gpu))
        eq("uses a GPU and was not recorded" in said, gpu)
    eq(record_child("followed", HOSTILE, "wait")[2], [])


def an_ordinary_user(*programs):
    """Who has a folder, may run these programs, and may look at less than root."""
    where = os.path.join(WORK, "user's")
    os.makedirs(where, exist_ok=True)
    if os.getuid():
        return {"where": where}
    os.chmod(WORK, 0o711)
    os.chmod(FAKE, 0o755)
    os.chown(where, 65534, 65534)
    try:
        for program in (ASSAY, *programs):
            subprocess.run([program, "--version"], user=65534, stdin=subprocess.DEVNULL, capture_output=True)
    except PermissionError:
        raise Skip("no other user can reach these folders")
    return {"where": where, "user": 65534, "group": 65534}


@test
def a_child_that_has_ended_and_nobody_waited_for_is_not_named():
    user = an_ordinary_user(HOSTILE)
    eq(record_child("ended", "sh", "-c", 'true & exec "$@"', "sh", HOSTILE, "wait", **user)[2], [])


@test
def a_program_with_other_rights_may_have_a_gpu():
    if os.getuid():
        raise Skip("only root can give a program other rights")
    other = os.path.join(WORK, "other")
    try:
        cc(other, "-static", "tests/record/still.c", flags=PLAIN)
    except subprocess.CalledProcessError:
        raise Skip("no static C library")
    os.chmod(other, 0o4755)
    user = an_ordinary_user(other)
    p = subprocess.Popen([other], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=65534)
    p.stdout.readline()
    gets_them = os.stat(f"/proc/{p.pid}").st_uid == 0
    p.communicate("\n")
    if not gets_them:
        raise Skip("this place gives no program other rights")
    run, said, unrecorded = record_child("rights", other, **user)
    eq([(c["name"], c["why"], c["gpu"]) for c in unrecorded], [("other", "rights", None)])
    assert "(other) may use a GPU and was not recorded: it runs with other rights" in said, said


@test
def programs_that_clear_their_environment_before_they_use_a_gpu_are_named():
    os.makedirs(FAKE + "/dev", exist_ok=True)
    open(FAKE + "/dev/nvidia-uvm", "w").close()
    eq(record_child("device", HOSTILE, "wait")[2], [])
    # the last one is nobody's child when it uses the GPU
    for how, forked in ("clear", None), ("clear-fork", 2), ("daemon", None):
        run, said, unrecorded = record_child(how, HOSTILE, how)
        eq([(c["name"], c["why"], c["gpu"], c.get("forked")) for c in unrecorded], [("hostile", "absent", True, forked)])
        sentence = "its environment was changed before its GPU library looked for the recorder"
        assert sentence in said and f"process {unrecorded[0]['pid']} (hostile)" in said, said
        p = subprocess.run([ASSAY, "report", "-v", run], capture_output=True, text=True)
        assert sentence in " ".join(p.stdout.split()), p
    os.remove(FAKE + "/dev/nvidia-uvm")


@test
def a_program_that_another_user_runs_is_named():
    if os.getuid():
        raise Skip("only root can give a program other rights")
    an_ordinary_user(HOSTILE)
    os.makedirs(FAKE + "/dev", exist_ok=True)
    open(FAKE + "/dev/nvidia-uvm", "w").close()
    os.chmod(FAKE + "/dev/nvidia-uvm", 0o666)
    becomes = "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); os.execv(sys.argv[1], sys.argv[1:])"
    run, said, unrecorded = record_child("another", sys.executable, "-c", becomes, HOSTILE, "wait")
    os.remove(FAKE + "/dev/nvidia-uvm")
    eq([(c["name"], c["why"], c["gpu"]) for c in unrecorded], [("hostile", "rights", True)])
    assert "(hostile) uses a GPU and was not recorded: it runs with other rights" in said, said
    assert "not seen to use a GPU" not in said, said


WAYS = ("handlers", "fork", "vfork-exec", "vfork-exit", "threads", "dlclose", "first-leaves", "only-leaves", "first-exits", "first-is-killed",
        "thread-exits", "thread-quits", "handler-quits", "crash", "abort", "no-core", "few-files", "no-files", "read-only", "moved",
        "sandbox", "sandboxes", "sandbox-children", "sandbox-refused", "mounts", "no-clock", "no-clock-at-all",
        *(f"memory-{mb}" for mb in (1, 4, 12, 40, 160)))
# whose first thread ends alone, and how many kernels it and its others launch
LEAVES = {"first-leaves": 200, "only-leaves": 100, "first-exits": 100, "first-is-killed": 100}
# where the recorder cannot work at all, and where nothing is missing
BLIND = ("few-files", "read-only", "moved")


def without_memory(thread, name):
    """A recording whose thread of this name gets no memory: the process, and the file that says it was refused some."""
    library, told = FAKE + "/no_memory.so", os.path.join(WORK, name + ".told")
    cc(library, "-fPIC", "-shared", "tests/record/no_memory.c", flags=PLAIN)
    env = dict(os.environ, LD_LIBRARY_PATH=FAKE, LD_PRELOAD=library, NO_MEMORY=thread, NO_MEMORY_TOLD=told)
    command = ["sh", "-c", "echo ready; read line; exit 3"]
    p = subprocess.Popen([ASSAY, "record", "-o", os.path.join(WORK, name), "--telemetry", "off", "--", *command], env=env, text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eq(p.stdout.readline(), "ready\n")
    return p, told


@test
def a_recorder_without_memory_to_watch_children_says_so_and_goes_on():
    p, told = without_memory("assay-children", "no-memory-children")
    until(lambda: os.path.exists(told), "nobody asked for memory")
    said = p.communicate("\n")[1]
    eq(p.returncode, 3)
    assert "child processes were not watched to the end" in said and "out of memory" in said, said


@test
def a_recorder_without_memory_to_answer_goes_on():
    p, told = without_memory("assay-control", "no-memory-control")
    asked = subprocess.run([ASSAY, "ctl", os.path.join(WORK, "no-memory-control"), "status"], capture_output=True, text=True, timeout=PATIENCE)
    until(lambda: os.path.exists(told), "nobody asked for memory")
    eq(asked.returncode, 1)
    assert asked.stderr.startswith("assay"), asked.stderr
    p.communicate("\n")
    eq(p.returncode, 3)


def build_ways():
    program = FAKE + "/ways"
    if not os.path.exists(program):
        cc(program, "tests/record/ways.c", FAKE + "/libcuda.so.1")
    return program


@test
def launches_of_a_forked_child_keep_their_names():
    run = os.path.join(WORK, "forked-names")
    eq(assay_record("-o", run, "--telemetry", "off", "--", build_ways(), "fork").returncode, 7)
    parent, child = sorted(captures(run), key=lambda c: c.rows["PROCESS"][0]["start"])
    for c, calls in (parent, 200), (child, 20):
        names = {(r["domain"], r["function"]): c.text(r["name"]) for r in c.rows["API_NAME"]}
        eq([names.get((r["domain"], r["function"])) for r in c.rows["API"]], ["cudaLaunchKernel"] * calls)
        eq([c.text(r["name"]) for r in c.rows["SYMBOL"]], ["kernel"])


@test
def whatever_a_program_does_to_itself_it_prints_and_ends_the_same():
    program = build_ways()
    os.chmod(WORK, 0o711)
    os.chmod(FAKE, 0o755)
    env = dict(os.environ, LD_LIBRARY_PATH=FAKE)
    for how in WAYS:
        if "address" in BUILD and how.startswith("memory-"):
            continue  # the sanitizer's own memory is beyond every limit
        for keep in ((), ("--keep", "30s")):
            plain = subprocess.run([program, how], env=env, capture_output=True, text=True, timeout=PATIENCE)
            run = f"{WORK}/way-{how}{len(keep)}"
            p = subprocess.run([ASSAY, "record", "-q", "-o", run, "--telemetry", "off", *keep, "--", program, how], env=env,
                               capture_output=True, text=True, timeout=PATIENCE)
            status = plain.returncode if plain.returncode >= 0 else 128 - plain.returncode
            eq((how, p.stdout, p.returncode), (how, plain.stdout, status))
            if how in BLIND or how.startswith("memory-") or how == "no-files":
                continue
            calls = sum(len(c.rows["API"]) for c in captures(run))
            assert calls >= 100, (how, keep, calls)
            if how in LEAVES:
                c = one(run)
                eq((how, len(c.rows["KERNEL"]), len(c.rows["END"])), (how, LEAVES[how], 1))


@test
def a_program_goes_into_a_sandbox_and_is_recorded_on():
    for name, before in both_tables():
        for keep in ((), ("--keep", "30s")):
            for how, work in ("sandbox", 200), ("sandboxes", 230), ("mounts", 200):
                run = f"{WORK}/in-{how}-{name}{len(keep)}"
                p = assay_record("-o", run, "--telemetry", "off", *keep, "--", *before, build_ways(), how)
                c = one(run)
                eq((how, len(c.rows["API"]), len(c.rows["KERNEL"]), len(c.rows["END"]), c.bad), (how, work, work, 1, 0))
                assert "nothing was lost" in p.stderr, p.stderr
    run = WORK + "/in-sandbox-children"  # whose first process has no threads of ours any more
    p = assay_record("-o", run, "--telemetry", "off", "--", build_ways(), "sandbox-children")
    eq(sorted((len(c.rows["API"]), len(c.rows["KERNEL"])) for c in captures(run)), [(20, 0), (200, 200)])
    assert "no GPU work is missing" in p.stderr, p.stderr
    no_rings(run)


@test
def a_program_that_may_start_no_thread_is_named():
    program = build_ways()
    user = an_ordinary_user(program)
    run = os.path.join(user.pop("where"), "no-threads")
    p = subprocess.run([ASSAY, "record", "-o", run, "--telemetry", "off", "--", program, "no-threads"], capture_output=True, text=True,
                       env=dict(os.environ, LD_LIBRARY_PATH=FAKE), timeout=PATIENCE, **user)
    eq((p.stdout, p.returncode), ("started: 0\nwent on\n", 7))
    with open(run + "/run.json") as f:
        eq([(c["why"], c["gpu"]) for c in json.load(f)["unrecorded"]], [("room", True)])
    assert "no room to record it" in p.stderr and "not seen to use a GPU" not in p.stderr, p.stderr
    eq(glob.glob(run + "/*.asy"), [])


@test
def a_place_without_proc_is_recorded_in():
    bare = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"]
    if not shutil.which("unshare") or subprocess.run([*bare, "true"], capture_output=True).returncode:
        raise Skip("this place does not let us unmount /proc")
    run = os.path.join(WORK, "no-proc")
    p = subprocess.run([*bare, ASSAY, "record", "-o", run, "--telemetry", "off", "--", build_ways(), "threads"], env=dict(os.environ, LD_LIBRARY_PATH=FAKE),
                       capture_output=True, text=True, timeout=PATIENCE)
    eq((p.stdout, p.returncode, len(one(run).rows["KERNEL"])), ("started: 0\nwent on\n", 7, 840))
    assert "nothing was lost" in p.stderr, p.stderr


@test
def output_that_nobody_reads_holds_up_no_recording():
    run = os.path.join(WORK, "unread")
    p = subprocess.Popen([ASSAY, "record", "-o", run, "--telemetry", "off", "--", build_ways(), "writes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env=dict(os.environ, LD_LIBRARY_PATH=FAKE))

    def written():
        asked = subprocess.run([ASSAY, "ctl", "--json", run, "status"], capture_output=True, timeout=PATIENCE)
        return asked.returncode == 0 and sum(x["records"] for x in json.loads(asked.stdout)["processes"]) > 2000
    until(written, "recording waits for the reader")
    out, said = p.communicate(timeout=PATIENCE)
    eq((p.returncode, out.count(b"."), len(one(run).rows["KERNEL"])), (7, 1 << 18, 1200))
    assert b"nothing was lost" in said, said


def with_no_reader(*command):
    """Status of a recording whose messages nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    p = subprocess.run([ASSAY, "record", "--telemetry", "off", *command], stdout=subprocess.DEVNULL, stderr=writer, timeout=PATIENCE,
                       env=dict(os.environ, LD_LIBRARY_PATH=FAKE))
    os.close(writer)
    return p.returncode


@test
def who_reads_the_summary_may_go_away():
    eq(with_no_reader("-o", WORK + "/no-reader", "--", FAKE + "/program", "return"), 0)
    eq((len(one(WORK + "/no-reader").rows["KERNEL"]), os.path.exists(WORK + "/no-reader/run.json")), (20, True))
    eq(with_no_reader("-o", WORK + "/no-reader-7", "--", "sh", "-c", "exit 7"), 7)
    # but the command itself is ended by it, as ever
    eq(with_no_reader("-o", WORK + "/no-reader-13", "--", "sh", "-c", "exec cat /proc/self/status >&2"), 128 + signal.SIGPIPE)


@test
def two_recordings_do_not_share_a_directory():
    for turn in range(3):  # who makes the folder is not always who gets its lock
        command = [ASSAY, "record", "-q", "-o", f"{WORK}/both{turn}", "--telemetry", "off", "--", "sleep", "0.5"]
        ps = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        said = [p.communicate()[1] for p in ps]
        eq((sorted(p.returncode for p in ps), said), ([0, 2, 2, 2], said))


@test
def objects_that_are_being_loaded_are_left_alone_and_sealed_pages_stay_sealed():
    slow, lazy, program = FAKE + "/libslow.so", FAKE + "/liblazy.so", FAKE + "/loading"
    cc(slow, "-DSLOW", "-fPIC", "-shared", "tests/record/loading.c", flags=PLAIN)
    cc(lazy, "-DLAZY", "-fPIC", "-shared", "-Wl,-z,lazy", "tests/record/loading.c", slow, flags=PLAIN)
    cc(program, "-Wl,-z,relro,-z,now", "tests/record/loading.c", FAKE + "/libcuda.so.1", "-ldl")
    p = subprocess.run([ASSAY, "record", "-o", WORK + "/loading-run", "--", program, lazy],
                       env=dict(os.environ, LD_LIBRARY_PATH=FAKE), capture_output=True, text=True, timeout=PATIENCE)
    eq((p.stdout, p.returncode), ("called\n", 0))


@test
def objects_with_variables_of_threads_are_loaded_while_others_look():
    slow, first, program = FAKE + "/libslow.so", FAKE + "/liblocal0.so", FAKE + "/loading"
    cc(slow, "-DSLOW", "-fPIC", "-shared", "tests/record/loading.c", flags=PLAIN)
    cc(first, "-DLOCAL", "-fPIC", "-shared", "tests/record/loading.c", slow, flags=PLAIN)
    cc(program, "tests/record/loading.c", FAKE + "/libcuda.so.1", "-ldl")
    libraries = [first] + [f"{FAKE}/liblocal{i}.so" for i in range(1, 80)]
    for copy in libraries[1:]:
        shutil.copy(first, copy)
    for turn in range(3):
        p = subprocess.run([ASSAY, "record", "-q", "-o", f"{WORK}/local-run{turn}", "--telemetry", "off", "--", program, *libraries],
                           env=dict(os.environ, LD_LIBRARY_PATH=FAKE), capture_output=True, text=True, timeout=PATIENCE)
        eq((p.stdout, p.returncode), ("80 loaded\n", 0))


@test
def python_programs_that_start_and_end_in_every_way_do_so_when_recorded():
    p = subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "starts.py"), BUILD], capture_output=True, text=True, timeout=PATIENCE)
    eq((p.returncode, p.stdout.split(", ", 1)[1:]), (0, ["0 wrong\n"]))


if __name__ == "__main__":
    sys.exit(run(build))
