"""The ways to wait for the GPU, none of which moves anything."""

import torch

x = torch.ones(1000, device="cuda")
stream = torch.cuda.Stream()
event = torch.cuda.Event()
torch.cuda.synchronize()  # <- S1
with torch.cuda.stream(stream):
    x.mul_(2)
    event.record()
event.synchronize()  # <- S2
stream.synchronize()  # <- S3
torch.cuda.current_stream().synchronize()  # <- S4
for _ in range(5):
    torch.cuda.synchronize()  # <- S5

# expect nothing
# expect S1: sync count=1 api=cudaDeviceSynchronize function=<module>
# expect S2: sync count=1 api=cudaEventSynchronize
# expect S3: sync count=1 api=cudaStreamSynchronize
# expect S4: sync count=1 api=cudaStreamSynchronize
# expect S5: sync count=5 api=cudaDeviceSynchronize
