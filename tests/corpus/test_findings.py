#!/usr/bin/env python3
"""Reports on real traces must not contradict themselves, and must say what one who reads the trace by hand would say.
Skipped by name when the corpus is absent."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

# trace: ids that the first finding may have, what its text or fix must hold
FIRST = {
    "tracelens/mi300/normalization_layer_test.json.gz": ({"launch_call"}, "code is loaded"),
    "tracelens/inference/sglang_qwen3_8b_prefilldecode.json.gz": ({"gemm_shape"}, "sizes fill tiles already"),
    "hta/sampled_rank-0.json.gz": ({"not_started"}, "although the GPU is idle"),
    "hta/nccl_data.json.gz": ({"host_op"}, "torch.compile"),
    "tracelens/mi300/jax_conv.xplane.pb": ({"host_untraced"}, "block_until_ready"),
}
# trace: steps, what says so
STEPS = {
    "tracelens/inference/sglang_qwen3_8b_prefilldecode.json.gz": (1, "step marks of the serving engine"),
    "tracelens/inference/vllm_prefilldecode_piecewise.json.gz": (1, "step marks of the serving engine"),
    "tracelens/rocprofv3_908_results.json.gz": (49, "detected from the repetition of kernels"),  # of 50, one warms up
    "hta/nccl_data.json.gz": (3, "ProfilerStep markers on the host"),
}
# trace: ns of a step that begins while the device is at work from before the recording, by hand: from the first work
# behind that to the last end
BEHIND = {
    "tracelens/inference/sglang_qwen3_8b_prefilldecode.json.gz": 494_001_673,
    "tracelens/inference/vllm_prefilldecode_piecewise.json.gz": 156_466_417,
    "tracelens/vllm_decode_graph.json.gz": 10_743_181,
}
# trace: what no finding may say, for it is not so
NEVER = {
    "hta/critical_path/alexnet.json.gz": "read values back",  # what waits there takes memory
}
KEYS = {"id", "cause", "text", "where", "steady", "cost_ns", "worth", "fix", "evidence", "confidence", "under"}


def contradictions(r):
    """What the report says against itself."""
    step, found = r["steady_step"], r["findings"]
    idle = [d["idle_ns"] / d["span_ns"] for d in r["devices"] if d["span_ns"]]
    budget = {b["bucket"]: b["total_ns"] for b in r["budget"]}
    parts = ("useful_gpu", "comm_excess", "exposed_copy", "data_wait", "host_gap", "device_wait", "unexplained")
    if not found:
        yield "no finding"
    if "contradicts itself" in json.dumps(r):
        yield "it says so itself"
    if step and budget:
        window = sum(budget[p] or 0 for p in parts)
        if window != budget["total"]:
            yield f"buckets sum to {window}, not {budget['total']}"
        if step["ns"] != budget["total"] // max(1, step["steps"]):
            yield f"the steady step is {step['ns']} of {budget['total']}"
        waits = sum(budget[p] or 0 for p in parts[3:])
        if waits > 0.1 * budget["total"] and not any(
                f["cost_ns"] and f["cause"] in r["devices"][0]["idle_causes_ns"] for f in found):
            yield f"idle for {waits} of {budget['total']} and no finding about it"
    for f in found:
        if set(f) != KEYS:
            yield f"keys {set(f) ^ KEYS}"
        if f["cost_ns"] is None:
            continue
        if not f["worth"]["now_ns"] >= f["worth"]["after_ns"] >= 0:
            yield f"{f['id']}: {f['worth']}"
        if f["cost_ns"] > f["worth"]["now_ns"] and f["id"] != "straggler":
            yield f"{f['id']} costs {f['cost_ns']} of {f['worth']['now_ns']}"
        if f["under"] is not None and f["under"] >= len(found):
            yield f"{f['id']} is under nothing"
    if [v["id"] for v in r["verdicts"]] != [f["id"] for f in found]:
        yield "verdicts are another list"
    if max(idle, default=0) > 1:
        yield "more idle than time"
    phases = (r["compute"] or {}).get("phases", [])
    tokens = [m["value"] for m in r["metrics"] if m["name"] == "tokens_per_sec" and m["state"] == "measured"]
    if len(phases) == 1 and tokens and abs(phases[0]["tokens_per_sec"] / tokens[0] - 1) > 0.05:
        yield f"{tokens[0]:.0f} tokens a second, and {phases[0]['tokens_per_sec']:.0f} of the only phase"


def main():
    if not tap.CORPUS.is_dir():
        tap.skip("findings of real traces", f"no corpus at {tap.CORPUS}")
        return
    traces = sorted(p for p in tap.CORPUS.rglob("*") if p.name.endswith((".json.gz", ".xplane.pb", ".xplane.pb.gz")))
    for path in traces:
        name = str(path.relative_to(tap.CORPUS))
        code, out, err = tap.run("report", "--json", path)
        if code:
            continue
        r = json.loads(out)
        bad = list(contradictions(r))
        tap.ok(f"{name} does not contradict itself", not bad, "\n".join(bad))
        if name in FIRST:
            ids, words = FIRST[name]
            f = r["findings"][0]
            tap.ok(f"{name} says first what matters", f["id"] in ids and words in f["text"] + f["fix"], f)
        if name in NEVER:
            tap.ok(f"{name} does not say '{NEVER[name]}'", NEVER[name] not in json.dumps(r["findings"]), r["findings"])
        if name in STEPS:
            s = r["steady_step"]
            tap.ok(f"{name} has its steps", (s["steps"], s["from"]) == STEPS[name], s)
        if name in BEHIND:
            tap.ok(f"{name} counts no work from before the recording", r["steady_step"]["ns"] == BEHIND[name], r["steady_step"])


main()
tap.done()
