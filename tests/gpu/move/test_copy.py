"""tp.copy_ on one GPU and between two."""

import random
import subprocess
import sys

import pytest

import turnpike as tp
from tensors import random_tensor

pytestmark = pytest.mark.usefixtures("no_memory_kept")


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


@pytest.mark.parametrize("is_pinned", [False, True])
@pytest.mark.parametrize("way", ["wait", "drop", "synchronize"])
@pytest.mark.parametrize("size_bytes", [400, 64 << 10, 1 << 20, 4 << 20, 64 << 20])
def test_a_copy_to_the_host_is_there_for_the_cpu(torch, gpu, busy, size_bytes, way, is_pinned):
    src = torch.zeros(size_bytes // 4, device=gpu)
    dst = torch.zeros(size_bytes // 4, pin_memory=is_pinned)
    torch.cuda.synchronize()
    busy()
    src.fill_(7)
    work = tp.copy_(dst, src)
    if way != "drop":
        getattr(work, way)()
    del work
    assert dst.eq(7).all()


@pytest.mark.parametrize("is_pinned", [False, True])
@pytest.mark.parametrize("size_bytes", [400, 1 << 20, 64 << 20])
def test_the_cpu_may_write_to_a_source_after_the_wait(torch, gpu, busy, size_bytes, is_pinned):
    src = torch.full((size_bytes // 4,), 7.0, pin_memory=is_pinned)
    dst = torch.zeros(size_bytes // 4, device=gpu)
    torch.cuda.synchronize()
    busy()
    work = tp.copy_(dst, src)
    work.wait()
    src.fill_(8)
    assert dst.eq(7).all().item()


@pytest.mark.parametrize("to_host", [False, True])
def test_a_copy_under_way_is_waited_for_in_a_capture(torch, gpu, busy, to_host):
    src = torch.zeros(1 << 20, device=gpu)
    dst = torch.zeros(1 << 20, device="cpu" if to_host else gpu)
    seen = torch.zeros(1 << 20, device=gpu)
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    busy()
    src.fill_(7)
    work = tp.copy_(dst, src)
    with torch.cuda.stream(side):
        graph.capture_begin()
        work.wait()
        seen.copy_(dst if dst.is_cuda else src).mul_(2)
        graph.capture_end()
    if to_host:
        assert dst.eq(7).all()
    graph.replay()
    assert seen.eq(14).all().item()
    del graph


EXPANDABLE = """
import os
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
import torch, turnpike as tp
for a, b in ((0, 1), (1, 0)):
    src = torch.arange(1 << 22, device=f"cuda:{a}")
    dst = torch.zeros(1 << 22, dtype=torch.long, device=f"cuda:{b}")
    tp.copy_(dst, src).synchronize()
    assert torch.equal(dst.cpu(), torch.arange(1 << 22))
"""


def test_copy_between_gpus_with_expandable_segments(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    done = subprocess.run([sys.executable, "-c", EXPANDABLE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
