"""Batches are copied from pageable memory."""
import torch

import loop


def make(bad):
    host = [torch.randn(8192, 2048) for _ in range(4)]
    if not bad:
        host = [h.pin_memory() for h in host]
    train = loop.trainer(loop.mlp(depth=4))
    copy = torch.cuda.Stream()
    state = {}

    def fetch(i):
        if bad:
            return host[i % 4].to(loop.DEVICE)
        with torch.cuda.stream(copy):
            return host[i % 4].to(loop.DEVICE, non_blocking=True)

    def step(i):
        x = state.pop("next", None)
        x = fetch(i) if x is None else x
        if not bad:
            torch.cuda.current_stream().wait_stream(copy)
        train(x.to(torch.bfloat16))
        if not bad:
            state["next"] = fetch(i + 1)
    return step


loop.run(make)
