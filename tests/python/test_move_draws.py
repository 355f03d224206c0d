"""The states of random number generators: read as they are in memory, compared, and put back."""

import importlib
import pickle
import random
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there are no loaders to be looked into")

from turnpike._move import draws  # noqa: E402


def test_pythons_state_is_read_where_it_lies():
    assert draws._address_in_python() is not None
    python = draws._Python()
    before = random.getstate()
    state = python.read()
    assert len(state) == 2
    assert len(state[0]) == 4 * 624 + 4
    assert python.read() == state
    drawn = [random.random() for _ in range(700)]
    assert python.read() != state
    python.write(state)
    assert random.getstate() == before
    assert [random.random() for _ in range(700)] == drawn


def test_the_number_that_gauss_keeps_is_a_part_of_pythons_state():
    python = draws._Python()
    random.seed(3)
    random.gauss(0, 1)
    state = python.read()
    kept = random.gauss(0, 1)
    assert python.read() != state
    python.write(state)
    assert random.gauss(0, 1) == kept


def test_pythons_state_is_asked_for_where_its_memory_is_not_known(monkeypatch):
    for address in (None, (1, 2)):
        monkeypatch.setattr(draws, "_address_in_python", lambda address=address: address)
        state = draws._Python().read()
        assert state == random.getstate()
        value = random.random()
        draws._Python().write(state)
        assert random.random() == value


def test_another_python_is_not_looked_into(monkeypatch):
    assert draws._address_in_python.__wrapped__() == draws._address_in_python()
    monkeypatch.setattr(sys.implementation, "name", "another")
    assert draws._address_in_python.__wrapped__() is None
    monkeypatch.undo()
    monkeypatch.setattr(random, "getstate", random.SystemRandom().getstate)
    assert draws._address_in_python.__wrapped__() is None


def test_numpys_state_is_read_where_it_lies():
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    importlib.import_module("numpy.random")
    assert draws._address_in_numpy() is not None
    generator = draws._NumPy()
    numpy.random.seed(5)
    state = generator.read()
    assert len(state) == 3
    assert state == generator.read()
    drawn = numpy.random.random(700).tolist()
    assert generator.read() != state
    generator.write(state)
    assert numpy.random.random(700).tolist() == drawn
    # One of two numbers that are made together is kept.
    numpy.random.normal()
    state = generator.read()
    assert state[1] == 1
    kept = numpy.random.normal()
    after = generator.read()
    assert after != state
    assert after[1] == 0
    generator.write(state)
    assert numpy.random.normal() == kept


def test_another_generator_of_numpy_is_pickled(monkeypatch):
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    importlib.import_module("numpy.random")
    monkeypatch.setattr(draws, "_address_in_numpy", lambda: None)
    generator = draws._NumPy()
    state = generator.read()
    assert pickle.loads(state)["bit_generator"] == "MT19937"
    value = numpy.random.random()
    generator.write(state)
    assert numpy.random.random() == value


def test_without_numpy_there_is_no_state(monkeypatch):
    monkeypatch.delitem(sys.modules, "numpy.random", raising=False)
    generator = draws._NumPy()
    assert generator.read() is None
    assert generator.write(None) is None


def test_pytorchs_state_is_compared_and_put_back():
    generator = draws._Torch("a generator", torch.default_generator)
    state = generator.read()
    assert state == generator.read()
    drawn = torch.rand(5).tolist()
    assert generator.read() != state
    generator.write(state)
    assert torch.rand(5).tolist() == drawn


def names_of(loader):
    return [(one.name, one.is_its_own) for one in draws.shared(torch.device("cpu"), loader)]


EVERYBODYS = [("Python's random", False), ("numpy.random", False), ("torch.default_generator", False)]
ITS_OWN = ("the loader's generator", True)


def test_generators_of_a_loader_are_found_once_each():
    data = torch.utils.data
    own, other = torch.Generator(), torch.Generator()
    items = list(range(8))
    assert names_of(items) == EVERYBODYS
    assert names_of(data.DataLoader(items)) == EVERYBODYS
    assert names_of(data.DataLoader(items, shuffle=True, generator=own)) == [*EVERYBODYS, ITS_OWN]
    sampler = data.RandomSampler(items, generator=other)
    assert names_of(data.DataLoader(items, sampler=sampler, generator=own)) == [*EVERYBODYS, ITS_OWN, ITS_OWN]
    assert names_of(data.DataLoader(items, sampler=sampler)) == [*EVERYBODYS, ITS_OWN]
    batches = data.BatchSampler(sampler, 2, False)
    assert names_of(data.DataLoader(items, batch_sampler=batches)) == [*EVERYBODYS, ITS_OWN]
    assert names_of(data.DataLoader(items, generator=torch.default_generator)) == EVERYBODYS
