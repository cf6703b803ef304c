#!/usr/bin/env python3
"""Programs that deadlock on a real GPU, and what `assay hang` says of them. Needs PyTorch with CUDA; under 60 s.
usage: hang_h200.py [BUILD]   prints one line a program; exit status 1 when one is not explained."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
ASSAY = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/release"), "assay")
WORK = tempfile.mkdtemp(prefix="assay-hang-")
WAIT = 25  # s for a program to start and to stand still

START = """
import threading, torch
x = torch.zeros(1024, device='cuda'); y = x + 1; z = x * 2; torch.cuda.synchronize()  # loading a kernel waits for all that run
a, b = torch.cuda.Stream(), torch.cuda.Stream()
e = torch.cuda.Event()
forever = 1 << 42  # cycles: half an hour
"""
PROGRAMS = {
    # stream b waits for an event that stream a reaches behind a kernel that does not end
    "event": START + """
with torch.cuda.stream(a):
    torch.cuda._sleep(forever); e.record(a)
with torch.cuda.stream(b):
    b.wait_event(e); z = x * 2
b.synchronize()
""",
    # a kernel that does not end, and the device synchronised behind it
    "kernel": START + """
torch.cuda._sleep(forever)
torch.cuda.synchronize()
""",
    # two threads, each with the lock that the other wants
    "locks": START + """
p, q, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
def take(one, other):
    with one:
        z = x * 2
        both.wait()
        with other: pass
t = threading.Thread(target=take, args=(q, p)); t.start(); take(p, q)
""",
    # nothing is launched any more: the thread sleeps
    "sleep": START + """
import time
while True: time.sleep(1)
""",
}


def expected(name, said):
    threads = [t for p in said["processes"] for t in p["threads"]]
    streams = [s for p in said["processes"] for s in p["streams"]]
    calls = [t["call"]["name"] for t in threads if t["call"] and t["call"]["since_ns"] > 1.5e9]
    stacks = any(t["stack"] for t in threads)
    if name == "event":
        return any(s["at"]["kind"] == "event wait" and s["waits_for"] for s in streams) and \
            any("tream" in c and "ync" in c for c in calls) and stacks
    if name == "kernel":
        return any(s["at"]["kind"] == "launch" and "spin" in (s["at"]["kernel"] or "") for s in streams) and \
            any("evice" in c or "tx" in c for c in calls) and stacks
    if name == "locks":
        return stacks and sum(t["in"] == "futex" for t in threads) >= 2
    return stacks and not calls


def try_one(name, kill):
    run = os.path.join(WORK, name + ("-dead" if kill else ""))
    p = subprocess.Popen([ASSAY, "record", "-q", "-o", run, "--", sys.executable, "-c", PROGRAMS[name]])
    child, said, end = None, {"processes": [], "verdicts": []}, time.time() + WAIT
    while time.time() < end and not expected(name, said):
        time.sleep(0.5)
        done = subprocess.run([ASSAY, "hang", "--json", run], capture_output=True, text=True)
        said = json.loads(done.stdout) if done.returncode == 0 and done.stdout else said
    with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
        child = [int(w) for w in f.read().split()]
    for pid in child:
        os.kill(pid, signal.SIGKILL)
    p.wait()
    if kill:
        done = subprocess.run([ASSAY, "hang", "--json", run], capture_output=True, text=True)
        said = json.loads(done.stdout) if done.stdout else said
    ok = expected(name, said) or (kill and bool(said["processes"] and not said["processes"][0]["alive"] and said["verdicts"]))
    print("ok" if ok else "not ok", "-", name, "(dead)" if kill else "(alive)", flush=True)
    for verdict in said["verdicts"][:6]:
        print("   ", verdict)
    if not ok:
        print(json.dumps(said, indent=1)[:4000])
    return ok


def main():
    good = [try_one("event", False), try_one("kernel", True), try_one("locks", False), try_one("sleep", False)]
    shutil.rmtree(WORK, ignore_errors=True)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
