"""tp.fetch on a GPU."""

import random

import pytest

import turnpike as tp
from tensors import assert_same, random_tensor

pytestmark = pytest.mark.usefixtures("no_memory_kept")


@pytest.mark.parametrize("items", [1, 1000, 16384, 16385, 1 << 22])
def test_fetch_brings_what_the_tensor_held_at_the_call(torch, gpu, busy, items):
    tensor = torch.arange(items, device=gpu, dtype=torch.float32)
    tp.fetch(tensor).result()  # opens the engine, which takes longer than the stream is busy
    busy(200_000_000)
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
