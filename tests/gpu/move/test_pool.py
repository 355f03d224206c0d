"""Results in page-locked memory that is used again, on a GPU."""

import pytest

import turnpike as tp
from turnpike._move import pool

pytestmark = pytest.mark.usefixtures("no_memory_kept")

ITEMS = 1 << 22


@pytest.fixture
def results(torch):
    tp.configure_move(results_bytes=256 << 20)
    yield
    tp.configure_move(results_bytes=0)
    tp.release_pinned()
    assert tp.move_stats().results_bytes == 0


def test_results_are_plain_unless_it_is_asked_for(torch, gpu):
    tensor = torch.ones(ITEMS, device=gpu)
    assert not tp.fetch(tensor).result().is_pinned()
    assert not any(result.is_pinned() for result in tp.pipeline(lambda x: x * 2, [tensor.cpu()] * 3, gpu))


def test_results_are_right_and_their_memory_is_used_again(torch, gpu, busy, results):
    seen = set()
    for value in range(20):
        tensor = torch.full((ITEMS,), float(value), device=gpu)
        result = tp.fetch(tensor).result()
        assert result.is_pinned() and result.eq(value).all()
        assert result.untyped_storage().nbytes() == tensor.nbytes
        seen.add(result.data_ptr())
        # An upload that is still under way when its source dies: the memory is not used again before.
        busy(1_000_000)
        back = result.to(gpu, non_blocking=True)
        del result
        other = tp.fetch(torch.full((ITEMS,), -1.0, device=gpu)).result()
        assert back.eq(value).all().item() and other.eq(-1).all()
        seen.add(other.data_ptr())
        del other
    assert len(seen) < 10
    inputs = [torch.full((ITEMS,), float(value)) for value in range(12)]
    for value, result in enumerate(tp.pipeline(lambda x: x * 2, inputs, gpu)):
        assert result.is_pinned() and result.eq(2 * value).all()
    assert tp.move_stats().results_bytes <= 256 << 20


def test_a_result_is_a_tensor_like_any(torch, gpu, results, tmp_path):
    tensor = torch.arange(ITEMS, device=gpu)
    result = tp.fetch(tensor).result()
    torch.save(result, tmp_path / "x.pt")
    assert torch.equal(torch.load(tmp_path / "x.pt"), tensor.cpu())
    result.share_memory_()
    assert torch.equal(result, tensor.cpu())
    result = tp.fetch(tensor).result()
    result.resize_(2 * ITEMS).fill_(5)
    assert result.eq(5).all() and torch.equal(tp.fetch(tensor).result(), tensor.cpu())


def test_the_limit_holds(torch, gpu, results):
    tensor = torch.ones(64 << 20, dtype=torch.uint8, device=gpu)
    kept = [tp.fetch(tensor).result() for _ in range(6)]
    assert [result.is_pinned() for result in kept] == [True] * 4 + [False] * 2
    del kept
    assert tp.release_pinned() >= 256 << 20 and pool.taken_bytes() == 0
