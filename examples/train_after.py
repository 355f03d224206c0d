"""train_before.py after its report was followed: the same network on the same images with the same losses.

    python examples/train_after.py                                         # train
    turnpike record -o after.tpk -- python examples/train_after.py         # train, and see which transfers are left
    turnpike diff before.tpk after.tpk                                     # beside the recording of train_before.py

What changed: bytes cross and become floats on the device, an eighth of what crossed before; the next batches cross
while this one is computed (tp.prefetch); loss and accuracy are read when they have arrived, and nothing waits for them
(tp.Scalars). The losses differ by the rounding of float32 in place of float64: less than one part in a thousand.
"""

import argparse
import statistics
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import turnpike as tp

MEAN, STD = 0.5, 0.25


def generated_images(count, edge):
    """Bytes as a decoder gives them, and labels: ten patterns under noise. Stands in for a dataset."""
    random = np.random.default_rng(1)
    patterns = random.integers(0, 256, (10, 3, edge, edge))
    labels = random.integers(0, 10, count)
    images = (patterns[labels] + random.integers(0, 256, (count, 3, edge, edge))) // 2
    return images.astype(np.uint8), labels


def batches(images, labels, batch, steps):
    """Bytes as they are: the device makes floats of them."""
    for step in range(steps):
        start = step * batch % len(images)
        yield torch.from_numpy(images[start : start + batch]), torch.from_numpy(labels[start : start + batch])


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
    history, clock, scalars = [], StepClock(device), tp.Scalars()
    for step, (image, label) in enumerate(tp.prefetch(batches(images, labels, batch, steps), device)):
        image = (image.float() / 255.0 - MEAN) / STD
        output = model(image)
        loss = F.cross_entropy(output, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy = (output.argmax(1) == label).float().mean()
        scalars.add(step, loss=loss.detach(), accuracy=accuracy)
        log(scalars.ready(), history)
        clock.tick()
    log(scalars.finish(), history)
    return history, clock.seconds()


def log(arrived, history):
    """Takes the scalars of the steps that have arrived: a few steps late, in their order."""
    for step, values in arrived:
        history.append((values["loss"], values["accuracy"]))
        show(step, *history[-1])


class StepClock:
    """When the device was done with each step: the host is ahead of it, so the host's clock would tell nothing."""

    def __init__(self, device):
        self.on_gpu = device.type == "cuda"
        self.ends = []
        self.tick()

    def tick(self):
        if self.on_gpu:
            self.ends.append(torch.cuda.Event(enable_timing=True))
            self.ends[-1].record()
        else:
            self.ends.append(time.perf_counter())

    def seconds(self):
        pairs = list(zip(self.ends, self.ends[1:], strict=False))
        if not self.on_gpu:
            return [end - start for start, end in pairs]
        self.ends[-1].synchronize()
        return [start.elapsed_time(end) / 1e3 for start, end in pairs]


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
