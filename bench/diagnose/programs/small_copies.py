"""A batch goes to the device as hundreds of small tensors."""
import torch

import loop


def make(bad):
    rows = [torch.randn(2048) for _ in range(512)]
    whole = torch.stack(rows).pin_memory()
    train = loop.trainer(loop.mlp(depth=4))

    def upload():
        if bad:
            return torch.stack([r.to(loop.DEVICE) for r in rows])
        return whole.to(loop.DEVICE, non_blocking=True)

    def step(i):
        train(upload().to(torch.bfloat16))
    return step


loop.run(make)
