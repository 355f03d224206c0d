"""bench pipeline: copy in, multiply, copy out, for a row of matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from turnpike._bench.figures import Target
from turnpike._bench.machine import MIB, Machine
from turnpike._bench.timing import POISON, Case, Planned, Way

SEQUENTIAL, STREAMS, TURNPIKE = "sequential", "a stream for each item", "Turnpike pipeline"
IN, COMPUTE, OUT, BOUND = "copies in alone", "multiplications alone", "copies out alone", "bound"
MEMORY = "GPU memory at its peak"
DEPTH = 3


def plan(quick: bool, **_: Any) -> list[Planned]:
    cases = [Planned("16 x 4096^2, pinned", partial(multiply, count=16, edge=4096, is_pinned=True))]
    if not quick:
        cases += [
            Planned("8 x 8192^2, pinned", partial(multiply, count=8, edge=8192, is_pinned=True)),
            Planned("16 x 4096^2, pageable", partial(multiply, count=16, edge=4096, is_pinned=False)),
        ]
    return cases


class Items:
    """The matrices on the host, where their products go, and what these should be."""

    def __init__(self, m: Machine, count: int, edge: int, is_pinned: bool) -> None:
        torch = m.torch
        self.m = m
        self.is_pinned = is_pinned
        # Small whole numbers: sums of products are exact in float32, whatever the order.
        values = [m.pattern(edge * edge * 4, seed).remainder_(7).float().view(edge, edge) for seed in range(count)]
        self.weight = torch.randint(0, 3, (edge, edge)).float().to(m.device)
        self.inputs = [m.pin(value) for value in values] if is_pinned else values
        self.outputs = [
            m.empty_pinned((edge, edge), torch.float32) if is_pinned else torch.zeros(edge, edge) for _ in values
        ]
        self.wanted = [(value.to(m.device) @ self.weight).cpu() for value in values]

    def poison(self) -> None:
        for output in self.outputs:
            if self.is_pinned:
                self.m.poison_pinned(output)
            else:
                output.view(self.m.torch.uint8).fill_(POISON)

    def check(self, outputs: Any) -> None:
        outputs = list(outputs)
        for number, wanted in enumerate(self.wanted):
            self.m.same(outputs[number], wanted, f"product {number}")


def multiply(m: Machine, count: int, edge: int, is_pinned: bool) -> Case:
    items = Items(m, count, m.side(edge), is_pinned)
    weight = items.weight
    streams = [m.new_stream() for _ in range(count)]

    def sequential() -> Any:
        for source, target in zip(items.inputs, items.outputs, strict=True):
            target.copy_(source.to(m.device) @ weight)
        return items.outputs

    def streamed() -> Any:
        for stream, source, target in zip(streams, items.inputs, items.outputs, strict=True):
            with m.use(stream):
                target.copy_(source.to(m.device, non_blocking=True) @ weight, non_blocking=True)
        return items.outputs

    def piped() -> Any:
        return list(m.tp.pipeline(lambda x: x @ weight, items.inputs, m.device, depth=DEPTH, out=items.outputs))

    def way(name: str, role: str, run: Callable[[], Any]) -> Way:
        peak_mib = _peak_mib(m, run)
        return Way(name, role, run, items.check, prepare=items.poison, extra=lambda _: {MEMORY: peak_mib})

    ways = [
        way(SEQUENTIAL, "pytorch", sequential),
        way(STREAMS, "best", streamed),
        way(TURNPIKE, "turnpike", piped),
        *_lanes(m, items),
    ]
    item_mib = items.inputs[0].nbytes / MIB
    kind = "pinned" if is_pinned else "pageable"
    within = Target(TURNPIKE, "ratio <=", 1.02, "at most 1.02 x the bound", BOUND)
    bounded = Target(
        TURNPIKE,
        "value <=",
        2 * DEPTH * item_mib,
        f"at most {DEPTH} items and their {DEPTH} products on the GPU",
        metric=MEMORY,
    )
    return Case(
        f"{count} x {edge}^2, {kind}",
        "ms",
        1,
        ways,
        SEQUENTIAL,
        bound=BOUND,
        derived={BOUND: lambda values: bound(values[IN], values[COMPUTE], values[OUT], count)},
        targets=[within, bounded] if is_pinned else [bounded],
        extras={MEMORY: "MiB"},
    )


def bound(in_all: float, compute_all: float, out_all: float, count: int) -> float:
    """What three lanes that each work without a pause need: the slowest all of its items, the others one of theirs.

    The first product cannot begin before its input is there, and the last output cannot leave before it is made.
    """
    lanes = (in_all, compute_all, out_all)
    return max(lanes) + (sum(lanes) - max(lanes)) / count


def _peak_mib(m: Machine, run: Callable[[], Any]) -> float:
    """The most GPU memory that a run takes, over what was taken before it. Not timed: it has to allocate all of it."""
    m.synchronize()
    before = m.reset_peak()
    run()
    m.synchronize()
    return (m.peak_bytes() - before) / MIB


def _lanes(m: Machine, items: Items) -> list[Way]:
    """Each of the three by itself, with pinned memory."""
    torch = m.torch
    source, target = m.pin(items.inputs[0]), m.pin(items.outputs[0])
    on_device = source.to(m.device)
    product = on_device @ items.weight
    crossed = torch.empty_like(on_device)
    times = range(len(items.inputs))

    def copies_in() -> Any:
        for _ in times:
            crossed.copy_(source, non_blocking=True)
        return crossed, on_device

    def products() -> Any:
        for _ in times:
            torch.mm(on_device, items.weight, out=product)
        return product, items.wanted[0]

    def copies_out() -> Any:
        for _ in times:
            target.copy_(product, non_blocking=True)
        return target, items.wanted[0]

    def check(pair: Any) -> None:
        m.same(*pair)

    runs = {IN: copies_in, COMPUTE: products, OUT: copies_out}
    return [Way(name, "bound", run, check) for name, run in runs.items()]
