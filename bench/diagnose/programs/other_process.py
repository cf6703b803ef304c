"""Another process uses the same GPU."""
import os
import subprocess
import sys

import torch

import loop

OTHER = """
import os, time, torch
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
parent = os.getppid()
print("ready", flush=True)
while os.getppid() == parent:
    for _ in range(4):
        a = (a @ a).clamp_(-1, 1)
    torch.cuda.synchronize()
"""


def make(bad):
    if bad:
        env = {k: v for k, v in os.environ.items() if "INJECTION64" not in k and k != "ASSAY_RECORD"}
        other = subprocess.Popen([sys.executable, "-c", OTHER], stdout=subprocess.PIPE, env=env)
        other.stdout.readline()
    x = torch.randn(2048, 2048, device=loop.DEVICE, dtype=torch.bfloat16)
    train = loop.trainer(loop.mlp())

    def step(i):
        return train(x)
    return step


loop.run(make, budget=4.0)
