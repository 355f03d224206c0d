"""What save_on_cpu uploads again in the backward pass leads to the line of the forward pass that saved it.

The guard sees one call, and no forward pass: it raises in the hook of save_on_cpu.
"""

import torch

x = torch.ones(1000, device="cuda", requires_grad=True)
with torch.autograd.graph.save_on_cpu(pin_memory=True):
    y = x.sin()  # <- SAVED
y.sum().backward()
print(x.grad.sum().item())  # <- READ

# expect SAVED: d2h count=1 bytes=4000 kinds=device->pinned
# expect native: h2d count=1 bytes=4000 kinds=pinned->device forward=SAVED phase=backward guard=graph.py:unpack_from_cpu
# expect READ: d2h count=1 bytes=4 kinds=device->pinned op=aten::item
