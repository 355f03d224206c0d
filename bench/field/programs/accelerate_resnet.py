"""accelerate: ResNet-18 on small pictures in a loop of one's own, with the running loss and accuracy read each step."""

import accelerate
import torch
import torch.nn.functional as F
import torchvision
from _clock import Clock, arguments

import turnpike as tp

FIXES = ["workers", "prefetch", "compile-model", "fetch", "fused"]


class Pictures(torch.utils.data.Dataset):
    def __init__(self, count, edge):
        self.bytes = torch.randint(256, (512, 3, edge, edge), dtype=torch.uint8)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.bytes[index % len(self.bytes)].float() / 255 - 0.5, index % 10


def main():
    args = arguments(__doc__, FIXES)
    accelerator = accelerate.Accelerator(cpu=args.device == "cpu")
    model = torchvision.models.resnet18(num_classes=10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True if "fused" in args.fix else None)
    loading = {}
    if "workers" in args.fix:
        loading = {"num_workers": args.num_workers, "pin_memory": not args.small, "persistent_workers": True}
    pictures = Pictures(20_000, 32)
    loader = torch.utils.data.DataLoader(pictures, batch_size=4 if args.small else 64, shuffle=True, **loading)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    if "workers" in args.fix or "prefetch" in args.fix:
        loader = tp.prefetch(loader, accelerator.device)
    if "compile-model" in args.fix:
        model = torch.compile(model, mode="reduce-overhead")

    clock, done, total_loss, correct, scalars = Clock(args), 0, 0.0, 0, tp.Scalars()
    model.train()
    while done < args.steps:
        for pictures, labels in loader:
            scores = model(pictures)
            loss = F.cross_entropy(scores, labels)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            hits = (scores.argmax(1) == labels).sum()
            if "fetch" in args.fix:
                scalars.add(done, loss=loss.detach(), hits=hits)
                for _, values in scalars.ready():
                    total_loss += values["loss"]
                    correct += values["hits"]
            else:
                total_loss += loss.item()
                correct += hits.item()
            clock.step(loss)
            done += 1
            if done == args.steps:
                break
    clock.finish()


if __name__ == "__main__":
    main()
