"""A training loop whose data loader is slow, or not: loader.py slow|fixed STEPS; prints the median step.
slow: samples are decoded on the training thread; fixed: by worker processes, ahead of time. Ranges (NVTX) name the
steps, the loading and the parts of a step."""
import statistics
import sys
import time

import torch
import torch.nn as nn
from torch.cuda import nvtx
from torch.utils.data import DataLoader, Dataset

WIDTH, LAYERS, TOKENS, BATCH = 1024, 8, 512, 16


class Samples(Dataset):
    """Decoding is sorting: honest work of the processor, about a millisecond a sample."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        noise = torch.randn(TOKENS * 64, generator=g)
        return noise.sort().values[: TOKENS * 8].reshape(TOKENS, 8).mean(1, keepdim=True).expand(TOKENS, WIDTH).half()


def main():
    how, steps = sys.argv[1], int(sys.argv[2])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    workers = {"slow": {}, "fixed": {"num_workers": 8, "prefetch_factor": 4, "persistent_workers": True}}[how]
    data = iter(DataLoader(Samples(), batch_size=BATCH, pin_memory=True, **workers))
    layer = nn.TransformerEncoderLayer(WIDTH, 16, 4 * WIDTH, batch_first=True, norm_first=True)
    net = nn.TransformerEncoder(layer, LAYERS).cuda().half()
    opt = torch.optim.SGD(net.parameters(), lr=1e-6)
    times = []
    for i in range(steps + 10):
        start = time.perf_counter()
        nvtx.range_push(f"step {i}")
        nvtx.range_push("data loader")
        batch = next(data)
        nvtx.range_pop()
        nvtx.range_push("forward")
        loss = net(batch.cuda(non_blocking=True)).float().pow(2).mean()
        nvtx.range_pop()
        nvtx.range_push("backward")
        loss.backward()
        nvtx.range_pop()
        nvtx.range_push("optimizer")
        opt.step()
        opt.zero_grad()
        nvtx.range_pop()
        loss.item()  # as a loop does that logs its loss: the host waits for the step
        nvtx.range_pop()
        times.append(time.perf_counter() - start)
    print(f"{how}: {statistics.median(times[10:]) * 1e6:.1f} us/step", flush=True)


main()
