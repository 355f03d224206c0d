"""A batch of prefetch under way: what it keeps alive, and for how long. The engine is a stand-in; tensors stay here."""

import collections.abc
import types
import weakref

import pytest

from turnpike._move import aside, crossing, tree
from turnpike._move import engine as move_engine

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there are no batches of tensors")

HERE = torch.device("cpu", 0)


class Transfer:
    def __init__(self, log):
        self.staged, self.log = False, log

    def is_staged(self):
        return self.staged

    def is_done(self):
        return False

    def wait_on(self, device, stream):
        self.log.append("waited")

    def __del__(self):
        self.log.append("transfer")


class Engine:
    def is_page_locked(self, device, memory):
        return False

    def __init__(self):
        self.log, self.owners = [], []

    def add_small(self, plan, pieces, targets, device, stream, block_bytes):
        plan.add_to(pieces, targets)
        return []

    def reap(self):
        pass

    def upload_ahead(self, device, pieces, stream, owner, label):
        self.owners.append(owner)
        transfer = Transfer(self.log)
        self.transfer = weakref.proxy(transfer)
        return transfer


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.setattr(move_engine, "current_stream", lambda device: 7)
    monkeypatch.setattr(move_engine, "refuse_capture", lambda call: None)
    monkeypatch.setattr(crossing, "to", lambda tensor, device: tensor + 100)
    return Engine()


def send_off(engine, batch, dtype=None):
    return crossing.Crossing(engine, batch, tree.tensors_of(batch), HERE, dtype, aside.Aside(HERE))


def large():
    return torch.ones(1 << 20)


def watched(engine, tensor):
    weakref.finalize(tensor, engine.log.append, "source")
    return tensor


def test_sources_live_until_they_are_staged(engine):
    sent = send_off(engine, {"x": watched(engine, large())})
    sent.let_go()
    assert engine.log == []
    engine.transfer.staged = True
    sent.let_go()
    assert engine.log == ["source"]
    sent.let_go()
    assert sent.hand_over()["x"].shape == (1 << 20,)


def test_handing_over_lets_go_too(engine):
    sent = send_off(engine, [watched(engine, large())])
    batch = sent.hand_over()
    assert engine.log == ["waited", "source"]
    assert len(batch) == 1


def test_what_the_link_reads_lives_until_it_has_crossed(engine, monkeypatch):
    engine.is_page_locked = lambda device, memory: True
    sent = send_off(engine, watched(engine, large()))
    engine.transfer.staged = True
    sent.let_go()
    sent.hand_over()
    assert engine.log == ["waited"]
    engine.owners.clear()
    assert engine.log == ["waited", "source"]


def test_one_that_is_dropped_stops_reading_before_its_sources_go(engine):
    sent = send_off(engine, (watched(engine, large()), 1))
    del sent
    assert engine.log == ["transfer", "source"]


def test_destinations_live_until_the_copies_have_run(engine):
    sent = send_off(engine, [large(), torch.ones(8), torch.ones(9)])
    pointers = {tensor.untyped_storage().data_ptr() for tensor in sent.hand_over()}
    ((_, destinations, _),) = engine.owners
    assert {tensor.data_ptr() for tensor in destinations} == pointers and len(pointers) == 3


def test_it_says_until_when_the_loader_must_not_write_to_its_memory(engine, monkeypatch):
    sent = send_off(engine, large())
    assert not sent.reading.is_late and not sent.reading.is_over(engine)
    engine.transfer.staged = True
    assert sent.reading.is_over(engine)
    engine.is_page_locked = lambda device, memory: True
    sent = send_off(engine, [large(), torch.ones(8)])
    engine.transfer.staged = True
    assert not sent.reading.is_over(engine)  # the link has to read it
    reading = sent.reading
    sent.hand_over()
    del sent
    assert not reading.is_over(engine)
    engine.owners.clear()
    assert reading.is_over(engine)


@pytest.mark.parametrize(
    "batch, is_late, has_foreign",
    [
        (lambda: [large(), torch.ones(0)], False, False),
        (lambda: [large(), torch.ones(1).expand(1 << 20)], True, False),
        (lambda: [large(), torch.ones(3).to_sparse()], True, False),
        (lambda: [large(), MovesItself()], True, True),
        (lambda: {"lazy": Loading()}, True, True),
        (lambda: [torch.ones(3, requires_grad=True)], True, False),
        (lambda: [torch.ones(3, requires_grad=True), MovesItself()], True, True),
    ],
)
def test_it_says_what_is_read_when_the_loop_gets_it(engine, batch, is_late, has_foreign):
    sent = crossing.send_off(engine, batch(), HERE, None, aside.Aside(HERE), keeps_memory=True)
    assert (sent.reading.is_late, sent.reading.has_foreign) == (is_late, has_foreign)
    assert sent.reading.memory is not None


class MovesItself:
    def __init__(self):
        self.moved = []

    def to(self, device, **keywords):
        self.moved.append((device, keywords))
        return "moved"


def test_the_nest_is_that_of_the_batch(engine):
    other = types.SimpleNamespace(a=1)  # passed through
    sent = send_off(engine, {"x": [large(), 3], "same": other, "n": (None, "s")})
    batch = sent.hand_over()
    assert batch["same"] is other and batch["n"] == (None, "s") and batch["x"][1] == 3
    assert batch["x"][0].shape == (1 << 20,)


def test_what_moves_itself_does_so_when_it_is_handed_over(engine):
    foreign = MovesItself()
    sent = send_off(engine, [foreign, large()], torch.float16)
    assert foreign.moved == []
    batch = sent.hand_over()
    assert batch[0] == "moved" and foreign.moved == [(HERE, {"dtype": torch.float16})]
    assert batch[1].dtype == torch.float16


def test_what_is_left_to_pytorch_crosses_when_it_is_handed_over(engine):
    expanded, twice = torch.ones(1).expand(1 << 20), large()
    sent = send_off(engine, {"e": expanded, "empty": torch.ones(0), "a": twice, "b": twice})
    batch = sent.hand_over()
    assert batch["e"][0] == 101 and batch["empty"].shape == (0,)
    assert batch["a"] is batch["b"] and batch["a"] is not twice


@pytest.mark.parametrize("ahead, then", [(True, False), (False, True), (False, False), (True, True)])
def test_tensors_are_as_if_made_where_the_loop_asks(engine, ahead, then):
    with torch.inference_mode(ahead):
        sent = send_off(engine, {"large": large(), "small": [torch.ones(8), torch.arange(9)]})
    with torch.inference_mode(then):
        batch = sent.hand_over()
    found = tree.tensors_of(batch)
    assert [tensor.is_inference() for tensor in found] == [then] * 3
    assert [tuple(tensor.shape) for tensor in found] == [(1 << 20,), (8,), (9,)] and batch["small"][
        1
    ].dtype == torch.int64
    pointers = {tensor.data_ptr() for tensor in engine.owners[0][1]}
    assert {tensor.untyped_storage().data_ptr() for tensor in found} == pointers
    if not then:
        (torch.ones(8, requires_grad=True) * batch["small"][0]).sum().backward()


def test_a_batch_with_a_gradient_crosses_when_it_is_asked_for(engine, monkeypatch):
    monkeypatch.setattr(crossing, "to", lambda batch, device, dtype: (batch, device, dtype))
    batch = {"x": torch.ones(3, requires_grad=True), "y": large()}
    sent = crossing.send_off(engine, batch, HERE, torch.float16, aside.Aside(HERE))
    sent.let_go()
    assert engine.owners == []
    assert sent.hand_over() == (batch, HERE, torch.float16)


class Loading(collections.abc.Mapping):
    """Makes its items when they are asked for."""

    def __init__(self, items=None):
        self.items_ = items

    def __getitem__(self, key):
        return torch.ones(4) if self.items_ is None else self.items_[key]

    def __iter__(self):
        return iter(["a", "b"])

    def __len__(self):
        return 2


def test_items_that_are_made_when_they_are_asked_for_cross_too(engine):
    batch = send_off(engine, {"lazy": Loading(), "x": large()}).hand_over()
    assert type(batch["lazy"]) is Loading and [batch["lazy"][key][0].item() for key in "ab"] == [101, 101]
