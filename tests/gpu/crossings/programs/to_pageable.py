"""Tensor.to of ordinary, pageable memory: staged by the driver, and PyTorch waits for it."""

import torch

x = torch.arange(1000, dtype=torch.float32)
y = x.to("cuda")  # <- T1
z = x.to(torch.device("cuda", 0))  # <- T2
print(y.shape, z.shape)

# expect T1: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to api=cudaMemcpyAsync blocked=1 function=<module>
# expect T1: sync count=1 api=cudaStreamSynchronize
# expect T2: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1
