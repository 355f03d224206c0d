"""An optimizer whose state stays in host memory: gradients come down, Adam runs on the CPU, parameters go up."""

import torch
import torch.nn.functional as F
from _clock import Clock, arguments
from torch import nn

import turnpike as tp

FIXES = ["pin", "pack", "tp-to", "fetch"]


class OffloadedAdam:
    """Adam on copies of the parameters in host memory."""

    def __init__(self, parameters, fix):
        self.parameters, self.fix = list(parameters), fix
        pinned = "pin" in fix and self.parameters[0].is_cuda
        self.masters = [torch.empty_like(p, device="cpu", pin_memory=pinned) for p in self.parameters]
        for master, parameter in zip(self.masters, self.parameters, strict=True):
            master.copy_(parameter.detach())
            master.grad = torch.zeros_like(master, pin_memory=pinned)
        self.adam = torch.optim.Adam(self.masters, lr=1e-4, fused=True)

    def step(self):
        self.bring_down()
        self.adam.step()
        with torch.no_grad():
            if "pack" in self.fix:
                flat = torch.cat([master.flatten() for master in self.masters]).to(self.parameters[0].device)
                up = [part.view_as(p) for part, p in zip(flat.split(self.sizes()), self.parameters, strict=True)]
            elif "tp-to" in self.fix:
                up = tp.to(self.masters, self.parameters[0].device)
            else:
                up = self.masters
            for parameter, master in zip(self.parameters, up, strict=True):
                parameter.copy_(master, non_blocking="pin" in self.fix)

    def bring_down(self):
        gradients = [parameter.grad for parameter in self.parameters]
        if "pin" in self.fix:
            for master, gradient in zip(self.masters, gradients, strict=True):
                master.grad.copy_(gradient, non_blocking=True)
            if gradients[0].is_cuda:
                torch.cuda.current_stream().synchronize()
        elif "pack" in self.fix:
            flat = torch.cat([gradient.flatten() for gradient in gradients]).cpu()
            for master, part in zip(self.masters, flat.split(self.sizes()), strict=True):
                master.grad = part.view_as(master)
        elif "fetch" in self.fix:
            pending = [tp.fetch(gradient) for gradient in gradients]
            for master, gradient in zip(self.masters, pending, strict=True):
                master.grad = gradient.result()
        elif "tp-to" in self.fix:
            for master, gradient in zip(self.masters, tp.to(gradients, "cpu"), strict=True):
                master.grad = gradient
        else:
            for master, gradient in zip(self.masters, gradients, strict=True):
                master.grad = gradient.cpu()

    def sizes(self):
        return [parameter.numel() for parameter in self.parameters]


def main():
    args = arguments(__doc__, FIXES, steps=40)
    width, depth = (32, 3) if args.small else (768, 8)
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.GELU())]
    model = nn.Sequential(*layers).to(args.device)
    optimizer = OffloadedAdam(model.parameters(), args.fix)
    data = torch.randn(64 if args.small else 4096, width, device=args.device)
    clock = Clock(args)
    for _ in range(args.steps):
        model.zero_grad(set_to_none=True)
        loss = F.mse_loss(model(data), data)
        loss.backward()
        optimizer.step()
        clock.step(loss)
    clock.finish()


if __name__ == "__main__":
    main()
