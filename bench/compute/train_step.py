#!/usr/bin/env python3
"""A transformer's training step whose operations are known in closed form, profiled with shapes: what `assay report` counts must be
what the formula says. Prints both, and the MFU of each by the data sheet's bf16 rate.

usage: train_step.py OUT.json[.gz] [--mode bf16|fp32|eager] [--layers N] [--hidden N] [--batch N] [--seq N] [--steps N] [--peak TFLOPS]
--mode fp32 runs products in fp32 without tf32, eager computes attention in pieces: both should be the first finding of their traces,
worth what the same step gains in mode bf16 (or with tf32: --mode tf32)."""
import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, hidden, heads, eager):
        super().__init__()
        self.heads, self.eager = heads, eager
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.up, self.down = nn.Linear(hidden, 4 * hidden, bias=False), nn.Linear(4 * hidden, hidden, bias=False)

    def attend(self, q, k, v):
        if not self.eager:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        s = q.shape[2]
        scores = q @ k.transpose(-2, -1) / q.shape[3] ** 0.5
        mask = torch.ones(s, s, dtype=torch.bool, device=q.device).tril()
        return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v

    def forward(self, x):
        b, s, h = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, self.heads, h // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(self.attend(q, k, v).transpose(1, 2).reshape(b, s, h))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.embed = nn.Embedding(a.vocab, a.hidden)
        self.blocks = nn.ModuleList(Block(a.hidden, a.hidden // 64, a.mode == "eager") for _ in range(a.layers))
        self.norm, self.head = nn.LayerNorm(a.hidden), nn.Linear(a.hidden, a.vocab, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def flops_of_step(a):
    """Forward products, and twice as much backward; attention by what its kernels do: pairs that a causal mask leaves and five
    products backward when fused, all pairs and four when in pieces."""
    tokens = a.batch * a.seq
    linear = 2 * tokens * a.hidden * (a.layers * 12 * a.hidden + a.vocab) * 3
    if a.mode == "eager":
        pairs, products = a.seq * a.seq, 2 + 4
    else:
        pairs, products = a.seq * (a.seq + 1) // 2, 2 + 5
    return linear + a.layers * 2 * a.batch * pairs * a.hidden * products


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--mode", choices=["bf16", "fp32", "tf32", "eager"], default="bf16")
    for name, default in (("layers", 12), ("hidden", 2048), ("batch", 8), ("seq", 1024), ("vocab", 32768), ("steps", 8)):
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--peak", type=float, default=989.4, help="dense TFLOP/s of the type that runs")
    a = p.parse_args()
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high" if a.mode == "tf32" else "highest")
    full = a.mode in ("fp32", "tf32")
    model = Model(a).to("cuda", torch.float32 if full else torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(a.vocab, (a.batch, a.seq + 1), device="cuda")

    def step():
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    for _ in range(3):
        step()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(a.steps):
        step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - started) / a.steps
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA],
                                record_shapes=True) as profiler:
        for _ in range(a.steps):
            with torch.profiler.record_function("step"):
                step()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(a.out)
    flops = flops_of_step(a)
    print(json.dumps({"mode": a.mode, "flops_per_step": flops, "flops": flops * a.steps, "steps": a.steps, "step_seconds": seconds,
                      "tflops_per_sec": flops / seconds / 1e12, "mfu": flops / seconds / (a.peak * 1e12)}))


main()
