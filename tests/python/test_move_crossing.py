"""A batch of prefetch under way: what it keeps alive, and for how long. The engine is a stand-in; tensors stay here."""

import types
import weakref

import pytest

from turnpike._move import engine as move_engine
from turnpike._move import prefetch

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there are no batches of tensors")

HERE = torch.device("cpu", 0)


class Transfer:
    def __init__(self, log):
        self.staged, self.log = False, log

    def is_staged(self):
        return self.staged

    def wait_on(self, device, stream):
        self.log.append("waited")

    def __del__(self):
        self.log.append("transfer")


class Engine:
    def __init__(self):
        self.log, self.owners = [], []

    def add_small(self, plan, pieces, targets, device, stream, block_bytes):
        plan.add_to(pieces, targets)
        return []

    def upload_ahead(self, device, pieces, stream, owner):
        self.owners.append(owner)
        transfer = Transfer(self.log)
        self.transfer = weakref.proxy(transfer)
        return transfer


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.setattr(move_engine, "current_stream", lambda device: 7)
    monkeypatch.setattr(move_engine, "refuse_capture", lambda call: None)
    monkeypatch.setattr(prefetch, "to", lambda tensor, device: tensor + 100)
    return Engine()


def large():
    return torch.ones(1 << 20)


def watched(engine, tensor):
    weakref.finalize(tensor, engine.log.append, "source")
    return tensor


def test_sources_live_until_they_are_staged(engine):
    crossing = prefetch._Crossing(engine, {"x": watched(engine, large())}, HERE, None)
    crossing.let_go()
    assert engine.log == []
    engine.transfer.staged = True
    crossing.let_go()
    assert engine.log == ["source"]
    crossing.let_go()
    assert crossing.hand_over()["x"].shape == (1 << 20,)


def test_handing_over_lets_go_too(engine):
    crossing = prefetch._Crossing(engine, [watched(engine, large())], HERE, None)
    batch = crossing.hand_over()
    assert engine.log == ["waited", "source"]
    assert len(batch) == 1


def test_what_the_link_reads_lives_until_it_has_crossed(engine, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda tensor: True)
    crossing = prefetch._Crossing(engine, watched(engine, large()), HERE, None)
    engine.transfer.staged = True
    crossing.let_go()
    crossing.hand_over()
    assert engine.log == ["waited"]
    engine.owners.clear()
    assert engine.log == ["waited", "source"]


def test_one_that_is_dropped_stops_reading_before_its_sources_go(engine):
    crossing = prefetch._Crossing(engine, (watched(engine, large()), 1), HERE, None)
    del crossing
    assert engine.log == ["transfer", "source"]


def test_destinations_live_until_the_copies_have_run(engine):
    crossing = prefetch._Crossing(engine, [large(), torch.ones(8), torch.ones(9)], HERE, None)
    pointers = {tensor.untyped_storage().data_ptr() for tensor in crossing.hand_over()}
    ((_, destinations),) = engine.owners
    assert {tensor.data_ptr() for tensor in destinations} == pointers and len(pointers) == 3


class MovesItself:
    def __init__(self):
        self.moved = []

    def to(self, device, **keywords):
        self.moved.append((device, keywords))
        return "moved"


def test_the_nest_is_that_of_the_batch(engine):
    other = types.SimpleNamespace(a=1)  # passed through
    crossing = prefetch._Crossing(engine, {"x": [large(), 3], "same": other, "n": (None, "s")}, HERE, None)
    batch = crossing.hand_over()
    assert batch["same"] is other and batch["n"] == (None, "s") and batch["x"][1] == 3
    assert batch["x"][0].shape == (1 << 20,)


def test_what_moves_itself_does_so_when_it_is_handed_over(engine):
    foreign = MovesItself()
    crossing = prefetch._Crossing(engine, [foreign, large()], HERE, torch.float16)
    assert foreign.moved == []
    batch = crossing.hand_over()
    assert batch[0] == "moved" and foreign.moved == [(HERE, {"dtype": torch.float16})]
    assert batch[1].dtype == torch.float16


def test_what_is_left_to_pytorch_crosses_when_it_is_handed_over(engine):
    expanded, twice = torch.ones(1).expand(1 << 20), large()
    crossing = prefetch._Crossing(engine, {"e": expanded, "empty": torch.ones(0), "a": twice, "b": twice}, HERE, None)
    batch = crossing.hand_over()
    assert batch["e"][0] == 101 and batch["empty"].shape == (0,)
    assert batch["a"] is batch["b"] and batch["a"] is not twice
