"""tp.to on a GPU leaves every tensor to itself, reads pinned sources in stream order, and never waits for a stream."""

import io
import time

import pytest
import torch

import turnpike as tp
from tensors import assert_same

pytestmark = pytest.mark.usefixtures("no_memory_kept")


@pytest.mark.parametrize("items", [8, 1000, 60_000, 1 << 20])
@pytest.mark.parametrize("count", [1, 2, 40])
def test_pinned_sources_are_read_in_stream_order(gpu, busy, items, count):
    new = torch.full((items,), 7.0, device=gpu)
    for repeat in range(3):
        sources = [torch.zeros(items).pin_memory() for _ in range(count)]
        busy()
        for source in sources:
            source.copy_(new, non_blocking=True)
        moved = tp.to(sources, gpu, non_blocking=repeat == 1)
        assert all(tensor.eq(7).all() for tensor in moved)
        torch.cuda.synchronize()


def test_pinned_sources_written_by_a_stream_that_is_waited_for(gpu, busy):
    # The current stream has no work of its own: it only waits for an event of the other.
    new, side = torch.full((500,), 7.0, device=gpu), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    sources = [torch.zeros(500).pin_memory() for _ in range(5)]
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        busy()
        for source in sources:
            source.copy_(new, non_blocking=True)
    torch.cuda.current_stream().wait_stream(side)
    assert all(tensor.eq(7).all() for tensor in tp.to(sources, gpu))


def test_small_pinned_sources_may_be_dropped_and_taken_again(gpu, busy):
    for repeat in range(20):
        sources = [torch.full((3000,), float(repeat)).pin_memory() for _ in range(10)]
        busy(2_000_000)
        moved = tp.to(sources, gpu, non_blocking=True)
        del sources
        others = [torch.full((3000,), -1.0).pin_memory() for _ in range(10)]
        assert all(tensor.eq(repeat).all() for tensor in moved)
        del others


def test_each_tensor_has_memory_of_its_own(gpu):
    sources = [torch.full((n,), float(n)) for n in (3, 4096, 128, 1, 50_000, 4096, 4096)]
    moved = tp.to(sources, gpu)
    plain = [source.to(gpu) for source in sources]
    assert len({tensor.untyped_storage().data_ptr() for tensor in moved}) == len(moved)
    for ours, theirs in zip(moved, plain, strict=True):
        assert ours.untyped_storage().nbytes() == theirs.untyped_storage().nbytes()
        assert ours.storage_offset() == 0 and ours.data_ptr() % 512 == theirs.data_ptr() % 512 == 0
        sizes = []
        for tensor in (ours, theirs):
            file = io.BytesIO()
            torch.save(tensor, file)
            sizes.append(file.getbuffer().nbytes)
        assert sizes[0] == sizes[1]
    moved[1].resize_(100_000).fill_(-1)
    moved[2].untyped_storage().resize_(0)
    for index in (0, 3, 4, 5, 6):
        assert_same(moved[index], plain[index])


def test_one_that_is_kept_keeps_only_itself(gpu):
    sources = [torch.ones(50_000) for _ in range(100)]
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    kept = tp.to(sources, gpu)[50]
    assert torch.cuda.memory_allocated() - before <= kept.nbytes + 512


def test_tensors_of_every_size_arrive_next_to_each_other(gpu, busy):
    # Their blocks are next to each other, so they share copies; nothing beside them may be touched.
    guards = [torch.full((n % 700 + 1,), 99, dtype=torch.uint8, device=gpu) for n in range(300)]
    del guards[::2]
    sources = [torch.full((n * 37 % 3000 + 1,), n % 251, dtype=torch.uint8) for n in range(300)]
    for is_busy in (False, True):
        if is_busy:
            busy()
        moved = tp.to(sources, gpu)
        assert all(torch.equal(ours.cpu(), source) for ours, source in zip(moved, sources, strict=True))
        assert all(guard.eq(99).all() for guard in guards)


def test_freed_and_zero_tensors_are_what_pytorch_makes_of_them(gpu):
    zeros = [torch._efficientzerotensor(5), torch.ones(5), torch._efficientzerotensor(1 << 20), torch.ones(6)]
    for ours, source in zip(tp.to(zeros, gpu), zeros, strict=True):
        assert torch.equal(ours.cpu(), source.to(gpu).cpu())
    for items in (5, 1 << 20):
        freed = torch.ones(items)
        freed.untyped_storage().resize_(0)
        with pytest.raises(Exception) as theirs:
            freed.to(gpu)
        with pytest.raises(type(theirs.value)):
            tp.to([torch.ones(5), freed, torch.ones(5)], gpu)
    torch.cuda.synchronize()


@pytest.mark.parametrize("kib", [4, 64, 300, 1900, 4096, 32 << 10])
def test_one_tensor_alone_does_not_wait_for_the_stream(gpu, busy, kib):
    source = torch.randn(kib << 8)
    tp.to(source, gpu)
    torch.cuda.synchronize()
    torch.cuda._sleep(1_000_000_000)  # half a second
    start_s = time.perf_counter()
    moved = tp.to(source, gpu)
    took_s = time.perf_counter() - start_s
    assert not torch.cuda.current_stream().query() and took_s < 0.2, took_s
    source.fill_(0)
    torch.cuda.synchronize()
    assert moved.ne(0).any()


def test_conversions_give_the_items_that_pytorch_gives(gpu):
    numbers = torch.tensor([0.5, -1.5, 300.7, -300.7, 1e20, -1e20, float("nan"), float("inf"), 2.5, 70000.0])
    for source_dtype in (torch.float32, torch.float64, torch.bfloat16):
        for items in (1, 100, 300_000):
            source = numbers.to(source_dtype).repeat(items)
            for dtype in (torch.uint8, torch.int8, torch.int32, torch.int64, torch.bool, torch.float16, torch.float64):
                for nest in ([source], [source, source.clone(), torch.arange(7)]):
                    for ours, theirs in zip(tp.to(nest, gpu, dtype=dtype), nest, strict=True):
                        expected = theirs.to(gpu, dtype=dtype)
                        assert ours.dtype is dtype
                        assert torch.equal(ours.nan_to_num(), expected.nan_to_num()), (source_dtype, dtype, items)


def test_many_small_tensors_are_converted_together(gpu):
    sources = [torch.randn(n % 50 + 1, n % 7 + 1).transpose(0, 1) for n in range(200)]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        moved = tp.to(sources, gpu, dtype=torch.float16)
        torch.cuda.synchronize()
    for ours, source in zip(moved, sources, strict=True):
        assert_same(ours, source.to(gpu, dtype=torch.float16))
        assert ours._version == 0
    kernels = [event for event in profile.events() if "Memcpy" not in event.name and "Memset" not in event.name]
    assert len(kernels) < 40, len(kernels)


def test_a_stream_of_another_device_is_refused(gpu):
    side = torch.cuda.Stream()
    assert tp.to(torch.ones(5), gpu, stream=side).device == gpu
    with pytest.raises(ValueError, match="the stream is one of"):
        tp.to(torch.ones(5), "cpu", stream=side)
    with pytest.raises(ValueError, match="the stream is one of"):
        tp.to(torch.ones(5), torch.device("cuda", gpu.index + 1), stream=side)


def test_names_are_kept(gpu):
    named = [torch.ones(2, 3, names=("N", "C")), torch.ones(4), torch.ones(1 << 10, 1 << 10, names=("N", "C"))]
    assert [tensor.names for tensor in tp.to(named, gpu)] == [tensor.names for tensor in named]
