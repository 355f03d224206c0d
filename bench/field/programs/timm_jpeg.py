"""timm: its loader with PrefetchLoader over a folder of JPEG files, and the loop of its train.py."""

import os
import tempfile

import numpy as np
import timm
import timm.data
import timm.optim
import timm.utils
import torch
from _clock import Clock, arguments
from PIL import Image

import turnpike as tp

FIXES = ["workers", "compile-model", "fetch", "no-sync"]


def write_pictures(folder, classes, each, edge):
    """Smooth random pictures, so that JPEG files have the size of photographs."""
    random = np.random.default_rng(1)
    for name in range(classes):
        os.makedirs(os.path.join(folder, f"class{name}"))
        for number in range(each):
            coarse = random.integers(0, 256, (edge // 8, edge // 8, 3), dtype=np.uint8)
            picture = Image.fromarray(coarse).resize((edge, edge), Image.Resampling.BICUBIC)
            path = os.path.join(folder, f"class{name}", f"{number}.jpg")
            picture.save(path, quality=90)
            for copy in range(7):  # an epoch of thousands of files, without waiting for their coding
                os.link(path, path.replace(".jpg", f"_{copy}.jpg"))


def main():
    args = arguments(__doc__, FIXES)
    with tempfile.TemporaryDirectory() as folder:
        edge = 64 if args.small else 256
        write_pictures(folder, 4, 8 if args.small else 128, edge)
        dataset = timm.data.create_dataset("", root=folder, is_training=True)
        loader = timm.data.create_loader(
            dataset, input_size=(3, edge * 7 // 8, edge * 7 // 8), batch_size=8 if args.small else 64, is_training=True,
            num_workers=args.num_workers if "workers" in args.fix else 2, device=torch.device(args.device),
            persistent_workers=True,
        )  # fmt: skip
        model = timm.create_model("resnet10t" if args.small else "resnet18", num_classes=4).to(args.device)
        if "compile-model" in args.fix:
            model = torch.compile(model, mode="reduce-overhead")
        optimizer = timm.optim.create_optimizer_v2(model, opt="sgd", lr=0.01)
        criterion = torch.nn.CrossEntropyLoss()
        losses, pending = timm.utils.AverageMeter(), None
        clock, done = Clock(args), 0
        model.train()
        while done < args.steps:
            for pictures, labels in loader:
                loss = criterion(model(pictures), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if args.device == "cuda" and "no-sync" not in args.fix:
                    torch.cuda.synchronize()
                if "fetch" in args.fix:
                    if pending is not None:
                        losses.update(pending.result().item(), pictures.size(0))
                    pending = tp.fetch(loss.detach())
                else:
                    losses.update(loss.item(), pictures.size(0))
                clock.step(loss)
                done += 1
                if done == args.steps:
                    break
        clock.finish()


if __name__ == "__main__":
    main()
