"""Lifetimes: memory that stays after its last reference, tensors that cannot be trained on."""

from __future__ import annotations

import weakref

import torch
from stage import KIB, MIB

from catalogue import fault


def _small_ones(stage, size_bytes):
    return [stage.filled(turn, 128 * KIB) for turn in range(size_bytes // (128 * KIB))]


@fault("9-to-of-a-list", "memory_kept")
def kept_by_to(way, log, stage):
    way.to(_small_ones(stage, 4 * MIB), stage.device)
    before = stage.allocated()
    for turn in range(3):
        source = _small_ones(stage, 512 * MIB)
        stage.busy(20)
        moved = way.to(source, stage.device)
        reference = weakref.ref(source[0])
        del moved, source
        log.see(f"source is gone/{turn}", stage.is_gone(reference))
        log.see(f"MiB kept/{turn}", stage.kept_mib(before))


@fault("9-prefetch", "memory_kept")
def kept_by_prefetch(way, log, stage):
    before = stage.allocated()
    for turn, steps in enumerate((2, 4)):
        batches = [stage.filled(index, 256 * MIB) for index in range(4)]
        reference = weakref.ref(batches[-1])
        for step, batch in enumerate(way.prefetch(batches, stage.device), 1):  # noqa: B007, its last one is dropped below
            stage.busy(20)
            if step == steps:
                break
        del batch, batches
        log.see(f"MiB kept/{turn}", stage.kept_mib(before))
        log.see(f"source is gone/{turn}", stage.is_gone(reference))


@fault("9-prefetch-of-small-tensors", "memory_kept")
def kept_by_prefetch_of_small(way, log, stage):
    before = stage.allocated()
    batches = [_small_ones(stage, 64 * MIB) for _ in range(4)]
    reference = weakref.ref(batches[-1][0])
    for batch in way.prefetch(batches, stage.device):  # noqa: B007, its last one is dropped below
        stage.busy(20)
    del batch, batches
    log.see("source is gone", stage.is_gone(reference))
    log.see("MiB kept", stage.kept_mib(before))


@fault("9-copy", "memory_kept")
def kept_by_copy(way, log, stage):
    before = stage.allocated()
    for memory in ("pageable", "pinned"):
        host, on_gpu = stage.filled(1, 512 * MIB, memory), stage.filled(2, 512 * MIB, "gpu")
        reference = weakref.ref(host)
        stage.busy(20)
        work = way.copy_(on_gpu, host)
        work.wait()
        del work, host, on_gpu
        log.see(f"MiB kept/{memory}", stage.kept_mib(before))
        log.see(f"source is gone/{memory}", stage.is_gone(reference))


@fault("9-fetch-and-pipeline", "memory_kept")
def kept_by_fetch(way, log, stage):
    before = stage.allocated()
    source = stage.filled(1, 64 * MIB, "gpu")
    fetched = way.fetch(source)
    fetched.result()
    del source, fetched
    log.see("MiB kept by fetch", stage.kept_mib(before))
    for result in way.pipeline(lambda x: x * 2, [stage.filled(turn, 64 * MIB) for turn in range(4)], stage.device):
        del result
    log.see("MiB kept by pipeline", stage.kept_mib(before))


class _Batches:
    """Batches of a small and a large tensor."""

    def __init__(self, stage):
        self._stage = stage

    def __iter__(self):
        for turn in range(6):
            yield {"x": self._stage.filled(turn, 4 * KIB), "big": self._stage.filled(turn, 4 * MIB)}


@fault("16-batches-made-in-inference-mode", "inference")
def inference(way, log, stage):
    weight = torch.ones((), device=stage.device, requires_grad=True)
    iterator = iter(way.prefetch(_Batches(stage), stage.device))
    with torch.inference_mode():
        log.see("in inference mode", next(iterator))
    for turn in range(4):

        def step(turn=turn):
            batch = next(iterator)
            log.see(f"batch/{turn}", batch)
            (batch["x"] * weight).sum().backward()
            return weight.grad.clone()

        log.attempt(f"grad/{turn}", step)
