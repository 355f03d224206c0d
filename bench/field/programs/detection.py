"""torchvision: Faster R-CNN on pictures of several sizes, with the training loop of torchvision's references."""

import math

import torch
import torchvision
from _clock import Clock, arguments

import turnpike as tp

FIXES = ["workers", "prefetch", "pin", "fetch", "fused"]


class Scenes(torch.utils.data.Dataset):
    """Pictures with boxes."""

    def __init__(self, count, edge):
        self.count, self.edge = count, edge

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(index % 64)
        corners = torch.randint(0, self.edge // 2, (1 + index % 5, 2), generator=random).float()
        boxes = torch.cat([corners, corners + self.edge // 4 + index % 16], dim=1)
        picture = torch.rand(3, self.edge + index % 4 * 8, self.edge + 16, generator=random)
        return picture, {"boxes": boxes, "labels": torch.arange(len(boxes)) % 4 + 1}


def collate(items):
    return tuple(zip(*items, strict=True))


def main():
    args = arguments(__doc__, FIXES, steps=40)
    edge = 96 if args.small else 288
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None, weights_backbone=None, num_classes=5, min_size=edge, max_size=edge + 64
    )
    model.to(args.device).train()
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, fused=True if "fused" in args.fix else None)
    loading = {}
    if "workers" in args.fix:
        loading = {"num_workers": args.num_workers, "pin_memory": not args.small, "persistent_workers": True}
    elif "pin" in args.fix:
        loading = {"pin_memory": not args.small}
    loader = torch.utils.data.DataLoader(
        Scenes(100_000, edge), batch_size=2 if args.small else 4, shuffle=True, collate_fn=collate, **loading
    )
    if "workers" in args.fix or "prefetch" in args.fix:
        loader = tp.prefetch(loader, args.device)
    asynchronous = "pin" in args.fix
    clock, done, pending = Clock(args), 0, None
    for images, targets in loader:
        images = [image.to(args.device, non_blocking=asynchronous) for image in images]
        targets = [{k: v.to(args.device, non_blocking=asynchronous) for k, v in t.items()} for t in targets]
        losses = model(images, targets)
        loss = sum(losses.values())
        if "fetch" in args.fix:
            value = pending.result().item() if pending is not None else 0.0
            pending = tp.fetch(loss.detach())
        else:
            value = loss.item()
        if not math.isfinite(value):
            raise SystemExit(f"the loss is {value}, stopping training: {losses}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        clock.step(loss)
        done += 1
        if done == args.steps:
            break
    clock.finish()


if __name__ == "__main__":
    main()
