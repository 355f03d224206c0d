"""Code that stands in no file: compiled and executed under a name of its own."""

import torch

CODE = """
def upload(x):
    return x.to("cuda")
y = upload(x)
print(y.sum().item())
"""
exec(compile(CODE, "<generated>", "exec"), {"x": torch.ones(1000)})

# expect <generated>:3: h2d count=1 bytes=4000 kinds=pageable->device op=aten::to blocked=1 function=upload
# expect <generated>:5: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1
