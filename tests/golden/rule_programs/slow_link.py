"""Copies of page-locked memory in rows of 64 bytes: the link moves a fraction of what it can.

Says: this copy reaches so much of the link's rate.
Silent: the same bytes in one piece.
"""

import os
import sys

import torch

NEEDS_CUDA = True
ROWS = 1 << 18
ROW_BYTES = 64


def upload(device, pitch_bytes):
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../gpu/crossings/programs"))
    import _cuda

    runtime = _cuda.runtime()
    host = torch.zeros(ROWS * pitch_bytes, dtype=torch.uint8).pin_memory()
    x = torch.empty(ROWS * ROW_BYTES, dtype=torch.uint8, device=device)
    arguments = (x.data_ptr(), ROW_BYTES, host.data_ptr(), pitch_bytes, ROW_BYTES, ROWS, _cuda.HOST_TO_DEVICE)

    def step(i):
        runtime.cudaMemcpy2D(*arguments)  # <- site
        x.bitwise_not_()

    return step


def positive(device):
    return upload(device, 2 * ROW_BYTES)


def near(device):
    return upload(device, ROW_BYTES)
