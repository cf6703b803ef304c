"""Activations are cast to fp32 and back around every layer."""
import torch

import loop


def make(bad):
    layers = [torch.nn.Linear(2048, 2048).to(loop.DEVICE, torch.bfloat16) for _ in range(12)]
    x0 = torch.randn(16384, 2048, device=loop.DEVICE, dtype=torch.bfloat16)

    @torch.no_grad()
    def step(i):
        x = x0
        for layer in layers:
            x = layer(x)
            if bad:
                x = x.float().to(torch.bfloat16)
                x = x.double().to(torch.bfloat16)
        return x
    return step


loop.run(make)
