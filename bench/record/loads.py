"""Loops to record: each is a function that makes a step. A step is one unit of work; whoever measures waits for the
GPU at the end of a block of them."""
import threading

import torch
import torch.nn as nn


def launch_bound():
    """About 270 launches a step, hardly any GPU work; a copy stream and two events that are used again."""
    torch.manual_seed(0)
    width, layers = 256, 24
    net = nn.Sequential(*[nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()) for _ in range(layers)]).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    copies, ready, used = torch.cuda.Stream(), torch.cuda.Event(), torch.cuda.Event()
    host, batch = torch.randn(64, width).pin_memory(), torch.empty(64, width, device="cuda")

    def step():
        copies.wait_event(used)
        with torch.cuda.stream(copies):
            batch.copy_(host, non_blocking=True)
            ready.record(copies)
        torch.cuda.current_stream().wait_event(ready)
        loss = net(batch).pow(2).mean()
        used.record()
        loss.backward()
        opt.step()
        opt.zero_grad()
    return step


def generate():
    """A Llama of 12 layers with random weights, batch 4, four tokens a step: no download."""
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=8192, hidden_size=512, intermediate_size=1408, num_hidden_layers=12, num_attention_heads=8,
                         num_key_value_heads=8, max_position_embeddings=512)
    net = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
    prompt = torch.randint(1, 8000, (4, 16), device="cuda")
    mask = torch.ones_like(prompt)

    def step():
        net.generate(prompt, attention_mask=mask, max_new_tokens=4, min_new_tokens=4, do_sample=False, pad_token_id=0, eos_token_id=8191)
    return step


def graph():
    """One launch of a graph of 50 kernels, ten times a step."""
    x, graph = torch.zeros(4096, device="cuda"), torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        x.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(50):
            x.add_(1)

    def step():
        for _ in range(10):
            graph.replay()
    return step


def server():
    """Eight threads with a stream each; a step is one request of 20 small kernels and a copy back on every thread."""
    threads = 8
    gate, done = threading.Barrier(threads + 1), threading.Barrier(threads + 1)

    def serve():
        stream, x = torch.cuda.Stream(), torch.randn(128, 128, device="cuda")
        out = torch.empty(128, 128).pin_memory()
        while True:
            gate.wait()
            with torch.cuda.stream(stream):
                y = x
                for _ in range(10):
                    y = torch.tanh(y @ x)
                out.copy_(y, non_blocking=True)
                stream.synchronize()
            done.wait()

    for _ in range(threads):
        threading.Thread(target=serve, daemon=True).start()

    def step():
        gate.wait()
        done.wait()
    return step


def small_copies():
    """200 copies of 4 kB a step, from pinned memory."""
    host, device = torch.empty(1024).pin_memory(), torch.empty(1024, device="cuda")

    def step():
        for _ in range(200):
            device.copy_(host, non_blocking=True)
    return step


def read_back():
    """An encoder of which a value is read back 48 times a step, between about 450 launches."""
    torch.manual_seed(0)
    width, layers, asked = 256, 12, 4
    norms = [nn.LayerNorm(width).cuda() for _ in range(layers)]
    lines = [[nn.Linear(width, width).cuda() for _ in range(asked)] for _ in range(layers)]
    x = torch.randn(64, width, device="cuda")

    @torch.no_grad()
    def step():
        y = x
        for norm, some in zip(norms, lines):
            y = norm(y)
            for line in some:
                z = torch.tanh(line(y)) * 0.5 + y
                worst = z.abs().mean().add(1).sqrt()
                y = z / max(1.0, worst.item())
    return step


def python_work():
    """About 15 ms of Python between 20 launches: texts into numbers, as a collator does it."""
    import re
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Linear(256, 256) for _ in range(20)]).cuda()
    texts = [" ".join(f"w{i * j % 997}," for j in range(40)) for i in range(64)]
    word, known = re.compile(r"\w+|[^\w\s]"), {}

    @torch.no_grad()
    def step():
        rows = []
        for text in texts * 4:
            ids = []
            for w in word.findall(text):
                ids.append(known.setdefault(w, len(known)))
            rows.append(ids[:64] + [0] * (64 - len(ids)))
        net(torch.tensor(rows[:256], dtype=torch.float32)[:, :1].expand(-1, 256).contiguous().cuda())
    return step


def gpu_bound():
    """About 15 ms of GPU work a step on an H200; the host is far ahead."""
    torch.manual_seed(0)
    width, heads, batch, length, layers = 2048, 16, 8, 1024, 3
    net = nn.Sequential(*[nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
                          for _ in range(layers)]).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x = torch.randn(batch, length, width, device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = net(x).float().pow(2).mean()
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


# name -> (maker, settings of the recorder for the process, most that recording with stacks and samples may cost)
LOADS = {
    "launch_bound": (launch_bound, "", 1.15),
    "generate": (generate, "", 1.12),
    "graph": (graph, "", None),
    "graph_whole": (graph, "no_nodes=1", None),
    "server": (server, "", 1.12),
    "small_copies": (small_copies, "", None),
    "read_back": (read_back, "", None),
    "python_work": (python_work, "", None),
    "gpu_bound": (gpu_bound, "", 1.01),
}
