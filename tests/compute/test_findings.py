#!/usr/bin/env python3
"""Every kind of trouble of compute, in a made-up training loop on an H200 that has it: named, and worth what was put in. The loop without
any has no finding."""
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tap

PEAK, FP32, TF32, MEMORY = 989.4e12, 66.9e12, 494.7e12, 4.8e12  # an H200, operations and bytes a second
STEPS, ROWS, WIDTH, LENGTH, HEADS = 6, 8192, 4096, 2048, 128
BF16 = "c10::BFloat16"
NVJET = "nvjet_tst_128x192_64x5_2x1_v_bz_TNT"
DEVICE = {"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150754820096, "computeMajor": 9, "computeMinor": 0, "numSms": 132, "warpSize": 32}


def elementwise(functor):
    return f"void at::native::vectorized_elementwise_kernel<8, at::native::{functor}, std::array<char*, 2ul> >(int, X)"


class Loop:
    """A host that launches ahead and waits for the device at the end of each step. Times are microseconds."""

    def __init__(self):
        self.events, self.now, self.free, self.calls, self.wasted = [], 1000.0, 1000.0, 0, 0.0

    def add(self, cat, name, ts, dur, on_gpu=False, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": int(not on_gpu), "tid": 7 if on_gpu else 1, "ts": ts, "dur": dur, "args": args})

    def op(self, name, kernels, dims, types, strides=None, values=None):
        """kernels: name, length, blocks."""
        self.calls += 1
        length, ident = 2 + 2 * len(kernels), self.calls
        self.add("cpu_op", name, self.now, length, **{
            "External id": ident, "Input Dims": dims, "Input type": types, "Input Strides": strides or [[] for _ in dims],
            "Concrete Inputs": values or [""] * len(dims)})
        for i, (kernel, dur, blocks) in enumerate(kernels):
            self.calls += 1
            at = self.now + 1 + 2 * i
            self.add("cuda_runtime", "cudaLaunchKernel", at, 1, **{"External id": ident, "correlation": self.calls})
            start = max(self.free, at + 3)
            self.add("kernel", kernel, start, dur, True, **{"External id": ident, "correlation": self.calls, "device": 0, "stream": 7,
                                                            "grid": [blocks, 1, 1], "block": [128, 1, 1]})
            self.free = start + dur + 0.8
        self.now += length + 0.5

    def product(self, m, k, n, kernel=NVJET, kind=BF16, peak=PEAK, reaches=0.75, strides=None):
        dur = 2e6 * m * n * k / peak / reaches
        self.op("aten::mm", [(kernel, dur, 132)], [[m, k], [k, n]], [kind, kind], strides or [[k, 1], [1, k]])
        return dur

    def move(self, name, dims, types, kernel, moved, reaches=0.75, strides=None, values=None):
        dur = moved * 1e6 / MEMORY / reaches + 1.5
        self.op(name, [(kernel, dur, 264)], dims, types, strides, values)
        return dur

    def layers(self, n):
        for _ in range(n):
            q = [4, 32, LENGTH, 128]
            self.product(ROWS, WIDTH, 3 * WIDTH)
            self.op("aten::_scaled_dot_product_flash_attention",
                    [("void pytorch_flash::flash_fwd_kernel<X>", 2e6 * HEADS * LENGTH * (LENGTH + 1) / 2 * 256 / PEAK / 0.5, 2048)],
                    [q, q, q, [], [], [], []], [BF16] * 3 + ["Scalar"] * 4, None, ["", "", "", "0.", "True", "False", ""])
            for k, width in ((WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)):
                self.product(ROWS, k, width)

    def write(self, path, step):
        for i in range(STEPS):
            begin = self.now
            self.now += 1
            self.wasted = step(self) or 0
            wait, self.now = self.now, max(self.now, self.free + 5)
            self.calls += 1
            self.add("cuda_runtime", "cudaDeviceSynchronize", wait, self.now - wait - 0.1, correlation=self.calls)
            self.add("user_annotation", f"ProfilerStep#{i}", begin, self.now - begin)
            self.now += 1
        path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [DEVICE], "traceEvents": self.events}), encoding="utf-8")


def good(loop):
    loop.layers(4)


def eager_attention(loop):
    loop.layers(2)
    scores, n, wasted = [HEADS, LENGTH, LENGTH], HEADS * LENGTH * LENGTH, 0
    q, k = [HEADS, LENGTH, 128], [HEADS, 128, LENGTH]
    dur = (2 * n + 4 * HEADS * LENGTH * 128) * 1e6 / MEMORY / 0.8  # bound by the scores, which are written
    for _ in range(2):
        loop.op("aten::bmm", [(NVJET, dur, 132)], [q, k], [BF16, BF16])
        wasted += loop.move("aten::mul", [scores, []], [BF16, "double"], elementwise("MulFunctor"), 4 * n)
        wasted += loop.move("aten::add", [scores, [1, LENGTH, LENGTH]], [BF16, BF16], elementwise("CUDAFunctor_add"), 4 * n)
        wasted += loop.move("aten::_softmax", [scores, [], []], [BF16, "Scalar", "Scalar"], "void softmax_warp_forward<c10::BFloat16>", 4 * n,
                            values=["", "-1", "False"])
        loop.op("aten::bmm", [(NVJET, dur, 132)], [scores, q], [BF16, BF16])
    return wasted


def fp32_matmul(loop):
    kernel = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3"
    return sum(loop.product(4096, 4096, 4096, kernel, "float", FP32, 0.8) for _ in range(8)) * (1 - FP32 / TF32)


def unfused_chain(loop):
    loop.layers(2)
    x, n, saved = [4, LENGTH, WIDTH], 4 * LENGTH * WIDTH, 0
    for _ in range(12):
        for name, functor in (("aten::pow", "pow_tensor_scalar_kernel_impl"), ("aten::abs", "AbsFunctor"),
                              ("aten::neg", "neg_kernel"), ("aten::tanh", "tanh_kernel")):
            saved += loop.move(name, [x], [BF16], elementwise(functor), 4 * n)
        loop.product(ROWS, WIDTH, WIDTH)
    return saved * 3 / 4  # one pass in and out is left of four


def cast_storm(loop):
    wasted = 0
    for k, n in ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)):
        wasted += loop.move("aten::copy_", [[k, n], [k, n], []], [BF16, "float", "Scalar"], elementwise("bfloat16_copy_kernel_cuda"), 6 * k * n,
                            values=["", "", "False"])
        loop.product(ROWS, k, n)
    return wasted


def one_hot(loop):
    """A table of 32,768 rows: all but the product's gradient goes."""
    loop.layers(1)
    n, words = ROWS, 32768
    wide, wasted = [n, words], 0
    wasted += loop.move("aten::fill_", [wide, []], ["long int", "Scalar"], elementwise("FillFunctor<long>"), 8 * n * words, values=["", "0"])
    scatter = "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_fill_internal_kernel<long>>"
    wasted += loop.move("aten::scatter_", [wide, [], [n, 1], []], ["long int", "Scalar", "long int", "Scalar"], scatter, 64 * n,
                        values=["", "-1", "", "1"])
    wasted += loop.move("aten::copy_", [wide, wide, []], [BF16, "long int", "Scalar"], elementwise("bfloat16_copy_kernel_cuda"), 10 * n * words,
                        values=["", "", "False"])
    return wasted + loop.product(n, words, 1024)


def table(loop, rows=4_000_000, width=64, looked_up=65536):
    """A table that is looked up, and its gradient, as PyTorch makes it. Gives the time of one pass over the table."""
    bytes_of = 4 * rows * width
    loop.move("aten::embedding", [[rows, width], [looked_up]], ["float", "long int"], "void at::native::(anonymous namespace)::vectorized_gather_kernel<16, long>",
              8 * looked_up * width)
    loop.layers(1)
    zeros = bytes_of * 1e6 / MEMORY / 0.75 + 1.5
    loop.op("aten::embedding_dense_backward",
            [(elementwise("FillFunctor<float>"), zeros, 4096), ("void cub::DeviceRadixSortOnesweepKernel<X>", 12, 64),
             ("void at::native::(anonymous namespace)::compute_grad_weight<float, float, long>", 20, 512),
             ("void at::native::(anonymous namespace)::sum_and_scatter<float, long>", 20, 512)],
            [[looked_up, width], [looked_up], [], [], []], ["float", "long int", "Scalar", "Scalar", "Scalar"], None, ["", "", str(rows), "-1", "False"])
    return zeros


def dense_gradient(loop):
    """4 M rows of 64, of which a batch has 65,536; Adam goes over all of them."""
    zeros, blocks = table(loop), 4_000_000 * 64 // 65536
    update = 7 * zeros
    kernel = "void at::native::multi_tensor_apply_kernel<at::native::FusedOptimizerTensorListMetadata<4>, at::native::FusedAdamMathFunctor<float, 4>>"
    loop.op("aten::_fused_adam_", [(kernel, update * n / blocks, n) for n in [320] * (blocks // 320) + [blocks % 320]], [[]], ["TensorList"])
    return zeros + update


def layout_copies(loop):
    kernel = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda>>"
    heads, wasted = [4, LENGTH, 32, 128], 0
    for _ in range(8):
        wasted += loop.move("aten::copy_", [heads, heads, []], [BF16, BF16, "Scalar"], kernel, 16 * LENGTH * WIDTH, 0.4,
                            [[LENGTH * WIDTH, WIDTH, 128, 1], [LENGTH * WIDTH, 128, LENGTH * 128, 1], []], ["", "", "False"])
        loop.product(ROWS, WIDTH, WIDTH)
    return wasted


def gemm_shape(loop):
    loop.layers(4)
    slow = loop.product(ROWS, WIDTH, 50257, "cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1", reaches=0.25, strides=[[WIDTH, 1], [50257, 1]])
    return slow * (1 - 0.25 / 0.75)


def wave_tail(loop):
    """17 x 8 tiles on 132 units: a second wave for four of them."""
    durs = [loop.product(128 * 17, 8192, 128 * 8, "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_TNT", reaches=0.38) for _ in range(16)]
    return sum(durs) * (1 - 136 / 264)


def optimizer_unfused(loop):
    """AdamW over 200 million parameters in lists: 20 passes of which 7 are needed."""
    loop.layers(2)
    elements, passes, blocks = 200e6, 0, 3051
    for name, each in (("mul_", 2), ("lerp_", 3), ("mul_", 2), ("addcmul_", 3), ("sqrt", 2), ("div_", 2), ("add_", 2), ("addcdiv_", 4)):
        dur, passes = each * 4e6 * elements / MEMORY / 0.8, passes + each
        kernel = "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<1>, at::native::BinaryOpScalarFunctor<float, 1, 1, 0>>"
        sizes = [320] * (blocks // 320) + [blocks % 320]
        loop.op("aten::_foreach_" + name, [(kernel, dur * n / blocks, n) for n in sizes], [[], []], ["TensorList", "Scalar"])
    return (passes - 7) * 4e6 * elements / MEMORY / 0.8


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "loop.json"
        for step in (eager_attention, fp32_matmul, unfused_chain, cast_storm, one_hot, dense_gradient, layout_copies, gemm_shape, wave_tail, optimizer_unfused):
            loop = Loop()
            loop.write(path, step)
            found = tap.report(path)
            first = found["findings"][0]
            saved = (first["worth"]["now_ns"] - (first["worth"]["after_ns"] or 0)) / 1e3
            tap.ok(f"{step.__name__} comes first and is worth what was put in, within 5 %",
                   first["id"] == step.__name__ and abs(saved / loop.wasted - 1) < 0.05, f"{first['id']}: {saved:.1f} us, not {loop.wasted:.1f}")
            tap.ok(f"{step.__name__}: the work of every kernel is known", found["compute"]["coverage"] == 1, found["compute"])
        Loop().write(path, good)
        found = tap.report(path)
        tap.ok("a loop without trouble has no finding", [f["id"] for f in found["findings"]] == ["nothing_large"], found["findings"])


main()
tap.done()
