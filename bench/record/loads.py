"""Two training loops to record: one that waits for the host all the time, one that never does."""
import time

import torch
import torch.nn as nn


def launch_bound():
    """About 270 launches a step, hardly any GPU work; a copy stream and two events that are used again."""
    torch.manual_seed(0)
    width, layers = 256, 24
    net = nn.Sequential(*[nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()) for _ in range(layers)]).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    copies, ready, used = torch.cuda.Stream(), torch.cuda.Event(), torch.cuda.Event()
    host, batch = torch.randn(64, width).pin_memory(), torch.empty(64, width, device="cuda")

    def step():
        copies.wait_event(used)
        with torch.cuda.stream(copies):
            batch.copy_(host, non_blocking=True)
            ready.record(copies)
        torch.cuda.current_stream().wait_event(ready)
        loss = net(batch).pow(2).mean()
        used.record()
        loss.backward()
        opt.step()
        opt.zero_grad()
    return step


def gpu_bound():
    """About 80 ms of GPU work a step on an H200; the host is far ahead."""
    torch.manual_seed(0)
    width, heads, batch, length, layers = 2048, 16, 32, 1024, 4
    net = nn.Sequential(*[nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
                          for _ in range(layers)]).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x = torch.randn(batch, length, width, device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = net(x).float().pow(2).mean()
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


LOADS = {"launch_bound": (launch_bound, 150), "gpu_bound": (gpu_bound, 40)}


def timed(step, n):
    """Microseconds of each step as the host sees it, and of a step of the whole, GPU work included."""
    steps = []
    start = before = time.perf_counter()
    for _ in range(n):
        step()
        now = time.perf_counter()
        steps.append((now - before) * 1e6)
        before = now
    torch.cuda.synchronize()
    return steps, (time.perf_counter() - start) / n * 1e6
