"""Storages: what crossed together and is shared, and memory that moves while it is page-locked."""

from __future__ import annotations

import io
import multiprocessing.reduction

import torch
from stage import KIB, MIB, saved_bytes

from catalogue import fault


def _moved(way, stage, size_bytes=16 * KIB, count=4):
    return way.to([stage.filled(turn + 1, size_bytes) for turn in range(count)], stage.device)


@fault("4-saved-size", "own_storage")
def saved_size(way, log, stage):
    moved = _moved(way, stage, count=512)
    log.see("saved KiB", saved_bytes(moved[0]))
    batch = next(iter(way.prefetch([[stage.filled(1, 16 * KIB) for _ in range(8)]], stage.device)))
    log.see("saved KiB of a batch", saved_bytes(batch[0]))


@fault("4-resized-writes-into-the-neighbour", "own_storage")
def resized(way, log, stage):
    moved = _moved(way, stage)
    moved[0].resize_(2 * moved[0].numel()).fill_(9)
    log.see("neighbours", [moved[index] + 0 for index in (1, 2, 3)])


@fault("4-freed-with-the-neighbour", "own_storage")
def freed_together(way, log, stage):
    moved = _moved(way, stage)
    moved[0].untyped_storage().resize_(0)
    log.attempt("neighbours", lambda: [moved[index] + 0 for index in (1, 2, 3)])


@fault("4-storages", "own_storage")
def storages(way, log, stage):
    log.see("moved", _moved(way, stage))
    batches = way.prefetch([[stage.filled(turn, 4 * KIB) for turn in range(4)]], stage.device)
    log.see("batch", next(iter(batches)))
    on_gpu = [stage.filled(turn, 4 * KIB, "gpu") for turn in range(4)]
    log.see("down", way.to(on_gpu, "cpu"))


def _next_at_the_old_place(way, log, stage, let_go, may_refuse=False):
    """Page-locks, lets the storage's memory go, and looks at what is allocated there next.

    may_refuse: refusing to let pinned memory go is an answer, too. PyTorch leaves the tensor with its new sizes then,
    so the test does not look at it.
    """
    size_bytes = 64 * MIB
    for turn in range(3):
        tensor = way.pin_(stage.filled(1, size_bytes))
        try:
            kept = let_go(tensor)
        except RuntimeError as error:
            if not (may_refuse and "not resizable" in str(error)):
                raise
            kept = None
        following = [torch.empty(size_bytes // 4) for _ in range(3)]
        if stage.is_gpu:
            log.see(f"pinned/{turn}", [new.is_pinned() for new in following])
        for index, new in enumerate(following):
            new.fill_(index + 2)
        log.attempt(f"moved/{turn}", _uploaded, stage, following)
        if not may_refuse:
            log.attempt(f"source/{turn}", _uploaded, stage, [tensor[:1000]])
        del tensor, kept, following


def _uploaded(stage, tensors):
    return [tensor.to(stage.device) for tensor in tensors]


@fault("5-pin-then-share", "pin_in_place")
def pin_share(way, log, stage):
    _next_at_the_old_place(way, log, stage, lambda tensor: tensor.share_memory_())


@fault("5-pin-then-resize", "pin_in_place")
def pin_resize(way, log, stage):
    _next_at_the_old_place(way, log, stage, lambda tensor: tensor.resize_(2 * tensor.numel()), may_refuse=True)


@fault("5-pin-then-resize-storage", "pin_in_place")
def pin_resize_storage(way, log, stage):
    _next_at_the_old_place(way, log, stage, lambda tensor: tensor.untyped_storage().resize_(128 * MIB), may_refuse=True)


@fault("5-pin-then-set", "pin_in_place")
def pin_set(way, log, stage):
    _next_at_the_old_place(way, log, stage, lambda tensor: tensor.set_(torch.zeros(1000)))


@fault("5-pin-then-pickle-to-a-worker", "pin_in_place")
def pin_pickle(way, log, stage):
    import torch.multiprocessing  # noqa: F401, for its reductions

    def pickle(tensor):
        file = io.BytesIO()
        multiprocessing.reduction.ForkingPickler(file).dump(tensor)
        return file

    _next_at_the_old_place(way, log, stage, pickle)
