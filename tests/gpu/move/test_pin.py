"""tp.pin_, tp.unpin_ and tp.pinned on a GPU."""

import gc
import subprocess
import sys

import pytest

import turnpike as tp

pytestmark = pytest.mark.usefixtures("no_memory_kept")


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


SIZE = 16 << 20


def assert_plain(torch, gpu, count=6):
    """New memory of the same size, which is where the old one was, crosses as it is."""
    others = [torch.empty(SIZE, dtype=torch.uint8) for _ in range(count)]
    for value, other in enumerate(others):
        other.fill_(value)
        assert not other.is_pinned()
        assert other.to(gpu).eq(value).all().item() and tp.to(other, gpu).eq(value).all().item()
    for _ in others:
        assert torch.full((SIZE,), 9, dtype=torch.uint8, device=gpu).cpu().eq(9).all()


@pytest.mark.parametrize("strategy", ["file_descriptor", "file_system"])
def test_a_storage_that_becomes_shared_leaves_no_lock_behind(torch, gpu, busy, strategy):
    former = torch.multiprocessing.get_sharing_strategy()
    torch.multiprocessing.set_sharing_strategy(strategy)
    try:
        for _ in range(3):
            tensor = tp.pin_(torch.full((SIZE,), 3, dtype=torch.uint8))
            busy(5_000_000)
            moved = tensor.to(gpu, non_blocking=True)
            tensor.share_memory_()
            assert_plain(torch, gpu)
            assert tensor.is_pinned() and moved.eq(3).all().item()
            assert tensor.to(gpu, non_blocking=True).eq(3).all().item()
            del tensor, moved
            assert_plain(torch, gpu)
    finally:
        torch.multiprocessing.set_sharing_strategy(former)


@pytest.mark.parametrize("way", ["set_", "data", "resize_", "storage"])
def test_a_tensor_that_gets_other_memory_leaves_no_lock_behind(torch, gpu, way):
    pytest.importorskip("numpy", reason="what marks a storage as fixed is NumPy")
    tensor = tp.pin_(torch.full((SIZE,), 3, dtype=torch.uint8))
    if way == "set_":
        tensor.set_(torch.ones(3, dtype=torch.uint8))
    elif way == "data":
        tensor.data = torch.ones(3, dtype=torch.uint8)
    else:
        with pytest.raises(RuntimeError, match="not resizable"):
            tensor.resize_(2 * SIZE) if way == "resize_" else tensor.untyped_storage().resize_(0)
    assert_plain(torch, gpu)


OTHER_GPU = """
import torch, turnpike as tp
torch.cuda.set_device(1)
tensor = tp.pin_(torch.ones(1 << 20))
assert tensor.is_pinned() and torch._C._cuda_hasPrimaryContext(1)
assert not torch._C._cuda_hasPrimaryContext(0), "GPU 0 was opened"
del tensor
assert not torch._C._cuda_hasPrimaryContext(0), "GPU 0 was opened"
"""


def test_pinning_opens_no_other_gpu(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    done = subprocess.run([sys.executable, "-c", OTHER_GPU], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
