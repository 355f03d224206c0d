"""Batches of DataLoaders made in page-locked memory, on a GPU: all bytes arrive, none is staged, and nothing stays."""

import contextlib
import gc
import os
import signal
import time

import pytest

import turnpike as tp
from turnpike._move import arena, born

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.utils.data import DataLoader  # noqa: E402

pytestmark = pytest.mark.usefixtures("no_memory_kept")

ITEM = 1 << 18  # floats: 1 MiB


class Samples:
    """Samples that say which they are in every item. `at`: where the process that makes one is killed."""

    def __init__(self, count, item=ITEM, at=None):
        self.count, self.item, self.at = count, item, at

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"x": torch.full((self.item,), float(index)), "i": index, "name": str(index)}


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    """What came of this test's batches."""
    gc.collect()
    tp.release_pinned()
    assert arena.counts.locked_bytes == 0
    counts = arena.Counts()
    monkeypatch.setattr(arena, "counts", counts)
    yield counts
    # PyTorch looks every five seconds whether a worker that says nothing is dead; until then a thread waits for it.
    deadline_s = time.monotonic() + 10
    while True:
        gc.collect()
        torch.cuda.synchronize()
        tp.release_pinned()
        if counts.locked_bytes == 0 or time.monotonic() > deadline_s:
            break
        time.sleep(0.1)
    assert counts.locked_bytes == 0, "memory is still page-locked when its loader is gone"


def staged():
    return tp.move_stats().h2d.staged_bytes


def check(batches, count, batch_size, busy=None):
    """Each batch in its turn, and every item of it; the host runs ahead of a GPU that is busy."""
    sums, number = [], 0
    for batch in batches:
        if busy is not None:
            busy(2_000_000)
        wanted = torch.arange(number * batch_size, (number + 1) * batch_size, device=batch["x"].device)
        sums.append(((batch["x"] != wanted[:, None]).sum() + (batch["i"] != wanted).sum(), number))
        assert batch["name"] == [str(i) for i in range(number * batch_size, (number + 1) * batch_size)]
        number += 1
    assert number == count
    assert [(int(wrong), number) for wrong, number in sums if int(wrong)] == []


@pytest.mark.parametrize("workers", [0, 1, 4])
@pytest.mark.parametrize("pin_memory", [False, True])
@pytest.mark.parametrize("persistent", [False, True])
def test_batches_arrive_whole_and_are_not_staged(gpu, busy, counts, workers, pin_memory, persistent):
    if persistent and not workers:
        pytest.skip("no workers, none that persist")
    loader = DataLoader(
        Samples(160), 4, num_workers=workers, pin_memory=pin_memory, persistent_workers=persistent, prefetch_factor=None
    )
    before = staged()
    for _ in range(2):
        check(tp.prefetch(loader, gpu), 40, 4, busy if workers else None)
    if workers:
        assert (counts.batches, counts.elsewhere) == (80, 0)
        assert staged() - before < 80 * 4 * ITEM, "batches were staged: they were not in page-locked memory"
    assert counts.locked_bytes > 0


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_that_are_not_forked(gpu, counts, method):
    loader = DataLoader(Samples(80), 4, num_workers=2, multiprocessing_context=method)
    before = staged()
    check(tp.prefetch(loader, gpu), 20, 4)
    assert (counts.batches, counts.elsewhere) == (20, 0)
    assert staged() - before < 20 * 4 * ITEM


@pytest.mark.parametrize("depth", [1, 6])
@pytest.mark.parametrize("item", [ITEM, 4 * ITEM])
def test_slots_are_not_filled_again_before_the_link_has_read_them(gpu, busy, depth, item):
    loader = DataLoader(Samples(240, item), 4, num_workers=3, persistent_workers=True)
    for _ in range(3):
        check(tp.prefetch(loader, gpu, depth), 60, 4, busy)


def test_two_loaders_at_a_time(gpu, busy, counts):
    train = DataLoader(Samples(120), 4, num_workers=2)
    other = DataLoader(Samples(16), 4, num_workers=1)
    for number, batch in enumerate(tp.prefetch(train, gpu)):
        busy(1_000_000)
        assert (batch["x"][:, 5].cpu() == torch.arange(4 * number, 4 * number + 4)).all()
        if number % 10 == 0:
            check(tp.prefetch(other, gpu), 4, 4, busy)
    assert counts.elsewhere == 0


def test_page_locks_are_kept_for_the_next_epoch_and_given_back_when_asked(gpu, counts):
    loader = DataLoader(Samples(40), 4, num_workers=2)
    check(tp.prefetch(loader, gpu), 10, 4)
    torch.cuda.synchronize()
    locked = counts.locked_bytes
    assert locked >= 4 * 4 * ITEM
    check(tp.prefetch(loader, gpu), 10, 4)
    assert counts.locked_bytes <= 2 * locked
    assert tp.move_stats().loader.locked_bytes == counts.locked_bytes
    gc.collect()
    torch.cuda.synchronize()
    assert tp.release_pinned() >= locked
    assert counts.locked_bytes == 0
    check(tp.prefetch(loader, gpu), 10, 4)


def test_leaving_and_errors_let_go(gpu, busy):
    loader = DataLoader(Samples(400), 4, num_workers=2)
    for _ in range(3):
        for number, _ in enumerate(tp.prefetch(loader, gpu)):
            busy(1_000_000)
            if number == 5:
                break
    with contextlib.suppress(KeyError):
        for number, _ in enumerate(tp.prefetch(loader, gpu)):
            if number == 5:
                raise KeyError(number)
    check(tp.prefetch(loader, gpu), 100, 4)


def test_a_killed_worker_is_the_loaders_error(gpu):
    dataset = Samples(200, at=100)
    loader = DataLoader(dataset, 4, num_workers=2)
    with pytest.raises(RuntimeError, match="killed by signal|exited unexpectedly"):
        for _ in tp.prefetch(loader, gpu):
            pass
    dataset.at = None
    check(tp.prefetch(loader, gpu), 50, 4)


def test_ragged_batches(gpu, busy):
    sizes = [(1 + 7 * number % 11) * ITEM // 4 for number in range(60)]
    loader = DataLoader([torch.full((size,), float(size)) for size in sizes], None, num_workers=2)
    for batch, size in zip(tp.prefetch(loader, gpu), sizes, strict=True):
        busy(1_000_000)
        assert batch.shape == (size,)
        assert bool((batch == size).all())


def test_one_that_may_not_take_memory_is_staged(gpu, monkeypatch, counts):
    monkeypatch.setattr(arena, "_limit", 0)
    loader = DataLoader(Samples(40), 4, num_workers=2)
    check(tp.prefetch(loader, gpu), 10, 4)
    assert counts == arena.Counts()
    assert loader not in born._kept


def test_results_are_in_memory_of_the_gpu_alone(gpu):
    loader = DataLoader(Samples(8), 4, num_workers=1)
    kept = list(tp.prefetch(loader, gpu))
    del loader
    gc.collect()
    check(kept, 2, 4)
