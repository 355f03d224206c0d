"""Batches made in an arena: what comes is what a plain DataLoader gives, whoever makes it and whatever happens."""

import collections
import gc
import os
import random
import signal
import subprocess
import sys
import time
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.utils.data import DataLoader, IterableDataset, default_collate, get_worker_info  # noqa: E402

from born_batches import BIG, assert_same, born_of, facts, is_locked, played_locks  # noqa: E402, F401
from turnpike import _core  # noqa: E402
from turnpike._move import arena, born, slots  # noqa: E402

pytestmark = pytest.mark.slow

torch.set_num_threads(1)
Pair = collections.namedtuple("Pair", "left right")


class Nested:
    def __len__(self):
        return 11

    def __getitem__(self, index):
        torch.manual_seed(index)
        return {
            "image": torch.rand(3, 16, 16) if index % 2 else torch.rand(3, 16, 16).add_(1),
            "large": torch.full((BIG // 2,), float(index)),
            "half": torch.rand(5).to(torch.bfloat16),
            "flags": torch.rand(4) > 0.5,
            "complex": torch.rand(2, dtype=torch.complex64),
            "empty": torch.empty(0, 3),
            "turned": torch.rand(4, 6).t(),
            "label": index,
            "weight": index / 7,
            "name": f"item {index}",
            "raw": bytes([index]),
            "pair": Pair(torch.tensor(index), [torch.ones(2) * index, "x"]),
        }


class Drawing:
    """Draws in its worker: Python's and PyTorch's random numbers, and says where it was made."""

    def __len__(self):
        return 16

    def __getitem__(self, index):
        info = get_worker_info()
        where = (-1, 0) if info is None else (info.id, info.num_workers)
        return torch.rand(BIG), random.random(), torch.tensor(where)


def first_seed(worker):
    random.seed(worker)


class Counting(IterableDataset):
    """Each worker yields another number of items."""

    def __iter__(self):
        info = get_worker_info()
        worker = 0 if info is None else info.id
        for number in range(5 + 3 * worker):
            yield torch.full((BIG,), float(100 * worker + number))


METHODS = ["fork", "spawn", "forkserver"]


@pytest.mark.parametrize("method", METHODS)
def test_all_that_default_collate_makes_is_the_same(method, locks):
    loader = DataLoader(Nested(), batch_size=4, num_workers=2, multiprocessing_context=method)
    assert assert_same(loader) == 3
    assert arena.counts.batches == 3
    assert arena.counts.elsewhere == 0
    assert locks
    assert loader.collate_fn is default_collate
    assert loader._iterator is None


@pytest.mark.parametrize("options", [{}, {"persistent_workers": True}, {"prefetch_factor": 5}, {"timeout": 30}])
def test_random_numbers_and_workers_are_the_same(options):
    def loader():
        return DataLoader(Drawing(), 2, shuffle=True, num_workers=2, worker_init_fn=first_seed, **options)

    # Workers that persist go on drawing where they were: each way has its own.
    plain, ours = loader(), loader()
    for _ in range(3):
        assert assert_same(plain, ours) == 8
    assert arena.counts.batches == 24


def test_without_workers_large_tensors_are_stacked_in_slots(locks):
    for _ in range(2):
        assert assert_same(DataLoader(Drawing(), batch_size=2)) == 8
        assert assert_same(DataLoader(Nested(), batch_size=4)) == 3
    loader = DataLoader(Drawing(), batch_size=2)
    batches = []
    for batch in born_of(loader):
        batches.append(batch[0])
        assert is_locked(batch[0], locks) == (len(batches) <= 5)  # 3 and those that are spared
    assert len({batch.data_ptr() for batch in batches}) == 8


@pytest.mark.parametrize(
    "make",
    [
        lambda: [torch.rand(4, 3, 30, 30).contiguous(memory_format=torch.channels_last) for _ in range(8)],
        lambda: [torch.rand(400, 300).t() for _ in range(8)],
        lambda: [torch.rand(100_000, 1, 1, 1) for _ in range(8)],
        lambda: [torch.rand(100_000, dtype=torch.float64 if i % 2 else torch.float32) for i in range(8)],
        lambda: [torch.rand(100_000).to(torch.complex64).conj() for i in range(8)],
    ],
)
@pytest.mark.parametrize("workers", [0, 1])
def test_layouts_and_types_of_what_is_stacked_are_the_same(make, workers):
    torch.manual_seed(1)
    data = make()
    loader = DataLoader(data, 4, num_workers=workers)
    found = []
    for begin in (iter, born_of):
        try:
            found.append([facts(batch) for batch in begin(loader)])
        except RuntimeError as error:  # workers do not stack different types, nor lazy conjugates
            found.append(str(error).splitlines()[-1])
    assert found[0] == found[1]


@pytest.mark.parametrize("persistent", [False, True])
def test_large_tensors_are_page_locked_and_small_ones_are_not(locks, persistent):
    loader = DataLoader(Nested(), batch_size=4, num_workers=2, persistent_workers=persistent)
    for _ in range(3):
        for batch in born_of(loader):
            assert is_locked(batch["large"], locks)
            assert not is_locked(batch["image"], locks)
    # Slots are used again in the next epoch: no more than batches were alive at a time.
    assert len(locks) <= 5


def test_slots_are_used_again_and_what_is_kept_stays_as_it_is(locks):
    loader = DataLoader([torch.full((BIG,), float(i)) for i in range(60)], batch_size=1, num_workers=2)
    kept = []
    for number, batch in enumerate(born_of(loader)):
        assert batch[0, 0] == number == batch[0, -1]
        if number % 6 == 0:
            kept.append(batch)
    assert [batch.sum().item() / BIG for batch in kept] == list(range(0, 60, 6))
    assert arena.counts.batches + arena.counts.elsewhere == 60
    assert arena.counts.elsewhere > 0  # there were no slots left
    assert len(locks) <= 2 * (2 + 3)


# Not "spawn": what a worker gets to know is what a fork server's gets, and each of four imports PyTorch once more.
@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_iterable_datasets_whose_workers_end_at_different_times(method):
    loader = DataLoader(Counting(), batch_size=2, num_workers=3, multiprocessing_context=method)
    assert assert_same(loader) == 3 + 4 + 6
    assert arena.counts.batches + arena.counts.elsewhere == 13


@pytest.mark.parametrize("in_order", [True, False])
def test_out_of_order_batches_are_all_there(in_order):
    loader = DataLoader(torch.arange(40.0), 1, num_workers=3, in_order=in_order)
    found = [batch.item() for batch in born_of(loader)]
    assert sorted(found) == list(range(40))
    if in_order:
        assert found == list(range(40))


class Raising:
    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index == 2:
            raise KeyError("bad item")
        return torch.full((BIG,), float(index))


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_an_exception_comes_at_its_place_and_the_loop_may_go_on(workers):
    def seen(batches):
        found = []
        while True:
            try:
                found.append(next(batches)[0, 0].item())
            except KeyError as error:
                assert "bad item" in str(error)
                found.append("error")
            except StopIteration:
                return found

    loader = DataLoader(Raising(), batch_size=1, num_workers=workers)
    assert seen(born_of(loader)) == seen(iter(loader)) == [0, 1, "error", 3, 4, 5]


def broken_collate(samples):
    made = default_collate(samples)
    if samples[0][0] == 1:
        raise ValueError("cannot collate this")
    return made


def test_a_slot_that_was_taken_for_a_batch_that_failed_is_free_again():
    data = [torch.full((BIG,), float(i % 2)) for i in range(40)]
    loader = DataLoader(data, 1, num_workers=1, collate_fn=broken_collate)
    batches, failed = born_of(loader), 0
    for _ in range(40):
        try:
            assert next(batches)[0, 0] == 0
        except ValueError:
            failed += 1
    assert failed == 20
    assert arena.counts == arena.Counts(20, 0, arena.counts.locked_bytes)


class Dying:
    def __init__(self, at):
        self.at = at

    def __len__(self):
        return 20

    def __getitem__(self, index):
        if index == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.full((BIG,), float(index))


def test_a_killed_worker_is_the_loaders_error_and_the_next_epoch_has_all_slots():
    dataset = Dying(at=7)
    loader = DataLoader(dataset, batch_size=1, num_workers=2)
    for _ in range(3):
        batches = born_of(loader)
        with pytest.raises(RuntimeError, match="killed by signal|exited unexpectedly"):
            list(batches)
        del batches
        gc.collect()
    dataset.at = None
    assert assert_same(loader) == 20
    kept = born._kept[loader]
    assert not kept.is_busy()
    kept.reset()
    assert list(kept.arena.flags[: kept.arena.count]) == [0] * kept.arena.count


def test_leaving_early_and_coming_again(locks):
    for persistent in (False, True):
        loader = DataLoader(torch.arange(100.0).repeat(BIG, 1).t(), 1, num_workers=2, persistent_workers=persistent)
        for _ in range(4):
            for number, batch in enumerate(born_of(loader)):
                assert batch[0, 0] == number
                if number == 3:
                    break
        assert [batch[0, 0].item() for batch in born_of(loader)] == list(range(100))
    assert arena.counts.elsewhere == 0


def test_persistent_workers_are_the_loaders_and_use_slots_only_for_us(locks):
    loader = DataLoader(torch.ones(8, BIG), 2, num_workers=2, persistent_workers=True)
    list(born_of(loader))
    workers = [worker.pid for worker in loader._iterator._workers]
    assert arena.counts.batches == 4
    assert all(batch.is_shared() for batch in loader)
    assert arena.counts.batches == 4
    list(born_of(loader))
    assert arena.counts.batches == 8
    assert [worker.pid for worker in loader._iterator._workers] == workers
    other = DataLoader(torch.ones(8, BIG), 2, num_workers=2, persistent_workers=True)
    list(other)
    list(born_of(other))  # its workers know of no arena
    assert arena.counts.batches == 8


def test_two_iterations_at_a_time():
    loader = DataLoader(torch.arange(20.0).repeat(BIG, 1).t(), 1, num_workers=2)
    for left, right in zip(born_of(loader), born_of(loader), strict=True):
        assert torch.equal(left, right)
    here = DataLoader(torch.arange(20.0).repeat(BIG, 1).t(), 1)
    for left, right in zip(born_of(here), born_of(here), strict=True):
        assert torch.equal(left, right)


@pytest.mark.parametrize("change", [{"__iter__": lambda self: iter([1, 2])}, {"_get_iterator": lambda self: iter([3])}])
def test_loaders_with_an_iterator_of_their_own_are_left_alone(change):
    kind = type("Other", (DataLoader,), change)
    loader = kind(torch.ones(4), num_workers=1)
    assert list(born_of(loader)) == list(loader)
    assert loader not in born._kept
    assert list(born_of(range(3))) == [0, 1, 2]


def test_more_than_a_slot_goes_the_usual_way_and_is_said_once(monkeypatch):
    monkeypatch.setattr(arena, "_limit", 32 << 20)
    sizes = [10, 1 << 20, 20, 2 << 20, 30]
    loader = DataLoader([torch.full((size,), 1.5) for size in sizes], 1, num_workers=1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            assert [batch.numel() for batch in born_of(loader)] == sizes
    said = [one for one in said if one.category is RuntimeWarning]
    assert len(said) == 1
    assert "configure_move(batch_bytes=1 << 30)" in str(said[0].message)
    assert (arena.counts.batches, arena.counts.elsewhere) == (6, 4)


def test_ragged_batches_have_their_slots_grow(locks):
    sizes = [BIG * (1 + number % 13) for number in range(80)]
    loader = DataLoader([torch.full((size,), float(size)) for size in sizes], 1, num_workers=2)
    for batch, size in zip(born_of(loader), sizes, strict=True):
        assert is_locked(batch, locks)
        assert batch.shape == (1, size)
        assert (batch == size).all()


def test_no_memory_for_an_arena_is_said_and_the_loop_is_plain(monkeypatch):
    monkeypatch.setattr(arena, "_limit", 1 << 20)
    for loader in (DataLoader(torch.arange(4.0), 2, num_workers=1), DataLoader(torch.arange(4.0), 2)):
        with pytest.warns(RuntimeWarning, match="too little.*batch_bytes"):
            assert [batch.tolist() for batch in born_of(loader)] == [[0, 1], [2, 3]]
        arena._said.clear()
    monkeypatch.setattr(arena, "_limit", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(born_of(loader))) == 2


def test_what_cannot_be_page_locked_still_comes(monkeypatch):
    calls = []

    def refuse(device, address, size):
        calls.append(size)
        raise _core.Error("cuMemHostRegister failed: not permitted")

    monkeypatch.setattr(slots, "_pin", refuse)
    loader = DataLoader(torch.ones(20, BIG), 1, num_workers=2)
    with pytest.warns(RuntimeWarning, match="not permitted") as said:
        assert all((batch == 1).all() for batch in born_of(loader))
    assert sum(one.category is RuntimeWarning for one in said) == 1
    assert len(calls) == 3
    assert arena.counts.locked_bytes == 0


def test_page_locks_go_with_the_loader_and_with_release(locks):
    loader = DataLoader(torch.ones(8, BIG), 1, num_workers=1)
    batches = born_of(loader)
    first = next(batches)
    list(batches)
    assert len(locks) > 1
    before = sum(locks.values())
    assert arena.counts.locked_bytes == before
    assert slots.release_all() == before - sum(size for address, size in locks.items())
    assert len(locks) == 1
    assert is_locked(first, locks)
    del loader, batches
    gc.collect()
    assert len(locks) == 1  # the tensor keeps it
    del first
    assert locks == {}
    assert arena.counts.locked_bytes == 0


def shared_memory_files():
    return set(os.listdir("/dev/shm"))


def open_files():
    return {
        os.readlink(f"/proc/self/fd/{name}")
        for name in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{name}")
    }


@pytest.mark.alone  # all processes share /dev/shm
@pytest.mark.parametrize("end", ["finish", "leave", "kill", "raise"])
def test_nothing_stays_in_shared_memory(end, tmp_path):
    program = f"""
import os, signal, sys, torch, gc
from torch.utils.data import DataLoader
from turnpike._move import born, slots
slots._pin, slots._unpin = lambda *a: None, lambda *a: None
loader = DataLoader(torch.ones(50, {BIG}), 1, num_workers=2)
batches = born.iterator_of(loader, 3, 0)
kept = [next(batches) for _ in range(4)]
print([w.pid for w in batches._workers], flush=True)
end = {end!r}
if end == "finish": list(batches)
if end == "kill": os.kill(os.getpid(), signal.SIGKILL)
if end == "raise": raise SystemExit(7)
"""
    before = shared_memory_files()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == {"kill": -9, "raise": 7}.get(end, 0), done.stderr
    assert done.stderr == ""
    deadline = time.monotonic() + 20
    workers = eval(done.stdout)
    while any(os.path.exists(f"/proc/{pid}") for pid in workers):
        assert time.monotonic() < deadline, "the workers go on"
        time.sleep(0.1)
    assert shared_memory_files() <= before


def test_files_and_mappings_are_closed():
    loader = DataLoader(torch.ones(8, BIG), 1, num_workers=1)
    list(born_of(loader))
    assert any("turnpike batches" in name for name in open_files())
    del loader
    gc.collect()
    assert not any("turnpike batches" in name for name in open_files())
    with open("/proc/self/maps") as maps:
        assert "turnpike batches" not in maps.read()
