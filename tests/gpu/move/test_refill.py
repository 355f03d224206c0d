"""A loader that fills the same host memory for every batch, on a busy GPU: prefetch gives the plain loop's values."""

import numpy
import pytest

import turnpike as tp

pytestmark = pytest.mark.usefixtures("no_memory_kept")

BATCHES = 16
SIZES = [1 << 10, 1 << 20, 64 << 20]


class Loader:
    """count buffers, filled in turn with the number of the batch."""

    def __init__(self, torch, make, count, size_bytes):
        self.torch, self.make, self.count, self.items = torch, make, count, size_bytes // 4

    def __iter__(self):
        buffers = [self.make(self.torch, self.items) for _ in range(self.count)]
        for step in range(BATCHES):
            yield {"x": buffers[step % self.count].fill_(step), "step": step}


def pageable(torch, items):
    return torch.zeros(items)


def pinned(torch, items):
    return torch.zeros(items).pin_memory()


def of_numpy(torch, items):
    return torch.from_numpy(numpy.zeros(items, dtype=numpy.float32))


def locked(torch, items):
    return tp.pin_(torch.zeros(items))


def seen(loop, busy):
    """The least and the greatest item of each batch. The host runs far ahead of the GPU."""
    found = []
    for batch in loop:
        busy(10_000_000)
        found.append((batch["step"], batch["x"].min(), batch["x"].max()))
        del batch
    return [(step, least.item(), greatest.item()) for step, least, greatest in found]


def plainly(loader, gpu):
    for batch in loader:
        yield {"x": batch["x"].to(gpu), "step": batch["step"]}


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("count", [1, 2, 6, 9])
@pytest.mark.parametrize("make", [pageable, pinned, of_numpy, locked])
@pytest.mark.parametrize("size_bytes", SIZES)
def test_buffers_that_are_filled_again(torch, gpu, busy, make, count, depth, size_bytes):
    if size_bytes == SIZES[-1] and (count not in (1, 2) or depth == 4):
        pytest.skip("takes too long for a repetition")
    loader = Loader(torch, make, count, size_bytes)
    expected = seen(plainly(loader, gpu), busy)
    assert expected == [(step, step, step) for step in range(BATCHES)]
    assert seen(tp.prefetch(loader, gpu, depth), busy) == expected


@pytest.mark.parametrize("pin", [False, True])
def test_many_small_tensors_of_one_buffer(torch, gpu, busy, pin):
    def source():
        buffer = torch.zeros(40, 1000)
        buffer = buffer.pin_memory() if pin else buffer
        for step in range(BATCHES):
            buffer.fill_(step)
            yield {"x": buffer[0], "rest": list(buffer[1:]), "step": step}

    rests = []

    def loop():
        for batch in tp.prefetch(source(), gpu):
            rests.append(torch.stack(batch["rest"]).sum())
            yield batch

    assert seen(loop(), busy) == [(step, step, step) for step in range(BATCHES)]
    assert [rest.item() for rest in rests] == [step * 39_000 for step in range(BATCHES)]


@pytest.mark.parametrize("count", [7, 10])
def test_a_chunk_of_numpy_that_is_filled_as_a_whole(torch, gpu, busy, count):
    def source():
        chunk = numpy.zeros((count, 1 << 20), dtype=numpy.float32)
        for step in range(2 * count):
            if step % count == 0:
                chunk[:] = numpy.arange(step, step + count)[:, None]
            yield {"x": torch.from_numpy(chunk[step % count]), "step": step}

    assert seen(tp.prefetch(source(), gpu), busy) == [(step, step, step) for step in range(2 * count)]


@pytest.mark.parametrize("kind", ["expanded", "sparse", "gradient", "moves itself"])
@pytest.mark.parametrize("pin", [False, True])
def test_tensors_that_the_engine_does_not_move(torch, gpu, busy, kind, pin):
    class Itself:
        def __init__(self, tensor):
            self.tensor = tensor

        def to(self, device):
            return Itself(self.tensor.to(device))

    def source():
        buffer = torch.zeros(1 << 18)
        buffer = buffer.pin_memory() if pin else buffer
        indices = torch.arange(1 << 18)[None]
        for step in range(BATCHES):
            with torch.no_grad():
                buffer.fill_(step)
            yield {
                "expanded": lambda: buffer[:1].expand(1 << 20),
                "sparse": lambda: torch.sparse_coo_tensor(indices, buffer, check_invariants=False),
                "gradient": lambda: buffer.requires_grad_(),
                "moves itself": lambda: Itself(buffer),
            }[kind]()

    found = []
    for batch in tp.prefetch(source(), gpu):
        busy(10_000_000)
        batch = batch.tensor if kind == "moves itself" else batch
        batch = batch.detach().coalesce().values() if kind == "sparse" else batch.detach()
        found.append((batch.min(), batch.max()))
        del batch
    assert [(low.item(), high.item()) for low, high in found] == [(step, step) for step in range(BATCHES)]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_buffers_on_the_gpu(torch, gpu, busy, count):
    def source():
        buffers = [torch.zeros(1 << 20, device=gpu) for _ in range(count)]
        for step in range(BATCHES):
            yield {"x": buffers[step % count].fill_(step), "step": step}

    with pytest.warns(RuntimeWarning, match="writes again to a tensor on the GPU"):
        assert seen(tp.prefetch(source(), gpu), busy) == [(step, step, step) for step in range(BATCHES)]


def test_new_memory_for_every_batch_is_taken_ahead_without_waiting(torch, gpu, busy):
    """After the trial the host does not wait for the GPU, which is busy for some seconds."""

    def source():
        for step in range(12):
            yield torch.full((1 << 20,), float(step))

    batches = iter(tp.prefetch(source(), gpu))
    for _ in range(8):
        next(batches).sum()  # the kernel has been loaded
    torch.cuda.synchronize()
    done = torch.cuda.Event()
    busy(4_000_000_000)
    done.record()
    found = [next(batches).sum() for _ in range(2)]
    assert not done.query(), "next() has waited for the GPU"
    assert [total.item() for total in found] == [8 * (1 << 20), 9 * (1 << 20)]
    del batches, found
