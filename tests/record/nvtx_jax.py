"""Nested NVTX ranges and JAX's own annotations: assay record -- python3 tests/record/nvtx_jax.py [STEPS]
With ASSAY_JAX_PROFILE=DIR it also saves JAX's own profile there, in a second pass: two profilers at once would fight over
the vendor's library. The last line is JSON: the ranges and how often each was opened.
Then: python3 tests/record/scope_share.py RUN"""
import json
import os
import sys
import threading

import jax
import jax.numpy as jnp

import nvtx_api

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
plain, other = nvtx_api.Domain(), nvtx_api.Domain("assay test")
opened = {}


class Range:
    def __init__(self, name, domain=plain):
        self.name, self.domain = name, domain

    def __enter__(self):
        opened[self.name] = opened.get(self.name, 0) + 1
        self.domain.push(self.name)

    def __exit__(self, *_):
        self.domain.pop()


@jax.jit
def layer(x, w):
    with jax.named_scope("layer"):
        return jnp.tanh(x @ w)


@jax.jit
def loss(x, w):
    with jax.named_scope("loss"):
        return jnp.mean(jnp.square(x @ w))


def train(x, w, steps):
    for i in range(steps):
        with jax.profiler.StepTraceAnnotation("train", step_num=i), Range(f"step {i % 2}"):
            with Range("forward"), jax.profiler.TraceAnnotation("forward annotation"):
                with Range("layers"):
                    y = layer(layer(x, w), w)
                with Range("loss", other):
                    value = loss(y, w)
            with Range("wait"):
                value.block_until_ready()


def worker(x, w):
    for _ in range(STEPS):
        with Range("worker"):
            layer(x, w).block_until_ready()


key = jax.random.PRNGKey(0)
x, w = jax.random.normal(key, (1024, 1024)), jax.random.normal(key, (1024, 1024))
train(x, w, 2)  # compiles
opened.clear()
started = plain.start("whole run")
thread = threading.Thread(target=worker, args=(x, w))
thread.start()
train(x, w, STEPS)
thread.join()
plain.end(started)
layer(x, w).block_until_ready()  # outside all ranges
counts = dict(opened)
profile = os.environ.get("ASSAY_JAX_PROFILE")
if profile:
    with jax.profiler.trace(profile):
        train(x, w, STEPS)
print(json.dumps({"program": "jax", "jax": jax.__version__, "device": str(jax.devices()[0]), "nvtx_library": nvtx_api.there,
                  "steps": STEPS, "opened": counts, "started": ["whole run"], "profile": profile,
                  "nesting": {"step N": {"forward": {"layers": {}, "loss": {}}, "wait": {}}, "worker": {}}}), flush=True)
