"""Batches come over a socket from a server that is slow."""
import os
import socket
import time

import torch

import loop

BYTES = 256 * 2048


def serve(listener, pause):
    peer, _ = listener.accept()
    data = bytes(BYTES)
    try:
        while True:
            peer.recv(1)
            time.sleep(pause)
            peer.sendall(data)
    except OSError:
        pass
    os._exit(0)


def make(bad):
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        serve(listener, 0.012 if bad else 0.0)
    peer = socket.create_connection(listener.getsockname())
    listener.close()
    buffer = bytearray(BYTES)

    def receive():
        peer.sendall(b"x")
        view, at = memoryview(buffer), 0
        while at < BYTES:
            at += peer.recv_into(view[at:])

    train = loop.trainer(loop.mlp(depth=4))

    def step(i):
        receive()
        x = torch.frombuffer(buffer, dtype=torch.uint8).view(256, 2048)
        train(x.to(loop.DEVICE).to(torch.bfloat16))
    return step


loop.run(make)
