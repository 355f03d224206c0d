"""torch.compile and a GradScaler: half precision, gradient clipping, batches that a DataLoader stacks."""

import torch
import torch.nn.functional as F
from _clock import Clock, arguments
from torch import nn

import turnpike as tp

FIXES = ["pin", "workers", "prefetch", "fused", "fetch", "compile-model"]


def main():
    args = arguments(__doc__, FIXES)
    width = 64 if args.small else 1024
    layers = [nn.Linear(width, width)]
    for _ in range(6):
        layers += [nn.LayerNorm(width), nn.GELU(), nn.Linear(width, width)]
    model = nn.Sequential(*layers).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True if "fused" in args.fix else None)
    compiled = torch.compile(model, mode="reduce-overhead" if "compile-model" in args.fix else "default")
    scaler = torch.amp.GradScaler(args.device)
    count = 4096 if args.small else 32768
    rows = torch.utils.data.TensorDataset(torch.randn(count, width), torch.randn(count, width))
    loading = {"pin_memory": not args.small} if "pin" in args.fix else {}
    if "workers" in args.fix:
        loading = {"num_workers": args.num_workers, "pin_memory": not args.small, "persistent_workers": True}
    loader = torch.utils.data.DataLoader(rows, batch_size=256, shuffle=True, drop_last=True, **loading)
    if "workers" in args.fix or "prefetch" in args.fix:
        loader = tp.prefetch(loader, args.device)
    clock, done, running, scalars = Clock(args), 0, 0.0, tp.Scalars()
    while done < args.steps:
        for x, y in loader:
            x = x.to(args.device, non_blocking="pin" in args.fix)
            y = y.to(args.device, non_blocking="pin" in args.fix)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(args.device, dtype=torch.float16 if args.device == "cuda" else torch.bfloat16):
                loss = F.mse_loss(compiled(x).float(), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            if "fetch" in args.fix:
                scalars.add(done, loss=loss.detach())
                running += sum(values["loss"] for _, values in scalars.ready())
            else:
                running += loss.item()
            clock.step(loss)
            done += 1
            if done == args.steps:
                break
    clock.finish()


if __name__ == "__main__":
    main()
