"""Other threads compute in Python and hold its lock."""
import threading

import torch

import loop


def tokenise(text):
    return sum(hash(word) & 0xff for word in text.split())


def make(bad):
    layers = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(60))).to(loop.DEVICE)
    x = torch.randn(64, 512, device=loop.DEVICE)
    text = "the quick brown fox " * 200

    def work():
        while True:
            tokenise(text)

    for _ in range(3 if bad else 0):
        threading.Thread(target=work, daemon=True).start()

    @torch.no_grad()
    def step(i):
        y = x
        for layer in layers:
            y = layer(y).relu_()
        return y.sum().item()
    return step


loop.run(make)
