"""Inference with weights in host memory: each layer's weights go up right before the layer needs them."""

import torch
import torch.nn.functional as F
from _clock import Clock, arguments

import turnpike as tp

FIXES = ["pin", "tp-to", "prefetch", "pin-prefetch", "upload-once"]


def main():
    args = arguments(__doc__, FIXES, steps=30)
    width, depth, rows = (32, 4, 8) if args.small else (2048, 12, 4096)
    cuda = args.device == "cuda"
    layers = [torch.randn(width, width) / width**0.5 for _ in range(depth)]
    if ("pin" in args.fix or "pin-prefetch" in args.fix) and cuda:
        layers = [layer.pin_memory() for layer in layers]
    if "upload-once" in args.fix:
        layers = [layer.to(args.device) for layer in layers]

    def bring(layer):
        if "tp-to" in args.fix:
            return tp.to(layer, args.device)
        return layer.to(args.device, non_blocking="pin" in args.fix)

    def weights():
        if "prefetch" in args.fix or "pin-prefetch" in args.fix:
            return tp.prefetch(layers, args.device, depth=1)
        return map(bring, layers)

    clock = Clock(args)
    with torch.no_grad():
        for step in range(args.steps):
            torch.manual_seed(step)
            hidden = torch.randn(rows, width, device=args.device)
            for weight in weights():
                hidden = F.relu(hidden @ weight)
                del weight
            clock.step(hidden.square().mean())
    clock.finish()


if __name__ == "__main__":
    main()
