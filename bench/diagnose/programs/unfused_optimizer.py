"""The optimizer updates hundreds of parameters one by one."""
import torch

import loop


def make(bad):
    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(150))).to(loop.DEVICE)
    options = dict(foreach=False, fused=False) if bad else dict(fused=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **options)
    x = torch.randn(256, 256, device=loop.DEVICE)

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()
    return step


loop.run(make)
