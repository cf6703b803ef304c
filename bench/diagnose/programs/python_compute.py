"""A metric is computed in Python between steps."""
import torch

import loop


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def make(bad):
    x = torch.randn(1024, 2048, device=loop.DEVICE, dtype=torch.bfloat16)
    train = loop.trainer(loop.mlp())
    want, got = list(range(200)), [n * 7 % 200 for n in range(200)]

    def step(i):
        train(x)
        if bad:
            torch.cuda.current_stream().synchronize()
            edit_distance(want, got)
    return step


loop.run(make)
