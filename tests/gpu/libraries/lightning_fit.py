"""Lightning's Trainer.fit(), with a validation in the middle of the epoch."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import torch
from common import Clock, Images, Trained, Wrap, exactly, seed_all, small_network

NEEDS = ("pytorch_lightning",)


def train(wrap: Wrap, device: torch.device) -> Trained:
    import pytorch_lightning as lightning

    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module=".*lightning.*")
    seed_all(2)
    network = small_network()
    network(torch.zeros(2, 3, 32, 32))
    numbers = []

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def training_step(self, batch: Any, index: int) -> Any:
            loss = torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1])
            numbers.append(loss.detach().clone())
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            numbers.append(self.network(batch[0]).sum().clone())

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 1e-3)

    loader = torch.utils.data.DataLoader(Images(240), batch_size=16, shuffle=True)
    held_out = torch.utils.data.DataLoader(Images(48), batch_size=16)
    if wrap is not None:
        loader, held_out = wrap(loader), wrap(held_out)
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="gpu" if device.type == "cuda" else "cpu", devices=1, logger=False, barebones=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, val_check_interval=5,
        accumulate_grad_batches=2,
    )  # fmt: skip
    module = Module()
    clock = Clock(device)
    trainer.fit(module, train_dataloaders=loader, val_dataloaders=held_out)
    step_ms = clock.step_ms(30)
    return Trained(exactly(numbers) + [f"{trainer.global_step} optimizer steps"], module, step_ms)
