"""The batch goes up on the stream that computes, so computing waits for it. Fixed: a side stream brings the next batch
while this one is computed; two slots, each with an event of the consumer that the side stream waits for.
"""

import torch

EDITS = ["prefetch@{line}"]
WIDTH = 4096
DRY_RUN = {"WIDTH": 64}


def inputs(device):
    torch.manual_seed(0)
    batches = [torch.randn(WIDTH, WIDTH).pin_memory() for _ in range(4)]
    weights = torch.randn(WIDTH, WIDTH // 2, device=device) / WIDTH**0.5
    return batches, weights, torch.zeros((), device=device)


def as_is(device):
    batches, weights, total = inputs(device)

    def step(i):
        x = batches[i % len(batches)].to(device, non_blocking=True)  # <- edit
        total.add_((x @ weights).abs().mean())

    return step, lambda: total


def fixed(device):
    batches, weights, total = inputs(device)
    compute, side = torch.cuda.current_stream(), torch.cuda.Stream()
    slots = [torch.empty(WIDTH, WIDTH, device=device) for _ in range(2)]
    arrived = [torch.cuda.Event() for _ in range(2)]
    used = [torch.cuda.Event() for _ in range(2)]

    def upload(i):
        side.wait_event(used[i % 2])
        with torch.cuda.stream(side):
            slots[i % 2].copy_(batches[i % len(batches)], non_blocking=True)
        arrived[i % 2].record(side)

    def step(i):
        compute.wait_event(arrived[i % 2])
        total.add_((slots[i % 2] @ weights).abs().mean())
        used[i % 2].record(compute)
        upload(i + 1)

    side.wait_stream(compute)  # the slots may lie in memory that earlier work still uses
    upload(0)
    return step, lambda: total
