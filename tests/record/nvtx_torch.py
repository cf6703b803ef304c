"""Nested NVTX ranges around PyTorch work: assay record -- python3 tests/record/nvtx_torch.py [STEPS]
Ranges pushed three deep, started ones that overlap and end on another thread, a second domain, and a worker thread
with ranges of its own. Some work is launched outside all ranges. The last line is JSON: what was launched where.
Then: python3 tests/record/scope_share.py RUN"""
import json
import sys
import threading

import torch

import nvtx_api

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
launched = {"inside": 0, "started_only": 0, "outside": 0}
lock = threading.Lock()
nvtx, other = torch.cuda.nvtx, nvtx_api.Domain("assay test")
a = torch.randn(1024, 1024, device="cuda")
b = torch.randn(1024, 1024, device="cuda")
h = torch.randn(1024, 1024, pin_memory=True)


def work(where, x, y):
    """Two kernels, a memset and a copy from the host, all on this thread's stream."""
    z = x @ y
    z = torch.relu(z)
    zeros = torch.empty_like(z)
    zeros.zero_()
    z.copy_(h, non_blocking=True)
    with lock:
        launched[where] += 4
    return z


def step(i):
    nvtx.range_push(f"step {i}")
    nvtx.range_push("forward")
    nvtx.range_push("layer")
    work("inside", a, b)
    nvtx.range_pop()
    other.push("other domain")  # popped behind the range it was pushed in
    work("inside", a, b)
    nvtx.range_pop()
    work("inside", a, b)  # forward is closed, the other domain's range is not
    other.pop()
    nvtx.range_pop()


def worker(stop_this):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(STEPS):
            nvtx.range_push("worker")
            nvtx.range_push(f"part {i % 2}")
            work("inside", a, b)
            nvtx.range_pop()
            nvtx.range_pop()
        work("outside", a, b)
        stream.synchronize()
    nvtx_api.Domain().end(stop_this)  # started on the main thread


work("outside", a, b)
torch.cuda.synchronize()
plain = nvtx_api.Domain()
crossing = plain.start("crosses threads")
thread = threading.Thread(target=worker, args=(crossing,))
thread.start()
for i in range(STEPS):
    step(i)
thread.join()
one = plain.start("overlaps one")
two = plain.start("overlaps two")
work("started_only", a, b)
plain.end(one)
work("started_only", a, b)
plain.end(two)
work("outside", a, b)

graph, static = torch.cuda.CUDAGraph(), torch.zeros(256, 256, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    static @ static
torch.cuda.current_stream().wait_stream(side)
nvtx.range_push("capture")
with torch.cuda.graph(graph):
    for _ in range(5):
        static = torch.relu(static @ static)
nvtx.range_pop()
nvtx.range_push("replay")
for _ in range(3):
    graph.replay()
nvtx.range_pop()
nvtx.range_push("left open")
work("inside", a, b)
torch.cuda.synchronize()
print(json.dumps({"program": "torch", "torch": torch.__version__, "nvtx_library": nvtx_api.there, "steps": STEPS,
                  "calls_at_least": launched, "graph_nodes_replayed": 30,
                  "nesting": {"step N": {"forward": {"layer": {}}, "other domain": {}},
                              "worker": {"part 0": {}, "part 1": {}}, "capture": {}, "replay": {}, "left open": {}},
                  "started": ["crosses threads", "overlaps one", "overlaps two"]}), flush=True)
