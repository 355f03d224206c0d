"""Batches of 32 MiB that are page-locked anew in each step, because pinned memory is said to be fast."""

import torch
from _clock import Clock, arguments
from torch import nn

import turnpike as tp

FIXES = ["pin-once", "tp-to", "prefetch", "no-pin"]


def main():
    args = arguments(__doc__, FIXES, steps=40)
    rows, width = (8, 64) if args.small else (4096, 2048)
    cuda = args.device == "cuda"
    model = nn.Sequential(*(nn.Linear(width, width) for _ in range(4))).to(args.device)
    source = [torch.randn(rows, width) for _ in range(4)]
    buffer = torch.empty(rows, width, pin_memory=cuda)

    def batches():
        for step in range(args.steps):
            yield source[step % len(source)] + step % 7

    def bring(batch):
        if "pin-once" in args.fix:
            return buffer.copy_(batch).to(args.device, non_blocking=True)
        if "tp-to" in args.fix:
            return tp.to(batch, args.device)
        if "no-pin" in args.fix:
            return batch.to(args.device)
        if cuda:
            # As those do who page-lock by hand: PyTorch's own pin_memory() would keep and reuse the memory.
            torch.cuda.cudart().cudaHostRegister(batch.data_ptr(), batch.nbytes, 0)
        moved = batch.to(args.device, non_blocking=True)
        if cuda:
            torch.cuda.current_stream().synchronize()
            torch.cuda.cudart().cudaHostUnregister(batch.data_ptr())
        return moved

    clock = Clock(args)
    with torch.no_grad():
        if "prefetch" in args.fix:
            for batch in tp.prefetch(batches(), args.device):
                clock.step(model(batch).square().mean())
        else:
            for batch in batches():
                clock.step(model(bring(batch)).square().mean())
    clock.finish()


if __name__ == "__main__":
    main()
