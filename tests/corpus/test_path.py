#!/usr/bin/env python3
"""The critical path of real traces: the path tiles the step, a replay with nothing changed gives the step, and the counts
under Holistic Trace Analysis's rules are those of its release 0.5.0 (the first row also those of its own tests)."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tap

FORWARD = "[param|pytorch.model.alex_net|0|0|0|measure|forward]"
# range, instance: nodes and edges of the graph; nodes, edges and events of the path; its length in us
HTA = {
    "hta/critical_path/simple_add.json.gz": (FORWARD, 1, 414, 415, 315, 314, 159, 241724),
    "hta/critical_path/alexnet.json.gz": (FORWARD, 1, 418, 421, 149, 148, 77, 35834),
    "hta/critical_path/cuda_event_sync.json.gz": ("ProfilerStep", 0, 54, 57, 40, 39, 22, 2401),
    "hta/critical_path/cuda_event_sync_multi_stream.json.gz": ("", 0, 78, 82, 59, 58, 31, 1178),
    "hta/nccl_data.json.gz": ("ProfilerStep", 0, 15616, 15613, 6160, 6159, 3080, 101646),
    "hta/df_index_resolver.json.gz": ("ProfilerStep", 0, 45084, 45081, 24052, 24051, 12026, 238893),
    "hta/sampled_rank-0.json.gz": ("ProfilerStep", 0, 4734, 4731, 1778, 1777, 890, 267581),
    "hta/sampled_rank-1.json.gz": ("ProfilerStep", 0, 4612, 4609, 1467, 1466, 735, 272736),
    "hta/mi250_minitoy_train_ROCm6_2_kineto.json.gz": ("ProfilerStep", 0, 204, 202, 82, 81, 41, 7448),
    "h200/train.json.gz": ("ProfilerStep", 0, 4268, 4265, 2420, 2419, 1212, 9554),
    "h200/ddp_rank0.json.gz": ("ProfilerStep", 0, 422, 417, 184, 183, 94, 21451),
    "h200/ddp_rank1.json.gz": ("ProfilerStep", 0, 414, 409, 57, 56, 31, 21977),
    "tracelens/h100/qwen1.5-0.5b.json.gz": ("ProfilerStep", 0, 10888, 10887, 2826, 2825, 1414, 33630),
    "tracelens/mi300/qwen1.5-0.5b.json.gz": ("ProfilerStep", 0, 10452, 10451, 2679, 2678, 1343, 44414),
    "tracelens/mi300/resnet_act_checkpoint.json.gz": ("ProfilerStep", 0, 6052, 6048, 1782, 1781, 891, 18987),
}
FIELDS = ("graph_nodes", "graph_edges", "path_nodes", "path_edges", "path_events", "path_us")
MORE = ("h200/jax.xplane.pb.gz", "hta/cpu_only.json.gz", "hta/rank_not_found.json.gz", "rocprofv3/kernel_trace.csv",
        "tracelens/vllm_decode_graph.json.gz", "tracelens/torch_compile_triton.json.gz",
        "tracelens/rocprofv3_908_results.json.gz", "tracelens/mi210/gpu_only_trace.json.gz")


def check_hta(name, want):
    path = tap.CORPUS / name
    if not path.exists():
        tap.skip(f"{name} as HTA counts", "not in the corpus")
        return
    code, out, err = tap.run("path", "--json", "--like", "hta", "--range", want[0], "--instance", str(want[1]), path)
    figures = json.loads(out)["ranks"][0]["hta"]["critical_path"] if code == 0 else {}
    got = tuple(int(figures.get(f, -1)) for f in FIELDS)
    tap.ok(f"{name} as HTA counts", got == want[2:], f"got {got} want {want[2:]} {err}")


def check_path(name, path, *args):
    code, out, err = tap.run("path", "--json", *args, path)
    if code != 0:
        tap.ok(f"{name} has a path", False, err)
        return None
    p = json.loads(out)
    s, whole = p["segments"], p["measured_ns"]
    tiled = s[0]["start_ns"] == p["start_ns"] and sum(x["dur_ns"] for x in s) == whole == sum(p["classes_ns"].values()) and all(
        a["start_ns"] + a["dur_ns"] == b["start_ns"] for a, b in zip(s, s[1:]))
    tap.ok(f"{name} path tiles the step", tiled, f"{whole} ns")
    work = sum(p["classes_ns"][c] for c in ("compute", "communication", "copy"))
    tap.ok(f"{name} kernels and families sum to the work on the path",
           work == sum(k["path_ns"] for k in p["kernels"]) == sum(p["families_ns"].values()))
    tap.ok(f"{name} replay gives the step", abs(p["replay"]["error_pct"]) < 1, p["replay"])
    return p


def check_what_ifs(path):
    """More of everything is never faster, less never slower, and nothing takes less than its half."""
    base = json.loads(tap.run("path", "--json", "--step", "5", path)[1])["replay"]["step_ns"]
    step = lambda *rules: json.loads(tap.run("path", "--json", "--step", "5", *[x for r in rules for x in ("-w", r)],
                                             path)[1])["what_if"]["predicted_ns"]
    for what in ("gemm", "op", "runtime", "backward", "cudaLaunchKernel", "untraced", "compute"):
        half, twice = step(f"{what}=0.5x"), step(f"{what}=2x")
        tap.ok(f"half of {what} is no loss, twice no gain", base / 2 <= half <= base <= twice <= 2 * base, (half, base, twice))
    tap.ok("everything at once", step("op=0", "runtime=0", "untraced=0", "data=0", "compute=0") < base / 2)


def main():
    demo = tap.ROOT / "demo"
    check_path("demo/run", demo / "run")
    check_path("demo/ddp", demo / "ddp")
    train = check_path("demo/train", demo / "train.json.gz")
    check_what_ifs(demo / "train.json.gz")
    scopes = {s["name"]: s["path_ns"] for s in train["scopes"]}
    tap.ok("autograd's thread counts in the range that waits for it", scopes["ProfilerStep#4/backward"] > train["measured_ns"] / 2, scopes)
    if not tap.CORPUS.is_dir():
        tap.skip("critical paths of real traces", f"no corpus at {tap.CORPUS}")
        return
    for name, want in HTA.items():
        check_hta(name, want)
    for name in (*HTA, *MORE):
        if (tap.CORPUS / name).exists():
            check_path(name, tap.CORPUS / name)
            check_path(name + ", whole", tap.CORPUS / name, "--step", "all")


main()
tap.done()
