"""tp.prefetch on a GPU: every batch arrives whole, exceptions come at their place, and nothing stays behind."""

import gc
import random
import threading
import time
import weakref

import pytest

import turnpike as tp
from tensors import assert_same, random_tensor

pytestmark = pytest.mark.usefixtures("no_memory_kept")


def batches(torch, count=12, size=1 << 20):
    return [
        {"x": torch.full((size,), float(i)), "i": i, "small": [torch.tensor(i), torch.ones(3)]} for i in range(count)
    ]


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("seed", range(6))
def test_random_batches_arrive_while_the_host_runs_ahead(torch, gpu, busy, depth, seed):
    rng = random.Random(seed)
    sources = [[random_tensor(rng) for _ in range(rng.randint(0, 12))] for _ in range(20)]
    kept = []
    for batch in tp.prefetch(sources, gpu, depth):
        busy(1_000_000)
        kept.append([tensor.clone() for tensor in batch])
    assert len(kept) == len(sources)
    for batch, source in zip(kept, sources, strict=True):
        for ours, theirs in zip(batch, source, strict=True):
            assert torch.equal(ours.cpu(), theirs)
    for batch, source in zip(tp.prefetch(sources, gpu, depth), sources, strict=True):
        for ours, theirs in zip(batch, source, strict=True):
            assert_same(ours, theirs.to(gpu))


def test_memory_is_bounded_by_depth(torch, gpu):
    size = 1 << 22
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    for _ in tp.prefetch((torch.ones(size) for _ in range(20)), gpu, depth=2):
        pass
    # depth + 1, and the one that the loop's variable still holds while the next is made.
    assert torch.cuda.max_memory_allocated() - before <= 4 * 4 * size


def test_length_attributes_and_second_iteration_are_those_of_the_loader(torch, gpu):
    loader = torch.utils.data.DataLoader(torch.arange(10.0), batch_size=5)
    wrapped = tp.prefetch(loader, gpu)
    assert len(wrapped) == 2 and wrapped.batch_size == 5 and wrapped.dataset is loader.dataset
    for _ in range(2):
        assert [batch.sum().item() for batch in wrapped] == [10, 35]
    with pytest.raises(AttributeError):
        wrapped.nonsense  # noqa: B018


def test_an_exception_comes_in_place_of_its_batch(torch, gpu):
    def source():
        yield from (torch.full((1 << 20,), float(i)) for i in range(3))
        raise KeyError("broken")

    seen = []
    with pytest.raises(KeyError, match="broken"):
        for batch in tp.prefetch(source(), gpu, depth=4):
            seen.append(batch[0].item())
    assert seen == [0, 1, 2]
    assert list(tp.prefetch([], gpu)) == []


def test_leaving_early_releases_everything(torch, gpu, busy):
    class Source:
        def __iter__(self):
            return (torch.ones(1 << 20) for _ in range(100))

    for batch in tp.prefetch(Source(), gpu, depth=3):
        busy()
        batch.add_(1)
        break
    with pytest.raises(ZeroDivisionError):
        for _ in tp.prefetch(Source(), gpu, depth=3):
            raise ZeroDivisionError
    iterator = iter(tp.prefetch(Source(), gpu, depth=3))
    next(iterator)
    del iterator, batch, _
    gc.collect()


def test_host_memory_is_let_go(torch, gpu):
    tensor = torch.ones(1 << 20)
    gone = weakref.ref(tensor)
    for batch in tp.prefetch([[tensor]], gpu):  # noqa: B007
        pass
    del tensor, batch
    torch.cuda.synchronize()
    tp.to(torch.ones(1 << 20), gpu)  # every call lets go what is done
    gc.collect()
    assert gone() is None


def test_host_memory_is_let_go_while_the_batch_is_ahead(torch, gpu, busy):
    sources = []

    def source():
        for step in range(10):
            tensor = torch.full((1 << 20,), float(step))
            sources.append(weakref.ref(tensor))
            yield tensor
            del tensor

    batches = iter(tp.prefetch(source(), gpu, depth=4))
    for _ in range(5):
        next(batches)
        busy()
    assert len(sources) > 7
    time.sleep(0.2)  # all of them are staged, and wait for the loop
    count = len(sources)
    next(batches)
    assert [reference() for reference in sources[:count]] == [None] * count
    del batches


def test_batches_may_be_taken_on_another_stream(torch, gpu, busy):
    side = torch.cuda.Stream()
    iterator = iter(tp.prefetch(batches(torch), gpu, depth=3))
    totals = []
    for index in range(12):
        with torch.cuda.stream(side if index % 2 else torch.cuda.default_stream()):
            batch = next(iterator)
            busy(2_000_000)
            totals.append(batch["x"].sum())
            del batch
    torch.cuda.synchronize()
    assert [total.item() for total in totals] == [i * (1 << 20) for i in range(12)]
    del iterator, totals


@pytest.mark.parametrize("pin", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_with_forked_workers_beside_the_engine(torch, gpu, pin, workers):
    tp.to(torch.ones(1 << 22), gpu)  # the engine and its threads are there when the workers are forked
    data = torch.arange(64 * 1000, dtype=torch.float32).reshape(64, 1000)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(data, torch.arange(64)), batch_size=8, num_workers=workers, pin_memory=pin,
        multiprocessing_context="fork" if workers else None,
    )  # fmt: skip
    for _ in range(2):
        seen = [(x.clone(), y.clone()) for x, y in tp.prefetch(loader, gpu)]
        assert torch.equal(torch.cat([x for x, _ in seen]).cpu(), data)
        assert torch.equal(torch.cat([y for _, y in seen]).cpu(), torch.arange(64))
    del seen


class Numbers:
    """A dataset; its last item cannot be made."""

    def __len__(self):
        return 33

    def __getitem__(self, index):
        if index == 32:
            raise KeyError("broken")
        import torch

        return torch.full((20_000,), float(index))


def assert_receivers_end(within_s=2.0):
    """A receiving thread ends a moment after its iterator, and on a busy machine a long moment."""
    deadline = time.monotonic() + within_s
    while left := [one for one in threading.enumerate() if one.name == "turnpike prefetch"]:
        assert time.monotonic() < deadline, left
        time.sleep(0.001)


@pytest.mark.parametrize("persistent", [False, True])
def test_batches_of_workers_while_the_host_runs_ahead(torch, gpu, busy, persistent):
    loader = torch.utils.data.DataLoader(
        Numbers(), batch_size=4, num_workers=2, persistent_workers=persistent, multiprocessing_context="fork"
    )
    wrapped = tp.prefetch(loader, gpu)
    for leave_at in (0, 3, None):
        seen, batches = [], iter(wrapped)
        for step in range(8):
            batch = next(batches)
            busy(1_000_000)
            seen.append(batch.clone())
            if step == leave_at:
                break
        if leave_at is None:
            with pytest.raises(KeyError, match="broken"):
                next(batches)
        del batches, batch
        assert_receivers_end()
        assert torch.cat(seen).cpu()[:, ::1000].eq(torch.arange(4.0 * len(seen))[:, None]).all()
    del seen


def test_gradients_flow_back(torch, gpu):
    leaf = torch.ones(3, requires_grad=True)
    (batch,) = tp.prefetch([{"x": leaf, "y": torch.ones(1 << 20)}], gpu)
    (batch["x"] * 2).sum().backward()
    assert leaf.grad.tolist() == [2, 2, 2] and batch["y"].is_cuda


def test_dtype_and_objects_that_move_themselves(torch, gpu):
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])
    (batch,) = tp.prefetch([{"p": packed, "x": torch.ones(1 << 17)}], gpu, dtype=torch.float16)
    assert batch["p"].data.is_cuda and batch["x"].dtype == torch.float16


def test_small_tensors_of_a_batch_do_not_wait_for_the_stream(torch, gpu):
    batches = [{"image": torch.ones(1 << 20), "label": torch.arange(256) + step} for step in range(4)]
    torch.cuda.synchronize()
    start, labels = time.perf_counter(), []
    for batch in tp.prefetch(batches, gpu):
        torch.cuda._sleep(400_000_000)  # some 0.2 s
        labels.append(batch["label"].clone())
    took = time.perf_counter() - start
    is_busy = not torch.cuda.current_stream().query()
    for label, batch in zip(labels, batches, strict=True):
        assert torch.equal(label.cpu(), batch["label"])
    assert is_busy, f"the host came to the end of the loop after {took:.3f} s, and the GPU had nothing left to do"


def test_the_first_batch_does_not_wait_for_others(torch, gpu):
    taken = []

    def source():
        for step in range(6):
            taken.append(step)
            yield torch.full((4,), float(step))

    seen = []
    for batch in tp.prefetch(source(), gpu, depth=2):
        seen.append((len(taken), batch[0].item()))
    assert seen == [(1, 0.0), (3, 1.0), (5, 2.0), (6, 3.0), (6, 4.0), (6, 5.0)]
