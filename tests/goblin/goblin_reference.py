#!/usr/bin/env python3
"""The definition of `--like goblin` in plain Python, written from docs/formats/goblin.md.

Floats are added left to right with +=, not sum(), which compensates since Python 3.12.
usage: goblin_reference.py DIR [PRECISION|- [STEPS]]
"""
import csv
import gzip
import io
import json
import os
import re
import sys

NAME = ["KernelName", "Kernel_Name", "kernel_name", "Name"]
START = ["BeginNs", "start_ns", "BeginNS", "Start"]
END = ["EndNs", "end_ns", "EndNS", "End"]
DURATION = ["DurationNs", "duration_ns", "Duration"]
VRAM = ["used_vram", "USED_VRAM", "VRAM_USED_MB", "vram_used_mb", "VRAM_USED", "VRAM_USED_GB",
        "vram_used", "VRAM Used", "MEM_USED", "mem_used"]
UTIL = ["usage", "USAGE", "GFX_UTIL", "gfx_util", "GFX_UTILIZATION", "gfx_utilization",
        "GFX_ACTIVITY", "gfx_activity", "GPU_USE", "GFX %", "Util"]
ROCM = ["ROCM_VERSION", "rocm_version"]


def words(*alternatives):
    return re.compile("(?<![A-Za-z0-9])(?:" + "|".join(alternatives) + ")(?![A-Za-z0-9])", re.IGNORECASE)


COLLECTIVE = words("rccl", "nccl", "all[_-]?reduce", "broadcast", "reduce[_-]?scatter")
GEMM = words("gemm", "matmul", "hgemm", "sgemm", "hipblaslt")
GENERIC = words("generic", "fallback", "naive", "reference")
FP16 = words("fp16", "half", "f16")
BF16 = words("bf16", "bfloat16")


def pick(header, candidates):
    for c in candidates:
        if c in header:
            return c
    folded = {h.lower(): h for h in header}
    for c in candidates:
        if c.lower() in folded:
            return folded[c.lower()]
    for c in candidates:
        tokens = [t for t in re.split("[_ ]", c.lower()) if t]
        for h in header:
            if all(t in h.lower() for t in tokens):
                return h
    return None


def to_float(text):
    try:
        return float(text)
    except (TypeError, ValueError, OverflowError):
        return None


def to_whole(text):
    value = to_float(text)
    if value is None or not -2.0**63 < value < 2.0**63:
        return None
    return int(value)


def read_text(folder, name, what, warnings):
    plain = os.path.join(folder, name)
    path = plain if os.path.exists(plain) else plain + ".gz"
    if not os.path.exists(path):
        warnings.append(f"goblin: {what} not found")
        return None
    try:
        with open(path, "rb") as f:
            raw = f.read()
        if raw[:3] == b"\x1f\x8b\x08":
            raw = gzip.decompress(raw)
        return raw.decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError):
        warnings.append(f"goblin: {what} failed to read")
        return None


def duration_of(row, start, end, duration):
    if duration is not None and row.get(duration):
        return to_whole(row[duration]) or 0
    if start is not None and end is not None:
        ends = [to_whole(row.get(c)) for c in (end, start)]
        if None in ends:
            return 0
        ns = ends[0] - ends[1]
        return ns if ns < 2**63 else 0
    return 0


def read_trace(text, warnings):
    kernels = []
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""))
        if not rows.fieldnames:
            warnings.append("goblin: kernel trace is empty")
            return []
        name, start, end, duration = (pick(rows.fieldnames, c) for c in (NAME, START, END, DURATION))
        for row in rows:
            label = (row.get(name) or "").strip() if name is not None else ""
            ns = duration_of(row, start, end, duration)
            if label and ns > 0:
                kernels.append((label, ns))
    except csv.Error:
        warnings.append("goblin: kernel trace failed to read")
        return []
    return kernels


def number(value):
    """A JSON number or boolean as float, else None."""
    if not isinstance(value, (int, float)):
        return None
    return to_float(value)


def read_events(events, torch):
    step, steps, busy, first, last = 0.0, 0, 0.0, None, None
    for e in events:
        if not isinstance(e, dict) or number(e.get("dur")) is None:
            continue
        ts, dur = number(e.get("ts")), number(e["dur"])
        if isinstance(e.get("name"), str) and e["name"].startswith("ProfilerStep"):
            step += dur / 1e6
            steps += 1
        if ts is None:
            continue
        if isinstance(e.get("cat"), str) and "cpu_op" in e["cat"].lower():
            busy += dur
        first = ts if first is None or ts < first else first
        last = ts + dur if last is None or ts + dur > last else last
    span = last - first if first is not None else 0.0
    if torch["step"] is None:
        if steps:
            torch["step"] = step / steps
        elif span > 0:
            torch["step"] = span / 1e6
    if torch["host_busy"] is None and span > 0:
        torch["host_busy"] = min(1.0, busy / span)


def read_profile(text, warnings):
    torch = {"tokens": None, "mfu": None, "step": None, "host_busy": None, "version": None}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        warnings.append("goblin: torch profile failed to read")
        return torch
    if not isinstance(data, dict):
        return torch
    meta = data.get("metadata")
    if isinstance(meta, dict):
        for key, field in (("tokens", "tokens_per_sec"), ("mfu", "mfu_pct"),
                           ("step", "step_time_seconds"), ("host_busy", "host_busy_fraction")):
            torch[key] = to_float(meta.get(field))
        for field in ("pytorch_version", "torch_version"):
            if not torch["version"] and isinstance(meta.get(field), str):
                torch["version"] = meta[field]
    if isinstance(data.get("traceEvents"), list):
        read_events(data["traceEvents"], torch)
    return torch


def to_gb(value, column):
    name = column.lower()
    if "_mb" in name or name.endswith("mb"):
        return value / 1024.0
    if "_gb" in name or name.endswith("gb"):
        return value
    if "vram" in name or "mem" in name:
        return value / 1024.0
    return value / 1024.0 if value > 1024.0 else value


def clean_smi(text):
    kept, header = [], None
    for line in text.splitlines():
        low = line.lower()
        if header is None:
            if "," in line and any(t in low for t in ("vram", "gfx_", "timestamp,", "gpu_use", "gpu,")):
                header = line
                kept.append(line)
        elif line.strip() and line != header:
            kept.append(line)
    return "\n".join(kept)


def mean(values):
    total = 0.0
    for v in values:
        total += v
    return total / len(values)


def read_smi(text, warnings):
    smi = {"peak": None, "avg": None, "util": None, "rocm": None}
    table = clean_smi(text)
    if not table:
        warnings.append("goblin: amd-smi telemetry " +
                        ("has no parseable header" if text.strip() else "is empty"))
        return smi
    memory, util, rocm = [], [], None
    try:
        rows = csv.DictReader(io.StringIO(table, newline=""))
        vram_col, util_col, rocm_col = (pick(rows.fieldnames, c) for c in (VRAM, UTIL, ROCM))
        for row in rows:
            cell = row.get(vram_col) if vram_col is not None else None
            if cell is not None:
                value = to_float(cell.replace("MB", "").replace("GB", "").replace(",", ""))
                if value is not None:
                    memory.append(to_gb(value, vram_col))
            value = to_float(row.get(util_col)) if util_col is not None else None
            if value is not None:
                util.append(min(100.0, value))
            if rocm is None and rocm_col is not None and (row.get(rocm_col) or "").strip():
                rocm = row[rocm_col].strip()
    except csv.Error:
        warnings.append("goblin: amd-smi telemetry failed to parse")
        return smi
    if memory:
        smi["peak"], smi["avg"] = max(memory), mean(memory)
    if util:
        smi["util"] = mean(util)
    smi["rocm"] = rocm
    return smi


def attention(kernels):
    for name, _ in kernels:
        low = name.lower()
        if "flash_attn" in low and "rocm" in low:
            return "flash_rocm"
        if "flash" in low and "attn" in low:
            return "flash"
        if "scaled_dot_product_attention" in low:
            return "sdpa"
    return "eager" if kernels else "unknown"


def top(kernels):
    by_name, total = {}, 0
    for name, ns in kernels:
        by_name[name] = by_name.get(name, 0) + ns
        total += ns
    order = sorted(by_name.items(), key=lambda item: -item[1])
    return [{"name": n, "pct_time": ns / total * 100.0} for n, ns in order[:5]]


def budget(kernels, torch, smi, util_pct, precision):
    b = dict.fromkeys(("useful_gpu", "data_wait", "host_gap", "comm_excess", "memory_headroom",
                       "precision_path", "kernel_shape"), 0.0)
    t = torch["step"]
    if t is not None and not t <= 0:
        u, h = util_pct / 100.0, torch["host_busy"] if torch["host_busy"] is not None else 0.0
        total = {k: 0 for k in ("comm", "gemm", "generic", "fp16", "bf16")}
        for name, ns in kernels:
            gemm = GEMM.search(name) is not None
            for key, hit in (("comm", COLLECTIVE.search(name)), ("gemm", gemm),
                             ("generic", gemm and GENERIC.search(name)),
                             ("fp16", FP16.search(name)), ("bf16", BF16.search(name))):
                total[key] += ns if hit else 0
        if u < 0.30 and h > 0.5:
            b["data_wait"] = t * (1.0 - u) * h
        b["host_gap"] = t * (1.0 - u) * (1.0 - h)
        b["comm_excess"] = total["comm"] / 1e9
        b["kernel_shape"] = total["generic"] / (total["gemm"] or 1) * t * u
        tagged = total["fp16"] + total["bf16"]
        if precision in (None, "fp16", "fp32") and tagged:
            b["precision_path"] = total["fp16"] / tagged * t * u * 0.10
        p = (smi["peak"] if smi["peak"] is not None else 0.0) / 192.0
        if 0 < p < 0.70:
            b["memory_headroom"] = (0.70 - p) / 0.70 * t * 0.05
        waste = (b["data_wait"] + b["host_gap"] + b["comm_excess"] + b["kernel_shape"] +
                 b["precision_path"] + b["memory_headroom"])
        b["useful_gpu"] = max(0.0, t - waste)
    b["total"] = (b["useful_gpu"] + b["data_wait"] + b["host_gap"] + b["comm_excess"] +
                  b["memory_headroom"] + b["precision_path"] + b["kernel_shape"])
    b["recoverable"] = b["total"] - b["useful_gpu"]
    return b


def utilisation(kernels, torch, smi):
    if smi["util"] is not None:
        return smi["util"]
    if torch["step"] is None or torch["step"] <= 0 or not kernels:
        return 0.0
    total = 0
    for _, ns in kernels:
        total += ns
    return min(100.0, total / (torch["step"] * 1e9) * 100.0)


def parse(folder, precision=None, steps=10):
    warnings = []
    text = read_text(folder, "trace.csv", "kernel trace", warnings)
    kernels = read_trace(text, warnings) if text is not None else []
    text = read_text(folder, "torch_profile.json", "torch profile", warnings)
    torch = read_profile(text, warnings) if text is not None else read_profile("[]", [])
    text = read_text(folder, "amd_smi.csv", "amd-smi telemetry", warnings)
    smi = read_smi(text, warnings) if text is not None else read_smi("a,b", [])
    util = utilisation(kernels, torch, smi)
    known = lambda v: v if v is not None else 0.0
    return {
        "steps": steps,
        "tokens_per_sec": known(torch["tokens"]),
        "mfu_pct": known(torch["mfu"]),
        "hbm_peak_gb": known(smi["peak"]),
        "hbm_avg_gb": known(smi["avg"]),
        "gpu_util_pct": util,
        "top_kernels": top(kernels),
        "attention_kernel_loaded": attention(kernels),
        "waste_budget": budget(kernels, torch, smi, util, precision),
        "warnings": warnings,
        "rocm_version": smi["rocm"] or "unknown",
        "pytorch_version": torch["version"] or "unknown",
        "runner_kind": "live",
    }


if __name__ == "__main__":
    wanted = sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] != "-" else None
    print(json.dumps(parse(sys.argv[1], wanted, int(sys.argv[3]) if len(sys.argv) > 3 else 10), indent=2))
