"""bench d2h: tensors from the device into host memory that nobody touched yet, and into memory that was."""

from __future__ import annotations

from functools import partial
from typing import Any

from turnpike._bench.figures import Target
from turnpike._bench.machine import GIB, MIB, Machine
from turnpike._bench.timing import POISON, Case, Planned, Way
from turnpike._bench.to import size_text, weight_of

CPU, TURNPIKE, PINNED = "PyTorch .cpu()", "Turnpike", "into pinned"
# Below, malloc hands out memory that was used before: it is not fresh, and .cpu() is 10 GB/s there.
FRESH_FROM_BYTES = 64 * MIB


def plan(quick: bool, **_: Any) -> list[Planned]:
    sizes = [MIB, 64 * MIB, 256 * MIB] if quick else [MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB, 4 * GIB]
    fresh = [
        Planned(f"fresh, {size_text(size)}", partial(into_fresh, size_bytes=size), weight_of(size)) for size in sizes
    ]
    touched = [256 * MIB] if quick else [16 * MIB, 256 * MIB, GIB]
    kept = [64 * MIB] if quick else [64 * MIB, 256 * MIB, GIB]
    return [
        *fresh,
        *(
            Planned(f"touched, {size_text(size)}", partial(into_touched, size_bytes=size), weight_of(size))
            for size in touched
        ),
        *(
            Planned(f"results kept, {size_text(size)}", partial(into_results, size_bytes=size), weight_of(size))
            for size in kept
        ),
    ]


class Sources:
    """Two tensors on the device that take turns: memory which still holds what an earlier turn brought is seen."""

    def __init__(self, m: Machine, size: int) -> None:
        self.m = m
        self.wanted = [m.pattern(size, seed) for seed in range(2)]
        self.tensors = [tensor.to(m.device) for tensor in self.wanted]
        self.index = 0

    def next(self) -> None:
        self.index = 1 - self.index

    @property
    def tensor(self) -> Any:
        return self.tensors[self.index]

    def check(self, got: Any) -> None:
        self.m.on_device(got, self.m.torch.device("cpu"))
        self.m.same(got, self.wanted[self.index])


def into_fresh(m: Machine, size_bytes: int) -> Case:
    size = m.sized(size_bytes)
    sources = Sources(m, size)
    pinned = m.empty_pinned(size // 4, m.torch.int32)

    def by_hand() -> Any:
        pinned.copy_(sources.tensor, non_blocking=True)
        m.current_stream().synchronize()
        return pinned.clone()

    ways = [
        Way(CPU, "pytorch", lambda: sources.tensor.cpu(), sources.check, sources.next),
        Way("pinned buffer, copied out", "best", by_hand, sources.check, sources.next),
        Way(TURNPIKE, "turnpike", lambda: m.tp.to(sources.tensor, "cpu"), sources.check, sources.next),
        _bound(m, sources, pinned),
    ]
    targets = [
        Target(TURNPIKE, "value >=", 20, "at least 20 GB/s"),
        Target(TURNPIKE, "ratio >=", 10, "at least 10x .cpu()", CPU),
    ]
    return Case(
        f"fresh, {size_text(size_bytes)}",
        "GB/s",
        size,
        ways,
        CPU,
        bound=PINNED,
        targets=targets if size_bytes >= FRESH_FROM_BYTES else [],
        size_bytes=size_bytes,
        series="into fresh memory",
        # A round of 4 GiB takes ten seconds, most of it PyTorch's; the smaller sizes came before and warmed up.
        most_rounds=3 if size_bytes > GIB else None,
        warm_rounds=0 if size_bytes > GIB else 1,
    )


def into_results(m: Machine, size_bytes: int) -> Case:
    """The memory of results that are gone is used again, where the program has allowed it."""
    size = m.sized(size_bytes)
    sources = Sources(m, size)
    pinned = m.empty_pinned(size // 4, m.torch.int32)

    def prepare() -> None:
        sources.next()
        m.tp.configure_move(results_bytes=4 * size_bytes)

    ways = [
        Way(CPU, "pytorch", lambda: sources.tensor.cpu(), sources.check, sources.next),
        Way(TURNPIKE, "turnpike", lambda: m.tp.to(sources.tensor, "cpu"), sources.check, prepare),
        _bound(m, sources, pinned),
    ]
    return Case(
        f"results kept, {size_text(size_bytes)}",
        "GB/s",
        size,
        ways,
        CPU,
        bound=PINNED,
        targets=[Target(TURNPIKE, "value >=", 45, "at least 45 GB/s")],
        size_bytes=size_bytes,
        series="into results that are kept",
        most_rounds=8,
        afterwards=lambda: m.tp.configure_move(results_bytes=0),
    )


def _bound(m: Machine, sources: Sources, pinned: Any) -> Way:
    def prepare() -> None:
        sources.next()
        m.poison_pinned(pinned)

    return Way(PINNED, "bound", lambda: pinned.copy_(sources.tensor, non_blocking=True), sources.check, prepare)


def into_touched(m: Machine, size_bytes: int) -> Case:
    """A destination that is used again and again: its pages are there."""
    size = m.sized(size_bytes)
    sources = Sources(m, size)
    pinned = m.empty_pinned(size // 4, m.torch.int32)
    target = m.torch.empty(size // 4, dtype=m.torch.int32)

    def prepare() -> None:
        sources.next()
        target.view(m.torch.uint8).fill_(POISON)

    def by_hand() -> Any:
        pinned.copy_(sources.tensor, non_blocking=True)
        m.current_stream().synchronize()
        return target.copy_(pinned)

    def in_place() -> Any:
        # Page-locks the destination for the copy: worth it where the same memory is the target many times.
        return target.copy_(sources.tensor, non_blocking=True)

    def turnpike() -> None:
        m.tp.copy_(target, sources.tensor).synchronize()

    def check_target(_: Any) -> None:
        sources.check(target)

    def locked(is_locked: bool) -> Any:
        def prepare_locked() -> None:
            prepare()
            if is_locked:
                m.tp.pin_(target)

        return prepare_locked

    ways = [
        Way("PyTorch copy_", "pytorch", lambda: target.copy_(sources.tensor), check_target, prepare),
        Way("pinned buffer, copied out", "best", by_hand, check_target, prepare),
        Way("Turnpike copy_", "turnpike", turnpike, check_target, prepare),
        Way(
            "copy_, destination pinned in place",
            "turnpike",
            in_place,
            check_target,
            locked(True),
            finish=lambda _: m.tp.unpin_(target),
        ),
        _bound(m, sources, pinned),
    ]
    return Case(
        f"touched, {size_text(size_bytes)}",
        "GB/s",
        size,
        ways,
        "PyTorch copy_",
        bound=PINNED,
        size_bytes=size_bytes,
        series="into touched memory",
    )
