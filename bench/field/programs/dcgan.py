"""DCGAN, as in PyTorch's tutorial: two workers load, noise is made on the CPU, five numbers are read in each step."""

import torch
from _clock import Clock, arguments
from torch import nn

import turnpike as tp

FIXES = ["pin", "workers", "prefetch", "fetch", "noise-on-gpu", "fused", "compile-model"]


class Faces(torch.utils.data.Dataset):
    def __init__(self, count):
        self.bytes = torch.randint(256, (512, 3, 64, 64), dtype=torch.uint8)
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.bytes[index % len(self.bytes)].float() / 127.5 - 1


def generator(width):
    layers = [nn.ConvTranspose2d(100, width * 8, 4, 1, 0, bias=False), nn.BatchNorm2d(width * 8), nn.ReLU(True)]
    for many in (8, 4, 2):
        layers += [nn.ConvTranspose2d(width * many, width * many // 2, 4, 2, 1, bias=False)]
        layers += [nn.BatchNorm2d(width * many // 2), nn.ReLU(True)]
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())


def discriminator(width):
    layers = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True)]
    for many in (1, 2, 4):
        layers += [nn.Conv2d(width * many, width * many * 2, 4, 2, 1, bias=False)]
        layers += [nn.BatchNorm2d(width * many * 2), nn.LeakyReLU(0.2, inplace=True)]
    return nn.Sequential(*layers, nn.Conv2d(width * 8, 1, 4, 1, 0, bias=False), nn.Flatten(0))


def main():
    args = arguments(__doc__, FIXES)
    width, rows = (8, 8) if args.small else (64, 128)
    net_g, net_d = generator(width).to(args.device), discriminator(width).to(args.device)
    if "compile-model" in args.fix:
        net_g, net_d = (torch.compile(net, mode="reduce-overhead") for net in (net_g, net_d))
    criterion, fused = nn.BCEWithLogitsLoss(), True if "fused" in args.fix else None
    optimizer_g = torch.optim.Adam(net_g.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=fused)
    optimizer_d = torch.optim.Adam(net_d.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=fused)
    loading = {"num_workers": 2, "pin_memory": "pin" in args.fix and not args.small}
    if "workers" in args.fix:
        loading = {"num_workers": args.num_workers, "pin_memory": not args.small, "persistent_workers": True}
    loader = torch.utils.data.DataLoader(Faces(1_000_000), batch_size=rows, shuffle=True, **loading)
    if "workers" in args.fix or "prefetch" in args.fix:
        loader = tp.prefetch(loader, args.device)
    clock, done, scalars = Clock(args), 0, tp.Scalars()
    for data in loader:
        net_d.zero_grad()
        real = data.to(args.device, non_blocking="pin" in args.fix)
        ones = torch.ones(len(real), device=args.device)
        output = net_d(real)
        loss_real = criterion(output, ones)
        loss_real.backward()
        if "noise-on-gpu" in args.fix:
            noise = torch.randn(len(real), 100, 1, 1, device=args.device)
        else:
            noise = torch.randn(len(real), 100, 1, 1).to(args.device)
        fake = net_g(noise)
        output_fake = net_d(fake.detach())
        loss_fake = criterion(output_fake, torch.zeros_like(ones))
        loss_fake.backward()
        optimizer_d.step()
        net_g.zero_grad()
        output_again = net_d(fake)
        loss_g = criterion(output_again, ones)
        loss_g.backward()
        optimizer_g.step()
        seen = {"D": loss_real + loss_fake, "G": loss_g, "x": output.mean(), "z1": output_fake.mean()}
        if "fetch" in args.fix:
            scalars.add(done, **{name: value.detach() for name, value in seen.items()})
            shown = [values for _, values in scalars.ready()]
        else:
            shown = [{name: value.item() for name, value in seen.items()}]
        if done % 50 == 0 and shown:
            print(done, shown[-1])
        clock.step(loss_g)
        done += 1
        if done == args.steps:
            break
    clock.finish()


if __name__ == "__main__":
    main()
