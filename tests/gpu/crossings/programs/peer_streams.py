"""From one GPU to the other on side streams of both."""

import torch

x = torch.ones(16 << 20, device="cuda:0")
y = torch.empty(16 << 20, device="cuda:1")
streams = [torch.cuda.Stream(device) for device in range(2)]
torch.cuda.synchronize(0)
with torch.cuda.stream(streams[0]), torch.cuda.stream(streams[1]):
    for _ in range(4):
        y.copy_(x, non_blocking=True)  # <- T1
streams[1].synchronize()  # <- S1

# suite: gpus=2
# expect T1: p2p count=4 bytes=268435456 kinds=device->device op=aten::copy_ blocked=0
# expect S1: sync count=1 api=cudaStreamSynchronize
