"""The loop shares its one processor with processes that compute."""
import os
import signal

import torch

import loop


def burn(parent):
    while os.getppid() == parent:
        for n in range(100000):
            n * n
    os._exit(0)


def make(bad):
    core = sorted(os.sched_getaffinity(0))[-1]
    parent = os.getpid()
    for _ in range(3 if bad else 0):
        if os.fork() == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.sched_setaffinity(0, {core})
            burn(parent)
    layers = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(200))).to(loop.DEVICE)
    x = torch.randn(64, 512, device=loop.DEVICE)
    os.sched_setaffinity(0, {core})

    @torch.no_grad()
    def step(i):
        return layers(x)
    return step


loop.run(make, steps=40)
