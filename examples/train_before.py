"""Trains a small network as many programs do: images prepared on the CPU, copied in the step, the loss read in it.

    python examples/train_before.py                                        # train
    turnpike record -o before.tpk -- python examples/train_before.py       # train, and see every transfer
    turnpike report before.tpk                                             # what it costs, and what to do
    diff examples/train_before.py examples/train_after.py                  # the same after the advice was followed

Without a GPU it trains on the CPU, on smaller images.
"""

import argparse
import statistics
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

MEAN, STD = 0.5, 0.25


def generated_images(count, edge):
    """Bytes as a decoder gives them, and labels: ten patterns under noise. Stands in for a dataset."""
    random = np.random.default_rng(1)
    patterns = random.integers(0, 256, (10, 3, edge, edge))
    labels = random.integers(0, 10, count)
    images = (patterns[labels] + random.integers(0, 256, (count, 3, edge, edge))) // 2
    return images.astype(np.uint8), labels


def batches(images, labels, batch, steps):
    """Normalised, as NumPy does it unless told otherwise: in float64."""
    for step in range(steps):
        start = step * batch % len(images)
        image = (images[start : start + batch] / 255.0 - MEAN) / STD
        yield torch.from_numpy(image), torch.from_numpy(labels[start : start + batch])


def network(edge):
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * (edge // 4) ** 2, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def train(images, labels, device, batch, steps):
    """Returns the loss and the accuracy of each step, and the seconds that each took."""
    model = network(images.shape[-1]).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    history, seconds = [], []
    start = time.perf_counter()
    for step, (image, label) in enumerate(batches(images, labels, batch, steps)):
        image = image.to(device).float()
        label = label.to(device)
        output = model(image)
        loss = F.cross_entropy(output, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy = (output.argmax(1) == label).float().mean()
        history.append((loss.item(), accuracy.item()))
        show(step, *history[-1])
        seconds.append(time.perf_counter() - start)
        start = time.perf_counter()
    return history, seconds


def show(step, loss, accuracy):
    if step % 20 == 0:
        print(f"step {step:5d}   loss {loss:.4f}   accuracy {accuracy:.3f}")


def main():
    has_gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description="Trains a small network on generated images.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=256 if has_gpu else 32)
    parser.add_argument("--edge", type=int, default=64 if has_gpu else 16, help="pixels of an image's side")
    args = parser.parse_args()
    if not has_gpu:
        print("No GPU that PyTorch can use: training on the CPU.")

    images, labels = generated_images(16 * args.batch, args.edge)
    history, seconds = train(images, labels, torch.device("cuda" if has_gpu else "cpu"), args.batch, args.steps)
    print(f"last loss {history[-1][0]:.4f}")
    print(f"step time {statistics.median(seconds[len(seconds) // 10 :]) * 1e3:.3f} ms (median)")


if __name__ == "__main__":
    main()
