"""GradScaler reads on every step whether a gradient was infinite."""

import torch

model = torch.nn.Linear(8, 8, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
x = torch.ones(4, 8, device="cuda")
for _ in range(3):
    optimizer.zero_grad()
    with torch.autocast("cuda"):
        loss = model(x).float().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # <- T1
    scaler.update()

# The scaler hands each device a copy of its inverse scale and of its flag, even when there is one device.
# expect T1: d2d count=6 bytes=24 kinds=device->device op=aten::to blocked=0 phase=optimizer
# expect T1: d2h count=3 bytes=12 kinds=device->pinned op=aten::item blocked=3 phase=optimizer
