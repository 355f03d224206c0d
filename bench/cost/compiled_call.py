"""Measures what one call of a compiled model takes on the CPU, whatever the model computes.

    python bench/cost/compiled_call.py --out bench/results/compiled-call-h200.json

A chain of small linear layers is trained for one batch, or run forward: as it is, and with
`torch.compile(mode="reduce-overhead")`. The compiled one replays one CUDA graph for the forward and one for the
backward pass, so its time hardly depends on the number of layers. What is left is the call itself: guards, autograd,
the copies of inputs into the graph, and its launch. The GPU's own work is less than that: `busy_us` says how much.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch  # before bench is on the path: a file there has the name of a module of Python's

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import result_file  # noqa: E402

LAYERS = (2, 8, 32)
TURNS = 15
CALLS_OF_A_TURN = 50


def model_of(layers: int) -> torch.nn.Module:
    parts: list[torch.nn.Module] = []
    for _ in range(layers):
        parts += [torch.nn.Linear(64, 64), torch.nn.ReLU()]
    return torch.nn.Sequential(*parts).cuda()


def train(model: torch.nn.Module, batch: torch.Tensor) -> Callable[[], None]:
    def call() -> None:
        model(batch).sum().backward()
        for parameter in model.parameters():
            parameter.grad = None

    return call


def infer(model: torch.nn.Module, batch: torch.Tensor) -> Callable[[], None]:
    def call() -> None:
        with torch.no_grad():
            model(batch)

    return call


def turn_us(call: Callable[[], None]) -> float:
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(CALLS_OF_A_TURN):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / CALLS_OF_A_TURN * 1e6


def busy_us(call: Callable[[], None]) -> float:
    """What the GPU works for one call, by the times of its kernels and copies."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(10):
            call()
        torch.cuda.synchronize()
    on_gpu = (event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA)
    return sum(event.time_range.elapsed_us() for event in on_gpu) / 10


def rows_of(
    name: str, prepare: Callable[[torch.nn.Module, torch.Tensor], Callable[[], None]], layers: int
) -> list[dict[str, Any]]:
    torch.compiler.reset()
    torch.manual_seed(0)
    batch = torch.randn(64, 64, device="cuda")
    plain = model_of(layers)
    # Not plain.compile(): that of a Sequential compiles nothing (PyTorch 2.11).
    compiled = torch.compile(model_of(layers), mode="reduce-overhead")
    calls = {"as it is": prepare(plain, batch), "compiled": prepare(compiled, batch)}
    times: dict[str, list[float]] = {kind: [] for kind in calls}
    for call in calls.values():  # compiles, warms up and captures
        for _ in range(20):
            call()
    for _ in range(TURNS):
        for kind, call in calls.items():
            times[kind].append(turn_us(call))
    base = statistics.median(times["as it is"])
    return [
        result_file.row(
            f"{name}, {layers} layers, {kind}",
            "time of a call",
            "us",
            round(statistics.median(values), 1),
            spread=[round(min(values), 1), round(max(values), 1)],
            samples=TURNS,
            baseline="as it is",
            baseline_value=round(base, 1),
            busy_us=round(busy_us(calls[kind]), 1),
        )
        for kind, values in times.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    rows = []
    for name, prepare in (("train", train), ("infer", infer)):
        for layers in LAYERS:
            rows += rows_of(name, prepare, layers)
            result_file.write(arguments.out, "compiled-call", rows)
            print(rows[-1]["case"], rows[-1]["value"], "us; as it is", rows[-2]["value"], "us", flush=True)


if __name__ == "__main__":
    main()
