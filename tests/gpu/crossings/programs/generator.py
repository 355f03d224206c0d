"""Transfers inside a generator: its own line, not that of the loop that drives it."""

import torch


def batches(count):
    for i in range(count):
        yield torch.full((100,), float(i)).to("cuda")  # <- T1


total = sum(batch.sum() for batch in batches(5))
print(total.item())  # <- T2

# expect T1: h2d count=5 bytes=2000 kinds=pageable->device op=aten::to blocked=5 function=batches
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1
