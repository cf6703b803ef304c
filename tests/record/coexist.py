#!/usr/bin/env python3
"""Programs with a profiler of their own, with and without recording, on a machine with a GPU: output and exit status
have to be the same, and the recording has to hold the GPU work (or say what it has not seen).
usage: coexist.py [BUILD]   a line a program; exit status 1 when one differs. Programs whose modules are not there are skipped."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
ASSAY = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/release"), "assay")

# name: modules it needs, source. What it prints must not depend on time.
TORCH = """
import torch
a = torch.ones(256, 256, device="cuda")
def work(n):
    b = a
    for _ in range(n):
        b = torch.relu(b @ a) / 256
    torch.cuda.synchronize()
    return b
"""
PROGRAMS = {
    "plain": ("torch", TORCH + "print(work(20).sum().item())"),
    "torch.profiler": ("torch", TORCH + """
from torch.profiler import profile, ProfilerActivity as A
work(3)
for _ in range(2):
    with profile(activities=[A.CPU, A.CUDA]) as p:
        work(20)
    names = sorted({e.key for e in p.key_averages() if e.device_type.name == "CUDA"})
    print(len(names) > 0, sum(e.count for e in p.key_averages() if "relu" in e.key.lower() and e.device_type.name == "CUDA"))
print(work(3).sum().item())
"""),
    "torch.profiler, schedule": ("torch", TORCH + """
from torch.profiler import profile, schedule, ProfilerActivity as A
seen = []
with profile(activities=[A.CUDA], schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
             on_trace_ready=lambda p: seen.append(sum(e.count for e in p.key_averages()) > 0)) as p:
    for _ in range(9):
        work(5)
        p.step()
print(seen)
"""),
    "proton": ("torch triton", TORCH + """
import json, os, tempfile
import triton.profiler as proton
path = os.path.join(tempfile.mkdtemp(), "p")
work(3)
proton.start(path, hook=None) if "hook" in proton.start.__code__.co_varnames else proton.start(path)
with proton.scope("mine"):
    work(20)
proton.finalize()
tree = json.load(open(path + ".hatchet"))
def count(n):
    return n.get("metrics", {}).get("count", 0) + sum(map(count, n.get("children", [])))
print(count(tree[0]))
print(work(3).sum().item())
"""),
    "jax.profiler": ("jax", """
import glob, jax, jax.numpy as jnp, tempfile
a = jnp.ones((256, 256))
f = jax.jit(lambda x: jnp.maximum(x @ x / 256, 0))
f(a).block_until_ready()
d = tempfile.mkdtemp()
with jax.profiler.trace(d):
    for _ in range(20):
        a = f(a)
    a.block_until_ready()
print(len(glob.glob(d + "/**/*.xplane.pb", recursive=True)), float(a.sum()))
"""),
    "cupy": ("cupy", """
import cupy
a = cupy.ones((256, 256))
with cupy.cuda.profiler.profile() if hasattr(cupy.cuda.profiler, "profile") else __import__("contextlib").nullcontext():
    for _ in range(20):
        a = cupy.maximum(a @ a / 256, 0)
print(float(a.sum()))
"""),
    "exec": ("torch", TORCH + """
import os, sys
print(work(20).sum().item(), flush=True)
if "again" not in sys.argv:
    os.execv(sys.executable, [sys.executable, sys.argv[0], "again"])
"""),
    "os._exit": ("torch", TORCH + "import os; print(work(20).sum().item(), flush=True); os._exit(3)"),
    "children": ("torch", TORCH.replace("a = torch.ones(256, 256, device=\"cuda\")", "") + """
import multiprocessing as mp
def child(i):
    global a
    a = torch.ones(256, 256, device="cuda")
    work(10)
if __name__ == "__main__":
    ps = [mp.get_context("fork").Process(target=child, args=(i,)) for i in range(3)]
    [p.start() for p in ps]
    [p.join() for p in ps]
    print([p.exitcode for p in ps])
"""),
}


def has(modules):
    return subprocess.run([sys.executable, "-c", "import " + ", ".join(modules.split())], capture_output=True).returncode == 0


def main():
    failed = 0
    work = tempfile.mkdtemp(prefix="assay-coexist-")
    for name, (modules, source) in PROGRAMS.items():
        if not has(modules):
            print(f"skip - {name}: no {modules}")
            continue
        path, run = os.path.join(work, "prog.py"), os.path.join(work, "run")
        open(path, "w").write(source)
        shutil.rmtree(run, ignore_errors=True)
        alone = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
        beside = subprocess.run([ASSAY, "record", "-o", run, "--", sys.executable, path], capture_output=True, text=True,
                                timeout=300)
        same = (alone.returncode, alone.stdout) == (beside.returncode, beside.stdout)
        failed += not same
        told = json.load(open(run + "/run.json")) if os.path.exists(run + "/run.json") else {}
        lost = [line.strip() for line in beside.stderr.splitlines() if "lost" in line or "unknown:" in line or "note:" in line]
        print(f"{'ok' if same else 'not ok'} - {name}: status {beside.returncode}, "
              f"{told.get('counts', {}).get('kernels')} kernels; {'; '.join(lost)}", flush=True)
        if not same:
            print(f"#   alone:  {alone.returncode} {alone.stdout!r} {alone.stderr[-500:]!r}\n"
                  f"#   beside: {beside.returncode} {beside.stdout!r} {beside.stderr[-800:]!r}")
    shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
