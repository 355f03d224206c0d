"""bench prefetch: a training loop with its uploads beside the computation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from turnpike._bench import by_hand
from turnpike._bench.figures import Target
from turnpike._bench.machine import MIB, Machine
from turnpike._bench.timing import Case, Planned, Way, WrongResult
from turnpike._bench.work import Work, seconds_of

BATCH_BYTES = 64 * MIB
IN_LOOP, PIN_THREAD, TURNPIKE = ".to in the loop", "pin thread + non_blocking", "Turnpike prefetch"
PINNED = "page-locked beforehand, by hand"
COMPUTE, TRANSFER, BOUND = "computation alone", "transfer alone", "the longer of both"
NOT_SLOWER = Target(TURNPIKE, "ratio <=", 1.02, "not slower than pin thread + non_blocking (within 2 %)", PIN_THREAD)
AT_BOUND = Target(TURNPIKE, "ratio <=", 1.03, "at most 1.03 x max(compute, transfer)", BOUND)
KINDS = {"compute = transfer": 1.0, "compute = 2 x transfer": 2.0, "compute = half the transfer": 0.5}


def plan(quick: bool, **_: Any) -> list[Planned]:
    # Nothing can be beside the first batch's crossing: of few steps that alone would be several per cent.
    steps = 20 if quick else 100
    equal, *others = [
        Planned(name, partial(pageable_list, name=name, share=share, steps=steps)) for name, share in KINDS.items()
    ]
    if quick:
        return [equal]
    busy = Planned(
        "all CPU cores busy", partial(pageable_list, name="all CPU cores busy", share=1.0, steps=steps, busy=True), 2.0
    )
    return [equal, *others, busy]


class Loop:
    """Steps that read every byte of their batch: they compare it with what it should be, and multiply matrices."""

    def __init__(self, m: Machine, references: list[Any], seconds_a_step: float) -> None:
        self.m = m
        self.work = Work(m)
        self.references = references
        self.wrong = m.torch.zeros((), dtype=m.torch.int64, device=m.device)
        compare_s = seconds_of(m, lambda: self._compare(0, references[0]))
        self.times = self.work.times_for(max(0.0, seconds_a_step - compare_s))
        self.done = 0

    def run(self, batches: Iterable[Any]) -> int:
        """Returns the number of steps."""
        self.begin()
        for batch in batches:
            self.step(batch)
        return self.done

    def begin(self) -> None:
        self.wrong.zero_()
        self.done = 0

    def step(self, batch: Any) -> None:
        self._compare(self.done, batch)
        self.work.run(self.times)
        self.done += 1

    def _compare(self, step: int, batch: Any) -> None:
        self.wrong += (batch != self.references[step % len(self.references)]).sum()

    def check_steps(self, wanted: int) -> Callable[[int], None]:
        def check(steps: int) -> None:
            if steps != wanted:
                raise WrongResult(f"{steps} batches arrived, not {wanted}")
            if wrong := int(self.wrong):
                raise WrongResult(f"{wrong} items of the batches differ from their sources")

        return check


def pageable_list(m: Machine, name: str, share: float, steps: int, busy: bool = False) -> Case:
    """Batches in ordinary memory, already prepared. share: the computation's time to the transfer's."""
    torch = m.torch
    size, steps = m.sized(BATCH_BYTES), m.steps(steps)
    different = [m.pattern(size, seed) for seed in range(4)]
    batches = [different[step % 4] for step in range(steps)]
    pinned = [m.pin(batch) for batch in different]
    references = [batch.to(m.device) for batch in different]
    transfer_s = seconds_of(m, lambda: [one.to(m.device, non_blocking=True) for one in pinned]) / len(pinned)
    loop = Loop(m, references, transfer_s * share)
    check = loop.check_steps(steps)
    side = m.new_stream()

    def transfer_alone() -> Any:
        target = torch.empty_like(references[0])
        for step in range(steps):
            target.copy_(pinned[step % 4], non_blocking=True)
        return target

    def check_last(target: Any) -> None:
        m.same(target, references[(steps - 1) % 4])

    def way(name: str, role: str, run: Callable[[], Any], checked: Any = check) -> Way:
        return Way(name, role, run, checked, prepare=lambda: m.poison(size, side))

    ways = [
        way(IN_LOOP, "pytorch", lambda: loop.run(batch.to(m.device) for batch in batches)),
        way(PIN_THREAD, "best", lambda: loop.run(by_hand.prefetch(m, batches, side))),
        way(
            PINNED,
            "bound",
            lambda: loop.run(by_hand.upload_ahead(m, (pinned[step % 4] for step in range(steps)), side)),
        ),
        way(TURNPIKE, "turnpike", lambda: loop.run(m.tp.prefetch(batches, m.device))),
        way(COMPUTE, "bound", lambda: loop.run(references[step % 4] for step in range(steps))),
        way(TRANSFER, "bound", transfer_alone, check_last),
    ]
    case = Case(
        name,
        "ms",
        steps,
        ways,
        IN_LOOP,
        bound=BOUND,
        derived={BOUND: lambda values: max(values[COMPUTE], values[TRANSFER])},
        targets=[NOT_SLOWER] + ([AT_BOUND] if share == 1.0 and not busy else []),
    )
    if busy:
        _keep_cpus_busy(m, case)
    return case


def _keep_cpus_busy(m: Machine, case: Case) -> None:
    """A thread that multiplies on all CPU cores beside the loop, as preprocessing does; and how far it comes."""
    torch = m.torch
    edge = m.side(2048)
    left = torch.ones(edge, edge)
    done = [0]
    stop = threading.Event()

    def multiply() -> None:
        while not stop.is_set():
            torch.mm(left, left)
            done[0] += 1

    thread = threading.Thread(target=multiply, daemon=True)
    thread.start()
    metric = "multiplications on the CPU meanwhile"
    case.extras = {metric: "1/s"}

    for way in case.ways:
        way.run, way.extra = _counted(way.run, done, metric)

    def close() -> None:
        stop.set()
        thread.join()

    case.close = close
    case.notes.append(f"beside it, a thread multiplies matrices with all {torch.get_num_threads()} threads of PyTorch")


def _counted(run: Callable[[], Any], done: list[int], metric: str) -> tuple[Any, Any]:
    import time

    span = [0, 0.0]

    def counted() -> Any:
        first, start = done[0], time.perf_counter()
        result = run()
        span[:] = [done[0] - first, time.perf_counter() - start]
        return result

    return counted, lambda _: {metric: span[0] / span[1]}
