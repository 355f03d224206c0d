"""clip_grad_norm_ stays on the GPU, unless it is to raise an error. Stacking a single gradient's norm copies it."""

import torch

weight = torch.nn.Parameter(torch.ones(100, device="cuda"))
weight.grad = torch.ones(100, device="cuda")
torch.nn.utils.clip_grad_norm_([weight], 1.0)  # <- T0
torch.nn.utils.clip_grad_norm_([weight], 1.0, error_if_nonfinite=True)  # <- T1

# expect T0: d2d count=1 bytes=4 op=aten::stack blocked=0 phase=optimizer
# expect T1: d2d count=1 bytes=4 op=aten::stack blocked=0 phase=optimizer
# expect T1: d2h count=1 bytes=1 kinds=device->pinned op=aten::is_nonzero blocked=1 phase=optimizer
