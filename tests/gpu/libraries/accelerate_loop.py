"""accelerate: a loop of one's own with gradient accumulation, and metrics that are gathered."""

from __future__ import annotations

import torch
from common import Clock, Images, Trained, Wrap, exactly, seed_all, small_network

NEEDS = ("accelerate",)
EPOCHS = 2


def train(wrap: Wrap, device: torch.device) -> Trained:
    import accelerate
    from accelerate.state import AcceleratorState, GradientState

    AcceleratorState._reset_state(True)
    GradientState._reset_state()
    accelerator = accelerate.Accelerator(cpu=device.type == "cpu", gradient_accumulation_steps=2)
    seed_all(3)
    model = small_network()
    model(torch.zeros(2, 3, 32, 32))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = torch.utils.data.DataLoader(Images(200), batch_size=16, shuffle=True)
    held_out = torch.utils.data.DataLoader(Images(50), batch_size=16)
    model, optimizer, loader, held_out = accelerator.prepare(model, optimizer, loader, held_out)
    if wrap is not None:
        loader, held_out = wrap(loader), wrap(held_out)
    losses, gathered, updates = [], [], []
    clock = Clock(device)
    for _ in range(EPOCHS):
        model.train()
        for images, classes in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.cross_entropy(model(images), classes)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.detach())
            updates.append(accelerator.sync_gradients)
        model.eval()
        for images, classes in held_out:
            with torch.no_grad():
                found, expected = accelerator.gather_for_metrics((model(images).argmax(-1), classes))
            gathered.append((found == expected).sum())
            gathered.append(len(found))
    step_ms = clock.step_ms(len(losses))
    return Trained(exactly(losses) + exactly(gathered) + [str(updates)], model, step_ms)
