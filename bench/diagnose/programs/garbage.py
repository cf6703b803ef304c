"""Garbage is collected in every step, with a large heap."""
import gc

import torch

import loop


def make(bad):
    heap = [[{"id": n, "tags": [n]}] for n in range(150000)]
    x = torch.randn(1024, 2048, device=loop.DEVICE, dtype=torch.bfloat16)
    train = loop.trainer(loop.mlp())

    def step(i):
        train(x)
        if bad:
            gc.collect()
        return heap[0]
    return step


loop.run(make)
