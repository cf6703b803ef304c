"""Two ranks; one comes late to every collective."""
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist

import loop


def augment(seconds):
    end = time.perf_counter() + seconds
    n = 1
    while time.perf_counter() < end:
        n = n * 31 % 65537
    return n


def make(bad):
    if "RANK" not in os.environ:
        env = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000))
        ranks = [subprocess.Popen([sys.executable] + sys.argv, env=dict(env, RANK=str(r))) for r in range(2)]
        sys.exit(max(p.wait() for p in ranks))
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", rank=rank, world_size=2)
    model = loop.mlp(width=1024, depth=4)
    train = loop.trainer(model)
    x = torch.randn(1024, 1024, device=loop.DEVICE, dtype=torch.bfloat16)

    def step(i):
        if bad and rank == 1:
            augment(0.015)
        loss = train(x).reshape(1)
        dist.all_reduce(loss)
    return step


loop.run(make, quiet=os.environ.get("RANK") == "1")
