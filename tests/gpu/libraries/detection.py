"""torchvision: a Faster R-CNN with random weights on small images of several sizes."""

from __future__ import annotations

from typing import Any

import torch
from common import Clock, Trained, Wrap, exactly, seed_all

NEEDS = ("torchvision",)


class Scenes(torch.utils.data.Dataset):
    """Images with boxes."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        generator = torch.Generator().manual_seed(index)
        corners = torch.randint(0, 40, (1 + index % 3, 2), generator=generator).float()
        boxes = torch.cat([corners, corners + 20 + index], dim=1)
        target = {"boxes": boxes, "labels": torch.arange(len(boxes)) % 4 + 1}
        return torch.rand(3, 96 + index % 4 * 8, 112, generator=generator), target


def _collate(items: list[Any]) -> tuple[Any, ...]:
    return tuple(zip(*items, strict=True))


def train(wrap: Wrap, device: torch.device) -> Trained:
    import torchvision

    # With deterministic algorithms torchvision compiles a RoIAlign of its own. Not compiled, it is the same.
    torch._dynamo.config.disable = True
    seed_all(5)
    model = torchvision.models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None, weights_backbone=None, num_classes=5, min_size=96, max_size=128, rpn_post_nms_top_n_train=50,
        box_batch_size_per_image=16,
    )  # fmt: skip
    model.to(device).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader: Any = torch.utils.data.DataLoader(Scenes(), batch_size=2, shuffle=True, collate_fn=_collate)
    if wrap is not None:
        loader = wrap(loader)
    losses = []
    clock = Clock(device)
    for images, targets in loader:
        if wrap is None:
            images = [image.to(device) for image in images]
            targets = [{name: value.to(device) for name, value in target.items()} for target in targets]
        loss = sum(model(images, targets).values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return Trained(exactly(losses), model, clock.step_ms(len(losses)))
