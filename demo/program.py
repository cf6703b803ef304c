"""The program of demo/run: a training loop with two flaws that profilers are asked about, each in a line of its own.
Samples are cleaned on the training thread (clean), and the norm of every gradient is read back in every step (log_norms).

usage: program.py [--clean-ahead] [--log-seldom] [--steps N]
Either option takes one flaw away; the last line has the median step, so that what assay says a flaw is worth can be
held against what it costs. demo/run: assay record -o demo/run -- python3 demo/program.py"""
import argparse
import statistics
import time

import torch
from torch import nn
from torch.cuda import nvtx
from torch.utils.data import DataLoader, Dataset

WIDTH, LAYERS, TOKENS, BATCH = 1024, 4, 512, 16


class Samples(Dataset):
    def __len__(self):
        return 1 << 20

    def clean(self, raw):
        return raw.sort().values[: TOKENS * 8].reshape(TOKENS, 8).mean(1, keepdim=True)

    def __getitem__(self, i):
        return self.clean(torch.randn(TOKENS * 32, generator=torch.Generator().manual_seed(i)))


def log_norms(net, log):
    log.append([p.grad.norm().item() for p in net.parameters()])


def train_step(net, opt, batch):
    with nvtx.range("forward"):
        loss = net(batch).float().pow(2).mean()
    with nvtx.range("backward"):
        loss.backward()
    with nvtx.range("optimizer"):
        opt.step()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clean-ahead", action="store_true", help="clean samples in worker processes, ahead of time")
    parser.add_argument("--log-seldom", action="store_true", help="read norms of gradients once in 100 steps")
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    ahead = {"num_workers": 8, "prefetch_factor": 4, "persistent_workers": True} if args.clean_ahead else {}
    data = iter(DataLoader(Samples(), batch_size=BATCH, pin_memory=True, **ahead))
    layer = nn.TransformerEncoderLayer(WIDTH, 16, 4 * WIDTH, dropout=0, batch_first=True, norm_first=True)
    net = nn.TransformerEncoder(layer, LAYERS).cuda().half()
    opt = torch.optim.SGD(net.parameters(), lr=1e-6)
    log, times, warm = [], [], 2
    for i in range(args.steps + warm):
        start = time.perf_counter()
        with nvtx.range(f"step {i}"):
            with nvtx.range("data loader"):
                batch = next(data)
            train_step(net, opt, batch.cuda(non_blocking=True).half().expand(-1, -1, WIDTH))
            if not args.log_seldom or i % 100 == 99:
                log_norms(net, log)
            opt.zero_grad()
        times.append(time.perf_counter() - start)
    torch.cuda.synchronize()
    print(f"{statistics.median(times[warm:]) * 1e3:.2f} ms a step", flush=True)


main()
