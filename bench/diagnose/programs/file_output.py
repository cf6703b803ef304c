"""A checkpoint is written in every step."""
import os
import tempfile

import torch

import loop


def make(bad):
    model = loop.mlp(width=1024)
    train = loop.trainer(model)
    x = torch.randn(1024, 1024, device=loop.DEVICE, dtype=torch.bfloat16)
    path = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")

    def checkpoint():
        torch.save(model.state_dict(), path)

    def step(i):
        train(x)
        if bad:
            checkpoint()
    return step


loop.run(make)
