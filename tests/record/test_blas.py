#!/usr/bin/env python3
"""Matrix products of cuBLAS, hipBLASLt and rocBLAS without a GPU: what is recorded, and that the libraries are
called as if nobody stood in between. usage: test_blas.py [BUILD [WORDS...]]"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from harness import ASSAY, FAKE, PATIENCE, WORK, build_fakes, captures, cc, eq, one, run, test, until  # noqa: E402

LIBS = {"CUBLASLT": "libcublasLt.so.13", "CUBLAS": "libcublas.so.13", "HIPBLASLT": "libhipblaslt.so.0",
        "ROCBLAS": "librocblas.so.4"}
PROGRAM, LATE = FAKE + "/blas_program", FAKE + "/libuser.so"


def build():
    build_fakes()
    cuda = FAKE + "/libcuda.so.1"
    for which, name in LIBS.items():
        more = [FAKE + "/libcublasLt.so.13"] if which == "CUBLAS" else []
        cc(f"{FAKE}/{name}", "-fPIC", "-shared", f"-Wl,-soname,{name}", f"-DWITH_{which}", "tests/fake/blas.c", *more,
           cuda)
    blas = [f"{FAKE}/{n}" for n in LIBS.values()]
    cc(PROGRAM, "tests/record/blas_program.c", *blas[:2], cuda, "-ldl")
    cc(PROGRAM + "-lazy", "-Wl,-z,lazy", "-no-pie", "-DWITH_HIP", "tests/record/blas_program.c", *blas, cuda, "-ldl")
    with open(WORK + "/user.c", "w") as f:
        f.write("int cublasSgemm_v2(void *, int, int, int, int, int, const void *, const void *, int, const void *, "
                "int, const void *, void *, int);\nvoid late(void);\nvoid late(void)\n"
                "{ cublasSgemm_v2(0, 0, 0, 100, 200, 300, 0, 0, 0, 0, 0, 0, 0, 0); }\n"
                "void *whom(void);\nvoid *whom(void) { return (void *)cublasSgemm_v2; }\n")
    cc(LATE, "-fPIC", "-shared", WORK + "/user.c", FAKE + "/libcublas.so.13")


def play(program=PROGRAM, *more, opts=(), name="blas"):
    where = os.path.join(WORK, name)
    shutil.rmtree(where, ignore_errors=True)
    env = dict(os.environ, LD_LIBRARY_PATH=FAKE)
    plain = subprocess.run([program, *more], env=env, capture_output=True, text=True, timeout=PATIENCE)
    p = subprocess.run([ASSAY, "record", "-o", where, "--telemetry", "off", *opts, "--", program, *more], env=env,
                       capture_output=True, text=True, timeout=PATIENCE)
    eq((p.returncode, p.stdout), (plain.returncode, plain.stdout))
    c = one(where)
    names = {r["function"]: c.text(r["name"]) for r in c.rows["API_NAME"] if r["domain"] == 5}
    c.products = [dict(r, name=names[r["function"]]) for r in c.rows["PRODUCT"]]
    c.run = where
    return c


def told(c):
    return [(r["name"], r["m"], r["n"], r["k"], r["batch"], r["type_a"], r["type_b"], r["type_c"], r["compute"],
             "NT"[r["trans_a"]] + "NT"[r["trans_b"]], r["status"]) for r in c.products]


CUDA = [("cublasLtMatmul", 256, 128, 512, 4, 14, 14, 0, 77, "TN", 0),
        ("cublasGemmEx", 64, 32, 16, 1, 2, 2, 2, 68, "NT", 0),
        ("cublasGemmStridedBatchedEx", 8, 9, 10, 12, 14, 14, 14, 68, "TT", 0),
        ("cublasSgemm_v2", 3, 4, 5, 1, 0, 0, 0, 77, "NN", 13)]


@test
def each_product_is_told_once_with_its_sizes_and_types():
    eq(told(play()), CUDA)


@test
def a_program_that_binds_lazily_is_seen_too_and_amd_s_libraries():
    got = told(play(PROGRAM + "-lazy", name="lazy"))
    eq([g for g in got if g[0].startswith("cublas")], CUDA)
    eq([g for g in got if not g[0].startswith("cublas")],
       [("hipblasLtMatmul", 256, 128, 512, 4, 14, 14, 0, 0, "TN", 0),
        ("rocblas_gemm_ex", 30, 20, 10, 1, 168, 168, 168, 151, "TN", 0)])


@test
def a_library_that_is_loaded_later_is_seen():
    eq(told(play(PROGRAM, LATE, name="late"))[-1], ("cublasSgemm_v2", 100, 200, 300, 1, 0, 0, 0, 0, "NN", 13))


@test
def products_are_operators_that_hold_their_kernels():
    c = play()
    trace = WORK + "/blas.json"
    subprocess.run([ASSAY, "convert", c.run, trace], check=True, capture_output=True)
    events = [e for e in json.load(open(trace))["traceEvents"] if e.get("ph") == "X"]
    lt = [e for e in events if e["name"] == "cublasLtMatmul"][0]
    eq((lt["cat"], lt["args"]["Input Dims"], lt["args"]["Input type"], lt["args"]["compute"], lt["args"]["transposes"]),
       ("cpu_op", [[4, 256, 512], [4, 512, 128], [4, 256, 128]], ["c10::BFloat16", "c10::BFloat16", "float"], "tf32", "TN"))
    kernels = {e["args"]["correlation"]: e["name"] for e in events if e.get("cat") == "kernel"}
    inside = [kernels.get(e["args"].get("correlation")) for e in events if e.get("cat") == "cuda_runtime" and
              e["tid"] == lt["tid"] and lt["ts"] <= e["ts"] <= lt["ts"] + lt["dur"]]
    eq(inside, ["nvjet_tst_128x192"])


@test
def of_two_copies_of_a_library_neither_is_stood_in_for():
    other = os.path.join(WORK, "other")
    os.makedirs(other, exist_ok=True)
    name = other + "/libcublasLt.so.12"
    shutil.copy(FAKE + "/libcublasLt.so.13", name)
    subprocess.run(["sed", "-i", "s/libcublasLt\\.so\\.13\\x00/libcublasLt.so.12\\x00/", name], check=True)
    where = os.path.join(WORK, "copies")
    p = subprocess.Popen([ASSAY, "record", "-o", where, "--telemetry", "off", "--", PROGRAM, name], text=True, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, LD_LIBRARY_PATH=FAKE))

    def told():
        return [c.text(r["value"]) for c in captures(where) for r in c.rows["META"] if c.text(r["key"]) == "blas.copies.libcublasLt.so"]
    try:
        until(told, "it is not seen")
    finally:
        p.communicate("\n", timeout=PATIENCE)
    eq((told(), p.returncode), (["two in the process: their products are not recorded"], 0))


@test
def nobody_stands_in_when_it_is_not_wanted():
    eq(play(opts=["--no-blas"]).products, [])


if __name__ == "__main__":
    sys.exit(run(build))
