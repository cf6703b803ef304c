"""The allocator's cache is given back in every step."""
import torch

import loop


def make(bad):
    x = torch.randn(4096, 2048, device=loop.DEVICE, dtype=torch.bfloat16)
    train = loop.trainer(loop.mlp())

    def step(i):
        train(x)
        if bad:
            torch.cuda.empty_cache()
    return step


loop.run(make)
