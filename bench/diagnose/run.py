#!/usr/bin/env python3
"""Programs with one injected cause each: does the first finding name it? Each runs bad and good without a recorder, for
the real cost of the cause, then bad under plain `assay record`; the report is read as JSON.

usage: run.py [--assay PATH] [--out DIR] [--python PATH] [PROGRAM ...]     needs a GPU and PyTorch
Right: the first finding has the cause's class and its place. Worth: the predicted saving is within 15 % of the measured
one, or within 5 % of the bad step. The last lines are the table of docs/benchmarks.md and the two counts; results.json
in DIR has everything. Exit status 1 when a cause was missed."""
import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")

# Classes that name the cause, and the places of which one has to stand in the finding.
EXPECTED = {
    "loader_transform": (["host_data"], ["normalise", "__getitem__"]),
    "loader_workers": (["host_data"], ["decode", "__getitem__", "worker"]),
    "producer_thread": (["host_data", "host_lock"], ["unpack", "produce"]),
    "implicit_sync": (["host_sync", "sync", "implicit_sync"], ["watch", r"\bitem\b"]),
    "pageable_copy": (["pageable_copy", "copy", "exposed_copy", "host_sync"], ["fetch", "Pageable"]),
    "small_copies": (["small_copies", "copy", "host_sync", "pageable_copy", "exposed_copy"], ["upload"]),
    "allocator_churn": (["host_runtime", "allocation", "allocator_churn"], ["empty_cache", "cudaFree"]),
    "unfused_optimizer": (["optimizer_unfused", "unfused_optimizer", "host_python", "host_op", "launch_bound", "small_kernels"],
                          ["adamw", "optimizer", "_single_tensor"]),
    "python_compute": (["host_python"], ["edit_distance"]),
    "garbage": (["host_gc"], ["step", "garbage.py"]),
    "file_output": (["host_io"], ["checkpoint", "torch/serialization"]),
    "network_input": (["host_io", "host_data"], ["receive"]),
    "rate_limit": (["host_sleep"], ["acquire"]),
    "lock": (["host_lock"], ["flush_log", "logger", "lock.py"]),
    "gil": (["host_gil"], ["tokenise", "work"]),
    "starved_core": (["host_cpu_wait"], ["processor", "step", "starved_core.py", "CPU"]),
    "compile_in_loop": (["host_compile"], ["_dynamo", "compile_in_loop.py", "step"]),
    "fp32_matmul": (["precision", "fp32_matmul", "fp32"], ["gemm", "sgemm", "fp32_matmul.py"]),
    "unfused_attention": (["eager_attention", "unfused_attention", "attention"], ["softmax", "attend", "attention"]),
    "gemm_shapes": (["gemm_shape", "gemm_shapes", "misaligned_gemm"], ["gemm", "gemm_shapes.py"]),
    "dtype_casts": (["cast_storm", "dtype_casts", "casts", "memory_bound", "elementwise"], ["dtype_casts.py", "step", "copy", "elementwise"]),
    "serial_streams": (["serial_streams", "stream_wait", "queued", "queued_stream_wait"], ["stream", "branch"]),
    "other_process": (["other_process", "contention", "gpu_shared"], ["process"]),
    "late_rank": (["late_rank", "host_comm", "host_python"], ["augment", "rank"]),
}


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def plain(python, program, variant):
    p = run([python, f"{PROGRAMS}/{program}.py", variant])
    lines = [s for s in p.stdout.splitlines() if s.startswith("{")]
    if p.returncode or not lines:
        raise RuntimeError(f"{program} {variant}: exit {p.returncode}: {p.stderr[-400:]}")
    return json.loads(lines[-1])["step_ms"]


def first_finding(report):
    for key in ("findings", "verdicts"):
        if report.get(key):
            return report[key][0]
    return {}


def class_of(finding):
    return finding.get("cause") or finding.get("class") or finding.get("id") or "none"


def saving_ms(finding, report):
    """What the finding says its fix is worth, ms a step: a difference, which the recorder's own cost is not in."""
    worth = finding.get("worth") or {}
    now, after = worth.get("now_ns"), worth.get("after_ns")
    if now is None or after is None:
        return None
    steps = 1 if finding.get("steady") else (report.get("steady_step") or {}).get("steps") or 1
    return (now - after) / steps / 1e6


def place_of(finding):
    where = finding.get("where")
    if isinstance(where, dict):
        text = " ".join(str(where[k]) for k in ("function", "file", "line", "call", "kernel", "rank", "process")
                        if where.get(k) not in (None, ""))
        return text or finding.get("text", "")
    return str(where or finding.get("text", ""))


def judge(program, report, bad_ms, good_ms):
    finding = first_finding(report)
    classes, places = EXPECTED[program]
    text = json.dumps(finding)
    predicted, measured = saving_ms(finding, report), bad_ms - good_ms
    off = None if predicted is None else abs(predicted - measured)
    return {"class": class_of(finding), "class_right": class_of(finding) in classes,
            "place": place_of(finding)[:120], "place_right": any(re.search(p, text, re.I) for p in places),
            "predicted_ms": predicted, "measured_ms": measured,
            "worth_right": off is not None and (off <= 0.15 * abs(measured) or off <= 0.05 * bad_ms)}


def diagnose(args, program):
    t0 = time.time()
    bad = statistics.median(plain(args.python, program, "bad") for _ in range(args.repeat))
    good = statistics.median(plain(args.python, program, "good") for _ in range(args.repeat))
    out = os.path.join(args.out, program)
    recorded = record(args, program, "bad", out)
    report = json.loads(run([args.assay, "report", "--json", out], check=True).stdout)
    result = judge(program, report, bad, good)
    result.update(bad_ms=bad, good_ms=good, recorded_ms=recorded, seconds=time.time() - t0,
                  findings=(report.get("findings") or report.get("verdicts"))[:3])
    if args.twins:
        result["good_recorded_ms"] = record(args, program, "good", out + ".good")
    if not args.keep:
        for f in glob.glob(out + "*/*.asy"):
            os.path.getsize(f) > 64 << 20 and os.remove(f)
    return result


def record(args, program, variant, out):
    """Its step while it is recorded, ms; None where it did not say."""
    shutil.rmtree(out, ignore_errors=True)
    p = run([args.assay, "record", "-q", "-o", out, "--", args.python, f"{PROGRAMS}/{program}.py", variant])
    if p.returncode:
        raise RuntimeError(f"record {program}: exit {p.returncode}: {p.stderr[-400:]}")
    lines = [s for s in p.stdout.splitlines() if s.startswith("{")]
    return json.loads(lines[-1])["step_ms"] if lines else None


def row(program, r):
    def ms(v):
        return "-" if v is None else f"{v:.2f}"
    return (f"| {program} | {ms(r['bad_ms'])} | {ms(r['good_ms'])} | {r['class']}: {r['place'][:70]} | "
            f"{'yes' if r['class_right'] and r['place_right'] else 'no'} | {ms(r['predicted_ms'])} | "
            f"{ms(r['measured_ms'])} | {'yes' if r['worth_right'] else 'no'} |")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--assay", default=os.path.join(HERE, "../../build/release/assay"))
    a.add_argument("--python", default=sys.executable)
    a.add_argument("--out", default=None)
    a.add_argument("--repeat", type=int, default=1, help="plain runs of each variant")
    a.add_argument("--twins", action="store_true", help="record the good variants too")
    a.add_argument("--keep", action="store_true", help="keep large captures")
    a.add_argument("programs", nargs="*")
    args = a.parse_args()
    args.out = os.path.abspath(args.out or tempfile.mkdtemp(prefix="assay-diagnose-"))
    os.makedirs(args.out, exist_ok=True)
    results = {}
    for program in args.programs or EXPECTED:
        try:
            results[program] = diagnose(args, program)
            print(row(program, results[program]), flush=True)
        except Exception as e:
            results[program] = {"error": f"{type(e).__name__}: {e}"}
            print(f"{program}: {results[program]['error']}", flush=True)
    with open(os.path.join(args.out, "results.json"), "w") as f:
        json.dump(results, f, indent=1)
    done = {p: r for p, r in results.items() if "error" not in r}
    print("\n| cause | bad ms | good ms | first finding | right | predicted ms | measured ms | worth right |")
    print("|---|---:|---:|---|---|---:|---:|---|")
    for p, r in done.items():
        print(row(p, r))
    right = sum(r["class_right"] and r["place_right"] for r in done.values())
    print(f"\ncause right in {right} of {len(results)}, worth right in {sum(r['worth_right'] for r in done.values())}; "
          f"{args.out}/results.json")
    return 0 if right == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
