"""tp.pipeline on a GPU."""

import random
import subprocess
import sys

import pytest
from tensors import assert_same, random_tensor

import turnpike as tp

pytestmark = pytest.mark.usefixtures("no_memory_kept")


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


def static_out(torch, gpu, size):
    out = torch.zeros(size, device=gpu)
    return lambda x: torch.mul(x, 2, out=out)


def graph_output(torch, gpu, size):
    static_in = torch.zeros(size, device=gpu)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        static_in * 2
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = static_in * 2

    def fn(x):
        static_in.copy_(x)
        graph.replay()
        return out

    return fn


def graphed_callable(torch, gpu, size):
    weight = torch.nn.Linear(1, 1, device=gpu)  # of a module, for make_graphed_callables

    class Doubles(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = weight

        def forward(self, x):
            return x * 2

    return torch.cuda.make_graphed_callables(Doubles(), (torch.zeros(size, device=gpu),))


@pytest.mark.parametrize("items", [1000, 1 << 22])
@pytest.mark.parametrize("make", [static_out, graph_output, graphed_callable])
def test_pipeline_of_a_function_that_returns_the_same_memory(torch, gpu, busy, make, items):
    with torch.no_grad():
        fn = make(torch, gpu, items)
        inputs = [torch.full((items,), float(i)) for i in range(12)]

        def slow(x):
            busy(1_000_000)
            return fn(x)  # noqa: F821 (deleted below, after the last call)

        for i, result in enumerate(tp.pipeline(slow, inputs, gpu)):
            assert result.eq(2 * i).all(), i
    del fn, slow


GRAPH_TREE = """
import torch, turnpike as tp
compiled = torch.compile(lambda x: x * 2, mode="reduce-overhead")

def slow(x):
    torch.cuda._sleep(1_000_000)
    return compiled(x)

for items in (1000, 1 << 22):
    for _ in range(3):  # the first calls of a graph tree only record
        with torch.no_grad():
            inputs = [torch.full((items,), float(i)) for i in range(12)]
            for i, result in enumerate(tp.pipeline(slow, inputs, "cuda")):
                assert result.eq(2 * i).all(), (items, i)
"""


def test_pipeline_of_a_compiled_function_with_graphs(torch, gpu):
    pytest.importorskip("triton", reason="torch.compile needs it")
    done = subprocess.run([sys.executable, "-c", GRAPH_TREE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_pipeline_clones_only_outputs_that_others_may_have(torch, gpu, monkeypatch):
    cloned = []
    clone = torch.Tensor.clone
    monkeypatch.setattr(torch.Tensor, "clone", lambda tensor: cloned.append(1) or clone(tensor))
    inputs = [torch.ones(1 << 20) for _ in range(12)]
    list(tp.pipeline(lambda x: x * 2, inputs, gpu))
    list(tp.pipeline(lambda x: {"a": x * 2, "b": x + 1}, inputs, gpu))
    assert cloned == []
    list(tp.pipeline(lambda x: x, inputs, gpu))
    assert len(cloned) == 12


def test_pipeline_leaves_no_write_behind(torch, gpu, busy):
    def slow(x):
        busy(20_000_000)
        return x * 2

    for is_pinned in (False, True):
        out = [torch.full((1 << 20,), -1.0, pin_memory=is_pinned) for _ in range(8)]
        for _ in tp.pipeline(slow, [torch.full((1 << 20,), float(i)) for i in range(8)], gpu, out=out):
            break
        after = [place.clone() for place in out]
        torch.cuda.synchronize()
        assert all(map(torch.equal, out, after))
        assert all(place.eq(-1).all() or place.eq(2 * i).all() for i, place in enumerate(out))
