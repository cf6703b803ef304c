"""A thread prepares batches too slowly for the loop that takes them from a queue."""
import queue
import threading
import zlib

import torch

import loop


def make(bad):
    ready = queue.Queue(maxsize=4)
    blob = bytes(range(256)) * 8192

    def unpack(packed):
        return zlib.decompress(packed)

    def produce():
        packed = zlib.compress(blob, 1)
        batch = torch.ones(1024, 2048).pin_memory()
        while True:
            for _ in range(10 if bad else 0):
                unpack(packed)
            ready.put(batch)
    threading.Thread(target=produce, daemon=True).start()
    train = loop.trainer(loop.mlp())

    def step(i):
        x = ready.get()
        train(x.to(loop.DEVICE, torch.bfloat16, non_blocking=True))
    return step


loop.run(make)
