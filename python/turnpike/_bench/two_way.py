"""Both directions in one loop: a DataLoader's batches come up, and the result of each step goes down."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from turnpike._bench import by_hand
from turnpike._bench.figures import Target
from turnpike._bench.machine import KIB, Machine
from turnpike._bench.prefetch import BOUND, COMPUTE
from turnpike._bench.stacked import DIFFERENT, Stacked
from turnpike._bench.timing import Case, Way

NAME = "both directions, a DataLoader with 2 workers"
IN_LOOP, BY_HAND = ".to and copy_ in the loop", "pin thread, pinned slots for results"
FETCH, PIPELINE = "Turnpike prefetch and fetch", "Turnpike prefetch and pipeline"
TO = "Turnpike prefetch and to"
TRANSFERS = "transfers alone"
# to() returns what has arrived: that loop waits in each step, so nothing is asked of it.
TARGETS = [
    Target(way, "ratio <=", 1.02, f"{way}: not slower than the best by hand (within 2 %)", BY_HAND)
    for way in (FETCH, PIPELINE)
]
ITEM_BYTES, WORKERS, STEPS = 512 * KIB, 2, 32
BEHIND = 2  # results that are on their way


class Results:
    """Steps that leave a result as large as their batch, which is to reach a row of host memory."""

    def __init__(self, m: Machine, stacked: Stacked) -> None:
        self.m = m
        self.loop = stacked.loop
        self.references = stacked.references
        self.turn = 0
        # Touched: rows of what a program collects.
        self.rows = [m.torch.ones_like(stacked.batches[0]) for _ in range(stacked.steps)]
        self._steps = stacked.steps

    def begin(self) -> None:
        """Each turn has results of its own: rows which still hold those of another are seen."""
        self.turn += 1

    def step(self, batch: Any) -> Any:
        mark = self._mark(self.loop.done)
        self.loop.step(batch)
        return batch + mark

    def check_steps(self, _: Any = None) -> None:
        self.loop.check_steps(self._steps)(self.loop.done)

    def check(self, _: Any) -> None:
        self.check_steps()
        for step, row in enumerate(self.rows):
            # On the device, which compares half a gigabyte in a moment.
            wanted = self.references[step % DIFFERENT] + self._mark(step)
            self.m.same(row.to(self.m.device), wanted, f"the result of step {step}")

    def _mark(self, step: int) -> int:
        return 1000 * self.turn + step + 1


def two_way(m: Machine) -> Case:
    """Batches of 16 MiB from workers, and results of 16 MiB into memory that the program keeps."""
    stacked = Stacked(m, ITEM_BYTES, WORKERS, STEPS)
    results = Results(m, stacked)
    loop, rows, references, steps = stacked.loop, results.rows, stacked.references, stacked.steps
    # The ways of Turnpike share a loader: the same engine works for all of them.
    plain, pinned, ours = stacked.loader(), stacked.loader(pin=True), stacked.loader()
    sides = m.new_stream(), m.new_stream()
    slots = by_hand.ResultSlots(m, stacked.batches[0], sides[1])

    def prefetched() -> Any:
        loop.begin()
        return m.tp.prefetch(ours, m.device)

    def in_loop() -> None:
        loop.begin()
        for step, batch in enumerate(plain):
            rows[step].copy_(results.step(batch.to(m.device)))

    def hand_written() -> None:
        loop.begin()
        for step, batch in enumerate(by_hand.upload_ahead(m, pinned, sides[0])):
            slots.add(results.step(batch), rows[step])
        slots.finish()

    def fetched() -> None:
        pending: collections.deque[Any] = collections.deque()
        into = iter(rows)
        for batch in prefetched():
            if len(pending) == BEHIND:
                next(into).copy_(pending.popleft().result())
            pending.append(m.tp.fetch(results.step(batch)))
        for future in pending:
            next(into).copy_(future.result())

    def moved() -> None:
        for step, batch in enumerate(prefetched()):
            rows[step].copy_(m.tp.to(results.step(batch), "cpu"))

    def piped() -> None:
        for _ in m.tp.pipeline(results.step, prefetched(), m.device, out=rows):
            pass

    def computed() -> None:
        loop.begin()
        for step in range(steps):
            results.step(references[step % DIFFERENT])

    def way(name: str, run: Callable[[], None], role: str = "turnpike") -> Way:
        return Way(name, role, run, results.check, results.begin)

    ways = [
        way(IN_LOOP, in_loop, "pytorch"),
        way(BY_HAND, hand_written, "best"),
        way(FETCH, fetched),
        way(PIPELINE, piped),
        way(TO, moved),
        Way(COMPUTE, "bound", computed, results.check_steps, results.begin),
        _transfers(m, stacked, sides),
    ]
    return Case(
        NAME,
        "ms",
        steps,
        ways,
        IN_LOOP,
        bound=BOUND,
        derived={BOUND: lambda values: max(values[COMPUTE], values[TRANSFERS])},
        targets=list(TARGETS),
        notes=[stacked.note],
    )


def _transfers(m: Machine, stacked: Stacked, sides: tuple[Any, Any]) -> Way:
    """As many bytes each way, from and to pinned memory, at the same time."""
    up, down = (m.pin(batch) for batch in stacked.batches[:2])
    source = stacked.references[2]
    target = m.torch.empty_like(source)

    def run() -> Any:
        for _ in range(stacked.steps):
            with m.use(sides[0]):
                target.copy_(up, non_blocking=True)
            with m.use(sides[1]):
                down.copy_(source, non_blocking=True)
        return target, down

    def prepare() -> None:
        target.zero_()
        m.poison_pinned(down)

    def check(pair: Any) -> None:
        m.same(pair[0], stacked.references[0], "the upload")
        m.same(pair[1], stacked.batches[2], "the download")

    return Way(TRANSFERS, "bound", run, check, prepare)
