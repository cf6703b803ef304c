"""Samples are transformed in the training process."""
import torch
from torch.utils.data import DataLoader, Dataset

import loop


class Images(Dataset):
    def __init__(self, slow):
        self.slow = slow
        self.raw = torch.randn(64, 2048)

    def __len__(self):
        return 1 << 20

    def normalise(self, x):
        for _ in range(12):
            x = (x - x.mean()) / (x.std() + 1e-6)
            x = torch.roll(x, 3) * 1.01
        return x

    def __getitem__(self, i):
        x = self.raw[i % 64]
        return self.normalise(x) if self.slow else x


def make(bad):
    data = iter(DataLoader(Images(bad), batch_size=64, num_workers=0))
    train = loop.trainer(loop.mlp())

    def step(i):
        x = next(data).to(loop.DEVICE, torch.bfloat16)
        train(x.repeat(16, 1))
    return step


loop.run(make)
