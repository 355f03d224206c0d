"""Batches that the workers of a DataLoader stack, and a loop whose steps are long enough for them."""

from __future__ import annotations

import os
import shutil
from typing import Any

from turnpike._bench.machine import MIB, Machine, Nothing
from turnpike._bench.prefetch import Loop
from turnpike._bench.work import seconds_of

BATCH = 32
DIFFERENT = 4  # batches
LEAST_STEP_S = 4.2e-3


class Stacked:
    """`steps` batches in host memory, those of the loop on the GPU, and loaders over them."""

    def __init__(self, m: Machine, item_bytes: int, workers: int, steps: int) -> None:
        torch = m.torch
        self.torch = torch
        self.workers, self.steps = m.workers(workers), m.steps(steps)
        item = m.sized(item_bytes) // 4
        base = torch.stack([m.pattern(BATCH * item * 4, seed).view(BATCH, item) for seed in range(DIFFERENT)])
        self.batches = base.unbind()
        self.dataset = Samples(base, self.steps)
        _need_shared_memory(2 * self.workers, base[0].nbytes)
        self.references = [batch.to(m.device) for batch in self.batches]
        # Long enough for the workers to keep up: who has to wait for them measures them.
        target = torch.empty_like(base[0])
        make_s = seconds_of(m, lambda: torch.stack([self.dataset[number] for number in range(BATCH)], out=target))
        self.loop = Loop(m, self.references, max(LEAST_STEP_S, 1.5 * make_s / max(1, self.workers)))
        self.note = f"steps are at least {LEAST_STEP_S * 1e3:.1f} ms and 1.5 times what a worker takes to stack"

    def loader(self, pin: bool = False, collate_fn: Any = None) -> Any:
        return self.torch.utils.data.DataLoader(
            self.dataset,
            batch_size=BATCH,
            num_workers=self.workers,
            pin_memory=pin,
            persistent_workers=self.workers > 0,
            collate_fn=collate_fn,
        )


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
