"""Uploads from page-locked memory run on the stream that computes, so the GPU computes nothing while data crosses.

Says: a side stream would hide these copies behind compute.
Silent: a side stream brings the next batch while this one is computed.
"""

import torch

WIDTH = 2048


def inputs(device):
    batches = [torch.randn(WIDTH, WIDTH).pin_memory() for _ in range(2)]
    return batches, torch.randn(WIDTH, WIDTH, device=device)


def positive(device):
    batches, weights = inputs(device)

    def step(i):
        x = batches[i % 2].to(device, non_blocking=True)  # <- site
        x.mm(weights)

    return step


def near(device):
    batches, weights = inputs(device)
    compute, side = torch.cuda.current_stream(), torch.cuda.Stream()
    slots = [torch.empty(WIDTH, WIDTH, device=device) for _ in range(2)]
    arrived = [torch.cuda.Event() for _ in range(2)]
    used = [torch.cuda.Event() for _ in range(2)]

    def upload(slot):
        side.wait_event(used[slot])
        with torch.cuda.stream(side):
            slots[slot].copy_(batches[slot], non_blocking=True)
        arrived[slot].record(side)

    def step(i):
        compute.wait_event(arrived[i % 2])
        slots[i % 2].mm(weights)
        used[i % 2].record(compute)
        upload((i + 1) % 2)

    side.wait_stream(compute)  # the slots may lie in memory that earlier work still uses
    upload(0)
    return step
