"""bench loader: a training loop over a DataLoader, whose workers make batches of 1.5 to 64 MiB."""

from __future__ import annotations

import os
import shutil
from functools import partial
from typing import Any

from turnpike._bench.figures import Target
from turnpike._bench.machine import KIB, MIB, Machine, Nothing
from turnpike._bench.prefetch import IN_LOOP, NOT_SLOWER, PIN_THREAD, TURNPIKE, Loop
from turnpike._bench.timing import Case, Planned, Way
from turnpike._bench.work import seconds_of

PRELOADED, PINNED_LOADER, NEST = "preloaded on the GPU", "Turnpike, pinned loader", "nest"
AT_BOUND = Target(TURNPIKE, "ratio <=", 1.03, "at most 1.03 x a loop over batches that are on the GPU", PRELOADED)
BATCH = 32
SIZES = {"1.5 MiB": 48 * KIB, "16 MiB": 512 * KIB, "64 MiB": 2 * MIB}  # of an item
DIFFERENT = 4  # batches
LEAST_STEP_S = 4.2e-3


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
    return [*cases, Planned(f"{NEST}, 2 workers", partial(loader, name=NEST, workers=2, steps=steps), 1.5)]


def loader(m: Machine, name: str, workers: int, steps: int) -> Case:
    """Each way has a loader of its own: its workers persist, and know for whom they work."""
    torch = m.torch
    full_name = f"{name}, {workers} workers"
    workers, steps = m.workers(workers), m.steps(steps)
    item = m.sized(SIZES.get(name, 48 * KIB)) // 4
    base = torch.stack([m.pattern(BATCH * item * 4, seed).view(BATCH, item) for seed in range(DIFFERENT)])
    dataset = Samples(base, steps)
    _need_shared_memory(2 * workers, base[0].nbytes)
    references = [base[number].to(m.device) for number in range(DIFFERENT)]
    # Long enough for the workers to keep up: who has to wait for them measures them.
    target = torch.empty_like(base[0])
    make_s = seconds_of(m, lambda: torch.stack([dataset[number] for number in range(BATCH)], out=target))
    loop = Loop(m, references, max(LEAST_STEP_S, 1.5 * make_s / max(1, workers)))
    check = loop.check_steps(steps)
    collate_fn = Nest() if name == NEST else None

    def make(pin: bool) -> Any:
        return torch.utils.data.DataLoader(
            dataset,
            batch_size=BATCH,
            num_workers=workers,
            pin_memory=pin,
            persistent_workers=workers > 0,
            collate_fn=collate_fn,
        )

    def tensor(batch: Any) -> Any:
        return batch if collate_fn is None else collate_fn.tensor(batch)

    def to(batch: Any, **options: Any) -> Any:
        if collate_fn is None:
            return batch.to(m.device, **options)
        return tensor({key: value.to(m.device, **options) for key, value in batch.items()})

    plain, pinned, ours, both = make(False), make(True), make(False), make(True)
    ways = [
        Way(IN_LOOP, "pytorch", lambda: loop.run(to(batch) for batch in plain), check),
        Way(PIN_THREAD, "best", lambda: loop.run(to(batch, non_blocking=True) for batch in pinned), check),
        Way(TURNPIKE, "turnpike", lambda: loop.run(map(tensor, m.tp.prefetch(ours, m.device))), check),
        Way(PINNED_LOADER, "turnpike", lambda: loop.run(map(tensor, m.tp.prefetch(both, m.device))), check),
        Way(PRELOADED, "bound", lambda: loop.run(references[step % DIFFERENT] for step in range(steps)), check),
    ]
    case = Case(full_name, "ms", steps, ways, IN_LOOP, bound=PRELOADED, targets=[NOT_SLOWER, AT_BOUND])
    case.notes.append(f"steps are at least {LEAST_STEP_S * 1e3:.1f} ms and 1.5 times what a worker takes to stack")
    return case


def _need_shared_memory(workers: int, batch_bytes: int) -> None:
    needed = 2 * workers * batch_bytes  # each worker two batches ahead
    if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free < needed:
        raise Nothing(
            f"{workers} workers need {needed // MIB} MiB of /dev/shm, which has less. "
            "Start the container with more (--shm-size)"
        )


class Samples:
    """A dataset of `steps` batches whose samples are there already: what is left to workers is to stack them."""

    def __init__(self, base: Any, steps: int) -> None:
        self.base = base
        self.steps = steps

    def __len__(self) -> int:
        return self.steps * BATCH

    def __getitem__(self, index: int) -> Any:
        return self.base[index // BATCH % DIFFERENT, index % BATCH]


class Nest:
    """A collate_fn of one's own, as those for text: a batch is cut into columns, with a mask for each of them."""

    COLUMNS = 8

    def __call__(self, samples: list[Any]) -> dict[str, Any]:
        import torch

        columns = torch.stack(samples).chunk(self.COLUMNS, dim=1)
        masks = {f"mask {number}": column[:, :64] != 0 for number, column in enumerate(columns)}
        return {str(number): column.contiguous() for number, column in enumerate(columns)} | masks

    def tensor(self, batch: dict[str, Any]) -> Any:
        import torch

        return torch.cat([batch[str(number)] for number in range(self.COLUMNS)], dim=1)
