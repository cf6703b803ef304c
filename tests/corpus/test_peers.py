#!/usr/bin/env python3
"""--like hta and --like tracelens against the tools themselves, where they are installed (bench/peers/compare.py says how they are
found): every figure of every trace they can read."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap
sys.path.insert(0, str(tap.ROOT / "bench/peers"))
import compare

# Waits on "no stream" that older Kineto writes as stream 2^32-1 are rows for HTA and none here: docs/analysis.md.
NO_STREAM = ("alexnet.json.gz", "simple_add.json.gz")


def check(tool, trace):
    name = trace.relative_to(tap.CORPUS)
    peer = compare.theirs(tool, trace)
    if "error" in peer:
        tap.skip(f"{name} as {tool} has it", f"{tool} cannot read it: {peer['error']}")
        return
    own = compare.ours(tap.ASSAY, tool, trace)
    if not peer["figures"] or (not own and "temporal_breakdown" not in peer["figures"]):
        tap.skip(f"{name} as {tool} has it", "it finds no GPU work in it")
        return
    bad, n = compare.differences(tool, peer["figures"], own)
    if tool == "hta" and trace.name in NO_STREAM:
        bad = [b for b in bad if not b[0].startswith("temporal_breakdown.")]
    tap.ok(f"{name}: {n} figures as {tool} has them", not bad, "\n".join(map(str, bad)))


# Rows of equal microseconds: HTA's waits depend on which comes first in the file.
TIES = ("qwen1.5-0.5b.json.gz",)


def check_ways(tool, trace, tmp):
    """What a tool says of a trace that went through other formats is what it says of the trace."""
    want = compare.theirs(tool, trace)
    for way in ("b.json", "x.xplane.pb", "x.pftrace"):
        tap.run("convert", trace, tmp / way)
        if way != "b.json":
            tap.run("convert", tmp / way, tmp / "b.json")
        bad, n = compare.differences(tool, want.get("figures", {}), compare.theirs(tool, tmp / "b.json").get("figures", {}))
        bad = [b for b in bad if not (tool == "hta" and trace.name in TIES and b[0].startswith("idle_stream"))]
        tap.ok(f"{trace.name}: {n} figures of {tool} are the same after {way}", n and not bad, "\n".join(map(str, bad)))


def main():
    traces = sorted(tap.CORPUS.rglob("*.json.gz"))
    for tool in compare.TOOLS:
        why = compare.missing(tool) if traces else f"no corpus at {tap.CORPUS}"
        if why:
            tap.skip(f"figures against {tool} itself", why)
            continue
        for trace in traces:
            check(tool, trace)
        with tempfile.TemporaryDirectory() as tmp:
            for name in ("h200/train.json.gz", "tracelens/h100/qwen1.5-0.5b.json.gz", "tracelens/vllm_decode_graph.json.gz", "hta/nccl_data.json.gz"):
                check_ways(tool, tap.CORPUS / name, pathlib.Path(tmp))


main()
tap.done()
