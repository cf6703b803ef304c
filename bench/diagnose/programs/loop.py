"""What the programs share: a small model, a timed loop, and the choice of variant. A program defines make(bad), which
returns its step function; loop.run(make) runs it and prints the median time of a step."""
import json
import statistics
import sys
import time

import torch

DEVICE = "cuda"
STEPS, WARM = 30, 6


def run(make, steps=STEPS, budget=5.0, quiet=False):
    """Times of whole steps, each ended by a synchronisation of its own only at the end of the loop: the steps
    themselves run as the program wrote them."""
    bad = sys.argv[1:] != ["good"]
    step = make(bad)
    for i in range(WARM):
        step(i)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    marks = [begin]
    for i in range(steps):
        step(WARM + i)
        marks.append(time.perf_counter())
        if marks[-1] - begin > budget:
            break
    torch.cuda.synchronize()
    whole = time.perf_counter() - begin
    done = len(marks) - 1
    quiet or print(json.dumps({"step_ms": whole / done * 1e3, "steps": done, "seconds": whole,
                               "host_ms": statistics.median(b - a for a, b in zip(marks, marks[1:])) * 1e3}))


def mlp(width=2048, depth=8, dtype=torch.bfloat16):
    layers = [m for _ in range(depth) for m in (torch.nn.Linear(width, width), torch.nn.GELU())]
    return torch.nn.Sequential(*layers).to(DEVICE, dtype)


def trainer(model, batch=2048, lr=1e-4):
    """A training step on the device; takes the batch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)

    def train(x):
        optimizer.zero_grad(set_to_none=True)
        loss = model(x).float().square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return train
