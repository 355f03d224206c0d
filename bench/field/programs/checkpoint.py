"""A training loop that saves a checkpoint of model and optimizer in every twentieth step, and waits for it."""

import concurrent.futures
import os
import tempfile

import torch
import torch.nn.functional as F
from _clock import Clock, arguments
from torch import nn
from torch.utils._pytree import tree_map_only

import turnpike as tp

FIXES = ["fetch", "tp-to", "write-aside"]


def save(pending, path):
    torch.save(tree_map_only(tp.Fetched, lambda fetched: fetched.result(), pending), path)


def main():
    args = arguments(__doc__, FIXES, steps=40)
    width, depth = (32, 3) if args.small else (1024, 8)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.GELU())]
    model = nn.Sequential(*layers).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.randn(64 if args.small else 8192, width, device=args.device)
    writer, written = concurrent.futures.ThreadPoolExecutor(1), None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")

        def state():
            return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}

        clock = Clock(args)
        for step in range(args.steps):
            loss = F.mse_loss(model(data), data)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 20 == 19:
                if written is not None:
                    written.result()  # one at a time
                if "fetch" in args.fix:
                    pending = tree_map_only(torch.Tensor, tp.fetch, state())
                    written = writer.submit(save, pending, path)
                elif "tp-to" in args.fix:
                    torch.save(tp.to(state(), "cpu"), path)
                elif "write-aside" in args.fix:
                    written = writer.submit(torch.save, tp.to(state(), "cpu"), path)
                else:
                    torch.save(state(), path)
            clock.step(loss)
        if written is not None:
            written.result()
        clock.finish()


if __name__ == "__main__":
    main()
