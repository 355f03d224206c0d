"""bench to: tensors to the device, from memory as programs have it."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from turnpike._bench.by_hand import TwoSlotStaging, upload_ahead
from turnpike._bench.figures import Target
from turnpike._bench.machine import GIB, KIB, MIB, Machine
from turnpike._bench.timing import Case, Planned, Way, WrongResult

PYTORCH, TURNPIKE, PINNED = "PyTorch .to", "Turnpike", "pinned"
# The bound is what page-locked memory reaches in the same round.
OF_PINNED = {64 * MIB: 0.85, 256 * MIB: 0.90, GIB: 0.92, 4 * GIB: 0.92}
# Sources of one size are taken in turn, so many that together they are no longer in the CPU's caches.
POOL_BYTES = 256 * MIB


def plan(quick: bool, **_: Any) -> list[Planned]:
    sizes = [MIB, 64 * MIB, 256 * MIB] if quick else [64 * KIB, MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB, 4 * GIB]
    cases = [
        Planned(f"pageable, {size_text(size)}", partial(pageable, size_bytes=size), weight_of(size)) for size in sizes
    ]
    cases.append(Planned("one tensor of 4 KiB", one_small))
    if not quick:
        cases += [
            Planned("every second column", partial(every_second_column, is_pinned=False)),
            Planned("every second column, pinned", partial(every_second_column, is_pinned=True)),
            Planned("transposed", transposed),
            *(Planned(name, partial(converted, name=name, is_pinned=False)) for name in CONVERSIONS),
            Planned("uint8 to float32, pinned", partial(converted, name="uint8 to float32", is_pinned=True)),
            *(Planned(busy_name(size), partial(busy_stream, size_bytes=size)) for size in BUSY_SIZES),
        ]
    cases.append(Planned("10 uploads of 400 MB", classic, 5))
    return cases


def weight_of(size_bytes: int) -> float:
    return 1 + 4 * size_bytes / GIB


def size_text(size_bytes: int) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} bytes"


class Sources:
    """Tensors on the host, each with its copy on the device to compare with; next() takes another one for a turn."""

    def __init__(self, machine: Machine, tensors: list[Any], references: list[Any] | None = None) -> None:
        self.machine = machine
        self.tensors = tensors
        self.references = references or [tensor.to(machine.device) for tensor in tensors]
        self.index = 0

    def next(self) -> None:
        self.index = (self.index + 1) % len(self.tensors)
        self.machine.poison(self.references[0].nbytes)

    @property
    def tensor(self) -> Any:
        return self.tensors[self.index]

    def check(self, crossed: Any) -> None:
        self.machine.on_device(crossed)
        self.machine.same(crossed, self.references[self.index])


def pageable(m: Machine, size_bytes: int) -> Case:
    size = m.sized(size_bytes)
    count = max(1, m.sized(POOL_BYTES) // size)
    sources = Sources(m, [m.pattern(size, seed) for seed in range(count)])
    pinned = Sources(m, [m.pin(tensor) for tensor in sources.tensors[:4]], sources.references[:4])
    staging = TwoSlotStaging(m)
    ways = [
        _way(PYTORCH, "pytorch", sources, lambda: sources.tensor.to(m.device)),
        _way("pin_memory() + .to", "best", sources, lambda: m.pin(sources.tensor).to(m.device, non_blocking=True)),
        _way("two pinned slots", "best", sources, lambda: staging.upload(sources.tensor)),
        _way(TURNPIKE, "turnpike", sources, lambda: m.tp.to(sources.tensor, m.device)),
        _way(PINNED, "bound", pinned, lambda: pinned.tensor.to(m.device, non_blocking=True)),
    ]
    return Case(
        f"pageable, {size_text(size_bytes)}",
        "GB/s",
        size,
        ways,
        PYTORCH,
        bound=PINNED,
        targets=[
            Target(TURNPIKE, "ratio >=", least, f"at least {least:.0%} of the rate of pinned memory", PINNED)
            for size, least in OF_PINNED.items()
            if size == size_bytes
        ],
        size_bytes=size_bytes,
        series="pageable",
    )


def _way(name: str, role: str, sources: Sources, run: Any) -> Way:
    return Way(name, role, run, sources.check, prepare=sources.next)


def one_small(m: Machine, calls: int = 100) -> Case:
    tensors = [m.pattern(4 * KIB, seed) for seed in range(calls)]
    references = [tensor.to(m.device) for tensor in tensors]
    pinned = [m.pin(tensor) for tensor in tensors]

    def check(crossed: list[Any]) -> None:
        for got, wanted in zip(crossed, references, strict=True):
            m.on_device(got)
            m.same(got, wanted)

    def way(name: str, role: str, move: Any, sources: list[Any]) -> Way:
        return Way(name, role, lambda: [move(tensor) for tensor in sources], check)

    ways = [
        way(PYTORCH, "pytorch", lambda tensor: tensor.to(m.device), tensors),
        way("pinned, .to", "best", lambda tensor: tensor.to(m.device), pinned),
        way(TURNPIKE, "turnpike", lambda tensor: m.tp.to(tensor, m.device), tensors),
    ]
    no_slower = Target(TURNPIKE, "difference <=", 2.0, "at most 2 us slower than .to", PYTORCH)
    return Case("one tensor of 4 KiB", "us", calls, ways, PYTORCH, targets=[no_slower])


BUSY_SIZES = [4 * KIB, 256 * KIB, 2 * MIB]


def busy_name(size_bytes: int) -> str:
    return f"the call on a busy stream, {size_text(size_bytes)}"


def busy_stream(m: Machine, size_bytes: int, calls: int = 8) -> Case:
    """How long a call holds the program while the stream still works on what came before."""
    tensors = [m.pattern(m.sized(size_bytes), seed) for seed in range(calls)]
    references = [tensor.to(m.device) for tensor in tensors]
    crossed: list[Any] = []

    def check(_: float) -> None:
        for got, wanted in zip(crossed, references, strict=True):
            m.on_device(got)
            m.same(got, wanted)

    def way(name: str, role: str, move: Any) -> Way:
        def run() -> float:
            m.keep_busy(ms=20)
            start_s = time.perf_counter()
            crossed[:] = [move(tensor) for tensor in tensors]
            return (time.perf_counter() - start_s) / calls * 1e6

        return Way(name, role, run, check)

    ways = [
        way(PYTORCH, "pytorch", lambda tensor: tensor.to(m.device)),
        way("pin_memory() + .to", "best", lambda tensor: m.pin(tensor).to(m.device, non_blocking=True)),
        way(TURNPIKE, "turnpike", lambda tensor: m.tp.to(tensor, m.device)),
    ]
    targets = [Target(TURNPIKE, "value <=", 250, "at most 250 us")]
    notes = [
        f"the mean of {calls} calls in a row; the stream has work for 20 ms, which .to waits for in its first call"
    ]
    return Case(busy_name(size_bytes), "us", 1, ways, PYTORCH, targets=targets, notes=notes, returns_figure=True)


def _edge(m: Machine) -> int:
    return m.side(8192)


def every_second_column(m: Machine, is_pinned: bool) -> Case:
    """A pinned source of this kind falls off the cliff: PyTorch makes it dense in pageable memory first."""
    edge = _edge(m)
    base = m.pattern(edge * edge * 4).view(edge, edge).view(m.torch.float32)
    base = m.pin(base) if is_pinned else base
    name = "every second column" + (", pinned" if is_pinned else "")
    return _strided(m, name, base, lambda tensor: tensor[:, ::2], "base up, then the slice")


def transposed(m: Machine) -> Case:
    edge = _edge(m)
    base = m.pattern(edge * edge * 4).view(edge, edge).view(m.torch.float32)
    return _strided(m, "transposed", base, lambda tensor: tensor.t(), "base up, then .t()")


def _strided(m: Machine, name: str, base: Any, cut: Any, by_hand: str) -> Case:
    source = Sources(m, [cut(base)])
    dense = Sources(m, [m.pin(cut(base).contiguous())])
    ways = [
        _way(PYTORCH, "pytorch", source, lambda: source.tensor.to(m.device)),
        _way(by_hand, "best", source, lambda: cut(base.to(m.device))),
        _way(TURNPIKE, "turnpike", source, lambda: m.tp.to(source.tensor, m.device)),
        _way(PINNED, "bound", dense, lambda: dense.tensor.to(m.device, non_blocking=True)),
    ]
    return Case(name, "GB/s", source.references[0].nbytes, ways, PYTORCH, bound=PINNED)


CONVERSIONS = {
    "uint8 to float32": ("uint8", "float32"),
    "float64 to float32": ("float64", "float32"),
    "float32 to bfloat16": ("float32", "bfloat16"),
}


def converted(m: Machine, name: str, is_pinned: bool) -> Case:
    """The bound is the narrower of both dtypes in pinned memory: nobody needs to send more."""
    torch = m.torch
    before, after = (getattr(torch, dtype) for dtype in CONVERSIONS[name])
    values = m.pattern(m.sized(64 * MIB)).view(torch.uint8) if before == torch.uint8 else m.pattern(m.sized(64 * MIB))
    tensor = values.to(before)
    tensor = m.pin(tensor) if is_pinned else tensor
    wide = Sources(m, [tensor], [tensor.to(after).to(m.device)])
    narrow = Sources(m, [m.pin(tensor if tensor.element_size() <= after.itemsize else tensor.to(after))])
    ways = [
        _way(PYTORCH, "pytorch", wide, lambda: wide.tensor.to(m.device, after)),
        _way("up, then convert", "best", wide, lambda: wide.tensor.to(m.device, non_blocking=True).to(after)),
        _way(TURNPIKE, "turnpike", wide, lambda: m.tp.to(wide.tensor, m.device, dtype=after)),
        _way(PINNED, "bound", narrow, lambda: narrow.tensor.to(m.device, non_blocking=True)),
    ]
    return Case(
        name + (", pinned" if is_pinned else ""),
        "GB/s",
        tensor.nbytes,
        ways,
        PYTORCH,
        bound=PINNED,
        notes=["rates count the source's bytes, whatever crossed; pinned is the narrower dtype"],
    )


def classic(m: Machine, uploads: int = 10) -> Case:
    """The first lesson about transfers: the same 400 MB, needed by ten multiplications."""
    source = m.pattern(m.sized(400_000_000) // 4096 * 4096).view(m.torch.float32).view(-1, 1024)
    source.copy_(m.torch.arange(source.numel()).view_as(source).remainder_(1009))
    pinned = m.pin(source)
    weight = m.torch.ones(1024, 1, device=m.device)
    side = m.new_stream()
    wanted = (source.to(m.device) @ weight).sum()

    def total(tensors: Any) -> Any:
        sums = [(tensor @ weight).sum() for tensor in tensors]
        return m.torch.stack(sums)

    def once() -> Any:
        crossed = source.to(m.device)
        return total(crossed for _ in range(uploads))

    def check(sums: Any) -> None:
        if not m.torch.allclose(sums, wanted.expand(uploads), rtol=1e-5):
            raise WrongResult("the sums over the copies differ from those over their source")

    def way(name: str, role: str, run: Any) -> Way:
        return Way(name, role, run, check, prepare=lambda: m.poison(source.nbytes, side))

    times = range(uploads)
    ways = [
        way("upload in the loop", "pytorch", lambda: total(source.to(m.device) for _ in times)),
        way("once, before the loop", "best", once),
        way("asynchronously", "best", lambda: total(upload_ahead(m, (pinned for _ in times), side))),
        way("Turnpike in the loop", "turnpike", lambda: total(m.tp.to(source, m.device) for _ in times)),
        way("Turnpike prefetch", "turnpike", lambda: total(m.tp.prefetch([source] * uploads, m.device))),
        way("Turnpike once", "turnpike", lambda: total([m.tp.to(source, m.device)] * uploads)),
    ]
    return Case("10 uploads of 400 MB", "ms", 1, ways, "upload in the loop")
