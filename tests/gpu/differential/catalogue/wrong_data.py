"""Wrong data: sources and destinations that are read or written at the wrong time."""

from __future__ import annotations

import torch
from stage import KIB, MIB, iterated

from catalogue import fault

BUSY_MS = 40


def _stale_pinned(way, log, stage, size_bytes, move):
    for turn in range(10):
        on_gpu = stage.filled(turn + 1, size_bytes, "gpu")
        pinned = stage.filled(0, size_bytes, "pinned")
        stage.settle()
        stage.busy(BUSY_MS)
        pinned.copy_(on_gpu, non_blocking=True)
        log.see(f"moved/{turn}", move(pinned))


@fault("1-to-pinned-4-kb", "written_pinned")
def to_pinned_4_kb(way, log, stage):
    _stale_pinned(way, log, stage, 4 * KIB, lambda pinned: way.to([pinned, pinned[:8]], stage.device)[0])


@fault("1-to-pinned-240-kb", "written_pinned")
def to_pinned_240_kb(way, log, stage):
    _stale_pinned(way, log, stage, 240 * KIB, lambda pinned: way.to({"x": pinned, "y": pinned[:8]}, stage.device)["x"])


@fault("1-to-pinned-alone", "written_pinned")
def to_pinned_alone(way, log, stage):
    _stale_pinned(way, log, stage, 4 * KIB, lambda pinned: way.to({"x": pinned}, stage.device)["x"])


@fault("1-to-pinned-small-pieces", "written_pinned")
def to_pinned_many(way, log, stage):
    _stale_pinned(
        way, log, stage, 64 * KIB, lambda pinned: torch.cat(way.to([*pinned.split(1024)], stage.device))
    )  # fmt: skip


@fault("1-prefetch-pinned", "written_pinned")
def prefetch_pinned(way, log, stage):
    for size_bytes in (4 * KIB, 240 * KIB):

        def batches(size_bytes=size_bytes):
            for turn in range(5):
                on_gpu = stage.filled(turn + 1, size_bytes, "gpu")
                pinned = stage.filled(0, size_bytes, "pinned")
                stage.busy(BUSY_MS)
                pinned.copy_(on_gpu, non_blocking=True)
                yield pinned

        for turn, batch in enumerate(way.prefetch(batches(), stage.device)):
            log.see(f"batch/{size_bytes}/{turn}", batch)


@fault("1-pipeline-pinned", "written_pinned")
def pipeline_pinned(way, log, stage):
    inputs = [stage.filled(0, 4 * KIB, "pinned") for _ in range(4)]
    on_gpu = [stage.filled(turn + 1, 4 * KIB, "gpu") for turn in range(4)]
    stage.busy(BUSY_MS)
    for pinned, source in zip(inputs, on_gpu, strict=True):
        pinned.copy_(source, non_blocking=True)
    for turn, result in enumerate(way.pipeline(lambda x: x * 2, inputs, stage.device)):
        log.see(f"result/{turn}", result)


def _see_results(log, results):
    kept = list(results)
    for turn, result in enumerate(kept):
        log.see(f"result/{turn}", result)


@fault("2-pipeline-static-output", "pipeline")
def pipeline_static(way, log, stage):
    inputs = [stage.filled(turn + 1, 16 * MIB) for turn in range(12)]
    static = torch.empty_like(inputs[0], device=stage.device)
    _see_results(log, way.pipeline(lambda x: torch.mul(x, 2, out=static), inputs, stage.device))


@fault("2-pipeline-static-with-out", "pipeline")
def pipeline_out(way, log, stage):
    inputs = [stage.filled(turn + 1, 16 * MIB) for turn in range(12)]
    targets = [stage.filled(0, 16 * MIB, "pinned") for _ in range(12)]
    static = torch.empty_like(inputs[0], device=stage.device)
    _see_results(log, way.pipeline(lambda x: torch.mul(x, 2, out=static), inputs, stage.device, out=targets))


@fault("2-pipeline-graph", "pipeline")
def pipeline_graph(way, log, stage):
    inputs = [stage.filled(turn + 1, 16 * MIB) for turn in range(12)]
    static_in = torch.zeros_like(inputs[0], device=stage.device)
    stage.settle()
    replay, static_out = stage.captured(lambda: static_in * 2)

    def fn(x):
        static_in.copy_(x)
        replay()
        return static_out if stage.is_gpu else static_in * 2

    _see_results(log, way.pipeline(fn, inputs, stage.device))


def _download(way, log, stage, memory, finish):
    for size_bytes in (400, 64 * KIB, 4 * MIB):
        for turn in range(4):
            source = stage.filled(turn + 1, size_bytes, "gpu")
            target = stage.filled(0, size_bytes, memory)
            stage.settle()
            stage.busy(BUSY_MS)
            finish(way.copy_(target, source))
            log.see(f"target/{size_bytes}/{turn}", target)


@fault("3-copy-to-pageable-wait", "copy_to_host")
def copy_pageable_wait(way, log, stage):
    _download(way, log, stage, "pageable", lambda work: work.wait())


@fault("3-copy-to-pinned-wait", "copy_to_host")
def copy_pinned_wait(way, log, stage):
    _download(way, log, stage, "pinned", lambda work: work.wait())


@fault("3-copy-to-pageable-drop", "copy_to_host")
def copy_pageable_drop(way, log, stage):
    _download(way, log, stage, "pageable", lambda work: None)


@fault("3-copy-to-pinned-drop", "copy_to_host")
def copy_pinned_drop(way, log, stage):
    _download(way, log, stage, "pinned", lambda work: None)


@fault("3-copy-drop-then-synchronize", "copy_to_host")
def copy_drop_synchronize(way, log, stage):
    def finish(work):
        del work
        stage.settle()

    _download(way, log, stage, "pageable", finish)


def _freed(stage):
    tensor = stage.filled(3, 16 * KIB)
    tensor.untyped_storage().resize_(0)
    return tensor


@fault("5b-freed-storage", "freed_or_zero")
def freed_storage(way, log, stage):
    # Where PyTorch raises, which it does on a GPU alone.
    for name, make in {
        "alone": lambda: way.to(_freed(stage), stage.device),
        "in a list": lambda: way.to([stage.filled(1, 4 * KIB), _freed(stage)], stage.device),
        "large": lambda: way.to([stage.filled(1, 4 * MIB), _large_freed(stage)], stage.device),
        "prefetch": lambda: list(iterated(way.prefetch([[_freed(stage)]], stage.device))),
    }.items():
        if stage.is_gpu:
            try:
                moved = make()
                error = moved[0] if name == "prefetch" and isinstance(moved[0], Exception) else None
            except RuntimeError as raised:
                error = raised
            log.see(f"freed/{name}", "raised" if isinstance(error, RuntimeError) else "no error")


def _large_freed(stage):
    tensor = stage.filled(3, 8 * MIB)
    tensor.untyped_storage().resize_(0)
    return tensor


@fault("5b-zero-tensors", "freed_or_zero")
def zero_tensors(way, log, stage):
    # What is moved first fills the buffers that a zero tensor must not show.
    way.to([stage.filled(9, 64 * KIB) for _ in range(40)], stage.device)
    for items in (100, 10_000, 1_000_000):
        zeros = torch._efficientzerotensor((items,))
        log.see(f"zeros/{items}", way.to([stage.filled(1, 4 * KIB), zeros], stage.device)[1] + 0)
        batches = way.prefetch([[stage.filled(1, 4 * KIB), zeros]], stage.device)
        log.see(f"prefetched zeros/{items}", next(iter(batches))[1] + 0)


@fault("small-scalars-integers", "scalars")
def scalars_integers(way, log, stage):
    scalars = way.scalars()
    scalars.add(big=torch.tensor(2**53 + 1, device=stage.device), flag=torch.tensor(True, device=stage.device))
    log.see("row", scalars.finish())


def _refilled(buffers):
    for turn in range(12):
        yield buffers[turn % len(buffers)].fill_(turn)


@fault("18-prefetch-refilled-buffers", "refill")
def refilled_buffers(way, log, stage):
    """A loader that fills the same tensors again, while the GPU is busy and batches are read late."""
    for memory in ("pageable", "pinned", "shared"):
        for count, size_bytes in ((1, 64 * KIB), (1, 64 * MIB), (2, 16 * MIB), (8, MIB)):
            buffers = [stage.filled(0, size_bytes, memory) for _ in range(count)]
            seen = []
            for batch in way.prefetch(_refilled(buffers), stage.device):
                stage.busy(BUSY_MS / 4)
                seen.append(batch.min() + 1000 * batch.max())
            log.see(f"batches/{memory}/{count}", [value.item() for value in seen])
