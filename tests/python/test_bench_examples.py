"""The training example before and after: the same losses, on the CPU."""

import importlib.util
import math
import pathlib
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="the examples train with PyTorch, which is not installed here")
pytest.importorskip("numpy", reason="the examples make their images with NumPy, which is not installed here")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
STEPS = 30


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def train(name):
    example = load(name)
    images, labels = example.generated_images(128, 16)
    return example.train(images, labels, torch.device("cpu"), batch=16, steps=STEPS)


def test_losses_and_accuracies_are_the_same_before_and_after():
    before, seconds_before = train("train_before")
    after, seconds_after = train("train_after")
    assert len(before) == len(after) == len(seconds_before) == len(seconds_after) == STEPS
    for (loss, accuracy), (other_loss, other_accuracy) in zip(before, after, strict=True):
        assert math.isclose(loss, other_loss, rel_tol=1e-3)
        assert abs(accuracy - other_accuracy) <= 1 / 16
    assert before[-1][0] < before[0][0]


@pytest.mark.parametrize("name", ["train_before", "train_after"])
def test_each_prints_its_step_time(name):
    command = [sys.executable, EXAMPLES / f"{name}.py", "--steps", "12", "--batch", "8", "--edge", "16"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert shown.returncode == 0, shown.stderr
    assert re.search(r"^step time \d+\.\d{3} ms \(median\)$", shown.stdout, re.MULTILINE)


def test_both_prepare_the_same_images():
    first, second = (load(name).generated_images(20, 16) for name in ("train_before", "train_after"))
    assert all((one == other).all() for one, other in zip(first, second, strict=True))
