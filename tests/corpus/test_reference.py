#!/usr/bin/env python3
"""Reports on real traces, against numbers that were computed independently of assay (exact integer
nanoseconds from the decimal text, plain interval unions). Skipped by name when the corpus is absent."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

# file: events, kernels, copies or None, memsets or None, sum of kernel time in ns,
#       {device: (events, linked, busy, span, idle, compute, exposed comm, exposed copy)} in ns
TRACES = {
    "tracelens/mi300/resnet_act_checkpoint.json.gz": (
        56451, 2995, 550, 108, 97255826,
        {2: (3653, 2685, 84002056, 86567708, 2565652, 26174953, 55371257, 2455846)}),
    "tracelens/h100/qwen1.5-0.5b.json.gz": (
        18221, 1465, 1, 241, 45432698,
        {0: (1707, 1198, 45647300, 49652832, 4005532, 45644932, 0, 2368)}),
    "tracelens/mi300/qwen1.5-0.5b.json.gz": (
        18090, 1516, 1, 0, 43062042,
        {2: (1517, 1054, 43062802, 47085800, 4022998, 43062042, 0, 760)}),
    "hta/nccl_data.json.gz": (
        40573, 2700, 960, 114, 162532340,
        {0: (3774, 3774, 157500014, 660551005, 503050991, 116046564, 39529327, 1924123)}),
    "hta/df_index_resolver.json.gz": (
        216092, 19370, 2040, 880, 977859000,
        {1: (22290, 22290, 1000613000, 1732965000, 732352000, 621408000, 357343000, 21862000)}),
    "hta/sampled_rank-0.json.gz": (
        4855, 1154, 40, 10, 606519000,
        {0: (1204, 1204, 547656000, 1222847000, 675191000, 210348000, 336981000, 327000)}),
    "hta/sampled_rank-1.json.gz": (
        4720, 1104, 40, 10, 651026000,
        {1: (1154, 1154, 580050000, 1231186000, 651136000, 272004000, 303520000, 4526000)}),
    "hta/mi250_minitoy_train_ROCm6_2_kineto.json.gz": (
        220, 14, 2, 0, 110881,
        {2: (16, 16, 149042, 8911887, 8762845, 110881, 0, 38161)}),
    "hta/critical_path/simple_add.json.gz": (
        1348, 79, 16, 3, 10728000,
        {0: (98, 98, 49758000, 16025575000, 15975817000, 10678000, 0, 39080000)}),
    "tracelens/mi210/gpu_only_trace.json.gz": (2443, 562, 0, 0, None, None),
    "tracelens/vllm_decode_graph.json.gz": (1993, 425, 9, 0, None, None),
    "tracelens/torch_compile_triton.json.gz": (246, 12, 0, 0, None, None),
    "hta/cpu_only.json.gz": (30, 0, 0, 0, 0, {}),
    "hta/rank_not_found.json.gz": (2467, 0, 0, 0, 0, {}),
    "hta/critical_path/alexnet.json.gz": (1408, 79, 16, 3, None, None),
    "hta/critical_path/cuda_event_sync.json.gz": (92, 4, 1, 0, None, None),
    "hta/critical_path/cuda_event_sync_multi_stream.json.gz": (149, 3, 0, 3, None, None),
}
FIELDS = ("events", "linked", "busy_ns", "span_ns", "idle_ns", "compute_ns", "exposed_comm_ns",
          "exposed_copy_ns")
GAPS = {"tracelens/mi300/resnet_act_checkpoint.json.gz": 1746}
RANKS = {"hta/nccl_data.json.gz": 0, "hta/df_index_resolver.json.gz": 1, "hta/sampled_rank-1.json.gz": 1}
CAUSES = ("launch_call", "launch_latency", "queued", "host_sync", "host_data", "host_runtime", "host_op", "host_python",
          "host_untraced", "unlinked", "graph_internal")
FINER = ("host_io", "host_lock", "host_child", "host_comm", "host_gil", "host_gc", "host_compile", "host_import", "host_sleep", "host_cpu_wait",
         "host_native", "migration")  # need stacks or managed memory: nothing in these traces
IDLE = {  # of the busiest device, ns, in the order of CAUSES
    "tracelens/mi300/qwen1.5-0.5b.json.gz": (312168, 736362, 418266, 0, 0, 15758, 1250864, 1278013, 0, 11567, 0),
    "tracelens/mi300/normalization_layer_test.json.gz":
        (979492624, 1004468, 48069, 0, 0, 3668370, 72876896, 8048752, 2622021, 0, 0),
    "h200/train.json.gz": (6814874, 1174493, 808157, 11711, 118405, 181091, 25981401, 0, 8746355, 0, 0),
    "hta/nccl_data.json.gz": (25466542, 4470290, 1201139, 51390, 0, 4567978, 394243067, 0, 73050585, 0, 0),
    "hta/df_index_resolver.json.gz": (93060000, 20567000, 18888000, 0, 0, 7473000, 522043000, 0, 70321000, 0, 0),
    "hta/mi250_minitoy_train_ROCm6_2_kineto.json.gz": (6651230, 92319, 0, 29037, 0, 2425, 1418761, 0, 569073, 0, 0),
    "tracelens/h100/qwen1.5-0.5b.json.gz": (179209, 54070, 1732580, 11738, 0, 12077, 571543, 716672, 0, 727643, 0),
    "tracelens/inference/sglang_qwen3_8b_prefilldecode.json.gz":
        (162121, 493325255, 513, 5177, 0, 18707, 614921, 355316, 0, 0, 0),
    "tracelens/mi300/resnet_act_checkpoint.json.gz": (0, 0, 283537, 0, 0, 0, 0, 0, 0, 2282115, 0),
    "tracelens/vllm_decode_graph.json.gz": (0, 0, 25053, 0, 0, 0, 0, 0, 0, 0, 420)}
RESNET_TOP = [  # name starts with, count, total ns, percent
    ("ncclDevKernel_Generic", 17, 71516523, 73.534), ("batch_norm_backward_kernel", 80, 3935338, 4.046),
    ("batch_norm_collect_statistics", 156, 2970947, 3.055), ("batched_transpose_16x32_half", 452, 2292293, 2.357),
    ("batched_transpose_32x32_half", 309, 2017036, 2.074)]
ROCPROF_TOP = [("ncclDevKernel_Generic_1", 4158756678, 1310), ("vectorized_elementwise_kernel", 74340648, 16971),
               ("elementwise_kernel_manual_unroll", 26963282, 4150), ("multi_tensor_apply_kernel", 22654245, 500),
               ("reduce_kernel", 18182782, 2000)]


def report(path, *more):
    code, out, err = tap.run("report", "--json", "--top", "100000", path, *more)
    nothing = code == 1 and "no GPU work" in err  # status 1, but all that is known is still told
    return json.loads(out) if code == 0 or nothing else {"error": err}


def check(name, path, want):
    events, kernels, copies, memsets, kernel_ns, devices = want
    r = report(path)
    counts = {"events": events, "kernels": kernels, "copies": copies, "memsets": memsets}
    tap.ok(f"{name} counts", r.get("counts") == counts, f"{r.get('counts')} want {counts} {r.get('error')}")
    if kernel_ns is not None:
        got = sum(k["total_ns"] for k in r["top_kernels"])
        tap.ok(f"{name} kernel time", got == kernel_ns, f"{got} want {kernel_ns}")
    if devices is not None:
        got = {d["device"]: tuple(d[f] for f in FIELDS) for d in r["devices"]}
        tap.ok(f"{name} partition", got == devices, f"got  {got}\nwant {devices}")
    if name in GAPS:
        tap.ok(f"{name} gaps", r["devices"][0]["gaps"] == GAPS[name], r["devices"][0]["gaps"])
    tap.ok(f"{name} causes sum to idle", all(
        sum(d["idle_causes_ns"].values()) == d["idle_ns"] and set(d["idle_causes_ns"]) == {*CAUSES, *FINER}
        and sum(d["queued_ns"].values()) == d["idle_causes_ns"]["queued"] for d in r["devices"]), r["devices"])
    tap.ok(f"{name} parts sum to gaps", all(sum(g["parts_ns"].values()) == g["dur_ns"] for g in r["gaps"]))
    b = {x["bucket"]: x["total_ns"] for x in r["budget"]}
    buckets = ("useful_gpu", "data_wait", "host_gap", "device_wait", "comm_excess", "exposed_copy", "unexplained")
    tap.ok(f"{name} budget sums to its window", not b or sum(b[x] or 0 for x in buckets) == b["total"], b)
    tap.ok(f"{name} has a verdict", len(r["verdicts"]) > 0 and all(v["text"] and v["advice"] for v in r["verdicts"]))
    parts = ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")
    tap.ok(f"{name} step parts sum to step windows", all(
        sum(d[p] for p in parts) == d["span_ns"] for s in r["steps"] for d in s["devices"]))
    if name in RANKS:
        tap.ok(f"{name} rank", r["devices"][0]["rank"] == RANKS[name], r["devices"][0]["rank"])
    return r


def main():
    if not tap.CORPUS.is_dir():
        tap.skip("reference numbers of real traces", f"no corpus at {tap.CORPUS}")
        return
    for name, want in TRACES.items():
        r = check(name, tap.CORPUS / name, want)
        if "resnet" in name:
            total = lambda k: (k["name"].split("<")[0].split("(")[0].split("::")[-1].replace("void ", ""), k)
            top = [total(k) for k in r["top_kernels"][:5]]
            tap.ok("resnet top five kernels", all(
                n.startswith(w[0]) and k["count"] == w[1] and k["total_ns"] == w[2] and round(k["pct"], 3) == w[3]
                for (n, k), w in zip(top, RESNET_TOP)), [t[0] for t in top])
            tap.ok("resnet distinct kernel names", len(r["top_kernels"]) == 55, len(r["top_kernels"]))
            steps = [s["dur_ns"] for s in r["steps"]]
            tap.ok("resnet host steps", steps == [16798984, 15950958, 15887029], steps)
            d = r["devices"][0]
            tap.ok("resnet totals", (d["total_comm_ns"], d["total_copy_ns"], d["sum_ns"]) ==
                   (71516523, 2538596, 100230072), d)
    for name, want in IDLE.items():
        d = max(report(tap.CORPUS / name)["devices"], key=lambda d: d["busy_ns"])
        got = tuple(d["idle_causes_ns"][c] for c in CAUSES)
        tap.ok(f"{name} idle causes", got == want, f"got  {got}\nwant {want}")
    name = "tracelens/rocprofv3_908_results.json.gz"
    r = report(tap.CORPUS / name)
    if "error" in r:
        tap.ok(name, False, r["error"])
        return
    tap.ok(f"{name} counts", r["counts"]["kernels"] == 43915, r["counts"])
    d = r["devices"][0]
    tap.ok(f"{name} time", (d["busy_ns"], d["span_ns"], d["idle_ns"], d["sum_ns"]) ==
           (4233112334, 15122023494, 10888911160, 4441741378), d)
    by_name = {}
    for k in r["top_kernels"]:
        short = k["name"].replace("(anonymous namespace)::", "").split("<")[0].split("(")[0].split("::")[-1].replace("void ", "").strip()
        t = by_name.setdefault(short, [0, 0])
        t[0] += k["total_ns"]
        t[1] += k["count"]
    bad = [(n, by_name.get(n)) for n, ns, calls in ROCPROF_TOP if by_name.get(n) != [ns, calls]]
    tap.ok(f"{name} top five by truncated name", not bad, bad)


main()
tap.done()
