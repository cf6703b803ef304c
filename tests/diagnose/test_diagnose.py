#!/usr/bin/env python3
"""Flaws with a known cost: each class is a training loop with a flaw and one without, random within bounds, as the profiler
would trace it. The first finding must name the flaw and its place, predict its cost within 15 % of the truth or 5 % of the
step, and be silent about it where it is not."""
import json
import os
import pathlib
import random
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tap
from machine import START_OF_RUN, Machine

ROUNDS = int(os.environ.get("ROUNDS", "2"))
STEPS = 10


def busy(p):
    return p["layers"] * p["kernel"] * 0.63


def model(m, p):
    for i in range(p["layers"]):
        m.op(("mm", "gelu", "add")[i % 3], p["kernel"] * (1, 0.5, 0.4)[i % 3])


def usual(rng):
    return {"layers": rng.randint(9, 30), "kernel": rng.randint(60, 200) * 1000}


def loader(rng):
    p = usual(rng)
    busy = p["layers"] * p["kernel"] * 0.63
    wait = int(busy * rng.uniform(0.5, 3))

    def body(m, bad):
        m.data(wait if bad else 20000)
        model(m, p)
        m.sync()
    return body


def hidden_loader(rng):
    """The batch is loaded while the device works on the one before; it then waits for what the host does behind that."""
    p = usual(rng)
    wait, code = (int(busy(p) * rng.uniform(*of)) for of in ((0.6, 0.9), (0.5, 0.8)))

    def body(m, bad):
        m.data(wait if bad else 20000)
        m.python("train.py(12): augment", code)
        model(m, p)
    return body


def implicit_sync(rng):
    p = {"layers": rng.randint(10, 30), "kernel": rng.randint(20, 60) * 1000}

    def body(m, bad):
        for i in range(p["layers"]):
            m.op("mm", p["kernel"])
            m.op("gelu", p["kernel"] // 2)
            if bad:
                m.item()
    return body


def host_tensors(pins):
    """Operators that compute with tensors of the host, or fill pinned memory."""
    def make(rng):
        p = usual(rng)
        dur = int(p["layers"] * p["kernel"] * rng.uniform(0.5, 2)) + 2000000

        def compute(m):
            begin = m.now
            m.now += dur
            m.row("cpu_op", "aten::copy_" if pins else "aten::triu", begin, dur)

        def body(m, bad):
            if bad:
                m.inside("aten::pin_memory" if pins else "aten::where", lambda: compute(m))
            m.copy(1 << 20)
            model(m, p)
            m.sync()
            m.unseen(2000)
        return body
    return make


def read_loop(rng):
    """A value of every parameter is computed and read back; the host is not ahead."""
    p, values = usual(rng), rng.randint(20, 60)

    def body(m, bad):
        model(m, p)
        for _ in range(values if bad else 0):
            m.inside("aten::abs", lambda: m.launch(ELEMENTWISE.format("AbsFunctor<float>"), 3000))
            m.inside("aten::max", lambda: m.launch(MEAN, 5000))
            m.inside("aten::item", m.item)
        m.unseen(5000)
    return body


def timers(rng):
    """A host that is late anyway waits before and behind each layer, and reads nothing."""
    layers, way, kernel = rng.randint(20, 50), rng.randint(4000, 8000), rng.randint(2000, 5000)

    def body(m, bad):
        for _ in range(layers):
            for place in range(4):
                if place:
                    m.op("mm", kernel)
                m.unseen(way)
                if bad and place in (0, 3):
                    m.sync("cudaDeviceSynchronize")
                    m.unseen(way)
    return body


def dense_read(rng):
    """The same with an operator that asks the device in every layer, and is not needed."""
    layers, way, kernel = rng.randint(20, 50), rng.randint(4000, 8000), rng.randint(2000, 5000)

    def body(m, bad):
        for _ in range(layers):
            for _ in range(6):
                m.op("mm", kernel)
                m.unseen(way)
            if bad:
                m.inside("aten::is_nonzero", m.item)
                m.unseen(way)
    return body


def pageable_copy(rng):
    p = usual(rng)
    size = int(p["layers"] * p["kernel"] * 0.63 * rng.uniform(0.5, 2) * 5)

    def body(m, bad):
        m.copy(size if bad else 4096, pageable=bad)
        model(m, p)
    return body


def copy_awaited(rng):
    """The next batch is copied on a stream of its own; the step waits for that one, or for the one that it needs."""
    p = usual(rng)
    size = int(p["layers"] * p["kernel"] * 0.63 * rng.uniform(0.4, 0.9) * 50)

    def body(m, bad):
        m.wait(9, m.record(7))  # until the place it goes to is free
        m.copy(size, stream=9)
        before, m.copied = m.copied, m.record(9)
        m.wait(7, m.copied if bad or not before else before)
        model(m, p)
    return body


def small_copies(rng):
    p = usual(rng)
    count, size = rng.randint(100, 300), rng.randint(1, 8) * 1024

    def body(m, bad):
        for _ in range(count if bad else 1):
            m.copy(size, pageable=True, wait=True)
        model(m, p)
    return body


def columns(pageable):
    """Little that is sent bit by bit, by operators and without stacks: the host waits for each, or not."""
    def make(rng):
        p = usual(rng)
        count, size = rng.randint(100, 300), rng.randint(1, 8) * 1024

        def send(m):
            m.inside("aten::copy_", lambda: m.copy(size, pageable=pageable, wait=pageable))

        def body(m, bad):
            for _ in range(count if bad else 1):
                m.inside("aten::to", lambda: m.inside("aten::_to_copy", lambda: send(m)))
                m.unseen(3000)
            model(m, p)
            m.inside("aten::item", m.item)
        return body
    return make


def allocation(rng):
    p = usual(rng)
    blocks, each = rng.randint(5, 15), rng.randint(60, 200) * 1000

    def body(m, bad):
        for _ in range(blocks if bad else 0):
            m.take(each)
        model(m, p)
        for _ in range(blocks if bad else 0):
            m.give_back(each)
    return body


def python_code(function, inner=None):
    def make(rng):
        p = usual(rng)
        dur = int(p["layers"] * p["kernel"] * 0.63 * rng.uniform(0.4, 4))

        def body(m, bad):
            if bad:
                m.python(f"train.py(12): {function}", dur, inner)
            model(m, p)
            m.sync()
        return body
    return make


def frames(*names):
    """The program's own function in libraries, or libraries in it."""
    def make(rng):
        p = usual(rng)
        dur = int(busy(p) * rng.uniform(0.5, 3))

        def body(m, bad):
            if bad:
                m.nested(names, dur)
            model(m, p)
            m.sync()
        return body
    return make


LOADER = ("tqdm/std.py(1181): __iter__", "torch/utils/data/dataloader.py(630): __next__",
          "torch/utils/data/dataloader.py(1293): _get_data", "torch/utils/data/dataloader.py(1131): _try_get_data",
          "multiprocessing/queues.py(113): get", "multiprocessing/connection.py(257): poll",
          "<built-in method poll of select.poll object at 0x7f>")
PROCESS = ("multiprocessing/spawn.py(129): spawn_main", "multiprocessing/process.py(314): _bootstrap",
           "multiprocessing/process.py(108): run", "torch/multiprocessing/spawn.py(75): _wrap", "train.py(12): edit_distance")
DOWNLOAD = ("train.py(12): fetch", "requests/api.py(62): get", "urllib3/connectionpool.py(590): urlopen",
            "socket.py(700): readinto", "<built-in method recv_into of socket object at 0x7f>")
IMAGES = ("train.py(12): prepare", "transformers/image_processing_utils.py(40): __call__",
          "transformers/models/vit/image_processing_vit.py(235): preprocess", "transformers/image_transforms.py(390): normalize")


def host_optimizer(rng):
    """Gradients are read back, the update is computed on the host."""
    p = usual(rng)
    cpu = int(busy(p) * rng.uniform(0.6, 2)) + 1200000

    def body(m, bad):
        model(m, p)
        m.copy(1 << 20, to="DtoH", wait=True)
        if bad:
            begin = m.now
            m.now += cpu
            m.row("cpu_op", "aten::_fused_adam_", begin, cpu)
        m.copy(1 << 20)
        m.sync()
    return body


def slow_launches(rng):
    """A host that is slow with each of many operators, or one kernel for all of them."""
    count, kernel, host = rng.randint(60, 200), rng.randint(3000, 8000), rng.randint(60, 140) * 1000

    def body(m, bad):
        m.unseen(2000)
        for _ in range(count if bad else 0):
            m.op("add", kernel, before=int(host * m.rng.uniform(0.6, 1.4)), behind=int(host * 0.3))
        if not bad:
            m.op("add", count * kernel)
    return body


def compile_in_loop(rng):
    p = usual(rng)
    dur = int(p["layers"] * p["kernel"] * 0.63 * rng.uniform(0.5, 4))

    def body(m, bad):
        if bad:
            m.range("entire_frame_compile", dur)
        model(m, p)
        m.sync()
    return body


def serial_streams(told):
    """Each stream waits for the one before it, or for the beginning."""
    def made(rng):
        streams, depth, dur = rng.randint(2, 5), rng.randint(6, 14), rng.randint(60, 150) * 1000

        def body(m, bad):
            before = m.record(30)
            for s in range(streams):
                m.wait(30 + s, before, told)
                for _ in range(depth):
                    m.op("cumsum", dur, stream=30 + s, blocks=4, before=1000, behind=500)
                if bad:
                    before = m.record(30 + s)
            m.sync("cudaDeviceSynchronize")
        return body
    return made


def contention(rng):
    p = usual(rng)
    chance, factor = rng.uniform(0.1, 0.25), rng.uniform(4, 8)

    def body(m, bad):
        m.slow = (chance, factor) if bad else None
        model(m, p)
    return body


ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, {}, std::array<char*, 2ul>>"
MEAN = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float>>>"


def unfused_chain(rng):
    """A norm in pieces, with a copy and the reset of a counter between them, or as one kernel."""
    layers, once = rng.randint(6, 20), rng.randint(40, 120) * 1000
    pieces = [(name, once * rng.uniform(0.5, 1)) for name in rng.sample(
        ["pow_tensor_scalar", "MulFunctor<float>", "CUDAFunctor_add<float>", "neg_kernel", "sqrt_kernel"], rng.randint(3, 5))]
    fused = max([t for _, t in pieces] + [0.6 * once]) * rng.uniform(0.8, 1.25)

    def body(m, bad):
        for _ in range(layers):
            m.launch("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", 4 * once)
            if not bad:
                m.launch("void at::native::vectorized_layer_norm_kernel<float>", fused)
                continue
            for name, took in pieces:
                m.launch(ELEMENTWISE.format(name), took)
            m.copy_within(int(once * 0.6))
            m.reset()
            m.launch(MEAN, once * 0.5)
    return body


TO_FLOAT = ELEMENTWISE.format("at::native::bfloat16tofloat32_copy_kernel_cuda(at::TensorIteratorBase&)")
TO_HALF = ELEMENTWISE.format("at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)")


def upcasts(rng):
    """Casts around each product of a host that is not ahead: without them it has half as much to launch."""
    layers, kernel = rng.randint(30, 60), rng.randint(3, 6) * 1000

    def cast(m, name):
        m.inside("aten::to", lambda: m.launch(name, 15000))

    def body(m, bad):
        for _ in range(layers):
            if bad:
                cast(m, TO_FLOAT)
            m.op("mm", kernel)
            if bad:
                cast(m, TO_HALF)
            m.op("gelu", kernel)
        m.unseen(5000)
    return body


CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>"
FILL = ELEMENTWISE.format("at::native::FillFunctor<float>")
SUMS = "void at::native::(anonymous namespace)::compute_grad_weight<float, long>"
SGD = ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<2>, "
       "at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<float, 2, 2, 0>, std::plus<float>, float>")


def grown_cache(rng):
    """What each layer remembers is copied as a whole for one row more, or written into its place."""
    layers, kernel = rng.randint(8, 30), rng.randint(30, 120) * 1000
    copy = int(kernel * rng.uniform(1, 6))

    def body(m, bad):
        for _ in range(layers):
            m.op("mm", kernel)
            m.launch(CAT if bad else "void at::native::index_copy_kernel", copy if bad else 2000)
            m.op("mm", kernel)
    return body


def dense_table(rng):
    """A table is set to zero, by as many kernels as it needs, and updated, for a few rows."""
    p, pieces = usual(rng), rng.randint(1, 4)
    zeros, update = int(busy(p) * rng.uniform(0.1, 0.3)), rng.uniform(3, 3.9)

    def body(m, bad):
        m.launch("void at::native::vectorized_gather_kernel<16, long>", 30000)
        model(m, p)
        for _ in range(pieces if bad else 0):
            m.launch(FILL, zeros // pieces)
        m.launch("void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel", 9000)
        m.launch(SUMS, zeros // 6)
        for _ in range(10 if bad else 0):
            m.launch(SGD, int(zeros * update / 10))
    return body


CONVOLUTION = {"Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"],
               "Input type": ["c10::Half", "c10::Half", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"]}
NORM = {"Concrete Inputs": ["", "", "", "", "", "", "", "True", "1e-05", "[True, True, True]"],
        "Input type": ["c10::Half", "c10::Half", "c10::Half"] + ["float"] * 4 + ["Scalar", "Scalar", "ScalarList"]}


def planes(traced):
    """Convolutions that get copies of their planes with the channels last, and norms over planes; traced: inside operators
    whose work is known."""
    def make(rng):
        layers, once = rng.randint(5, 12), rng.randint(40, 120) * 1000
        slow, images = rng.uniform(1.5, 3), rng.randint(4, 16)
        data = [images, 128, 56, 56]

        def convolution(m, bad):
            if bad:
                m.launch("void cudnn::engines_precompiled::nchwToNhwcKernel<__half, __half, float>", 2 * once)
            m.launch("sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64", 5 * once)
            if bad:
                m.launch("void cudnn::engines_precompiled::nhwcToNchwKernel<__half, __half, float>", 2 * once)

        def norm(m, bad):
            if bad:
                m.launch("void at::native::batch_norm_backward_kernel<c10::Half, c10::Half, float>", 5 * once * slow)
            else:
                m.launch("void at::native::batch_norm_backward_elemt_channels_last_kernel<4>", 5 * once)

        def body(m, bad):
            for _ in range(layers):
                if not traced:
                    convolution(m, bad)
                    norm(m, bad)
                    continue
                m.inside("aten::convolution", lambda: convolution(m, bad),
                         **{"Input Dims": [data, [128, 128, 3, 3]] + [[]] * 7}, **CONVOLUTION)
                m.inside("aten::native_batch_norm_backward", lambda: norm(m, bad),
                         **{"Input Dims": [data, data, [128], [128], [128], [128], [128], [], [], []]}, **NORM)
        return body
    return make


def launch_blocking(rng):
    """Launches that wait for their kernel, in a loop whose host is not far ahead."""
    p = {"layers": rng.randint(15, 40), "kernel": rng.randint(40, 120) * 1000}
    python = rng.randint(5, 30) * 1000

    def body(m, bad):
        m.blocking = bad
        for _ in range(p["layers"]):
            m.now += python
            m.op("mm", p["kernel"])
    return body


NOT_EQUAL = ELEMENTWISE.format("at::native::BinaryFunctor<float, float, bool, at::native::CompareEqFunctor<float>>")
ANY = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<bool, at::native::func_wrapper_t<bool, at::native::or_kernel_cuda>>>"


def anomaly_mode(rng):
    """Operators that keep a stack, gradients that are looked at for NaN."""
    p = {"layers": rng.randint(20, 60), "kernel": rng.randint(5, 15) * 1000}
    stack = rng.randint(50, 200) * 1000

    def body(m, bad):
        for i in range(p["layers"]):
            if bad:
                m.python("torch/fx/traceback.py(220): format_stack", stack)
            m.op("mm", p["kernel"])
        for i in range(p["layers"]):
            m.op("mm", 2 * p["kernel"])
            if bad:
                m.inside("aten::isnan", lambda: m.launch(NOT_EQUAL, 2000))
                m.inside("aten::_is_any_true", lambda: m.launch(ANY, 3000))
                m.inside("aten::item", lambda: m.copy(1, to="DtoH", wait=True))
    return body


# ---- traces without stacks: lengths, and the work beside them, tell
def unseen_sleep(rng):
    """A timer is asked for a round time and ends a little later."""
    p, dur = usual(rng), rng.randint(4, 20) * 1e6

    def body(m, bad):
        m.unseen(dur + m.rng.uniform(80e3, 180e3) if bad else 2000)
        model(m, p)
        m.sync()
    return body


def unseen_pace(rng):
    """A limiter lets a step begin at even times; steps take more or less of them."""
    p = usual(rng)
    pace = (int(p["layers"] * p["kernel"] * rng.uniform(1.5, 3) / 1e6) + 2) * 1e6

    def body(m, bad):
        if bad:
            m.unseen(max(0, START_OF_RUN + (len(m.ends) + 1) * pace + m.rng.uniform(20e3, 90e3) - m.now))
        m.copy(1 << 20)
        model(m, {**p, "kernel": int(p["kernel"] * m.rng.uniform(0.6, 1.4))})
        m.sync()
        m.unseen(2000)
    return body


def unseen_decision(rng):
    """Python that takes the same time each step: scores are read back, what was chosen is sent."""
    p, dur = usual(rng), (rng.randint(2, 20) + rng.uniform(0.6, 0.8)) * 1e7

    def body(m, bad):
        model(m, p)
        m.copy(512 << 10, to="DtoH", pageable=True)
        m.unseen(dur * m.rng.uniform(1, 1.002) if bad else 2000)
        m.copy(32, pageable=True, wait=True)
    return body


def unseen_tokens(rng):
    """Text becomes numbers between two steps."""
    p = usual(rng)
    dur, size = p["layers"] * p["kernel"] * rng.uniform(0.5, 3), rng.randint(1, 32) << 10

    def body(m, bad):
        m.range("Optimizer.zero_grad#SGD.zero_grad", 3000)
        m.unseen(dur * m.rng.uniform(0.8, 1.3) if bad else 2000)
        m.copy(size)
        model(m, p)
        m.sync()
    return body


def unseen_log(rng):
    """Nothing tells what is done there, but it takes more than anything that is known."""
    p = usual(rng)
    dur, op = p["layers"] * p["kernel"] * rng.uniform(1.5, 3), p["layers"] * p["kernel"] * 0.3

    def body(m, bad):
        m.unseen(dur * m.rng.uniform(0.8, 1.3) if bad else 2000)
        m.row("cpu_op", "aten::stack", m.now, int(op))
        m.now += int(op)
        model(m, p)
        m.sync()
    return body


def unseen_input(rng):
    p = usual(rng)
    dur, size = p["layers"] * p["kernel"] * rng.uniform(0.5, 3), rng.randint(1, 64) << 20

    def body(m, bad):
        m.unseen(dur * m.rng.uniform(0.8, 1.3) if bad else 2000)
        m.copy(size)
        model(m, p)
        m.sync()
    return body


def unseen_checkpoint(rng):
    p = usual(rng)
    dur, tensors = p["layers"] * p["kernel"] * rng.uniform(0.5, 3), rng.randint(8, 40)

    def body(m, bad):
        m.unseen(2000)
        model(m, p)
        m.sync()
        for _ in range(tensors if bad else 0):
            m.copy(m.rng.randint(1, 400) << 10, to="DtoH", pageable=True)
        m.unseen(dur * m.rng.uniform(0.8, 1.3) if bad else 2000)
    return body


def unseen_gil(rng):
    p, chance = usual(rng), rng.uniform(0.3, 0.8)

    def body(m, bad):
        m.unseen(2000)
        for i in range(p["layers"]):
            m.op(("mm", "gelu", "add")[i % 3], p["kernel"])
            m.unseen(m.rng.choice((1, 1, 1, 2, 3)) * m.rng.uniform(5.05e6, 5.3e6) if bad and m.rng.random() < chance else 1000)
        m.sync()
    return body


def run_alone(body, seed, bad):
    m = Machine(random.Random(seed))
    for i in range(STEPS):
        m.step(i, lambda m: body(m, bad))
    return m.period(), {"trace.json": m.trace()}


def late_rank(rng):
    p = usual(rng)
    late = int(p["layers"] * p["kernel"] * 0.63 * rng.uniform(0.3, 2))
    size = 4 * rng.randint(1 << 18, 1 << 20)

    def run(seed, bad):
        ranks = [Machine(random.Random(seed + r), rank=r, world=2) for r in range(2)]
        arrived = [None, None]

        def body(rank):
            def steps(m):
                if bad and rank == 1:
                    m.python("train.py(12): augment", late)
                model(m, p)
                arrived[rank] = m.arrive("AllReduce", size)
            return steps
        for i in range(STEPS):
            for r, m in enumerate(ranks):
                m.step(i, body(r))
            end = max(a[0] for a in arrived) + size // 100
            for m, a in zip(ranks, arrived):
                m.reduce(a, end)
                m.ends[-1] = end
                m.sync()
        return ranks[0].period(), {f"rank{r}.json": m.trace() for r, m in enumerate(ranks)}
    return run


# class -> how it is made, the causes that name it, what must stand in the finding
CLASSES = {
    "loader": (loader, ["host_data"], "DataLoader"),
    "hidden_loader": (hidden_loader, ["host_data"], "DataLoader"),
    "implicit_sync": (implicit_sync, ["host_sync"], "Synchronize|MemcpyAsync"),
    "host_tensors": (host_tensors(False), ["host_op"], "compute on the host"),
    "pinning": (host_tensors(True), ["host_op"], "memory is pinned anew"),
    "read_loop": (read_loop, ["host_sync"], "aten::item"),
    "timers": (timers, ["host_sync"], "only wait"),
    "dense_read": (dense_read, ["host_sync"], "aten::is_nonzero"),
    "pageable_copy": (pageable_copy, ["exposed_copy"], "Pageable"),
    "copy_awaited": (copy_awaited, ["exposed_copy"], "no work runs beside them"),
    "small_copies": (small_copies, ["small_copies", "host_sync", "exposed_copy"], "Memcpy|Synchronize"),
    "columns": (columns(True), ["small_copies"], "one copy for all"),
    "pinned_columns": (columns(False), ["small_copies"], "one copy for all"),
    "allocation": (allocation, ["allocation"], "cudaFree|cudaMalloc"),
    "python_compute": (python_code("edit_distance"), ["host_python"], "edit_distance"),
    "rate_limit": (python_code("acquire", "<built-in function sleep>"), ["host_sleep", "host_python"], "acquire"),
    "file_output": (python_code("checkpoint", "<built-in method write of _io.BufferedWriter object at 0x7f>"),
                    ["host_io", "host_python"], "checkpoint"),
    "lock": (python_code("flush_log", "<built-in method acquire of _thread.lock object at 0x7f>"), ["host_lock", "host_python"],
             "flush_log"),
    "loader_workers": (frames(*LOADER), ["host_data"], "more loader workers"),
    "spawned_process": (frames(*PROCESS), ["host_python"], "edit_distance.*move Python work out of the step"),
    "download": (frames(*DOWNLOAD), ["host_io"], "fetch.*fetch ahead"),
    "image_processor": (frames(*IMAGES), ["host_python", "host_data"], "prepare.*loader workers"),
    "host_optimizer": (host_optimizer, ["host_op"], "_fused_adam_.*compute on the host"),
    "slow_launches": (slow_launches, ["host_op", "launch_call"], "one short kernel at a time"),
    "compile_in_loop": (compile_in_loop, ["host_compile"], "compile"),
    "serial_streams": (serial_streams(True), ["serial_streams"], "StreamWaitEvent"),
    "unseen_waits": (serial_streams(False), ["serial_streams"], "is not recorded"),
    "contention": (contention, ["contention", "other_process"], "process"),
    "unfused_chain": (unfused_chain, ["unfused_chain"], "elementwise|reduce|Memcpy DtoD"),
    "upcasts": (upcasts, ["cast_storm"], "one type to another"),
    "grown_cache": (grown_cache, ["joined_data"], "CatArrayBatchedCopy"),
    "dense_table": (dense_table, ["dense_gradient"], "gather_kernel"),
    "planes": (planes(False), ["layout_copies"], "nchwToNhwc|nhwcToNchw|batch_norm"),
    "planes_of_operators": (planes(True), ["layout_copies"], "nchwToNhwc|nhwcToNchw|batch_norm"),
    "launch_blocking": (launch_blocking, ["debug_mode"], "LAUNCH_BLOCKING"),
    "anomaly_mode": (anomaly_mode, ["debug_mode"], "anomaly"),
    "unseen_sleep": (unseen_sleep, ["host_sleep"], "a timer ends"),
    "unseen_pace": (unseen_pace, ["host_sleep"], "keeps a pace"),
    "unseen_decision": (unseen_decision, ["host_python"], "the program decides"),
    "unseen_tokens": (unseen_tokens, ["host_data"], "copied to the device"),
    "unseen_log": (unseen_log, ["host_untraced"], "and aten::stack"),
    "unseen_input": (unseen_input, ["host_data"], "copied to the device"),
    "unseen_checkpoint": (unseen_checkpoint, ["host_io"], "checkpoint"),
    "unseen_gil": (unseen_gil, ["host_gil"], "Python makes a thread"),
    "late_rank": (late_rank, ["straggler", "late_rank"], '"rank": 1'),
}


def report(files, directory):
    for name, text in files.items():
        (directory / name).write_text(text)
    code, out, err = tap.run("report", "--json", *[directory / f for f in files])
    return json.loads(out) if code == 0 else {"findings": [], "error": err}


def check(name, seed):
    make, causes, place = CLASSES[name]
    rng = random.Random(f"{name} {seed}")
    made = make(rng)
    run = made if name == "late_rank" else lambda s, bad: run_alone(made, s, bad)
    bad_ns, bad_files = run(seed, True)
    good_ns, good_files = run(seed, False)
    with tempfile.TemporaryDirectory() as d:
        bad, good = report(bad_files, pathlib.Path(d)), report(good_files, pathlib.Path(d))
    tap.ok(f"diagnose {name} {seed}: no report contradicts itself",
           not any("contradicts itself" in json.dumps(r) for r in (bad, good)), [r.get("warnings") for r in (bad, good)])
    first = (bad["findings"] or [{}])[0]
    worth = first.get("worth") or {}
    saved = (worth.get("now_ns") or 0) - (worth.get("after_ns") or 0)
    if not first.get("steady"):
        saved = saved / STEPS
    off = abs(saved - (bad_ns - good_ns))
    told = f"bad {bad_ns:.0f}, good {good_ns:.0f}, saved {saved:.0f}, first {json.dumps(first)[:700]} {bad.get('error', '')}"
    tap.ok(f"diagnose {name} {seed}: the first finding names it", first.get("cause") in causes
           and re.search(place, json.dumps(first)) is not None, told)
    if worth.get("after_most_ns"):
        least, most = (worth["now_ns"] - worth[k] for k in ("after_most_ns", "after_least_ns"))
        tap.ok(f"diagnose {name} {seed}: its worth is within the bounds told",
               0.95 * least <= bad_ns - good_ns <= 1.05 * most, told)
    tap.ok(f"diagnose {name} {seed}: its worth", off <= max(0.15 * (bad_ns - good_ns), 0.05 * bad_ns), told)
    again = [f for f in good["findings"] if f["cause"] in causes and (f["cost_ns"] or 0) > 0.05 * good_ns
             and re.search(place, json.dumps(f))]
    tap.ok(f"diagnose {name} {seed}: nothing of it without the flaw", not again and good["findings"], again)


def check_evaluation(inside, seed):
    """Epochs with an evaluation behind them: the steady step is that of training."""
    rng = random.Random(f"evaluation {seed}")
    p, m = usual(rng), Machine(random.Random(seed))
    steps, rounds = [12, rng.randint(13, 20), rng.randint(21, 30), 10], rng.randint(3, 6)
    if seed % 2:
        steps = [rng.randint(8, 12)] * 5  # equal epochs: no update after some batches, which is part of the program
    lengths = []

    def evaluate(m):
        for _ in range(rounds):
            model(m, p)
        m.sync()

    def train(last):
        def body(m):
            model(m, p)
            m.sync()
            if inside and last:
                evaluate(m)
        return body
    for epoch in range(len(steps)):
        for i in range(steps[epoch]):
            before = m.now
            m.step(len(lengths), train(i == steps[epoch] - 1))
            lengths.append(m.now - before)
        if not inside:
            evaluate(m)
    with tempfile.TemporaryDirectory() as d:
        r = report({"trace.json": m.trace()}, pathlib.Path(d))
    told, true = r.get("steady_step") or {}, sorted(lengths)[len(lengths) // 2]
    name = f"evaluation {'in' if inside else 'between'} steps {seed}"
    tap.ok(f"diagnose {name}: the steady step is one of training", abs((told.get("ns") or 0) - true) < 0.03 * true, (told, true))
    tap.ok(f"diagnose {name}: what is left out is told", told.get("other_work_steps", 0) >= 2 and told["other_work_ns"] > true, told)


def check_slow_host(seed):
    """Behind a device that is busy a host that could hardly be faster, as it was recorded: shorter kernels help at least
    as much as the replay says, and at best as much as behind a fast host."""
    rng = random.Random(f"slow host {seed}")
    once, layers = rng.randint(40, 120) * 1000, rng.randint(20, 40)

    def bounds(host):
        m = Machine(random.Random(seed))

        def body(m):
            for _ in range(layers):
                for name, took in [("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", 4 * once), (MEAN, once // 2),
                                   *((ELEMENTWISE.format(name), once) for name in ("neg_kernel", "sqrt_kernel", "MulFunctor<float>"))]:
                    m.unseen(int(host * once))
                    m.launch(name, took)
        for i in range(STEPS):
            m.step(i, body)
        with tempfile.TemporaryDirectory() as d:
            found = report({"trace.json": m.trace()}, pathlib.Path(d))["findings"]
        return next(f["worth"] for f in found if f["cause"] == "unfused_chain")
    fast, slow = bounds(0.2), bounds(1.4)
    told = json.dumps([fast, slow])[:1500]
    tap.ok(f"diagnose slow host {seed}: the replay saves little", slow["now_ns"] - slow["after_ns"] < 0.5 * (fast["now_ns"] - fast["after_ns"]), told)
    tap.ok(f"diagnose slow host {seed}: at best what a fast host saves", abs(slow["after_least_ns"] - fast["after_least_ns"]) < 0.02 * fast["now_ns"], told)


for seed in range(ROUNDS if not sys.argv[1:] else 0):
    check_slow_host(seed)
    check_evaluation(True, seed)
    check_evaluation(False, seed)
for name in sys.argv[1:] or CLASSES:
    for seed in range(ROUNDS):
        check(name, seed)
tap.done()
