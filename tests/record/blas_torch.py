"""Matrix products of PyTorch, recorded and compared with what was asked for. Needs a GPU.
usage: blas_torch.py ASSAY    records itself, checks every product's sizes, types and kernels, and measures what
standing in costs."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

MANY = 2000


def products():
    """(operands, m, n, k, batch) as torch has them; BLAS sees the transposed product: m and n change places."""
    import torch
    torch.backends.cuda.matmul.allow_tf32 = True
    asked = []
    for kind, (m, k, n) in ((torch.bfloat16, (512, 1024, 256)), (torch.float16, (96, 64, 80)),
                            (torch.float32, (128, 256, 512)), (torch.float64, (64, 32, 16))):
        a, b = torch.randn(m, k, device="cuda", dtype=kind), torch.randn(k, n, device="cuda", dtype=kind)
        a @ b
        asked.append((str(kind), n, m, k, 1))
        torch.bmm(a.expand(3, m, k).contiguous(), b.expand(3, k, n).contiguous())
        asked.append((str(kind), n, m, k, 3))
        torch.nn.functional.linear(a, b.t().contiguous(), torch.zeros(n, device="cuda", dtype=kind))
        asked.append((str(kind), n, m, k, 1))
    a = torch.randn(64, 64, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(MANY):
        torch.mm(a, a)
    cost = (time.perf_counter_ns() - start) / MANY
    torch.cuda.synchronize()
    print(json.dumps({"asked": asked, "ns": cost}))


def main():
    assay, here = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    from capture import Capture
    said = {}
    with tempfile.TemporaryDirectory() as work:
        for name, opts in (("with", []), ("without", ["--no-blas"])):
            run = f"{work}/{name}"
            out = subprocess.run([assay, "record", "-o", run, *opts, "--", sys.executable, __file__, "--work"], check=True,
                                 capture_output=True, text=True).stdout
            said[name] = json.loads(out.strip().splitlines()[-1])
        c = Capture(glob.glob(f"{work}/with/*.asy")[0])
    names = {r["function"]: c.text(r["name"]) for r in c.rows["API_NAME"] if r["domain"] == 5}
    got = c.rows["PRODUCT"]
    tail = got[-MANY:]
    want = [tuple(x[1:]) for x in said["with"]["asked"]]
    first = [(r["m"], r["n"], r["k"], max(r["batch"], 1)) for r in got[:-MANY]]
    print("products", len(got), "of", len(want) + MANY, sorted({names[r["function"]] for r in got}))
    print("sizes", "as asked" if first == want else f"differ: {[x for x in zip(first, want) if x[0] != x[1]]}")
    calls = sorted(c.rows["API"], key=lambda r: r["start"])
    kernels = {r["corr"] for r in c.rows["KERNEL"]}
    inside = sum(any(p["start"] <= a["start"] <= p["end"] and a["corr"] in kernels for a in calls) for p in got[:len(want)])
    print("with a kernel inside", inside, "of", len(want))
    print(f"a torch.mm takes {said['with']['ns']:.0f} ns, {said['without']['ns']:.0f} with --no-blas")
    return 0 if first == want and len(tail) == MANY and inside == len(want) else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        products()
    else:
        sys.exit(main())
