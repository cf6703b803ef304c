#!/usr/bin/env python3
"""Operations and bytes of operators beside what PyTorch knows of the same calls (torch_calls.json, made by bench/compute/operators.py):
equal, or different for a reason that is written down here."""
import json
import math
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tap

LEAST_CALLS, LEAST_OPERATORS, LEAST_EQUAL = 500, 140, 0.7


def trace_of(calls):
    """Each call launches one kernel."""
    events = []
    for i, (name, dims, types, strides, values, *_) in enumerate(calls):
        at, args = 1000 + i * 100, {"Input Dims": dims, "Input type": types, "Input Strides": strides, "Concrete Inputs": values}
        for cat, what, tid, offset, dur, more in (
                ("cpu_op", name, 1, 0, 50, args), ("cuda_runtime", "cudaLaunchKernel", 1, 1, 2, {}),
                ("kernel", "void made_up<float>(float*)", 7, 5, 90, {"device": 0, "stream": 7})):
            events.append({"ph": "X", "cat": cat, "name": what, "pid": int(cat != "kernel"), "tid": tid, "ts": at + offset, "dur": dur,
                           "args": {"External id": i + 1, "correlation": i + 1, **more}})
    return {"schemaVersion": 1, "traceEvents": events}


def report(calls):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "calls.json"
        path.write_text(json.dumps(trace_of(calls)), encoding="utf-8")
        code, out, err = tap.run("report", "--json", path)
    assert code == 0, err
    found = json.loads(out)["ops_by_shape"]
    return {json.dumps([o[k] for k in ("name", "shapes", "types", "strides", "values")]): o for o in found}


def size(dims):
    return math.prod(dims)


def causal(name, values):
    at = {"flash_attention": 4, "efficient_attention": 6, "cudnn_attention": 6, "flash_attention_backward": 11,
          "efficient_attention_backward": 11, "cudnn_attention_backward": 14}.get(name.removeprefix("aten::_scaled_dot_product_"), 8)
    return values[at] in ("True", "1")


def why_flops(name, dims, values, theirs, ours):
    if "attention" in name:
        return "the counter takes all pairs of a causal attention" if causal(name, values) and ours < theirs else None
    if name == "aten::convolution_backward":
        bias = size(dims[0]) if values[10].endswith("True]") else 0
        groups = int(values[9])
        x, w = values[10].startswith("[True"), "True" in values[10].split(",")[1]
        plain = ours - bias  # the sum that is the gradient of a bias
        if plain == theirs:
            return "the gradient of the bias is a sum"
        return "the counter takes every group's weights for every group" if x and w and plain * (1 + groups) == theirs * 2 else None
    return None


def why_bytes(name, dims, types, values, read, written, ours):
    theirs = read + written
    if ours == read and not name.endswith("_"):
        return "the result is among the arguments"
    numbers = sum({"double": 8, "long int": 8}.get(t, 0) for d, t in zip(dims, types) if d == [])
    if name in ("aten::addmm", "aten::baddbmm", "aten::addmv") and values[3] in ("0", "0."):
        return "times 0, what is added is not read"
    if "attention" in name:
        return "neither sums of rows nor states of random numbers" if abs(ours / theirs - 1) < 0.1 else None
    if name == "aten::convolution_backward":
        return "two operands are read and one is written for each gradient" if ours >= theirs or "False" in values[10] else None
    if name.endswith("loss") or name == "aten::binary_cross_entropy":
        return "an operator inside makes the mean" if ours > theirs else None
    if "norm" in name and "normal" not in name:
        return "statistics by channel and by group are left out, by row they are of fp32" if abs(ours / theirs - 1) < 0.5 else None
    if name.endswith("pool2d_backward") or name.endswith("indices_backward") or name.startswith("aten::nll_loss"):
        return "of x only the shape is needed, or one value a row" if ours < theirs else None
    if name in ("aten::gather", "aten::index_select", "aten::embedding", "aten::embedding_dense_backward") or name.startswith("aten::_embedding_bag"):
        return "only rows that are asked for" if ours < theirs else None
    if name.startswith("aten::grid_sampler"):
        return "a few places need not touch all of the input" if ours < theirs else None
    if name == "aten::_chunk_cat":
        return "zeros between the pieces are left out" if ours < theirs else None
    if name.endswith("_") and ours < theirs:
        return "what is overwritten is not read, what is not named is not touched"
    if abs(ours - theirs) <= 8 and [] in dims:
        return "a single number is an argument, and no memory"
    return "numbers are passed by value" if ours - theirs == numbers or 0 in sum((d for d in dims if d and isinstance(d[0], int)), []) else None


def main():
    calls = json.loads((HERE / "torch_calls.json").read_text(encoding="utf-8"))
    found, equal, unknown, wrong = report(calls), 0, [], []
    for name, dims, types, strides, values, flops, read, written in calls:
        ours = found.get(json.dumps([name, dims, types, strides, values]))
        if not ours or ours["bytes"] is None:
            unknown.append((name, dims))
            continue
        same_flops, same_bytes = flops in (None, ours["flops"]), ours["bytes"] == read + written
        equal += same_flops and same_bytes
        if not same_flops and not why_flops(name, dims, values, flops, ours["flops"]):
            wrong.append((name, dims, values, "operations", flops, ours["flops"]))
        if not same_bytes and not why_bytes(name, dims, types, values, read, written, ours["bytes"]):
            wrong.append((name, dims, types, values, "bytes", read + written, ours["bytes"]))
    operators = len({c[0] for c in calls})
    tap.ok(f"{len(calls)} calls of {operators} operators are counted", not unknown and len(calls) >= LEAST_CALLS
           and operators >= LEAST_OPERATORS, unknown[:5])
    tap.ok(f"{equal} of them as PyTorch does", equal >= LEAST_EQUAL * len(calls), equal / len(calls))
    tap.ok("and the others differ for a reason", not wrong, "\n".join(map(str, wrong[:12])))


main()
tap.done()
