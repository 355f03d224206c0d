"""A server that changes models: each comes from a mapped safetensors file and is loaded by page faults."""

import os
import tempfile

import safetensors.torch
import torch
from _clock import Clock, arguments
from torch import nn

import turnpike as tp

FIXES = ["read", "tp-to", "on-device", "keep"]


def network(width, depth):
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))


def main():
    args = arguments(__doc__, FIXES, steps=12)
    width, depth = (32, 3) if args.small else (1024, 16)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"model{number}.safetensors") for number in range(3)]
        for path in paths:
            safetensors.torch.save_file(network(width, depth).state_dict(), path)
        x = torch.randn(64, width, device=args.device)
        kept = {}

        def load(path):
            """The model in the file, on the device."""
            if path in kept:
                return kept[path]
            with torch.device("meta"):
                model = network(width, depth)
            model.to_empty(device=args.device)
            if "read" in args.fix:  # the whole file at once, without a mapping
                with open(path, "rb") as file:
                    state = safetensors.torch.load(file.read())
            elif "on-device" in args.fix:
                state = safetensors.torch.load_file(path, device=args.device)
            else:
                state = safetensors.torch.load_file(path)
            if "tp-to" in args.fix:
                state = tp.to(state, args.device)
            model.load_state_dict(state)
            if "keep" in args.fix:
                kept[path] = model
            return model

        clock = Clock(args)
        with torch.no_grad():
            for step in range(args.steps):
                model = load(paths[step % len(paths)])
                for _ in range(10):
                    answer = model(x).square().mean()
                print(f"answer {answer.item():.5f}")
                clock.step(answer)
        clock.finish()


if __name__ == "__main__":
    main()
