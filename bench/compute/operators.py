#!/usr/bin/env python3
"""Calls of operators as PyTorch's profiler writes them, with what PyTorch itself knows of their work: operations by
torch.utils.flop_counter, bytes by the tensors that go in and come out. tests/compute/test_operators.py lays `assay report` beside them.

usage: operators.py [--all] [OUT]     needs PyTorch (no GPU), expecttest; default: tests/compute/torch_calls.json
Only calls that select_calls.py takes, or all of them; the committed ones are of PyTorch 2.15.0.
Two sources: products, convolutions and attention of many shapes, forward and backward, on tensors without data (meta); and
PyTorch's own samples of every operator (op_db), a few calls of each operator of aten."""
import json
import os
import sys
import tempfile
import warnings

import select_calls
import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

warnings.filterwarnings("ignore")
ARGUMENTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
SAMPLES = 6  # of each operator, type and operator under test
aten = torch.ops.aten


def tensors(tree):
    return [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor)]


def footprint(t):
    """Bytes that reading all of it touches."""
    distinct = 1
    for size, stride in zip(t.shape, t.stride()):
        distinct *= size if stride or not size else 1
    reach = 1 + sum((size - 1) * stride for size, stride in zip(t.shape, t.stride())) if t.numel() else 0
    return min(distinct, reach) * t.element_size()


class Calls(TorchDispatchMode):
    """Every operator below autograd, in a range that names its number."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs, number = kwargs or {}, len(self.calls)
        call = {"name": f"{func.namespace}::{func._overloadpacket.__name__}", "read": [footprint(t) for t in tensors((args, kwargs))]}
        self.calls.append(call)
        with record_function(f"call {number}"):
            out = func(*args, **kwargs)
        call["written"] = [t.numel() * t.element_size() for t in tensors(out)]
        call["flops"] = None
        if func._overloadpacket in flop_registry:
            try:
                call["flops"] = int(flop_registry[func._overloadpacket](*args, **kwargs, out_val=out))
            except (TypeError, ValueError, AssertionError):
                pass  # it does not know this variant
        return out


def events_of(profiler):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
    spans = [e for e in events if e.get("ph") == "X" and e.get("cat") in ("cpu_op", "user_annotation")]
    return sorted(spans, key=lambda e: (e["tid"], e["ts"], -e["dur"]))


def recorded(run):
    """The calls of run() that the profiler wrote, each with its own arguments."""
    with Calls() as mode, profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        run()
    number, end = -1, 0
    for e in events_of(profiler):
        if e["name"].startswith("call "):
            number, end = int(e["name"][5:]), e["ts"] + e["dur"]
        elif number >= 0 and e["cat"] == "cpu_op" and e["ts"] <= end:
            call = mode.calls[number]
            if e["name"] == call["name"] and "args" not in call:
                call["args"] = [e["args"].get(a) for a in ARGUMENTS]
    return [c for c in mode.calls if "args" in c and "written" in c]


def tried(*attempts):
    for f in attempts:
        try:
            f()
        except (RuntimeError, NotImplementedError, ValueError, TypeError, IndexError, AssertionError):
            pass  # no kernel for this type or device


def backward(out):
    out = [t for t in tensors(out) if t.requires_grad]
    torch.autograd.backward(out, [torch.empty_like(t) for t in out])


def blank(*shape, dtype=torch.bfloat16):
    return torch.empty(*shape, device="meta", dtype=dtype, requires_grad=dtype.is_floating_point and dtype.itemsize > 1)


def products(dtype):
    def of(*shape):
        return blank(*shape, dtype=dtype)
    tried(lambda: backward(of(33, 65) @ of(65, 17)),
          lambda: backward(torch.addmm(of(17), of(33, 65), of(65, 17), beta=0.5)),
          lambda: backward(torch.addmm(of(33, 17), of(33, 65), of(65, 17), beta=0)),
          lambda: backward(torch.baddbmm(of(5, 33, 17), of(5, 33, 65), of(5, 65, 17))),
          lambda: backward(torch.matmul(of(2, 5, 33, 65), of(5, 65, 17))),
          lambda: backward(F.linear(of(2, 5, 64), of(48, 64), of(48))),
          lambda: backward(torch.einsum("bqhd,bkhd->bhqk", of(2, 7, 3, 8), of(2, 9, 3, 8))),
          lambda: backward(torch.mv(of(33, 65), of(65))), lambda: backward(torch.dot(of(65), of(65))))


def narrow_products():
    f8, i8, one = torch.float8_e4m3fn, torch.int8, torch.empty((), device="meta")
    offsets = torch.empty(4, device="meta", dtype=torch.int32)
    a, b = blank(32, 64, dtype=f8), blank(48, 64, dtype=f8).t()
    tried(lambda: torch._int_mm(blank(32, 64, dtype=i8), blank(64, 16, dtype=i8)),
          lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16),
          lambda: torch._scaled_mm(a, b, scale_a=blank(32, 1, dtype=torch.float32), scale_b=blank(1, 48, dtype=torch.float32),
                                   bias=blank(48), out_dtype=torch.bfloat16),
          lambda: backward(torch._grouped_mm(blank(96, 64), blank(4, 64, 32), offs=offsets)),
          lambda: torch._grouped_mm(blank(4, 24, 64), blank(64, 96), offs=offsets),
          lambda: torch._scaled_grouped_mm(blank(96, 64, dtype=f8), blank(4, 32, 64, dtype=f8).transpose(-2, -1),
                                           blank(96, dtype=torch.float32), blank(4, 32, dtype=torch.float32), offs=offsets,
                                           out_dtype=torch.bfloat16))


def convolutions(dtype):
    for n, size in ((1, (50,)), (2, (28, 31)), (3, (9, 12, 10))):
        plain, transposed = getattr(nn, f"Conv{n}d"), getattr(nn, f"ConvTranspose{n}d")
        for k, s, p, d, g, bias in ((3, 1, 1, 1, 1, True), (3, 2, 0, 1, 1, False), (5, 1, 2, 2, 2, True), (3, 2, 1, 1, 8, False), (4, 3, 3, 2, 4, True)):
            backward(plain(8, 16, k, s, p, d, g, bias, device="meta", dtype=dtype)(blank(3, 8, *size, dtype=dtype)))
            backward(transposed(8, 16, k, s, p, min(s - 1, 1), g, bias, d, device="meta", dtype=dtype)(blank(3, 8, *size, dtype=dtype)))
    frames = torch.empty(2, 3, 32, 32, device="meta", dtype=dtype)  # needs no gradient
    backward(nn.Conv2d(3, 64, 7, 2, 3, device="meta", dtype=dtype)(frames))


def attention(b, heads, kv_heads, queries, keys, size, v_size):
    def q(): return blank(b, heads, queries, size)
    def k(h=kv_heads): return blank(b, h, keys, size)
    def v(h=kv_heads): return blank(b, h, keys, v_size)
    for causal in (False, True):
        tried(lambda: backward(aten._scaled_dot_product_flash_attention(q(), k(), v(), 0.0, causal)[0]),
              lambda: backward(aten._scaled_dot_product_cudnn_attention(q(), k(), v(), None, True, 0.0, causal, False)[0]),
              lambda: backward(aten._scaled_dot_product_efficient_attention(q(), k(heads), v(heads), None, True, 0.0, causal)[0]),
              lambda: aten._flash_attention_forward(*(t.transpose(1, 2) for t in (q(), k(), v())), None, None, queries, keys, 0.0, causal, False),
              lambda: backward(aten._scaled_dot_product_attention_math(q(), k(), v(), None, 0.0, causal, enable_gqa=heads != kv_heads)[0]))


def matrix_calls():
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        products(dtype)
    narrow_products()
    for dtype in (torch.float32, torch.bfloat16):
        convolutions(dtype)
    for shape in ((2, 4, 4, 64, 64, 32, 32), (2, 8, 2, 64, 64, 64, 64), (1, 4, 4, 17, 33, 64, 64), (1, 4, 4, 33, 17, 64, 64), (1, 32, 8, 1, 513, 128, 128)):
        attention(*shape)
    ends = torch.empty(5, device="meta", dtype=torch.int32)
    packed = [blank(100, 4, 32) for _ in range(3)]
    tried(lambda: aten._flash_attention_forward(*packed, ends, ends, 25, 25, 0.0, False, False),
          lambda: aten._efficient_attention_forward(*(t[None] for t in packed), None, ends, ends, 25, 25, 0.0, 0, True))


def sample_calls(op, dtype):
    samples = []
    for sample in op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd):
        samples.append(sample)
        if len(samples) == SAMPLES:
            break

    def run():
        for s in samples:
            tried(lambda s=s: backward(op(s.input, *s.args, **s.kwargs)))
    return recorded(run)


def main():
    from torch.testing._internal.common_methods_invocations import op_db
    everything = "--all" in sys.argv[1:]
    path = next((a for a in sys.argv[1:] if a != "--all"), select_calls.DEFAULT)
    kept, seen, count = [], set(), {}

    def keep(calls, most):
        for c in calls:
            key = json.dumps([c["name"], c["args"]])
            known = (c["name"], tuple(map(str, c["args"][1])))
            if key in seen or not c["name"].startswith("aten::") or count.get(known, 0) >= most:
                continue
            seen.add(key)
            count[known] = count.get(known, 0) + 1
            kept.append([c["name"], *c["args"], c["flops"], sum(c["read"]), sum(c["written"])])

    keep(recorded(matrix_calls), 100)
    for op in op_db:
        if torch.float32 in op.dtypes:
            try:
                keep(sample_calls(op, torch.float32), 2)
            except (RuntimeError, ValueError, TypeError, NotImplementedError, ImportError, AssertionError):
                pass  # samples that this build of PyTorch cannot make
    select_calls.write(kept if everything else select_calls.selected(kept), path)
    print(f"PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
