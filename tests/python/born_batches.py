"""For the tests of batches that are made in an arena: what is page-locked is played, and what is seen is compared."""

import dataclasses
import gc
import random

import pytest
import torch

from turnpike._move import arena, born, slots

BIG = 80_000  # floats: more than is packed


@pytest.fixture(autouse=True, name="locks")
def played_locks(monkeypatch):
    """What is page-locked, by address: played, for there is no GPU here."""
    locked = {}
    monkeypatch.setattr(slots, "_pin", lambda device, address, size: locked.update({address: size}))
    monkeypatch.setattr(slots, "_unpin", lambda address: locked.pop(address))
    monkeypatch.setattr(arena, "counts", arena.Counts())
    monkeypatch.setattr(arena, "_said", set())
    yield locked
    gc.collect()


def born_of(loader, most=3):
    return born.iterator_of(loader, most, device=0)


def facts(item):
    """All that can be seen of a batch, as plain values."""
    if isinstance(item, torch.Tensor):
        raw = item.contiguous().reshape(-1).view(torch.uint8).tolist() if item.dtype != torch.bool else item.tolist()
        return (str(item.dtype), tuple(item.shape), item.stride(), item.requires_grad, item.layout, str(raw))
    if isinstance(item, dict):
        return (type(item), [(key, facts(value)) for key, value in item.items()])
    if isinstance(item, list | tuple):
        return (type(item), [facts(value) for value in item])
    if dataclasses.is_dataclass(item):
        return (type(item), facts(vars(item)))
    return item


def assert_same(loader, again=None):
    """Plainly, and from an arena: the same batches, and the same random numbers in this process afterwards."""
    torch.manual_seed(5)
    random.seed(5)
    plain = [facts(batch) for batch in loader]
    after = torch.rand(3).tolist(), random.random()
    other = loader if again is None else again
    torch.manual_seed(5)
    random.seed(5)
    ours = [facts(batch) for batch in born_of(other)]
    assert (torch.rand(3).tolist(), random.random()) == after
    assert ours == plain
    return len(plain)


def is_locked(tensor, locks):
    start = tensor.data_ptr()
    return any(address <= start and start + tensor.nbytes <= address + size for address, size in locks.items())
