"""Tensor.cuda, blocking from pageable and not blocking from pinned memory."""

import torch

pageable = torch.ones(1000)
pinned = torch.ones(16 << 20).pin_memory()


def upload():
    a = pageable.cuda()  # <- T1
    b = pinned.cuda(non_blocking=True)  # <- T2
    return a, b


upload()
torch.cuda.synchronize()  # <- S1

# expect T1: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1 function=upload
# expect T2: h2d count=1 bytes=67108864 kinds=pinned->device op=aten::to blocked=0 function=upload
# expect S1: sync count=1 api=cudaDeviceSynchronize
