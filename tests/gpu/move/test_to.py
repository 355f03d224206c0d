"""tp.to on a GPU gives what Tensor.to gives, for whatever it is given."""

import os
import random
import subprocess
import sys

import pytest
import torch

import turnpike as tp
from tensors import DTYPES, assert_same, random_bytes, random_tensor

pytestmark = pytest.mark.usefixtures("no_memory_kept")


@pytest.mark.parametrize("seed", range(20))
def test_nests_of_random_tensors_arrive_as_with_pytorch(gpu, seed):
    rng = random.Random(seed)
    tensors = [random_tensor(rng) for _ in range(rng.randint(1, 80))]
    for ours, tensor in zip(tp.to(tensors, gpu), tensors, strict=True):
        assert_same(ours, tensor.to(gpu))


@pytest.mark.parametrize("seed", range(20))
def test_nests_come_back_as_with_pytorch(gpu, seed):
    rng = random.Random(seed)
    tensors = [random_tensor(rng).to(gpu) for _ in range(rng.randint(1, 40))]
    tensors = [tensor[..., :: rng.randint(1, 2)] if tensor.dim() else tensor for tensor in tensors]
    for ours, tensor in zip(tp.to({"a": tensors}, "cpu")["a"], tensors, strict=True):
        assert_same(ours, tensor.to("cpu"))


@pytest.mark.parametrize("size", [1 << 26, (1 << 28) + 12345])
@pytest.mark.parametrize("is_pinned", [False, True])
def test_large_tensors(gpu, size, is_pinned):
    tensor = random_bytes(random.Random(size), [size], torch.uint8)
    if is_pinned:
        tensor = tensor.pin_memory()
    there = tp.to(tensor, gpu)
    assert torch.equal(there, tensor.to(gpu))
    assert torch.equal(tp.to(there, "cpu"), tensor)
    assert torch.equal(tp.to([there, tensor[:100]], "cpu")[0], tensor)


@pytest.mark.parametrize(
    "sizes, dims", [((3000, 4000), (1, 0)), ((64, 3, 200, 200), (0, 2, 3, 1)), ((90, 80, 70), (2, 0, 1))]
)
def test_large_strided_tensors(gpu, sizes, dims):
    tensor = random_bytes(random.Random(1), sizes, torch.float32)
    for source in (tensor.permute(dims), tensor[..., ::2], tensor.permute(dims)[1:, ..., 3:]):
        assert_same(tp.to(source, gpu), source.to(gpu))
        assert_same(tp.to(source.to(gpu), "cpu"), source.to(gpu).to("cpu"))


def conversions():
    """(items, before, after): every pair for small tensors, two for large ones. None: no conversion."""
    for items in (100, 100_000, 30_000_000):
        for before in DTYPES if items < 1_000_000 else (torch.float32, torch.uint8):
            # Converting complex numbers to real ones warns, and is no concern of a copy.
            for after in (None, *DTYPES[:4]) if not before.is_complex else (None, torch.complex128):
                yield items, before, after


@pytest.mark.parametrize("items, before, after", conversions())
def test_dtypes(gpu, items, before, after):
    tensor = random_bytes(random.Random(items), [items], before)
    for source in (tensor, tensor.pin_memory()):
        assert_same(tp.to(source, gpu, dtype=after), source.to(gpu).to(after or before))
    there = tensor.to(gpu)
    assert_same(tp.to(there, "cpu", dtype=after), there.to(after or before).to("cpu"))


def test_conversion_takes_no_second_copy_of_a_large_tensor(gpu):
    tensor = torch.ones(1 << 27, dtype=torch.float32)  # 512 MiB, 256 after
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    new = tp.to(tensor, gpu, dtype=torch.float16)
    assert torch.cuda.max_memory_allocated() - before <= new.nbytes + (65 << 20)
    assert new.sum(dtype=torch.float64).item() == 1 << 27


def test_tensors_in_neighbouring_allocations_share_no_copy(gpu):
    # Each of these gets a device allocation of its own, and the driver often lays them next to each other.
    size = 22 << 20
    sources = [torch.full((size,), index, dtype=torch.uint8) for index in range(12)]
    torch.cuda.empty_cache()
    for _ in range(5):
        moved = tp.to(sources, gpu)
        assert all(tensor.eq(index).all() for index, tensor in enumerate(moved))
        back = tp.to(moved, "cpu")
        assert all(torch.equal(*pair) for pair in zip(sources, back, strict=True))
        del moved
        torch.cuda.empty_cache()


def test_expanded_tensors_cross_once(gpu):
    before = tp.move_stats().h2d.bytes
    source = torch.arange(1 << 20, dtype=torch.float32).expand(50, -1)
    assert_same(tp.to(source, gpu), source.to(gpu))
    assert tp.move_stats().h2d.bytes - before == 1 << 22


def test_small_tensors_beside_others_do_not_wait_for_the_gpu(gpu):
    batch = {"image": torch.ones(1 << 20), "label": torch.arange(256)}
    tp.to(batch, gpu)
    torch.cuda.synchronize()
    torch.cuda._sleep(1_000_000_000)  # half a second
    moved = tp.to(batch, gpu)
    assert not torch.cuda.current_stream().query()
    assert torch.equal(moved["label"].cpu(), batch["label"])


def test_a_tensor_that_is_there_is_itself(gpu):
    there = torch.ones(10, device=gpu)
    assert tp.to(there, "cuda") is there
    nest = tp.to([there, torch.ones(1 << 20)], "cuda")
    assert nest[0] is there


def test_special_tensors_are_what_pytorch_makes_of_them(gpu):
    dense = torch.ones(300, 300)
    complex_ones = torch.randn(300, 300, dtype=torch.complex64)
    specials = [
        dense.to_sparse(), complex_ones.conj(), complex_ones.conj().imag, torch.ones(0, 5), torch.tensor(3.0),
        torch.nn.Parameter(dense, requires_grad=False), torch.quantize_per_tensor(dense, 0.1, 0, torch.qint8),
    ]  # fmt: skip
    for ours, special in zip(tp.to(specials, gpu), specials, strict=True):
        theirs = special.to(gpu)
        assert type(ours) is type(theirs) and ours.layout == theirs.layout and ours.dtype == theirs.dtype
        if ours.layout is torch.strided and not ours.is_quantized:
            assert torch.equal(ours, theirs)
    with torch._subclasses.FakeTensorMode():
        fake = tp.to([torch.empty(1 << 20), torch.empty(3)], "cuda")
    assert all(type(tensor).__name__ == "FakeTensor" and tensor.device.type == "cuda" for tensor in fake)


def test_gradients_flow_back(gpu):
    sources = [torch.randn(n, requires_grad=True) for n in (10, 1 << 20)]
    plain = torch.randn(1 << 20)
    moved = tp.to({"a": sources, "b": plain}, gpu)
    assert moved["a"][0].grad_fn is not None and not moved["b"].requires_grad
    (sum((tensor**2).sum() for tensor in moved["a"]) + moved["b"].sum()).backward()
    for source in sources:
        assert source.grad.device.type == "cpu" and torch.allclose(source.grad, 2 * source)
    there = torch.randn(1 << 20, device=gpu, requires_grad=True)
    tp.to(there, "cpu", dtype=torch.float64).sum().backward()
    assert there.grad.device == gpu and there.grad.dtype == torch.float32 and there.grad.eq(1).all()
    # Of two outputs one may be used.
    first, second = (torch.randn(1 << 20, requires_grad=True) for _ in range(2))
    tp.to([first, second], gpu)[1].sum().backward()
    assert first.grad is None and second.grad is not None
    # And a second derivative.
    x = torch.randn(1 << 17, dtype=torch.float64, requires_grad=True)
    (once,) = torch.autograd.grad((tp.to(x, gpu) ** 3).sum(), x, create_graph=True)
    (twice,) = torch.autograd.grad(once.sum(), x)
    assert torch.allclose(twice, 6 * x)


def test_other_streams(gpu, busy):
    side = torch.cuda.Stream()
    source = torch.ones(1 << 22)
    with torch.cuda.stream(side):
        busy()
        moved = tp.to([source, torch.ones(10), torch.ones(11)], gpu)
        sums = [tensor.sum() for tensor in moved]
    side.synchronize()
    assert [total.item() for total in sums] == [1 << 22, 10, 11]
    moved = tp.to(source, gpu, stream=side)
    torch.cuda.current_stream().wait_stream(side)
    assert moved.sum().item() == 1 << 22
    del moved, sums


def test_sources_may_be_changed_when_the_call_returns(gpu, busy):
    for make in (torch.zeros, lambda n: torch.zeros(n).pin_memory()):
        for n in (1 << 10, 1 << 15, 1 << 23):
            sources = [make(n) for _ in range(20 if n < 1 << 20 else 2)]
            busy()
            moved = tp.to(sources, gpu)
            for source in sources:
                source.fill_(7)
            assert all(tensor.sum().item() == 0 for tensor in moved), n


def test_results_on_the_host_are_there(gpu, busy):
    there = torch.zeros(1 << 22, device=gpu)
    busy()
    there.fill_(3)
    assert tp.to([there, there[:50]], "cpu")[0].eq(3).all()


def test_a_capture_is_refused_with_what_to_do(gpu):
    source, there = torch.ones(1 << 20), torch.ones(4, device=gpu)
    for work in (lambda: tp.to(source, gpu), lambda: tp.fetch(there), lambda: tp.copy_(there, source[:4])):
        work()
        with pytest.raises(tp.Error, match="while a CUDA graph is being captured"):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                work()
        torch.cuda.synchronize()


def test_compiled_functions(gpu):
    def work(batch):
        moved = tp.to(batch, "cuda")
        return moved["x"] * 2

    compiled = torch.compile(work, backend="eager", fullgraph=True)
    assert compiled({"x": torch.ones(5)}).sum().item() == 10


def test_many_threads(gpu):
    import concurrent.futures

    def work(seed):
        rng = random.Random(seed)
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                tensors = [random_tensor(rng, 1 << 18) for _ in range(20)]
                back = tp.to(tp.to(tensors, gpu), "cpu")
                assert all(torch.equal(a, b) for a, b in zip(tensors, back, strict=True))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


FORK = """
import faulthandler, os, torch, turnpike as tp
tp.to([torch.ones(1 << 22), torch.ones(4), torch.ones(5)], "cuda")
kept = tp.fetch(torch.ones(1, device="cuda"))
child = os.fork()
if child == 0:
    torch.set_num_threads(1)  # the threads of OpenMP are not here
    faulthandler.dump_traceback_later(30, exit=True)
    assert tp.to([torch.ones(4)], "cpu")[0].sum() == 4
    assert list(tp.prefetch([torch.ones(2)], "cpu"))[0].sum() == 2
    tp.pin_(torch.ones(5))
    try:
        tp.to(torch.ones(1 << 22), "cuda")
    except RuntimeError as error:
        assert "forked" in str(error), error
    else:
        raise SystemExit(3)
    raise SystemExit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert tp.to(torch.ones(1 << 22), "cuda").sum().item() == 1 << 22
assert kept.item() == 1
print("fine")
"""


def test_a_forked_child_does_what_pytorch_does():
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120, env=dict(os.environ)
    )
    assert done.returncode == 0 and "fine" in done.stdout, done.stderr
