"""Tensor.zero_ is a kernel; cudaMemset on the same memory is a memset."""

import _cuda
import torch

cuda = _cuda.runtime()
x = torch.zeros(1024, device="cuda")
x.zero_()
cuda.cudaMemset(x.data_ptr(), 0, 4096)  # <- T1

# expect T1: memset count=1 bytes=4096 op=none api=cudaMemset
