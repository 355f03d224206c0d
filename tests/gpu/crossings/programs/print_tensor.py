"""print of a tensor of three numbers: PyTorch looks at it on the GPU and fetches a dozen single values."""

import torch

x = torch.full((3,), 1.5, device="cuda")
print(x)  # <- T1

# masked_select asks how many values are finite; four decisions about the format, and one more for each value when it is
# written, are bools; each value is formatted once for its width; the values themselves come as a list.
# expect T1: d2h count=1 bytes=4 kinds=device->pinned op=aten::masked_select blocked=1
# expect T1: d2h count=7 bytes=7 kinds=device->pinned op=aten::is_nonzero blocked=7
# expect T1: d2h count=3 bytes=12 kinds=device->pinned op=aten::item blocked=3
# expect T1: d2h count=1 bytes=12 kinds=device->pageable op=aten::to blocked=1
