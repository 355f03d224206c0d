"""torch.save of a GPU tensor copies its storage down; torch.load with map_location copies it up."""

import io

import torch

x = torch.ones(1000, device="cuda")
file = io.BytesIO()
torch.save(x, file)  # <- T1
file.seek(0)
y = torch.load(file, map_location="cuda")  # <- T2
print(y.shape)

# expect T1: d2h count=1 bytes=4000 kinds=device->pageable op=aten::copy_ blocked=1
# expect T2: h2d count=1 bytes=4000 kinds=pageable->device op=aten::copy_ blocked=1
