#!/usr/bin/env python3
"""Compares `--like goblin` with tests/goblin/goblin_reference.py on generated directories: equal to the last bit.

usage: compare.py COMMAND [CASES [SEED]]
COMMAND prints the JSON object. Its words {path}, {steps} and {precision} (the option, or nothing) are filled in:
'build/release/assay report --like goblin --json {precision} --steps {steps} {path}'. Warnings are compared up to their detail (paths and
reasons); NaN and infinities are null in JSON.
"""
import gzip
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import goblin_reference  # noqa: E402

NAMES = ["rccl_all_reduce", "ncclDevKernel_AllReduce_Sum(x)", "ncclDevKernel_Generic(x)", "Cijk_Ailk_Bljk",
         "ampere_sgemm_128x64", "hipblaslt_gemm_half", "generic_gemm_fp16", "naive matmul bf16",
         "cutlass_80_tensorop_s1688gemm_f16", "batched_transpose_16x32_half", "flash_attn_rocm_fwd",
         "flash_fwd_attn_kernel", "scaled_dot_product_attention", "vector_broadcast", "reduce-scatter",
         "REDUCE_SCATTER_BFLOAT16", "k,with \"quotes\"", "  padded  ", "", " ", "reference", "a\nb", "\u00e9l\u00e9ment",
         "reference_GEMM", "f16", "fp160", "allreduce", "all__reduce", "x.half", "Half2", "fallback-hgemm"]
NUMBERS = ["0", "1", "-5", "12.5", "1e3", "1_000", "nan", "inf", "-inf", "", " ", "N/A", "1e300", "abc", "0x10",
           " 42 ", "3.999999", "9007199254740993", "99.99", "250", ".5", "5.", "1__0", "9223372036854775807"]
TRACE_HEADERS = [
    ["Kind", "Agent_Id", "Queue_Id", "Kernel_Name", "Correlation_Id", "Start_Timestamp", "End_Timestamp"],
    ["KernelName", "BeginNs", "EndNs", "DurationNs"], ["Name", "Calls", "TotalDurationNs", "AverageNs"],
    ["kernel_name", "start_ns", "end_ns"], ["KERNELNAME", "kernelname", "Duration"], ["x", "y"],
    ["Name", "Name", "Duration", "Duration"], ["my kernel name", "the start of ns", "weekend", "DURATION"],
    ["Kernel_Name", "Kernel_Name2", "Start", "End", "Duration"]]
SMI_HEADERS = [
    ["timestamp", "gpu", "power_usage", "gfx", "gfx_clock", "vram_used", "vram_total"],
    ["timestamp", "gpu", "gfx_activity", "used_vram", "rocm_version"], ["gpu", "VRAM_USED_MB", "GFX_UTIL", "ROCM_VERSION"],
    ["gpu", "VRAM_USED_GB", "usage"], ["timestamp", " index", " utilization.gpu [%]", " memory.used [MiB]"],
    ["VRAM Used", "GFX %", "Rocm Version"], ["gpu", "MEM_USED", "Util"], ["GPU_USE", "used", "x"], ["a", "b"],
    ["timestamp", "gpu", "usage", "USAGE", "usage", "vram_used"], ["gpu", "mem total used", "my gpu user load"]]


def number(r):
    return r.choice(NUMBERS) if r.random() < 0.3 else str(r.randrange(1, 2_000_000))


def cell(r, text):
    if r.random() < 0.2 or any(c in text for c in ",\"\n\r"):
        return '"' + text.replace('"', '""') + '"'
    return text


def end_line(r):
    return r.choice(["\n", "\r\n"]) if r.random() < 0.95 else "\r"


def make_trace(r):
    header = list(r.choice(TRACE_HEADERS))
    if r.random() < 0.2:
        r.shuffle(header)
    end = end_line(r)
    lines = [",".join(cell(r, h) for h in header)]
    for _ in range(r.randrange(0, 30)):
        row = [r.choice(NAMES) if "name" in h.lower() else number(r) for h in header]
        if r.random() < 0.1:
            row = row[:r.randrange(0, len(row) + 1)]
        if r.random() < 0.05:
            row.append("extra")
        lines.append(",".join(cell(r, c) for c in row))
    if r.random() < 0.03:
        lines.append('"' + "x" * r.choice([131072, 131073]) + '",1,2,3,4,5,6')
    if r.random() < 0.03:
        lines.insert(0, "")
    return end.join(lines) + (end if r.random() < 0.8 else "")


def json_value(r):
    return r.choice([r.random() * 100, r.randrange(0, 10**6), "12.5", "bad", " 3 ", True, False, None, [], {}, 0,
                     float("nan"), float("inf"), -1.5, "inf", 10**400, "1_0"])


def make_event(r):
    e = {}
    if r.random() < 0.9:
        e["name"] = r.choice(["ProfilerStep#3", "ProfilerStep", "aten::mm", "xProfilerStep", 5, "\ud800"])
    if r.random() < 0.8:
        e["cat"] = r.choice(["cpu_op", "CPU_OP,x", "kernel", None, "user_annotation"])
    for key in ("ts", "dur"):
        if r.random() < 0.95:
            e[key] = json_value(r) if r.random() < 0.1 else r.choice(
                [r.randrange(0, 10**6), round(r.random() * 1e6, 3), 8.8e12 + r.random() * 1e5])
    return e if r.random() < 0.97 else r.choice([1, "x", None, []])


def make_profile(r):
    data = {}
    if r.random() < 0.8:
        data["metadata"] = {k: json_value(r) for k in ("tokens_per_sec", "mfu_pct", "step_time_seconds",
                                                       "host_busy_fraction") if r.random() < 0.5}
        if r.random() < 0.5:
            data["metadata"]["step_time_seconds"] = r.random()
            data["metadata"]["host_busy_fraction"] = r.random()
        for k in ("pytorch_version", "torch_version"):
            if r.random() < 0.5:
                data["metadata"][k] = r.choice(["2.5.1+rocm", "", 2, None, "\u00e9\n"])
    if r.random() < 0.05:
        data["metadata"] = r.choice([None, [], "x"])
    if r.random() < 0.6:
        data["traceEvents"] = [make_event(r) for _ in range(r.randrange(0, 20))]
    if r.random() < 0.05:
        data = r.choice([[], [1], 5, "x", None, {}])
    text = json.dumps(data, ensure_ascii=r.random() < 0.5, indent=r.choice([None, 1])).replace("\ud800", "?")
    if r.random() < 0.1:
        at = r.randrange(0, len(text) + 1)
        text = text[:at] + r.choice(["", ",", "nan", "\x01", "}", "\\", "0"]) + text[at + r.randrange(0, 2):]
    return text


def make_smi(r):
    header, end = r.choice(SMI_HEADERS), r.choice(["\n", "\r\n"])
    line = ",".join(header)
    lines = ["'CTRL' + 'C' to stop watching output:"] if r.random() < 0.3 else []
    lines += ["WARNING: low power, maybe"] if r.random() < 0.1 else []
    lines.append(line)
    for _ in range(r.randrange(0, 15)):
        row = [r.choice(["", "7.0.1", " 6.4 "]) if "version" in h.lower() else
               r.choice(["1,024 MB", "3 GB", "MGBB5", "12 MiB"]) if r.random() < 0.1 else number(r)
               if r.random() < 0.5 else str(r.randrange(0, 120)) for h in header]
        lines.append(",".join(cell(r, c) for c in row))
        lines += ["", line] if r.random() < 0.2 else []
        lines += [line.replace(",", ", ")] if r.random() < 0.05 else []
        lines += ["\v \f"] if r.random() < 0.05 else []
    if r.random() < 0.05:
        lines = r.choice([[], [""], ["nothing"], [line]])
    return end.join(lines) + (end if r.random() < 0.8 else "")


def write(r, folder, name, text):
    raw = text.encode("utf-8")
    if r.random() < 0.03 and raw:
        raw = raw[:len(raw) // 2] + b"\xff" + raw[len(raw) // 2:]
    if r.random() < 0.1:
        return
    if r.random() < 0.2:
        name, raw = name + ".gz", gzip.compress(raw)
        raw = raw[:-6] if r.random() < 0.1 else raw
    with open(os.path.join(folder, name), "wb") as f:
        f.write(raw)


def plain(value):
    """As it must come out of JSON: no NaN, no infinity; warnings without their detail."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: [": ".join(w.split(": ")[:2]) for w in v] if k == "warnings" else plain(v)
                for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def same(a, b):
    if isinstance(a, float) and isinstance(b, (float, int)):
        return float(a).hex() == float(b).hex()
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return a == b


def command_line(command, path, precision, steps):
    if "{path}" not in command:
        return [command, path, precision or "-", str(steps)]
    line = []
    for word in command.split():
        if word != "{precision}":
            line.append(word.format(path=path, steps=steps))
        elif precision:
            line += ["--precision", precision]
    return line


def main():
    command, cases = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    r = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    failed = 0
    for case in range(cases):
        folder = tempfile.mkdtemp(prefix="goblin.")
        write(r, folder, "trace.csv", make_trace(r))
        write(r, folder, "torch_profile.json", make_profile(r))
        write(r, folder, "amd_smi.csv", make_smi(r))
        precision, steps = r.choice([None, "fp16", "fp32", "bf16", "fp8"]), r.randrange(1, 30)
        want = plain(goblin_reference.parse(folder, precision, steps))
        got = subprocess.run(command_line(command, folder, precision, steps), capture_output=True, check=False)
        try:
            ok = same(want, plain(json.loads(got.stdout)))
        except ValueError:
            ok = False
        if ok:
            shutil.rmtree(folder)
            continue
        failed += 1
        print(f"not ok - goblin case {case}: {folder} {precision}\nwant {json.dumps(want)}\ngot  "
              f"{got.stdout.decode(errors='replace')} {got.stderr.decode(errors='replace')}")
        if failed >= 3:
            break
    print(f"{'not ok' if failed else 'ok'} - goblin: {cases} directories equal the reference")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
