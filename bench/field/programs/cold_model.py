"""A server that changes models. The disk reads their mapped files each time: others took the page cache."""

import os
import tempfile

import safetensors.torch
import torch
from _clock import Clock, arguments
from torch import nn

import turnpike as tp

FIXES = ["ahead", "tp-to", "read"]


def network(width, depth):
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(depth)))


def advise(path, advice):
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, advice)


def main():
    args = arguments(__doc__, FIXES, steps=12)
    width, depth = (32, 3) if args.small else (2048, 16)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"model{number}.safetensors") for number in range(3)]
        for path in paths:
            safetensors.torch.save_file(network(width, depth).state_dict(), path)
        os.sync()  # only pages that are on the disk leave memory
        x = torch.randn(64, width, device=args.device)

        def load(path):
            """The model in the file, on the device."""
            advise(path, os.POSIX_FADV_DONTNEED)
            if "ahead" in args.fix:
                advise(path, os.POSIX_FADV_WILLNEED)
            with torch.device("meta"):
                model = network(width, depth)
            model.to_empty(device=args.device)
            if "read" in args.fix:  # the whole file at once, without a mapping
                with open(path, "rb") as file:
                    state = safetensors.torch.load(file.read())
            else:
                state = safetensors.torch.load_file(path)
            if "ahead" in args.fix or "tp-to" in args.fix:
                state = tp.to(state, args.device)
            model.load_state_dict(state)
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
