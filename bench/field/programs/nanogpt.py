"""A loop in the style of nanoGPT: tokens from a mapped file, pinned and sent in each step, a GPT of six blocks."""

import os
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from _clock import Clock, arguments
from torch import nn

import turnpike as tp

FIXES = ["compile-model", "fused", "upload-once", "pin-once", "prefetch", "fetch"]


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        rows, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(rows, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(rows, tokens, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, context, width, depth):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, 4) for _ in range(depth)))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, x, y):
        x = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
        return F.cross_entropy(self.head(self.blocks(x)).flatten(0, 1), y.flatten())


def main():
    args = arguments(__doc__, FIXES)
    rows, context, width, depth = (2, 32, 32, 2) if args.small else (12, 256, 384, 6)
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "train.bin")
    np.random.default_rng(1).integers(0, 512, 1_000_000).astype(np.uint16).tofile(path)
    data = np.memmap(path, dtype=np.uint16, mode="r")
    resident = torch.from_numpy(data.astype(np.int64)).to(args.device) if "upload-once" in args.fix else None
    buffers = torch.empty(2, rows, context, dtype=torch.int64, pin_memory=args.device == "cuda")

    def get_batch():
        starts = torch.randint(len(data) - context - 1, (rows,))
        if resident is not None:
            places = starts.to(args.device)[:, None] + torch.arange(context, device=args.device)
            return resident[places], resident[places + 1]
        x = torch.stack([torch.from_numpy(data[i : i + context].astype(np.int64)) for i in starts])
        y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + context].astype(np.int64)) for i in starts])
        if "prefetch" in args.fix:
            return x, y
        if "pin-once" in args.fix:
            x, y = buffers[0].copy_(x), buffers[1].copy_(y)
        elif args.device == "cuda":
            x, y = x.pin_memory(), y.pin_memory()
        return x.to(args.device, non_blocking=True), y.to(args.device, non_blocking=True)

    model = GPT(512, context, width, depth).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, fused=True if "fused" in args.fix else None)
    if "compile-model" in args.fix:
        model = torch.compile(model, mode="reduce-overhead")
    batches = (get_batch() for _ in range(args.steps))
    if "prefetch" in args.fix:
        batches = tp.prefetch(batches, args.device)
    clock, scalars = Clock(args), tp.Scalars()
    for step, (x, y) in enumerate(batches):
        loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 10 == 0:
            if "fetch" in args.fix:
                scalars.add(step, loss=loss.detach())
            else:
                print(f"iter {step}: loss {loss.item():.4f}")
        for number, values in scalars.ready():
            print(f"iter {number}: loss {values['loss']:.4f}")
        clock.step(loss)
    clock.finish()


if __name__ == "__main__":
    main()
