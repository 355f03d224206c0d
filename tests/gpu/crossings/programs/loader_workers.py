"""Worker processes that are forked while CUDA is up and never touch it."""

import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    total = torch.zeros((), device="cuda")
    data = TensorDataset(torch.ones(1024, 256))
    for (batch,) in DataLoader(data, batch_size=256, num_workers=2):
        total += batch.to("cuda").sum()  # <- T1
    print(total.item())  # <- T2


if __name__ == "__main__":
    main()

# expect T1: h2d count=4 bytes=1048576 kinds=pageable->device op=aten::to blocked=4
# expect T2: d2h count=1 bytes=4 kinds=device->pinned op=aten::item blocked=1
