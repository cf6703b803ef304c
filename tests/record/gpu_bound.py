"""A GPU-bound transformer step, timed: gpu_bound.py STEPS [kineto]"""
import sys
import time

import torch
import torch.nn as nn

torch.manual_seed(0)
D, H, B, T, L = 2048, 16, 32, 1024, 4  # about 80 ms of GPU work a step on an H200; the host is far ahead
layers = [nn.TransformerEncoderLayer(D, H, 4 * D, dropout=0.0, batch_first=True, norm_first=True) for _ in range(L)]
net = nn.Sequential(*layers).cuda()
opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
x = torch.randn(B, T, D, device="cuda")


def step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = net(x).float().pow(2).mean()
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)


for _ in range(10):
    step()
torch.cuda.synchronize()
n = int(sys.argv[1])
mode = sys.argv[2] if len(sys.argv) > 2 else ""
if mode == "kineto":
    from torch.profiler import ProfilerActivity, profile
    p = profile(activities=[ProfilerActivity.CUDA])
    p.__enter__()
t = time.perf_counter()
for _ in range(n):
    step()
torch.cuda.synchronize()
dt = time.perf_counter() - t
if mode == "kineto":
    p.__exit__(None, None, None)
print(f"{mode or 'plain'}: {dt / n * 1e6:.1f} us/step", flush=True)
