"""Random training programs with one flaw among much else: operators of random length with Python between them, gradients on a
thread of their own, loader workers, logging now and then. Each flaw has the program that its cure would make of it, one for each
cure that a report may propose, so that what it promises can be held against what comes of it."""
import random

from machine import START_OF_RUN, Machine

STEPS = 12
KERNEL = "void at::native::{}_kernel<float>(float*)"
ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, {}, std::array<char*, 2ul>>"
POINTWISE = ["mul", "add", "sub", "div", "tanh", "exp", "sigmoid", "neg", "pow", "sqrt", "clamp", "where"]


class Program(Machine):
    """twin: what is done instead of the flaw; None: the flaw itself."""

    def __init__(self, seed, twin, world):
        super().__init__(random.Random(f"{seed} kernels"))
        self.stacks = False
        self.seed, self.twin, self.w = seed, twin, world
        self.tid, self.noise = 1, None
        self.ready = []  # when loader workers are free

    def period(self):
        """Of the steps behind the first ones, which find batches that were made before."""
        return (self.ends[-1] - self.ends[STEPS // 4 - 1]) / (len(self.ends) - STEPS // 4)

    def row(self, cat, name, ts, dur, tid=None, pid=1, **args):
        super().row(cat, name, ts, dur, tid=self.tid if tid is None else tid, pid=pid, **args)

    def part(self, *name):
        """What follows takes as long with and without the flaw."""
        self.noise = random.Random(f"{self.seed} {len(self.ends)} {name}")

    def takes(self, mean):
        return int(mean * self.noise.lognormvariate(-0.02, 0.2))

    def way(self, times=1):
        self.now += self.takes(self.w["way"] * times)

    def aten(self, name, kernel, symbol=None, behind=True):
        """An operator with one kernel, and Python to the next."""
        begin = self.now
        self.now += self.takes(self.w["before"])
        self.launch(symbol or KERNEL.format(name), kernel)
        self.now += self.takes(self.w["before"] / 2)
        self.row("cpu_op", f"aten::{name}", begin, self.now - begin)
        if behind:
            self.way()

    def pointwise(self, name, kernel):
        self.aten(name, kernel, ELEMENTWISE.format(f"at::native::{name.title()}Functor<float>"))

    def graph(self, kernels):
        """Kernels as one graph, launched at once."""
        begin = self.now
        self.corr += 1
        self.row("cuda_runtime", "cudaGraphLaunch", begin, 9000, correlation=self.corr)
        self.now += 9000
        ready = begin + 8000
        for name, dur in kernels:
            ready = self.work("kernel", name, int(dur), 7, ready, grid=[1024, 1, 1], block=[256, 1, 1])

    def read(self):
        """One value to the host."""
        begin = self.now
        self.now += self.takes(self.w["before"] / 2)
        inner = self.now
        self.now += 1500
        self.copy(4, to="DtoH", wait=True)
        self.row("cpu_op", "aten::_local_scalar_dense", inner, self.now - inner)
        self.row("cpu_op", "aten::item", begin, self.now - begin)
        self.way()

    # ---- what every program does
    def forward(self):
        for i in range(self.w["layers"]):
            self.part("forward", i)
            self.aten("mm", self.w["mm"], "nvjet_sm90_tst_128x128_64x4_1x2_h_bz_coopA_NNT")
            for name in self.w["between"]:
                self.pointwise(name, self.w["mm"] / 5)

    def backward(self):
        if not self.w["trains"]:
            return
        begin, self.tid = self.now, 2
        self.now += 15000
        for i in range(self.w["layers"]):
            self.part("backward", i)
            for _ in range(2):
                self.aten("mm", self.w["mm"], "nvjet_sm90_tst_128x128_64x4_1x2_h_bz_coopB_NTN", behind=False)
                self.now += 3000
            for name in self.w["between"]:
                self.pointwise(name, self.w["mm"] / 4)
        self.tid = 1
        self.now += 15000

    def update(self):
        if not self.w["trains"]:
            return
        self.part("update")
        begin = self.now
        for _ in range(self.w["lists"]):
            self.aten("_fused_adam_", self.w["mm"], "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<Adam>")
        self.row("user_annotation", "Optimizer.step#AdamW.step", begin, self.now - begin)

    def log(self):
        self.part("log")
        if self.w["log"] and len(self.ends) % self.w["log"] == 0:
            self.read()
        self.way(3)

    def usual(self):
        self.forward()
        self.backward()
        self.update()
        self.log()


def world(rng, host_bound=None):
    """host_bound: kernels are short beside what the host needs for one."""
    before, way = rng.uniform(3e3, 9e3), rng.uniform(1e3, 12e3)
    pace = 1.5 * before + way + 4000
    ratio = rng.uniform(0.15, 0.6) if host_bound else rng.uniform(1.3, 5) if host_bound is False else rng.uniform(0.2, 4)
    return {"before": before, "way": way, "layers": rng.randint(6, 24), "mm": max(2000, pace * ratio * rng.uniform(1, 2)),
            "between": rng.sample(POINTWISE, rng.randint(0, 2)), "trains": rng.random() < 0.7, "lists": rng.randint(1, 4),
            "log": rng.choice((0, 1, 5))}


# ---- flaws: make(rng) -> world, body(m), twins; a twin belongs to the causes it is named by
def chains(rng):
    """A chain of short elementwise kernels in each layer: compiled it is one kernel, and the rest as before; or the whole step
    is one graph."""
    w = world(rng)
    chain, tiny = [rng.choice(POINTWISE) for _ in range(rng.randint(4, 10))], rng.uniform(1500, 5000)

    def body(m):
        if m.twin == "graph":
            m.part("graph")
            kernels = [("gemm", w["mm"] * 1.0)] + [(KERNEL.format(n), tiny) for n in chain]
            kernels += [(KERNEL.format(n), w["mm"] / 5) for n in w["between"]]
            kernels *= w["layers"]
            if w["trains"]:
                kernels += ([("gemm", w["mm"])] * 2 + [(KERNEL.format(n), w["mm"] / 4) for n in w["between"]]) * w["layers"]
                kernels += [("adam", w["mm"])] * w["lists"]
            m.graph(kernels)
            return m.log()
        for i in range(w["layers"]):
            m.part("layer", i)
            m.aten("mm", w["mm"], "nvjet_sm90_tst_128x128_64x4_1x2_h_bz_coopA_NNT")
            if m.twin == "fused":
                m.part("chain", i)
                m.aten("compiled", max([tiny] + [w["mm"] / 5] * len(w["between"])) * 1.1, "triton_poi_fused_add_mul_0")
            else:
                for name in w["between"]:
                    m.pointwise(name, w["mm"] / 5)
                m.part("chain", i)
                for name in chain:
                    m.pointwise(name, tiny)
        m.backward()
        m.update()
        m.log()
    return w, body, {"launch_bound": "graph", "host_op": "graph", "launch_call": "graph", "launch_latency": "graph",
                     "unfused_chain": "fused", "host_untraced": "graph"}


def tensors(rng):
    """After the update a function goes through all parameters: two short kernels each, or two for all of them."""
    w = world(rng)
    w["trains"] = True
    count, tiny, optimizer = rng.randint(60, 300), rng.uniform(1300, 4000), rng.random() < 0.5

    def body(m):
        m.forward()
        m.backward()
        if not optimizer:
            m.update()
        m.part("loop")
        begin = m.now
        if m.twin:
            for name in ("mul_", "lerp_"):
                m.aten(f"_foreach_{name}", max(6000, tiny * count / 8),
                       "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<Mul>")
        else:
            for _ in range(count):
                for name in ("mul_", "lerp_"):
                    m.pointwise(name, tiny)
        if optimizer:
            m.row("user_annotation", "Optimizer.step#Lamb.step", begin, m.now - begin)
        m.log()
    return w, body, {"launch_bound": "foreach", "host_op": "foreach", "optimizer_unfused": "foreach", "launch_call": "foreach",
                     "host_untraced": "foreach", "unfused_chain": "foreach", "launch_latency": "foreach"}


def workers(rng):
    """Too few loader processes; what the training thread does with a batch stays."""
    w = world(rng)
    few, many, ahead = rng.randint(1, 4), 16, 2
    step_now = (w["layers"] * (4 if w["trains"] else 1.5)) * max(w["mm"] * 1.2, 1.5 * w["before"] + w["way"] + 4000)
    load = step_now * few * rng.uniform(1.3, 4)
    own = step_now * rng.choice((0.02, rng.uniform(0.05, 0.5)))
    batch_bytes = int(step_now * rng.uniform(0.01, 0.15) * 5)
    pinned = rng.random() < 0.5
    waits = rng.random() < 0.5

    def body(m):
        n = many if m.twin else few
        m.part("load")
        number = len(m.ends)
        if not number:
            m.ready, m.done, m.asked = [START_OF_RUN] * n, {}, 0
        while m.asked < number + n * ahead:  # a batch is asked for when one is taken
            k = m.asked % n
            start = max(m.ready[k], START_OF_RUN if m.asked < n * ahead else m.now)
            noise = random.Random(f"{m.seed} batch {m.asked}")
            m.ready[k] = m.done[m.asked] = int(start + load * noise.lognormvariate(-0.01, 0.15))
            m.asked += 1
        begin = m.now
        m.now = max(m.now + 20000, m.done[number])
        m.now += m.takes(own)  # taken out of shared memory, put together
        m.row("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin, m.now - begin)
        m.way(4)
        m.copy(batch_bytes, pageable=not pinned)
        m.way(2)
        m.usual()
        if waits:
            m.read()
    return w, body, {"host_data": "many"}


def masks(rng):
    """Rows are picked by a mask in each layer, which asks the device how many; or all of them are computed."""
    w = world(rng)
    tiny = rng.uniform(1500, 5000)

    def body(m):
        for i in range(w["layers"]):
            m.part("layer", i)
            m.aten("mm", w["mm"], "nvjet_sm90_tst_128x128_64x4_1x2_h_bz_coopA_NNT")
            for name in w["between"]:
                m.pointwise(name, w["mm"] / 5)
            m.part("mask", i)
            m.pointwise("gt", tiny)
            if m.twin:
                m.pointwise("where", tiny * 2)
                continue
            begin = m.now
            m.now += 4000
            inner = m.now
            m.now += 3000
            for name in ("void at::cuda::cub::DeviceReduceKernel<int>", "void at_cuda_detail::cub::DeviceSelectSweepKernel<int>"):
                m.launch(name, 2500)
                m.now += 2000
            m.copy(8, to="DtoH", wait=True)
            m.launch("void at::native::write_indices<long>", 2000)
            m.now += 3000
            m.row("cpu_op", "aten::nonzero", inner, m.now - inner)
            m.now += 3000
            m.launch("void at::native::index_elementwise_kernel<128, 4, gpu_index_kernel>", tiny)
            m.now += 3000
            m.row("cpu_op", "aten::index", begin, m.now - begin)
            m.way()
        m.backward()
        m.update()
        m.log()
    return w, body, {"host_sync": "where", "launch_bound": None}


def suppress(rng):
    """Boxes are looked at one by one in Python, each against the others, and a value decides; or one kernel does all of it."""
    w = world(rng)
    boxes, ops, tiny = rng.randint(20, 150), rng.sample(POINTWISE, rng.randint(3, 7)), rng.uniform(1500, 4000)

    def body(m):
        m.forward()
        m.part("sort")
        m.aten("sort", 20000, "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<float>")
        if m.twin:
            m.aten("nms", 30000, "void vision::ops::nms_kernel_impl<float>")
            m.read()
        for i in range(0 if m.twin else boxes):
            m.part("box", i)
            m.way(3)
            for name in ops:
                m.pointwise(name, tiny)
            m.read()
        m.backward()
        m.update()
        m.log()
    return w, body, {"host_sync": "nms", "launch_bound": "nms"}


def values(rng):
    """A value of every layer is read and thrown away."""
    w = world(rng)

    def body(m):
        for i in range(w["layers"]):
            m.part("layer", i)
            m.aten("mm", w["mm"], "nvjet_sm90_tst_128x128_64x4_1x2_h_bz_coopA_NNT")
            for name in w["between"]:
                m.pointwise(name, w["mm"] / 5)
            m.part("read", i)
            if not m.twin:
                m.aten("mean", 3000, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, MeanOps>>")
                m.read()
        m.backward()
        m.update()
        m.log()
    return w, body, {"host_sync": "none"}


def inline_loader(rng):
    w = world(rng)
    step_now = (w["layers"] * (4 if w["trains"] else 1.5)) * max(w["mm"] * 1.2, 1.5 * w["before"] + w["way"] + 4000)
    load = step_now * rng.uniform(0.3, 3)
    waits = rng.random() < 0.5

    def body(m):
        m.part("load")
        begin = m.now
        m.now += m.takes(load) if not m.twin else 20000
        m.row("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, m.now - begin)
        m.copy(1 << 20)
        m.usual()
        if waits:
            m.read()
    return w, body, {"host_data": "elsewhere"}


def pieces(rng):
    """Copies between types around each product, of a host that may or may not be ahead."""
    w = world(rng)
    cast = rng.uniform(2000, 3 * w["mm"])
    to, back = (ELEMENTWISE.format(f"at::native::{x}_copy_kernel_cuda(at::TensorIteratorBase&)")
                for x in ("bfloat16tofloat32", "bfloat16"))

    def body(m):
        for i in range(w["layers"]):
            m.part("layer", i)
            if not m.twin:
                m.aten("to", cast, to)
            m.part("product", i)
            m.aten("mm", w["mm"], "nvjet_sm90_tst_128x128_64x4_1x2_h_bz_coopA_NNT")
            for name in w["between"]:
                m.pointwise(name, w["mm"] / 5)
            m.part("back", i)
            if not m.twin:
                m.aten("to", cast, back)
        m.backward()
        m.update()
        m.log()
    return w, body, {"cast_storm": "none"}


def captures(rng):
    """A graph is captured anew in every step, or launched again."""
    w = world(rng)
    kernels = [(KERNEL.format(rng.choice(POINTWISE)), rng.uniform(1500, 2 * w["mm"])) for _ in range(rng.randint(20, 120))]
    instantiate = rng.uniform(3e3, 12e3) * len(kernels)

    def body(m):
        m.part("capture")
        m.copy(1 << 18)
        if not m.twin:
            m.call("cudaStreamBeginCapture", 8000)
            for name, _ in kernels:
                begin = m.now
                m.now += m.takes(w["before"])
                m.call("cudaLaunchKernel", 3000)
                m.now += m.takes(w["before"] / 2)
                m.row("cpu_op", f"aten::{name[25:28]}", begin, m.now - begin)
                m.way()
            m.call("cudaStreamEndCapture", 20000)
            m.call("cudaGraphInstantiate", m.takes(instantiate))
        m.graph(kernels)
        m.log()
        if w["trains"]:
            m.forward()
    return w, body, {"graph_capture": "kept"}


def metrics(rng):
    """Each sample of a batch is scored by itself, and the score read; or all at once."""
    w = world(rng)
    samples, ops, tiny = rng.randint(24, 128), rng.sample(POINTWISE, rng.randint(1, 4)), rng.uniform(1500, 3000)

    def body(m):
        m.forward()
        m.part("scores")
        for i in range(1 if m.twin else samples):
            for name in ops:
                m.pointwise(name, max(tiny, tiny / 20 * samples if m.twin else 0))
            m.aten("sum", 3000, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, sum_functor>>")
            m.read()
            m.way()
        m.backward()
        m.update()
    return w, body, {"host_sync": "batched"}


def nonzeros(rng):
    """Rows are found by nonzero, then taken and put back; or all are computed."""
    w = world(rng)
    tiny = rng.uniform(1500, 6000)

    def body(m):
        for i in range(w["layers"]):
            m.part("layer", i)
            m.aten("mm", w["mm"], "nvjet_sm90_tst_128x128_64x4_1x2_h_bz_coopA_NNT")
            m.part("rows", i)
            m.pointwise("gt", tiny)
            if not m.twin:
                begin = m.now
                m.now += 4000
                m.launch("void at_cuda_detail::cub::DeviceReduceSingleTileKernel<int>", 2500)
                m.now += 2000
                m.copy(8, to="DtoH", wait=True)
                m.launch("void at_cuda_detail::cub::DeviceSelectSweepKernel<int>", 2500)
                m.now += 3000
                m.row("cpu_op", "aten::nonzero", begin, m.now - begin)
                m.way()
                m.aten("index_select", tiny / 2, "void at::native::vectorized_gather_kernel<16, long>")
            m.pointwise("tanh", tiny)
            if not m.twin:
                m.aten("index_copy_", tiny / 2, "void at::native::index_copy_kernel<float>")
        m.backward()
        m.update()
        m.log()
    return w, body, {"host_sync": "all"}


def produced(rng):
    """Batches come from a thread that others feed, by a queue, or are ready."""
    w = world(rng)
    step_now = (w["layers"] * (4 if w["trains"] else 1.5)) * max(w["mm"] * 1.2, 1.5 * w["before"] + w["way"] + 4000)
    wait, own = step_now * rng.uniform(0.3, 2), step_now * rng.uniform(0.01, 0.1)

    def body(m):
        m.part("queue")
        begin, slow = m.now, m.noise.random() < 0.6
        m.now += (m.takes(wait) if slow and not m.twin else 0) + m.takes(own)
        m.row("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin, m.now - begin)
        m.copy(1 << 20)
        m.usual()
        m.read()
    return w, body, {"host_data": "ready"}


FAMILIES = {f.__name__: f for f in (chains, tensors, workers, masks, suppress, values, inline_loader, pieces,
                                     captures, metrics, nonzeros, produced)}


def run(family, seed, twin):
    w, body, _ = FAMILIES[family](random.Random(f"{family} {seed}"))
    m = Program(f"{family} {seed}", twin, w)
    for i in range(STEPS if family not in ("workers", "produced") else 4 * STEPS):
        m.step(i, body)
    return m.period(), m.trace()


def twins(family, seed):
    return FAMILIES[family](random.Random(f"{family} {seed}"))[2]
