"""Two ranks under torchrun: a file each; what NCCL sends is kernels, what the program uploads is its own."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))  # <- N1
x = torch.full((1000,), float(rank + 1)).to("cuda")  # <- T1
dist.all_reduce(x)  # <- N2
dist.broadcast(x, src=0)  # <- N3
if rank == 0:
    print(x[0].item())  # <- T2
torch.cuda.synchronize()
dist.destroy_process_group()  # <- N4

# NCCL copies tables of its own while it sets up its rings: how many is its business, so nothing counts this program.
# torchrun asks CUDA for its devices: a third process, which moves nothing.
# suite: gpus=2 processes=3 launch=torchrun count=none
# expect N1: any
# expect N2: any
# expect N3: any
# expect N4: any
# expect native: any
# expect T1: h2d count=2 bytes=8000 kinds=pageable->device op=aten::to blocked=2
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1
