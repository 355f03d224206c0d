"""A process that uses CUDA forks a child that does not: neither disturbs the other."""

import os

import torch

x = torch.ones(1000)
y = x.to("cuda")  # <- T1
pid = os.fork()
if pid == 0:
    os._exit(int(x.sum().item() != 1000))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(y.sum().item())  # <- T2

# expect T1: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1
