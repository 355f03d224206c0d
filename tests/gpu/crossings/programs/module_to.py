"""Module.to: one upload for each parameter and buffer, at the line that asked for it."""

import torch

model = torch.nn.Sequential(torch.nn.Linear(10, 20), torch.nn.BatchNorm1d(20))
model.to("cuda")  # <- T1
state = {name: value.cpu() for name, value in model.state_dict().items()}  # <- T2
model.load_state_dict(state)  # <- T3

# expect T1: h2d count=7 bytes=1208 kinds=pageable->device op=aten::to blocked=7
# expect T2: d2h count=7 bytes=1208 kinds=device->pageable op=aten::to blocked=7
# expect T3: h2d count=7 bytes=1208 kinds=pageable->device op=aten::copy_ blocked=7
