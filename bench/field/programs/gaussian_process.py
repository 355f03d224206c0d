"""GPyTorch: exact regression, as in its first tutorial, which prints the loss and two parameters in each step."""

import gpytorch
import torch
from _clock import Clock, arguments

import turnpike as tp

FIXES = ["fetch", "log-less", "fused"]


class Regression(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def show(step, loss, lengthscale, noise):
    print(f"Iter {step} - Loss: {loss:.3f}   lengthscale: {lengthscale:.3f}   noise: {noise:.3f}")


def main():
    args = arguments(__doc__, FIXES, steps=60)
    x = torch.linspace(0, 1, 100 if args.small else 700)
    y = torch.sin(x * 6.28) + torch.randn(x.size()) * 0.2
    x, y = x.to(args.device), y.to(args.device)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(args.device)
    model = Regression(x, y, likelihood).to(args.device)
    model.train()
    likelihood.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True if "fused" in args.fix else None)
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    clock, scalars = Clock(args), tp.Scalars()
    for step in range(args.steps):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        lengthscale, noise = model.covar_module.base_kernel.lengthscale, likelihood.noise
        if "fetch" in args.fix:
            scalars.add(step, loss=loss.detach(), lengthscale=lengthscale.detach(), noise=noise.detach())
            for number, values in scalars.ready():
                show(number, **values)
        elif "log-less" not in args.fix or step % 100 == 0:
            show(step, loss.item(), lengthscale.item(), noise.item())
        optimizer.step()
        clock.step(loss)
    clock.finish()


if __name__ == "__main__":
    main()
