"""The memory of results on the host: plain unless it is asked for, bounded, used again, given back."""

import gc

import pytest

import turnpike as tp
from turnpike._move import engine as engine_module
from turnpike._move import pool

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there are no results")

MIB = 1 << 20


@pytest.fixture
def pinned(monkeypatch):
    """Tensors that stand for page-locked ones, and the settings as they were."""
    new, made = pool._new, []

    def make(tensor, is_pinned):
        if is_pinned:
            made.append(tensor.nbytes)
        return new(tensor, is_pinned=False)

    monkeypatch.setattr(pool, "_new", make)
    monkeypatch.setattr(pool, "_sizes", {})
    monkeypatch.setattr(pool, "_limit_bytes", 0)
    return made


def like(mib, dtype=torch.uint8):
    return pool.empty_like(torch.empty(int(mib * MIB) // dtype.itemsize, dtype=dtype))


def test_results_are_plain_unless_it_is_asked_for(pinned):
    host, is_pinned = pool.empty_like(torch.empty(4, 3 * MIB, requires_grad=True).t())
    assert not is_pinned and pinned == [] and tp.move_stats().results_bytes == 0
    assert host.shape == (3 * MIB, 4) and host.stride() == (1, 3 * MIB) and not host.requires_grad
    host.resize_(5)


def test_they_take_no_more_than_the_limit(pinned):
    tp.configure_move(results_bytes=16 * MIB)
    kept = [like(4) for _ in range(6)]
    assert [is_pinned for _, is_pinned in kept] == [True] * 4 + [False] * 2
    assert tp.move_stats().results_bytes == 16 * MIB
    assert "16.0 MiB page-locked for results, of at most 16.0 MiB" in repr(tp.move_stats())
    del kept[0]
    assert like(3)[1]  # of the same blocks
    assert not like(1)[1]
    assert not like(0.9)[1]


def test_what_has_died_is_used_again(pinned):
    tp.configure_move(results_bytes=8 * MIB)
    for _ in range(20):
        host, is_pinned = like(4, torch.float32)
        assert is_pinned
    view = host[5:]
    del host
    other, is_pinned = like(4)
    assert is_pinned and not like(4)[1]
    del view
    assert like(4)[1] and tp.move_stats().results_bytes == 8 * MIB


def test_it_is_given_back(pinned, monkeypatch):
    emptied = []
    monkeypatch.setattr(torch._C, "_host_emptyCache", lambda: emptied.append(1), raising=False)
    monkeypatch.setattr(engine_module, "_engine", type("E", (), {"release_pinned": lambda self: 5})())
    pool.configure(64 * MIB)
    kept = [like(4) for _ in range(3)]
    del kept[1:]
    assert tp.release_pinned() == 8 * MIB + 5 and len(emptied) == 1 and pool.taken_bytes() == 4 * MIB
    assert tp.release_pinned() == 5
    kept.append(like(32))
    pool.configure(8 * MIB)
    assert pool.taken_bytes() == 36 * MIB and not like(4)[1]
    del kept
    gc.collect()
    pool.configure(8 * MIB)
    assert pool.taken_bytes() == 0 and like(4)[1]
    with pytest.raises(ValueError, match="negative"):
        pool.configure(-1)


def test_where_it_is_not_given_back_it_is_said(pinned, monkeypatch):
    monkeypatch.delattr(torch._C, "_host_emptyCache", raising=False)
    pool.configure(64 * MIB)
    like(4)
    assert pool.release() == 0 and pool.taken_bytes() == 4 * MIB


def test_where_the_system_refuses_a_result_is_plain(pinned, monkeypatch):
    pool.configure(64 * MIB)
    make = pool._new

    def refuse(tensor, is_pinned):
        if is_pinned:
            raise RuntimeError("out of memory")
        return make(tensor, is_pinned)

    monkeypatch.setattr(pool, "_new", refuse)
    with pytest.warns(RuntimeWarning, match="not page-locked: out of memory"):
        host, is_pinned = like(4)
    assert not is_pinned and host.nbytes == 4 * MIB and pool.taken_bytes() == 0
