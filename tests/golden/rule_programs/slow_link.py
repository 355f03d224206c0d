"""Copies of page-locked memory in rows of 16 bytes: the link moves a fraction of what it can.

Says: this copy reaches so much of the link's rate, which the copy in one piece beside it shows.
Silent: the same bytes in one piece.
"""

import os
import sys

import torch

NEEDS_CUDA = True
ROWS = 1 << 20
ROW_BYTES = 16


def inputs(device, pitch_bytes):
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../gpu/crossings/programs"))
    import _cuda

    host = torch.zeros(ROWS * pitch_bytes, dtype=torch.uint8).pin_memory()
    return _cuda, host, torch.empty(ROWS * ROW_BYTES, dtype=torch.uint8, device=device)


def positive(device):
    _cuda, host, x = inputs(device, 2 * ROW_BYTES)
    runtime = _cuda.runtime()
    rows = (x.data_ptr(), ROW_BYTES, host.data_ptr(), 2 * ROW_BYTES, ROW_BYTES, ROWS, _cuda.HOST_TO_DEVICE)

    def step(i):
        runtime.cudaMemcpy2D(*rows)  # <- site
        x.bitwise_not_()
        x.copy_(host[: x.numel()], non_blocking=True)
        x.bitwise_not_()

    return step


def near(device):
    _, host, x = inputs(device, ROW_BYTES)

    def step(i):
        x.copy_(host, non_blocking=True)
        x.bitwise_not_()

    return step
