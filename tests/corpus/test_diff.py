#!/usr/bin/env python3
"""assay diff on real traces: exit status, what is called real, and sums that must agree with the report."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap


def diff(a, b, *more):
    code, out, err = tap.run("diff", "--json", tap.CORPUS / a, tap.CORPUS / b, *more)
    return code, json.loads(out) if code < 2 else {"error": err}


def main():
    if not tap.CORPUS.is_dir():
        tap.skip("comparison of real traces", f"no corpus at {tap.CORPUS}")
        return
    train = "h200/train.json.gz"
    code, d = diff(train, train)
    tap.ok("a run and itself are the same", code == 0 and d["same"] and all(
        x["change_ns"] == 0 and not x["real"] for x in d["kernels"] + d["parts"] + d["idle_causes"]), d.get("sentence"))
    code, d = diff("tracelens/h100/qwen1.5-0.5b.json.gz", "tracelens/mi300/qwen1.5-0.5b.json.gz")
    tap.ok("two vendors differ", code == 1 and not d["same"] and d["step"]["real"], d.get("sentence"))
    reports = [json.loads(tap.run("report", "--json", tap.CORPUS / f"tracelens/{m}/qwen1.5-0.5b.json.gz")[1]) for m in ("h100", "mi300")]
    tap.ok("the step is the report's steady step", [d["step"]["a_ns"], d["step"]["b_ns"]] == [r["steady_step"]["ns"] for r in reports], d["step"])
    tap.ok("and its parts sum to it", all(abs(sum(p[k] for p in d["parts"]) - d["step"][k]) < 1 for k in ("a_ns", "b_ns")), d["parts"])
    names = {k["name"]: k["change"] for k in d["kernels"]}
    tap.ok("new and gone kernels are named", names.get("attn_fwd") == "added" and "removed" in names.values())
    calls = {o["name"]: (o["a_count"], o["b_count"]) for o in d["ops"]}
    tap.ok("operators are counted by their calls", calls["aten::mm"] == (96, 96) and
           calls["aten::_scaled_dot_product_flash_attention"] == (24, 24), calls["aten::mm"])
    close = lambda x, y: abs(x - y) < 1
    tap.ok("families sum to kernels", close(sum(f["b_ns"] for f in d["families"]), sum(k["b_ns"] for k in d["kernels"])))
    tap.ok("attention differs", {"name": "attention", "a": "flash", "b": "flash_rocm"} in d["facts"], d["facts"])
    code, d = diff("h200/ddp_rank0.json.gz", "h200/ddp_rank1.json.gz")
    tap.ok("the straggler's compute is longer beyond noise", code == 1 and next(
        p for p in d["parts"] if p["name"] == "compute")["real"], d.get("sentence"))
    code, out, err = tap.run("diff", tap.CORPUS / train, tap.CORPUS / "no-such-file")
    tap.ok("a missing file is trouble", code == 2 and "cannot open" in err, err)


main()
tap.done()
