"""Copies captured in a CUDA graph: each replay makes them again, and they belong to the lines that captured them."""

import torch

source = torch.ones(1000).pin_memory()
target = torch.zeros(1000).pin_memory()
a = torch.zeros(1000, device="cuda")
b = torch.zeros(1000, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    a.copy_(source, non_blocking=True)  # <- T1
    b.copy_(a)  # <- T2
    target.copy_(b, non_blocking=True)  # <- T3
for _ in range(3):
    graph.replay()
torch.cuda.synchronize()
print(target.sum().item())

# expect T1: h2d count=3 bytes=12000 kinds=pinned->device graph=yes blocked=0
# expect T2: d2d count=3 bytes=12000 kinds=device->device graph=yes blocked=0
# expect T3: d2h count=3 bytes=12000 kinds=device->pinned graph=yes blocked=0
