"""A rate limiter sleeps in the loop."""
import time

import torch

import loop


class Limiter:
    def __init__(self, seconds):
        self.seconds = seconds

    def acquire(self):
        if self.seconds:
            time.sleep(self.seconds)


def make(bad):
    x = torch.randn(1024, 2048, device=loop.DEVICE, dtype=torch.bfloat16)
    train = loop.trainer(loop.mlp())
    limiter = Limiter(0.010 if bad else 0)

    def step(i):
        limiter.acquire()
        train(x)
    return step


loop.run(make)
