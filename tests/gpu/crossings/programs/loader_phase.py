"""A dataset that puts its samples on the GPU itself: a transfer of the loader, not of the step."""

import torch
from torch.utils.data import DataLoader, Dataset


class OnGpu(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((100,), float(index)).to("cuda")  # <- T1


for batch in DataLoader(OnGpu(), batch_size=4):
    print(batch.shape)

# Batches are put together by torch.stack, on the GPU.
# expect T1: h2d count=8 bytes=3200 kinds=pageable->device op=aten::to blocked=8 function=OnGpu.__getitem__ phase=loader
