"""Inference whose output of 64 MiB comes down in each step with `.cpu()`, into pages that are new each time."""

import torch
from _clock import Clock, arguments
from torch import nn

import turnpike as tp

FIXES = ["tp-to", "fetch", "pin"]


def main():
    args = arguments(__doc__, FIXES, steps=30)
    rows, width = (64, 64) if args.small else (8192, 2048)
    model = nn.Sequential(*(nn.Linear(width, width) for _ in range(3))).to(args.device)
    inputs = [torch.randn(rows, width, device=args.device) for _ in range(2)]
    host = torch.empty(2, rows, width, pin_memory=args.device == "cuda")
    clock, pending, seen = Clock(args), None, 0.0
    with torch.no_grad():
        for step in range(args.steps):
            output = model(inputs[step % 2])
            if "tp-to" in args.fix:
                result = tp.to(output, "cpu")
            elif "fetch" in args.fix:
                # Read one step later.
                before, pending = pending, tp.fetch(output)
                result = before.result() if before is not None else None
            elif "pin" in args.fix:
                result = host[step % 2].copy_(output, non_blocking=True)
                if args.device == "cuda":
                    torch.cuda.current_stream().synchronize()
            else:
                result = output.cpu()
            if result is not None:
                seen += result[step % rows, 0].item()
            clock.step(seen)
    clock.finish()


if __name__ == "__main__":
    main()
