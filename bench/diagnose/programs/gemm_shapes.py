"""Matrix products of sizes that no tensor core likes."""
import torch

import loop


def make(bad):
    n = 4097 if bad else 4096
    a, b = (torch.randn(n, n, device=loop.DEVICE, dtype=torch.bfloat16) for _ in range(2))

    def step(i):
        c = a
        for _ in range(20):
            c = (c @ b).clamp_(-1, 1)
        return c
    return step


loop.run(make)
