#!/usr/bin/env python3
"""A transformer's training step whose operations are known in closed form: does `assay report` count them, by a framework
trace and by the BLAS calls of a plain recording, and is its MFU the measured one?

usage: train_step.py [--assay PATH] [--python PATH] [--out DIR] [--peak TFLOPS] [--layers N ...] [MODE ...]     needs a GPU and PyTorch
Modes: bf16, tf32, fp32 (products without tf32), eager (attention in pieces); all of them without any, in about 30 s each.
Of each: operations of a step in closed form, by torch.utils.flop_counter (which counts all pairs of a causal attention), by the
report of a profiler's trace with shapes, and by the report of a recording (BLAS calls: all but fused attention); MFU measured with a
clock without a profiler, with one, and by the report. The first findings of fp32 and eager, with what they say they are worth and
what the step of tf32 and bf16 gains. Differences are in percent; exit status 1 when the trace is off by more than 1 %, the
recording by more than 3 %, or a finding is missed."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

MODES = ["bf16", "tf32", "fp32", "eager"]
PEAKS = {"bf16": "bf16", "eager": "bf16", "tf32": "tf32", "fp32": "fp32"}
MATRIX = ("gemm", "attention", "convolution", "conv", "moe")
FINDINGS = {"fp32": ("fp32_matmul", "tf32"), "eager": ("eager_attention", "bf16")}
WARM, PROFILED = 3, 5


def flops_of_step(a, mode, all_pairs=False):
    """Forward products, and twice as much backward; attention by what its kernels do: pairs that a causal mask leaves and five
    products backward when fused, all pairs and four when in pieces. Returns those of layers, and of attention."""
    tokens = a.batch * a.seq
    linear = 2 * tokens * a.hidden * (a.layers * 12 * a.hidden + a.vocab) * 3
    pairs = a.seq * a.seq if all_pairs or mode == "eager" else a.seq * (a.seq + 1) // 2
    return linear, a.layers * 2 * a.batch * pairs * a.hidden * (2 + (4 if mode == "eager" else 5))


# ---- inside the measured process ----

def make_model(a, mode):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            h = a.hidden
            self.norm1, self.norm2 = nn.LayerNorm(h), nn.LayerNorm(h)
            self.qkv, self.out = nn.Linear(h, 3 * h, bias=False), nn.Linear(h, h, bias=False)
            self.up, self.down = nn.Linear(h, 4 * h, bias=False), nn.Linear(4 * h, h, bias=False)

        def attend(self, q, k, v):
            if mode != "eager":
                return F.scaled_dot_product_attention(q, k, v, is_causal=True)
            s = q.shape[2]
            scores = q @ k.transpose(-2, -1) / q.shape[3] ** 0.5
            mask = torch.ones(s, s, dtype=torch.bool, device=q.device).tril()
            return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v

        def forward(self, x):
            b, s, h = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, h // 64, 64).permute(2, 0, 3, 1, 4)
            x = x + self.out(self.attend(q, k, v).transpose(1, 2).reshape(b, s, h))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(a.vocab, a.hidden)
            self.blocks = nn.ModuleList(Block() for _ in range(a.layers))
            self.norm, self.head = nn.LayerNorm(a.hidden), nn.Linear(a.hidden, a.vocab, bias=False)

        def forward(self, tokens):
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high" if mode == "tf32" else "highest")
    return Model().to(a.device, torch.float32 if mode in ("fp32", "tf32") else torch.bfloat16)


def child(a, mode):
    """Runs the steps; with --trace also under flop_counter and the profiler. Prints one line of JSON."""
    import torch
    from torch.nn import functional as F
    model = make_model(a, mode)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=a.device == "cuda")
    tokens = torch.randint(a.vocab, (a.batch, a.seq + 1), device=a.device)
    wait = torch.cuda.synchronize if a.device == "cuda" else lambda: None

    def step():
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def timed(n):
        wait()
        started = time.perf_counter()
        for _ in range(n):
            step()
        wait()
        return (time.perf_counter() - started) / n

    for _ in range(WARM):
        step()
    out = {"seconds": timed(a.steps)}
    if a.trace:
        from torch.utils.flop_counter import FlopCounterMode
        with FlopCounterMode(display=False) as counter:
            step()
        out["flop_counter"] = counter.get_total_flops()
        step()
        wait()
        kinds = [torch.profiler.ProfilerActivity.CPU] + ([torch.profiler.ProfilerActivity.CUDA] if a.device == "cuda" else [])
        with torch.profiler.profile(activities=kinds, record_shapes=True) as profiler:
            wait()
            started = time.perf_counter()
            for _ in range(PROFILED):
                with torch.profiler.record_function("step"):
                    step()
            wait()
            out["profiled_seconds"] = (time.perf_counter() - started) / PROFILED
        profiler.export_chrome_trace(a.trace)
    print(json.dumps(out))


# ---- outside of it ----

def run(command):
    p = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if p.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {p.returncode}: {p.stderr[-800:]}")
    return p.stdout


def run_child(a, mode, before=(), trace=None):
    sizes = [f"--{n}={getattr(a, n)}" for n in ("layers", "hidden", "batch", "seq", "vocab", "steps", "device")]
    text = run([*before, a.python, os.path.abspath(__file__), "--child", *sizes, *(["--trace", trace] if trace else []), mode])
    return json.loads([s for s in text.splitlines() if s.startswith("{")][-1])


def report_of(a, path):
    report = json.loads(run([a.assay, "report", "--json", path]))
    report["matrix_flops"] = sum(o["flops"] or 0 for o in report["ops"] if o["class"] in MATRIX)
    return report


def percent(value, expected):
    return 100 * (value / expected - 1) if expected else float("nan")


def measure(a, mode):
    trace, record = os.path.join(a.out, mode + ".json.gz"), os.path.join(a.out, mode)
    timed = run_child(a, mode, trace=trace)
    run_child(a, mode, before=[a.assay, "record", "-q", "-o", record, "--"])
    by_trace, by_blas = report_of(a, trace), report_of(a, record)
    linear, attention = flops_of_step(a, mode)
    flops, peak = linear + attention, a.peak * 1e12 if a.peak else by_trace["compute"]["peak"][PEAKS[mode]]
    blas = linear + (attention if mode == "eager" else 0)
    counted, recorded = by_trace["matrix_flops"] / PROFILED, by_blas["matrix_flops"] / (WARM + a.steps)
    return {"mode": mode, "step_seconds": timed["seconds"], "flops": flops, "first": by_blas["findings"][0],
            "first_of_trace": by_trace["findings"][0],
            "counter_percent": percent(timed["flop_counter"], sum(flops_of_step(a, mode, all_pairs=True))),
            "trace_percent": percent(counted, flops), "blas_percent": percent(recorded, blas),
            "mfu": flops / timed["seconds"] / peak, "mfu_profiled": flops / timed["profiled_seconds"] / peak,
            "mfu_report": by_trace["compute"]["mfu_of_main_type"], "mfu_blas": by_blas["compute"]["mfu_of_main_type"],
            "mfu_percent": percent(by_trace["compute"]["mfu_of_main_type"], flops / timed["profiled_seconds"] / peak)}


def worth_of(finding, seconds):
    worth = finding.get("worth") or {}
    now, after = worth.get("now_ns") or 0, worth.get("after_ns") or 0
    return (now - after) / now * seconds if now else 0


def print_finding(mode, results):
    """The recording's first finding against the mode without the trouble; False when it is another one."""
    expected, without = FINDINGS[mode]
    r = results[mode]
    predicted = worth_of(r["first"], r["step_seconds"])
    line = f"{mode}: first finding {r['first']['id']} (trace: {r['first_of_trace']['id']}), worth {predicted * 1e3:.1f} ms a step"
    if without in results:
        gained = r["step_seconds"] - results[without]["step_seconds"]
        line += f"; {without} is {gained * 1e3:.1f} ms faster ({percent(predicted, gained):+.1f} %)"
    print(line)
    return r["first"]["id"] == expected


def main():
    p = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    p.add_argument("--assay", default=os.path.join(here, "../../build/release/assay"))
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--out", default=None, help="where traces and recordings go")
    for name, default in (("layers", 8), ("hidden", 2048), ("batch", 8), ("seq", 1024), ("vocab", 32768), ("steps", 8)):
        p.add_argument("--" + name, type=int, default=default)
    p.add_argument("--peak", type=float, default=0, help="dense TFLOP/s of the type that runs; 0: as the report says")
    p.add_argument("--device", default="cuda")
    p.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--trace", help=argparse.SUPPRESS)
    p.add_argument("modes", nargs="*", metavar="MODE")
    a = p.parse_args()
    if set(a.modes) - set(MODES):
        p.error(f"modes are {', '.join(MODES)}")
    if a.child:
        return child(a, a.modes[0])
    a.out = os.path.abspath(a.out or tempfile.mkdtemp(prefix="assay-train-step-"))
    os.makedirs(a.out, exist_ok=True)
    results, ok = {}, True
    print("| mode | step ms | TFLOP a step | flop_counter | trace | BLAS calls | MFU clock | with profiler | by report | off |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for mode in a.modes or MODES:
        r = results[mode] = measure(a, mode)
        ok &= abs(r["trace_percent"]) <= 1 and abs(r["mfu_percent"]) <= 1 and abs(r["blas_percent"]) <= 3
        print(f"| {mode} | {r['step_seconds'] * 1e3:.1f} | {r['flops'] / 1e12:.3f} | {r['counter_percent']:+.3f} % | {r['trace_percent']:+.3f} % | "
              f"{r['blas_percent']:+.3f} % | {r['mfu']:.4f} | {r['mfu_profiled']:.4f} | {r['mfu_report']:.4f} | {r['mfu_percent']:+.2f} % |", flush=True)
    for mode in results:
        if mode in FINDINGS:
            ok &= print_finding(mode, results)
    with open(os.path.join(a.out, "results.json"), "w") as f:
        json.dump(results, f, indent=1)
    print(a.out)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
