"""The loop needs a lock that another thread keeps while it writes its log."""
import threading
import time

import torch

import loop


def make(bad):
    guard = threading.Lock()
    settings = {"scale": 1.0}
    x = torch.randn(1024, 2048, device=loop.DEVICE, dtype=torch.bfloat16)
    train = loop.trainer(loop.mlp())

    def flush_log():
        time.sleep(0.012)

    def logger():
        while True:
            with guard:
                flush_log()
            time.sleep(0.0005)

    if bad:
        threading.Thread(target=logger, daemon=True).start()

    def step(i):
        with guard:
            scale = settings["scale"]
        train(x * scale)
    return step


loop.run(make)
