"""A spawned child and its parent, both with CUDA: a file each."""

import multiprocessing

import torch


def child():
    x = torch.ones(500).to("cuda")  # <- T1
    print(x.sum().item(), flush=True)  # <- T2


if __name__ == "__main__":
    y = torch.ones(1000).to("cuda")  # <- T3
    process = multiprocessing.get_context("spawn").Process(target=child)
    process.start()
    process.join()
    print(process.exitcode, y.sum().item())  # <- T4

# suite: count=truth processes=2
# expect T1: h2d count=1 bytes=2000 kinds=pageable->device op=aten::to blocked=1 function=child
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1 function=child
# expect T3: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1
# expect T4: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1
