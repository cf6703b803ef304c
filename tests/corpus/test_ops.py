#!/usr/bin/env python3
"""Operators, their GPU time, operations and bytes beside what TraceLens computed for the same traces (its stored tables), row by
row: equal, or different for a reason that is written down here."""
import ast
import csv
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

csv.field_size_limit(1 << 24)
# trace: file, rows in its table, how many of them at least are equal in calls and time
TRACES = {
    "h100_qwen1.5-0.5b": ("tracelens/h100/qwen1.5-0.5b.json.gz", 35, 34),
    "mi300_qwen1.5-0.5b": ("tracelens/mi300/qwen1.5-0.5b.json.gz", 35, 34),
    "torch_compile_triton": ("tracelens/torch_compile_triton.json.gz", 8, 8),
    "sglang_qwen3_8b_prefilldecode": ("tracelens/inference/sglang_qwen3_8b_prefilldecode.json.gz", 36, 32),
    "mi300_normalization_layer_test": ("tracelens/mi300/normalization_layer_test.json.gz", 31, 24),
    "mi300_resnet_act_checkpoint": ("tracelens/mi300/resnet_act_checkpoint.json.gz", 129, 71),
}
MATRIX = ("mm", "conv", "attention", "gemm", "mha")


def frozen(x):
    return tuple(frozen(i) for i in x) if isinstance(x, (list, tuple)) else x


def literal(text):
    try:
        return frozen(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return ()


def report(path):
    code, out, err = tap.run("report", "--json", path)
    assert code == 0, err
    return json.loads(out)


def by_arguments(found):
    rows = {}
    for o in found["ops_by_shape"]:
        key = (o["name"], *(frozen(o[k] or ()) for k in ("shapes", "types", "strides", "values")))
        row = rows.setdefault(key, [0, 0.0, o["flops"], o["bytes"]])
        row[0] += o["calls"]
        row[1] += o["kernel_ns"] / 1e3
    return rows


def reason(name, ours, theirs, what):
    """Why a figure may differ; None when nothing explains it."""
    ratio = ours / theirs if ours and theirs else math.nan
    if what == "flops":
        if not any(w in name for w in MATRIX):
            return "operations of memory-bound work are one a result here"
        if "addmm" in name and 0.99 < ratio <= 1:
            return "TraceLens counts the addition of the bias"
        if "attention" in name or "mha" in name:
            return "TraceLens takes half of a causal square" if 1 <= ratio < 1.01 else None
        if name == "aten::convolution_backward" and abs(ratio - 0.5) < 1e-9:
            return "the gradient of the input was not asked for: TraceLens ignores the mask"
        return None
    if "batch_norm_backward" in name and abs(ratio - 1.5) < 0.01:
        return "two tensors are read and one written: TraceLens leaves one out"
    if "norm" in name:
        return "mean and deviation are kept by row, weights may be absent" if 0.7 < ratio < 1.06 else None
    if name == "aten::div" and ratio < 1:
        return "an expanded tensor is read once: TraceLens ignores strides of 0"
    if name in ("aten::mean", "aten::sum", "aten::max", "aten::std"):
        return "TraceLens writes one element whatever the dimensions" if 1 <= ratio < 1.7 else None
    if name == "aten::cumsum":
        return "sums of 32-bit integers are made of 64 bits" if ratio == 1.5 else None
    if name.startswith("triton_poi"):
        return "TraceLens writes the first pointer twice" if 0.6 < ratio < 1 else None
    if name == "aten::convolution_backward":
        return "by the gradients asked for" if 0.4 < ratio < 1.01 else None
    if "rotary" in name or "store_cache" in name:
        return "positions and slots are read too" if 1 < ratio < 1.01 else None
    if name in ("aten::copy_", "aten::fill_", "aten::div_", "aten::add_", "aten::mul_"):
        return "numbers and what is written in place are counted apart" if ratio == ratio else None
    return None


def compare(name):
    path, rows, same_time = TRACES[name]
    path = tap.CORPUS / path
    found = report(path)
    ours, equal, seen, unexplained = by_arguments(found), 0, 0, []
    with open(tap.CORPUS / f"tracelens/perf_csvs/{name}/unified_perf_summary.csv", encoding="utf-8") as f:
        for t in csv.DictReader(f):
            seen += 1
            key = (t["name"], *(literal(t[k]) for k in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")))
            mine = ours.get(key)
            if not mine:
                continue
            time = float(t["Kernel Time (µs)_sum"] or 0)
            equal += abs(mine[1] - time) <= 1e-3 * max(time, 1) and mine[0] == int(t["operation_count"])
            for what, column, scale, at in (("flops", "GFLOPS", 1e9, 2), ("bytes", "Data Moved (MB)", 2**20, 3)):
                if not t[column] or mine[at] is None:
                    continue
                theirs = float(t[column]) * scale
                if abs(mine[at] - theirs) > 1e-6 * theirs and not reason(t["name"], mine[at], theirs, what):
                    unexplained.append((t["name"], key[1], what, theirs, mine[at]))
    tap.ok(f"{name}: {seen} rows of TraceLens, {equal} of them equal in calls and time", seen == rows and equal >= same_time,
              f"{seen} rows, {equal} equal")
    tap.ok(f"{name}: operations and bytes are equal or explained", not unexplained, unexplained[:5])


def squeezed(*parts):
    return " ".join(parts).replace(" ", "")


def imitate(name):
    """--like tracelens: its operations and bytes of every row that both have."""
    code, out, err = tap.run("report", "--like", "tracelens", "--json", tap.CORPUS / TRACES[name][0])
    assert code == 0, err
    ours = {squeezed(group): row for group, row in json.loads(out)["ranks"][0]["unified_perf_summary"].items()}
    same, other = 0, []
    with open(tap.CORPUS / f"tracelens/perf_csvs/{name}/unified_perf_summary.csv", encoding="utf-8") as f:
        for t in csv.DictReader(f):
            arguments = (json.dumps(ast.literal_eval(t[k] or "()")) for k in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs"))
            mine = ours.get(squeezed(t["name"], *arguments), {})
            for column in ("GFLOPS", "Data Moved (MB)"):
                if not t[column] or mine.get(column) is None:
                    continue
                theirs = float(t[column])
                if abs(mine[column] - theirs) <= 1e-6 * abs(theirs):
                    same += 1
                elif column != "GFLOPS" or not t["name"].startswith("triton_"):
                    other.append((t["name"], t["Input Dims"], column, theirs, mine[column]))
    tap.ok(f"{name}: --like tracelens has its {same} figures", same > 0 and not other, other[:5])


def main():
    if not tap.CORPUS.is_dir():
        tap.skip("operators beside TraceLens", f"no corpus at {tap.CORPUS}")
        return
    for name in TRACES:
        compare(name)
        imitate(name)
    found = report(tap.CORPUS / "h200/train.json.gz")
    ops = {o["name"]: o for o in found["ops"]}
    tap.ok("H200: every product is known", ops["aten::mm"]["flops"] + ops["aten::addmm"]["flops"] == 12369505812480)
    parameters = 4 * (12 * 1024 * 1024 + 13 * 1024)  # layers of 1024 with biases and norms
    tap.ok("H200: an optimizer's lists are as long as its parameters, within 3 %",
           abs(ops["aten::_foreach_addcdiv_"]["bytes"] / (5 * 16 * parameters) - 1) < 0.03, ops["aten::_foreach_addcdiv_"])
    tap.ok("H200: figures of the sheet", found["compute"]["coverage"] == 1
              and found["compute"]["matrix_coverage"] > 0.999, found["compute"])
    again = report(tap.CORPUS / "tracelens/mi300/resnet_act_checkpoint.json.gz")["compute"]
    tap.ok("a checkpointed run computes more than its model", again["hfu"] > 1.2 * again["mfu"] > 0, again)


main()
tap.done()
