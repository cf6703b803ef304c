"""Matrix products in full fp32."""
import torch

import loop


def make(bad):
    torch.backends.cuda.matmul.allow_tf32 = not bad
    a, b = (torch.randn(4096, 4096, device=loop.DEVICE) for _ in range(2))

    def step(i):
        c = a
        for _ in range(6):
            c = (c @ b).clamp_(-1, 1)
        return c
    return step


loop.run(make)
