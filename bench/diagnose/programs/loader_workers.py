"""One loader worker for a transform that needs eight."""
import time

import torch
from torch.utils.data import DataLoader, Dataset

import loop


class Records(Dataset):
    def __len__(self):
        return 1 << 20

    def decode(self, i):
        end = time.perf_counter() + 0.0006
        n = i
        while time.perf_counter() < end:
            n = (n * 1103515245 + 12345) & 0x7fffffff
        return n

    def __getitem__(self, i):
        return torch.full((2048,), float(self.decode(i) % 7))


def make(bad):
    torch.set_num_threads(1)
    loader = DataLoader(Records(), batch_size=64, num_workers=1 if bad else 8, pin_memory=True, prefetch_factor=4)
    data = iter(loader)
    train = loop.trainer(loop.mlp())

    def step(i):
        x = next(data).to(loop.DEVICE, torch.bfloat16, non_blocking=True)
        train(x.repeat(16, 1))
    return step


loop.run(make)
