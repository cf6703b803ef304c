#!/usr/bin/env python3
"""A directory of ranks of one data-parallel job, one Kineto trace each, with faults that are known.
usage: gen_ranks.py DIR RANKS [--steps N] [--slow compute|data|link] [--env]

Every step runs layers forward and backward, all-reduces in buckets that end together on all ranks, and an optimizer. Hosts have eight
ranks and a clock of their own, up to 5 ms away from the truth. From 8 ranks on: rank 5 is slow, the last but two has no file, the last
but one is cut off in the middle, and the last one has another driver. A file is a header of its own and one of eight bodies, as two
members of one gzip file, so that thousands of ranks are written in seconds. --env writes an environment snapshot a rank beside them."""
import argparse
import gzip
import json
import pathlib
import random

LAYERS, KERNELS, BUCKETS, VARIANTS, SLOW, PER_HOST = 24, 6, 8, 8, 5, 8
START = 1_700_000_000_000_000_000


class Body:
    """One rank's events; times in ns from the start of the job."""

    def __init__(self, seed, slow):
        self.random, self.slow = random.Random(seed), slow
        self.out, self.corr, self.ext = [], 1, 1
        self.host = self.gpu = self.comm = 0

    def event(self, cat, name, ts, dur, pid, tid, args):
        self.out.append(f'{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts / 1000:.3f},'
                        f'"dur":{dur / 1000:.3f},"args":{{{args}}}}}')

    def arrow(self, ts, done):
        for phase, pid, tid, at in ("s", 100, 100, ts), ("f", 0, 7, done):
            self.out.append(f'{{"ph":"{phase}","id":{self.corr},"pid":{pid},"tid":{tid},"ts":{at / 1000:.3f},"cat":"ac2g",'
                            f'"name":"ac2g","bp":"e"}}')

    def launch(self, op, kernel, dur, stream, at_least=0, extra=""):
        """Operator, call and kernel; returns the start of the kernel."""
        self.corr, self.ext = self.corr + 1, self.ext + 1
        self.event("cpu_op", op, self.host, 9000, 100, 100, f'"External id":{self.ext}')
        self.event("cuda_runtime", "cudaLaunchKernel", self.host + 2000, 4000, 100, 100,
                   f'"External id":{self.ext},"cbid":211,"correlation":{self.corr}')
        start = max(self.host + 8000, at_least)
        if dur is not None:
            self.kernel(kernel, start, dur, stream, self.corr, self.ext, extra)
        self.arrow(self.host + 2000, start)
        self.host += 10000
        return start

    def kernel(self, name, start, dur, stream, corr, ext, extra=""):
        self.event("kernel", name, start, dur, 0, stream,
                   f'"External id":{ext},"device":0,"context":1,"stream":{stream},"correlation":{corr},"registers per thread":64,'
                   f'"grid":[128,1,1],"block":[256,1,1]{extra}')

    def layers(self, direction, some):
        for layer in some:
            for k in range(KERNELS):
                dur = int(self.random.gauss(30000, 1500)) * (2 if direction == "backward" else 1)
                dur = int(dur * 1.15) if self.slow == "compute" else dur
                name = ("ampere_bf16_s16816gemm", "flash_fwd_kernel", "layer_norm_kernel")[k % 3] + f"_{direction}_{k}"
                start = self.launch(f"aten::{direction}_{k}", name, dur, 7, self.gpu)
                self.gpu = start + dur


def collective(bodies, ranks, bucket):
    """All bodies enter when they are ready and leave together."""
    entered = []
    for b in bodies:
        start = b.launch("nccl:all_reduce", "", None, 20, max(b.gpu, b.comm))
        entered.append((start, b.corr, b.ext))
    slow_link = any(b.slow == "link" for b in bodies)
    end = max(e[0] for e in entered) + (400000 if slow_link else 150000)
    for b, (start, corr, ext) in zip(bodies, entered):
        late = 20000 if b.slow == "link" else b.random.randrange(2000)
        b.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", start, end + late - start, 20, corr, ext,
                 f',"Collective name":"allreduce","In msg nelems":{25000000 + bucket},"Out msg nelems":{25000000 + bucket},'
                 f'"Group size":{ranks},"dtype":"BFloat16","Process Group Name":"0"')
        b.comm = end + late


def step(bodies, number, ranks):
    began = []
    for b in bodies:
        b.host = max(b.host, b.gpu, b.comm)
        began.append(b.host)
        wait = 6000000 if b.slow == "data" else 300000
        b.event("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", b.host, wait, 100, 100, "")
        b.host += wait
        b.layers("forward", range(LAYERS))
    for bucket in range(BUCKETS):
        each = LAYERS // BUCKETS
        for b in bodies:
            b.layers("backward", range(bucket * each, bucket * each + each))
        collective(bodies, ranks, bucket)
    for b, ts in zip(bodies, began):
        b.gpu = b.launch("Optimizer.step", "multi_tensor_adam", 500000, 7, max(b.gpu, b.comm)) + 500000
        b.event("cuda_runtime", "cudaDeviceSynchronize", b.host, b.gpu - b.host + 5000, 100, 100, f'"cbid":165,"correlation":{b.corr + 1}')
        b.corr += 1
        b.host = b.gpu + 10000
        b.event("user_annotation", f"ProfilerStep#{number}", ts, b.host - ts - 1000, 100, 100, "")


def header(rank, ranks):
    host = rank // PER_HOST
    offset = random.Random(host).randrange(-5_000_000, 5_000_000) if host else 0
    driver = 12040 if rank == ranks - 1 else 12080
    return ('{"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":%d,"world_size":%d},"cuda_runtime_version":12080,'
            '"cuda_driver_version":%d,"host_name":"node%03d","baseTimeNanoseconds":%d,"displayTimeUnit":"ms",'
            '"deviceProperties":[{"id":0,"name":"NVIDIA H200","totalGlobalMem":150121545728,"computeMajor":9,"computeMinor":0,'
            '"warpSize":32,"numSms":132}],"traceEvents":[\n' % (rank, ranks, driver, host, START + offset)).encode()


def write_env(path, rank, ranks):
    env = json.loads((pathlib.Path(__file__).resolve().parent.parent / "examples/env/a.json").read_text())
    if rank == ranks - 1:
        env = json.loads((pathlib.Path(__file__).resolve().parent.parent / "examples/env/b.json").read_text())
    path.write_text(json.dumps(env))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("dir", type=pathlib.Path)
    p.add_argument("ranks", type=int)
    p.add_argument("--steps", type=int, default=24)
    p.add_argument("--slow", choices=("compute", "data", "link"), default="compute")
    p.add_argument("--env", action="store_true")
    a = p.parse_args()
    a.dir.mkdir(parents=True, exist_ok=True)
    bodies = [Body(v, a.slow if v == 0 else None) for v in range(VARIANTS + 1)]
    for number in range(10, 10 + a.steps):
        step(bodies, number, a.ranks)
    packed = [gzip.compress((",\n".join(b.out) + "\n]}\n").encode(), 6, mtime=0) for b in bodies]
    faults = a.ranks >= 8
    for rank in range(a.ranks):
        if faults and rank == a.ranks - 3:
            continue
        body = packed[0] if faults and rank == SLOW else packed[1 + rank % VARIANTS]
        data = gzip.compress(header(rank, a.ranks), 6, mtime=0) + body
        if faults and rank == a.ranks - 2:
            data = data[:len(data) * 2 // 3]
        (a.dir / f"node{rank // PER_HOST:03d}_rank{rank}.json.gz").write_bytes(data)
        if a.env:
            (a.dir / "env").mkdir(exist_ok=True)
            write_env(a.dir / f"env/rank{rank}.json", rank, a.ranks)


main()
