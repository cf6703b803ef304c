"""Two streams that could run at once wait for each other's events."""
import torch

import loop


def make(bad):
    streams = [torch.cuda.Stream() for _ in range(4)]
    mats = [torch.randn(512, 512, device=loop.DEVICE) for _ in streams]
    torch.cuda.synchronize()

    def branch(stream, m, before):
        with torch.cuda.stream(stream):
            if bad and before is not None:
                stream.wait_event(before)
            y = m
            for _ in range(12):
                y = torch.cumsum(y, 0).tanh_()
            done = torch.cuda.Event()
            done.record(stream)
            return done

    def step(i):
        before = None
        for stream, m in zip(streams, mats):
            before = branch(stream, m, before)
        torch.cuda.current_stream().wait_event(before)
        torch.cuda.synchronize()
    return step


loop.run(make, steps=60)
