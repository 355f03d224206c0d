"""tp.fetch, Scalars, copy_, pinned and pipeline on a GPU."""

import gc
import random

import pytest
from tensors import assert_same, random_tensor

import turnpike as tp

pytestmark = pytest.mark.usefixtures("no_memory_kept")


@pytest.mark.parametrize("items", [1, 1000, 16384, 16385, 1 << 22])
def test_fetch_brings_what_the_tensor_held_at_the_call(torch, gpu, busy, items):
    tensor = torch.arange(items, device=gpu, dtype=torch.float32)
    busy()
    fetched = tp.fetch(tensor)
    assert not fetched.ready()
    tensor.fill_(-1)
    del tensor
    torch.empty(items, device=gpu).fill_(-2)
    assert torch.equal(fetched.result(), torch.arange(items, dtype=torch.float32))
    assert fetched.ready()


def test_fetch_of_random_tensors(torch, gpu):
    rng = random.Random(5)
    tensors = [random_tensor(rng).to(gpu) for _ in range(60)]
    fetched = [tp.fetch(tensor) for tensor in tensors]
    for ours, tensor in zip(fetched, tensors, strict=True):
        assert_same(ours.result(), tensor.to("cpu"))
    assert tp.fetch(torch.tensor(3.5, device=gpu)).item() == 3.5
    with pytest.raises(tp.Error, match="detach"):
        tp.fetch(torch.ones(3, device=gpu, requires_grad=True))


def test_many_fetches_under_way(torch, gpu, busy):
    busy()
    fetched = [tp.fetch(torch.full((1,), float(i), device=gpu)) for i in range(2000)]
    assert [one.item() for one in fetched] == list(range(2000))
    dropped = [tp.fetch(torch.ones(1 << 18, device=gpu)) for _ in range(20)]
    del dropped


def test_scalars_arrive_in_order_without_a_wait(torch, gpu, busy):
    scalars = tp.Scalars()
    counts = torch.arange(50, device=gpu)
    losses = counts.double().requires_grad_() * 1
    torch.cuda.synchronize()
    busy(200_000_000)
    for step in range(50):
        scalars.add(loss=losses[step], count=counts[step], lr=0.1)
    assert scalars.ready() == []
    torch.cuda.synchronize()
    rows = scalars.finish()
    assert [step for step, _ in rows] == list(range(50))
    assert all(values == {"loss": float(step), "count": float(step), "lr": 0.1} for step, values in rows)
    assert scalars.finish() == []
    with pytest.raises(tp.Error, match="2 items"):
        scalars.add(x=torch.ones(2, device=gpu))
    del losses, counts, scalars


def test_scalars_of_several_steps_cross_in_the_order_of_their_streams(torch, gpu, busy):
    scalars = tp.Scalars(every=4)
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    copies = tp.move_stats().d2h.bytes
    for step in range(10):
        stream = side if step % 3 == 0 else torch.cuda.current_stream()
        with torch.cuda.stream(stream):
            busy(2_000_000)
            scalars.add(
                loss=torch.full((1,), float(step), device=gpu) * 2, half=torch.full((), step, device=gpu).half()
            )
    rows = scalars.finish()
    assert rows == [(step, {"loss": 2.0 * step, "half": float(step)}) for step in range(10)]
    assert tp.move_stats().d2h.bytes - copies == 10 * (4 + 2)
    running = torch.zeros((), device=gpu)
    scalars.add(sum=running)
    running += 1
    with pytest.raises(tp.Error, match="sum of step 10 was written to"):
        scalars.finish()
    del running, scalars


def test_scalars_refuse_a_capture(torch, gpu):
    scalars = tp.Scalars(every=4)
    value = torch.ones((), device=gpu)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), pytest.raises(tp.Error, match="while a CUDA graph is being captured"):
        scalars.add(loss=value)
    assert scalars.finish() == []
    del value, graph


@pytest.mark.parametrize("seed", range(10))
def test_copy_within_a_gpu_is_that_of_pytorch(torch, gpu, busy, seed):
    rng = random.Random(seed)
    src = random_tensor(rng).to(gpu)
    dst = torch.zeros(src.shape, dtype=rng.choice([src.dtype, torch.complex128]), device=gpu)
    expected = dst.clone().copy_(src)
    version = dst._version
    busy()
    work = tp.copy_(dst, src)
    work.wait()
    assert torch.equal(dst, expected) and dst._version == version + 1 or not dst.numel()
    work.synchronize()
    assert work.done()


def test_copy_between_gpus(torch, gpu, busy):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    for items in (1, 1000, 1 << 24):
        for a, b in ((0, 1), (1, 0)):
            src = torch.arange(items, device=f"cuda:{a}", dtype=torch.float32)
            dst = torch.zeros(items, device=f"cuda:{b}")
            with torch.cuda.device(a):
                busy()
            src.add_(1)
            work = tp.copy_(dst, src)
            work.wait()
            src.fill_(0)
            assert torch.equal(dst.cpu(), torch.arange(1, items + 1, dtype=torch.float32))
            back = torch.zeros(items, device=f"cuda:{a}")
            tp.copy_(back, dst)  # thrown away: as wait()
            assert torch.equal(back.cpu(), dst.cpu())


def test_copy_with_the_host(torch, gpu):
    for host in (torch.randn(1 << 20), torch.randn(1 << 20).pin_memory(), torch.randn(1024, 1024).t().contiguous().t()):
        there = torch.empty(host.shape, device=gpu)
        tp.copy_(there, host).wait()
        assert torch.equal(there.cpu(), host)
        back = torch.zeros_like(host)
        tp.copy_(back, there).synchronize()
        assert torch.equal(back, host)
    with pytest.raises(tp.Error, match="src, the tensor .* requires one"):
        tp.copy_(torch.empty(3, device=gpu), torch.ones(3, requires_grad=True))


def test_pinned_in_place(torch, gpu):
    tensor = torch.randn(1 << 22)
    address = tensor.data_ptr()
    with tp.pinned(tensor) as same:
        assert same is tensor and tensor.is_pinned() and tensor.data_ptr() == address
        with tp.pinned(tensor[5:]):
            pass
        assert tensor.is_pinned()
        moved = tensor.to(gpu, non_blocking=True)
    assert not tensor.is_pinned()
    assert torch.equal(moved.cpu(), tensor)
    assert tp.pin_(tensor) is tensor and tensor.is_pinned()
    tp.unpin_(tensor)
    assert not tensor.is_pinned()
    tp.unpin_(tensor)
    already = torch.ones(10).pin_memory()
    tp.unpin_(tp.pin_(already))
    assert already.is_pinned()
    with pytest.raises(ValueError, match="host memory"):
        tp.pin_(moved)


def test_a_pinned_tensor_may_be_dropped(torch, gpu, busy):
    for _ in range(20):
        tensor = tp.pin_(torch.full((1 << 22,), 5.0))
        busy(5_000_000)
        moved = tensor.to(gpu, non_blocking=True)
        view = tensor[10:20]
        del tensor
        gc.collect()
        assert view.is_pinned()
        del view
        assert moved.eq(5).all().item()


def test_a_files_memory_is_refused(torch, gpu, tmp_path):
    torch.save(torch.ones(1 << 20), tmp_path / "x.pt")
    mapped = torch.load(tmp_path / "x.pt", mmap=True)
    with pytest.raises(tp.Error):
        tp.pin_(mapped)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_pipeline_gives_every_output_in_order(torch, gpu, busy, depth):
    inputs = [torch.full((1 << 20,), float(i)) for i in range(15)]

    def work(tensor):
        busy(2_000_000)
        return tensor * 2 + 1

    results = list(tp.pipeline(work, inputs, gpu, depth))
    assert [(result.min().item(), result.max().item()) for result in results] == [(2 * i + 1,) * 2 for i in range(15)]
    assert not any(result.is_cuda for result in results)


@pytest.mark.parametrize("seed", range(5))
def test_pipeline_of_random_tensors_in_place_and_as_they_are(torch, gpu, busy, seed):
    rng = random.Random(seed)
    inputs = [{"x": random_tensor(rng), "i": i} for i in range(12)]

    def work(batch):
        busy(500_000)
        return batch

    for result, source in zip(tp.pipeline(work, inputs, gpu), inputs, strict=True):
        assert_same(result["x"], source["x"].to(gpu).to("cpu"))
        assert result["i"] == source["i"]

    floats = [torch.full((100_000,), float(i)) for i in range(12)]
    for i, result in enumerate(tp.pipeline(lambda tensor: tensor.add_(1), floats, gpu, depth=2)):
        assert result.eq(i + 1).all()


def test_pipeline_writes_into_out(torch, gpu):
    inputs = [torch.full((1 << 18,), float(i)) for i in range(9)]
    for index, result in enumerate(tp.pipeline(torch.neg, inputs, gpu, out=inputs)):
        assert result is inputs[index]
    assert [tensor[0].item() for tensor in inputs] == [-i for i in range(9)]
    halves = [torch.empty(1 << 18, dtype=torch.float16) for _ in range(9)]
    list(tp.pipeline(torch.neg, inputs, gpu, out=halves))
    assert [tensor[-1].item() for tensor in halves] == list(range(9))
    with pytest.raises(tp.Error, match="out has 2 places"):
        list(tp.pipeline(torch.neg, inputs, gpu, out=halves[:2]))


def test_pipeline_bounds_its_memory(torch, gpu):
    size = 1 << 22
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    for _ in tp.pipeline(lambda tensor: tensor.sum(), (torch.ones(size) for _ in range(30)), gpu, depth=3):
        pass
    assert torch.cuda.max_memory_allocated() - before <= 3 * 4 * size + (1 << 20)


def test_pipeline_passes_exceptions_on_and_may_be_left(torch, gpu):
    def broken(tensor):
        if tensor[0].item() == 3:
            raise KeyError("three")
        return tensor * 1

    inputs = [torch.full((1 << 18,), float(i)) for i in range(8)]
    seen = []
    with pytest.raises(KeyError, match="three"):
        for result in tp.pipeline(broken, inputs, gpu):
            seen.append(result[0].item())
    assert seen == [0, 1, 2]

    def source():
        yield inputs[0]
        raise ValueError("source")

    with pytest.raises(ValueError, match="source"):
        list(tp.pipeline(torch.neg, source(), gpu))
    for _ in tp.pipeline(torch.neg, inputs, gpu):
        break
    with pytest.raises(tp.Error, match="no_grad"):
        list(tp.pipeline(lambda tensor: tensor * torch.ones(1, device=gpu, requires_grad=True), inputs, gpu))


def test_settings_and_stats(torch, gpu):
    tp.to(torch.ones(1 << 24), gpu)
    before = tp.move_stats()
    try:
        tp.configure_move(threads=3, chunk_bytes=1 << 20, pinned_bytes=8 << 20)
        assert torch.equal(tp.to(torch.arange(1 << 24), gpu).cpu(), torch.arange(1 << 24))
        stats = tp.move_stats()
        assert (stats.threads, stats.chunk_bytes, stats.pinned_limit_bytes) == (3, 1 << 20, 8 << 20)
        assert 0 < stats.pinned_bytes <= 8 << 20
        assert stats.h2d.bytes - before.h2d.bytes == 8 << 24 and stats.h2d.gbps > 0
        assert tp.release_pinned() == stats.pinned_bytes and tp.move_stats().pinned_bytes == 0
        assert "host to GPU" in repr(stats)
        with pytest.raises(tp.Error):
            tp.configure_move(threads=0)
    finally:
        tp.configure_move(
            threads=before.threads, chunk_bytes=before.chunk_bytes, pinned_bytes=before.pinned_limit_bytes
        )
