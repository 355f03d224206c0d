"""Copy in, multiply, copy out, one after the other on one stream: the GPU rests while data crosses, and the link rests
while it multiplies. Fixed: three streams in turn, so that the three parts of neighbouring steps run at once.
"""

import torch

EDITS = ["prefetch@{up}", "side_streams@{down}"]
WIDTH = 4096
SLOTS = 3
DRY_RUN = {"WIDTH": 64}


def inputs(device):
    torch.manual_seed(0)
    sources = [torch.randn(WIDTH, WIDTH).pin_memory() for _ in range(SLOTS + 1)]
    results = [torch.zeros(WIDTH, WIDTH).pin_memory() for _ in range(SLOTS)]
    weights = torch.randn(WIDTH, WIDTH, device=device) / WIDTH**0.5
    torch.cuda.synchronize()
    return sources, results, weights


def read(results):
    torch.cuda.synchronize()
    return torch.stack([result.double().abs().sum() for result in results])


def as_is(device):
    sources, results, weights = inputs(device)

    def step(i):
        x = sources[i % len(sources)].to(device, non_blocking=True)  # <- edit up
        results[i % SLOTS].copy_(x @ weights, non_blocking=True)  # <- edit down

    return step, lambda: read(results)


def fixed(device):
    sources, results, weights = inputs(device)
    streams = [torch.cuda.Stream() for _ in range(SLOTS)]

    def step(i):
        with torch.cuda.stream(streams[i % SLOTS]):
            x = sources[i % len(sources)].to(device, non_blocking=True)
            results[i % SLOTS].copy_(x @ weights, non_blocking=True)

    return step, lambda: read(results)
