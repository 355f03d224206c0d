"""torchdiffeq: a neural ODE learns a spiral, as in its own demo; the solver chooses its steps."""

import torch
from _clock import Clock, arguments
from torch import nn
from torchdiffeq import odeint

import turnpike as tp

FIXES = ["upload-once", "prefetch", "fetch", "compile-model"]


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
        for layer in self.net:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, mean=0, std=0.1)
                nn.init.constant_(layer.bias, 0)

    def forward(self, t, y):
        return self.net(y**3)


def spiral(points):
    """The true path, on the CPU."""
    matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    with torch.no_grad():
        times = torch.linspace(0.0, 25.0, points)
        return times, odeint(lambda t, y: (y**3) @ matrix, torch.tensor([[2.0, 0.0]]), times)


def main():
    args = arguments(__doc__, FIXES, steps=30)
    times, path = spiral(1000)
    if "upload-once" in args.fix:
        times, path = times.to(args.device), path.to(args.device)

    def get_batch(rows=20, length=10):
        starts = torch.randperm(len(path) - length)[:rows].to(path.device)
        window = torch.stack([path[starts + i] for i in range(length)])
        return path[starts], times[:length], window

    model = Dynamics().to(args.device)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    if "compile-model" in args.fix:
        model = torch.compile(model, mode="reduce-overhead")
    batches = (get_batch() for _ in range(args.steps))
    if "prefetch" in args.fix:
        batches = tp.prefetch(batches, args.device)
    clock, scalars, average = Clock(args), tp.Scalars(), 0.0
    for step, batch in enumerate(batches):
        optimizer.zero_grad()
        y0, t, y = (tensor.to(args.device) for tensor in batch)
        predicted = odeint(model, y0, t)
        loss = (predicted - y).abs().mean()
        loss.backward()
        optimizer.step()
        if "fetch" in args.fix:
            scalars.add(step, loss=loss.detach())
            for _, values in scalars.ready():
                average = 0.97 * average + 0.03 * values["loss"]
        else:
            average = 0.97 * average + 0.03 * loss.item()
        clock.step(loss)
    clock.finish()


if __name__ == "__main__":
    main()
