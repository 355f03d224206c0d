"""Thirty-two tensors of 4 KiB go up one by one in each step.

Says: pack them into one.
Silent: two, the batch and its targets, as everybody does.
"""

import torch


def upload(device, count):
    total = torch.zeros(1024, device=device)

    def step(i):
        for number in range(count):
            part = torch.full((1024,), float(i * count + number))
            total.add_(part.to(device))  # <- site

    return step


def positive(device):
    return upload(device, 32)


def near(device):
    return upload(device, 2)
