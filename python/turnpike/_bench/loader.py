"""bench loader: a training loop over a DataLoader, whose workers make batches of 0.5 to 64 MiB."""

from __future__ import annotations

from functools import partial
from typing import Any

from turnpike._bench.collate import Encodings, Nest, Tensors
from turnpike._bench.figures import Target
from turnpike._bench.machine import KIB, MIB, Machine
from turnpike._bench.prefetch import IN_LOOP, NOT_SLOWER, PIN_THREAD, TURNPIKE
from turnpike._bench.stacked import DIFFERENT, Stacked
from turnpike._bench.timing import Case, Planned, Way

PRELOADED, PINNED_LOADER = "preloaded on the GPU", "Turnpike, pinned loader"
NEST, ENCODINGS = "nest", "Hugging Face batch"
AT_BOUND = Target(TURNPIKE, "ratio <=", 1.03, "at most 1.03 x a loop over batches that are on the GPU", PRELOADED)
SIZES = {"1.5 MiB": 48 * KIB, "16 MiB": 512 * KIB, "64 MiB": 2 * MIB}  # of an item


def plan(quick: bool, **_: Any) -> list[Planned]:
    # Epochs begin with waiting for the workers, however the batches cross: of few steps that would be several per cent.
    steps = 40 if quick else 200
    cases = [
        Planned(f"{size}, {workers} workers", partial(loader, name=size, workers=workers, steps=steps), 1.5)
        for size in SIZES
        for workers in (0, 2, 8)
        if not quick or (size, workers) == ("16 MiB", 2)
    ]
    if quick:
        return cases
    # Of those of Hugging Face nothing is asked against the bound: fewer steps do.
    encodings = [
        Planned(f"{ENCODINGS}, {workers} workers", partial(loader, name=ENCODINGS, workers=workers, steps=80))
        for workers in (0, 2)
    ]
    return [*cases, Planned(f"{NEST}, 2 workers", partial(loader, name=NEST, workers=2, steps=steps), 1.5), *encodings]


def loader(m: Machine, name: str, workers: int, steps: int) -> Case:
    """Each way has a loader of its own: its workers persist, and know for whom they work."""
    kind: Any = {NEST: Nest, ENCODINGS: Encodings}.get(name, Tensors)()
    item_bytes = Encodings.ITEM_BYTES if name == ENCODINGS else SIZES.get(name, 48 * KIB)
    stacked = Stacked(m, item_bytes, workers, steps)
    loop, references, steps = stacked.loop, stacked.references, stacked.steps
    check = loop.check_steps(steps)

    def run(batches: Any) -> int:
        return loop.run(map(kind.tensor, batches))

    def to(batches: Any, **options: Any) -> Any:
        return (kind.to(batch, m.device, **options) for batch in batches)

    plain, pinned, ours, both = (stacked.loader(pin, kind.collate_fn) for pin in (False, True, False, True))
    ways = [
        Way(IN_LOOP, "pytorch", lambda: run(to(plain)), check),
        Way(PIN_THREAD, "best", lambda: run(to(pinned, non_blocking=True)), check),
        Way(TURNPIKE, "turnpike", lambda: run(m.tp.prefetch(ours, m.device)), check),
        Way(PINNED_LOADER, "turnpike", lambda: run(m.tp.prefetch(both, m.device)), check),
        Way(PRELOADED, "bound", lambda: loop.run(references[step % DIFFERENT] for step in range(steps)), check),
    ]
    targets = [NOT_SLOWER] if name == ENCODINGS else [NOT_SLOWER, AT_BOUND]
    return Case(
        f"{name}, {workers} workers",
        "ms",
        steps,
        ways,
        IN_LOOP,
        bound=PRELOADED,
        targets=targets,
        notes=[stacked.note],
    )
