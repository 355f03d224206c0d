"""Reinforcement learning: sixteen environments on the CPU, a policy on the GPU, an update every 32 actions."""

import numpy as np
import torch
from _clock import Clock, arguments
from torch import nn

import turnpike as tp

FIXES = ["pin", "tp-to", "upload-once", "compile-model", "fused"]


class Poles:
    """Carts that balance a pole, vectorised."""

    def __init__(self, count):
        self.random = np.random.default_rng(1)
        self.state = self.random.uniform(-0.05, 0.05, (count, 4)).astype(np.float32)

    def step(self, actions):
        x, speed, angle, turn = self.state.T
        force = np.where(actions == 1, 10.0, -10.0)
        push = (force + 0.05 * turn**2 * np.sin(angle)) / 1.1
        turning = (9.8 * np.sin(angle) - np.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1))
        shift = push - 0.05 * turning * np.cos(angle) / 1.1
        self.state = np.stack([x + 0.02 * speed, speed + 0.02 * shift, angle + 0.02 * turn, turn + 0.02 * turning], 1)
        fallen = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 0.21)
        self.state[fallen] = self.random.uniform(-0.05, 0.05, (int(fallen.sum()), 4))
        self.state = self.state.astype(np.float32)
        return self.state, 1.0 - fallen.astype(np.float32)


def main():
    args = arguments(__doc__, FIXES, steps=30)
    policy = nn.Sequential(nn.Linear(4, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 2))
    policy.to(args.device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3, fused=True if "fused" in args.fix else None)
    act = torch.compile(policy, mode="reduce-overhead") if "compile-model" in args.fix else policy
    environments, horizon, gamma = Poles(16), 32, 0.99
    # What the returns are weighted with.
    discounts = torch.tensor([[gamma ** max(j - i, 0) * (j >= i) for j in range(horizon)] for i in range(horizon)])
    if "upload-once" in args.fix:
        discounts = discounts.to(args.device)
    staged = torch.empty(16, 4, pin_memory=args.device == "cuda")

    def observe(state):
        if "pin" in args.fix:
            return staged.copy_(torch.from_numpy(state)).to(args.device, non_blocking=True)
        if "tp-to" in args.fix:
            return tp.to(torch.from_numpy(state), args.device)
        return torch.as_tensor(state).to(args.device)

    clock, state = Clock(args), environments.state
    for _ in range(args.steps):
        seen, taken, rewards = [], [], []
        for _ in range(horizon):
            observation = observe(state)
            with torch.no_grad():
                action = torch.distributions.Categorical(logits=act(observation)).sample()
            state, reward = environments.step(action.cpu().numpy())
            seen.append(observation)
            taken.append(action)
            rewards.append(reward)
        returns = discounts.to(args.device) @ torch.from_numpy(np.stack(rewards)).to(args.device)
        chosen = torch.distributions.Categorical(logits=policy(torch.stack(seen))).log_prob(torch.stack(taken))
        loss = -(chosen * (returns - returns.mean()) / (returns.std() + 1e-6)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        clock.step(loss)
    clock.finish()


if __name__ == "__main__":
    main()
