"""A child forked before CUDA is up uses it; the parent never does."""

import os
import sys

import torch


def child():
    x = torch.ones(1000).to("cuda")  # <- T1
    print(x.sum().item())  # <- T2


pid = os.fork()
if pid == 0:
    child()
    sys.exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

# suite: count=truth
# expect T1: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1 function=child
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1 function=child
