"""Every step has another shape, so the model is compiled again and again."""
import torch

import loop


def make(bad):
    torch._dynamo.config.cache_size_limit = 1000
    if hasattr(torch._dynamo.config, "recompile_limit"):
        torch._dynamo.config.recompile_limit = 1000
    model = loop.mlp(width=1024, depth=6)
    compiled = torch.compile(model, backend="aot_eager", dynamic=False)

    @torch.no_grad()
    def step(i):
        rows = 1024 + 8 * i if bad else 1024
        return compiled(torch.randn(rows, 1024, device=loop.DEVICE, dtype=torch.bfloat16))
    return step


loop.run(make, steps=20)
