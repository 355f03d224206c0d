"""A DataLoader with workers and a pinning thread: the batches arrive in pinned memory, the loop uploads them."""

import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    data = TensorDataset(torch.ones(4096, 1024), torch.arange(4096))
    for images, labels in DataLoader(data, batch_size=1024, num_workers=2, pin_memory=True):
        images = images.to("cuda", non_blocking=True)  # <- T1
        labels = labels.to("cuda", non_blocking=True)  # <- T2
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()

# expect T1: h2d count=4 bytes=16777216 kinds=pinned->device op=aten::to function=main
# expect T2: h2d count=4 bytes=32768 kinds=pinned->device op=aten::to function=main
