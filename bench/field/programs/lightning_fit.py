"""Lightning: a small convolutional network, with the loss on the progress bar and a DataLoader without workers."""

import tempfile

import lightning
import torch
import torch.nn.functional as F
from _clock import Clock, arguments
from torch import nn

import turnpike as tp

FIXES = ["workers", "prefetch", "compile-model", "log-less"]


class Pictures(torch.utils.data.Dataset):
    """Bytes that become a normalised picture when they are asked for."""

    def __init__(self, count, edge):
        self.bytes = torch.randint(256, (256, 3, edge, edge), dtype=torch.uint8)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        picture = self.bytes[index % len(self.bytes)].float() / 255
        if index % 2:
            picture = picture.flip(-1)
        return (picture - 0.5) / 0.25, index % 10


class Classifier(lightning.LightningModule):
    def __init__(self, width, log_options):
        super().__init__()
        layers = [nn.Conv2d(3, width, 3, stride=2), nn.BatchNorm2d(width), nn.ReLU()]
        for _ in range(6):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        self.network = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))
        self.log_options = log_options

    def training_step(self, batch, index):
        pictures, labels = batch
        scores = self.network(pictures)
        loss = F.cross_entropy(scores, labels)
        accuracy = (scores.argmax(1) == labels).float().mean()
        self.log("loss", loss, **self.log_options)
        self.log("accuracy", accuracy, **self.log_options)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class Ticks(lightning.Callback):
    def __init__(self, clock):
        self.clock = clock

    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        self.clock.step(outputs["loss"])


def main():
    args = arguments(__doc__, FIXES)
    log_options = {"prog_bar": "log-less" not in args.fix}
    model = Classifier(8 if args.small else 64, log_options)
    if "compile-model" in args.fix:
        model.network = torch.compile(model.network, mode="reduce-overhead")
    loading = {}
    if "workers" in args.fix:
        loading = {"num_workers": args.num_workers, "pin_memory": not args.small, "persistent_workers": True}
    pictures = Pictures(20_000, 32 if args.small else 64)
    loader = torch.utils.data.DataLoader(pictures, batch_size=8 if args.small else 128, shuffle=True, **loading)
    if "workers" in args.fix or "prefetch" in args.fix:
        loader = tp.prefetch(loader, args.device)
    clock = Clock(args)
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            accelerator="gpu" if args.device == "cuda" else "cpu", devices=1, max_steps=args.steps, logger=False,
            enable_checkpointing=False, enable_model_summary=False, default_root_dir=folder, callbacks=[Ticks(clock)],
        )  # fmt: skip
        trainer.fit(model, loader)
    clock.finish()


if __name__ == "__main__":
    main()
