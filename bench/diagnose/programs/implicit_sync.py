"""Values are read back from the device inside the step, layer by layer."""
import torch

import loop


def make(bad):
    layers = [torch.nn.Linear(512, 512).to(loop.DEVICE) for _ in range(120)]
    x0 = torch.randn(64, 512, device=loop.DEVICE)
    norms = []

    def watch(x):
        norms.append(x.norm().item())

    @torch.no_grad()
    def step(i):
        x = x0
        for layer in layers:
            x = torch.relu(layer(x))
            x = x / (x.abs().amax() + 1)
            if bad:
                watch(x)
        return x
    return step


loop.run(make, steps=60)
