"""The classic MNIST network on generated digits: an ordinary training loop, as most of us would write it.

    python examples/mnist.py                                  # just train
    turnpike record -o mnist.tpk -- python examples/mnist.py  # train, and see every transfer
    turnpike report mnist.tpk

Nothing in here knows about Turnpike. Three lines of the loop move data between CPU and GPU on every step; the report
finds them and says what they cost. Without a GPU the same program trains on the CPU, where there is nothing to find.
"""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(64 * 12 * 12, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.dropout1(F.max_pool2d(x, 2))
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        return F.log_softmax(self.fc2(self.dropout2(x)), dim=1)


def generated_digits(count):
    """Images of 28 x 28 that can be told apart: ten fixed patterns under noise. Stands in for the download."""
    patterns = torch.rand(10, 1, 28, 28)
    labels = torch.randint(10, (count,))
    return patterns[labels] + 0.5 * torch.randn(count, 1, 28, 28), labels


def train(model, loader, optimizer, device, steps):
    model.train()
    step = 0
    while step < steps:
        for data, target in loader:
            data = data.to(device)
            target = target.to(device)
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            loss.backward()
            optimizer.step()
            running = loss.item()

            step += 1
            if step == 1 or step % 20 == 0:
                print(f"step {step:5d}   loss {running:.4f}")
            if step == steps:
                break


def main():
    parser = argparse.ArgumentParser(description="Trains the classic MNIST network on generated digits.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64)
    args = parser.parse_args()

    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu":
        print("No GPU that PyTorch can use: training on the CPU.")

    dataset = torch.utils.data.TensorDataset(*generated_digits(10 * args.batch))
    loader = torch.utils.data.DataLoader(dataset, batch_size=args.batch, shuffle=True)
    model = Net().to(device)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    train(model, loader, optimizer, device, args.steps)


if __name__ == "__main__":
    main()
