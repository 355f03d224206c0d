"""tp.Scalars without a GPU: the values of .item() at the call, in order. Lanes lie on the host."""

import pytest

import turnpike as tp
from turnpike._move import engine as engine_module
from turnpike._move import scalars as scalars_module

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there are no values to collect")


class Clock:
    """Time passes when it is told to."""

    now = 1000.0

    def monotonic(self):
        return self.now


class Sent:
    """A copy that was begun, and arrives when the test says so."""

    def __init__(self, tensor, stream):
        self.values = tensor.tolist()  # it is in the stream: later writes come after
        self.stream = stream
        self.has_arrived = False

    def ready(self):
        return self.has_arrived

    def result(self):
        self.has_arrived = True
        return torch.tensor(self.values)

    def tolist(self):
        return self.values


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(scalars_module, "time", clock)
    return clock


@pytest.fixture
def sent(monkeypatch, clock):
    """Every tensor crosses by a lane on the host, of stream 7, until `sent.is_capturing`."""

    class Sents(list):
        is_capturing = False

    sent = Sents()

    def start(engine, tensor, stream):
        one = Sent(tensor, stream)
        one.result = lambda: setattr(one, "has_arrived", True) or one
        sent.append(one)
        return one

    def refuse_capture(call):
        if sent.is_capturing:
            raise tp.Error(f"{call} cannot run while a CUDA graph is being captured")

    def lane(self, tensor):
        refuse_capture("turnpike.Scalars.add()")
        if tensor.dtype not in self._lanes:
            self._lanes[tensor.dtype] = scalars_module._Lane(None, torch.device("cpu"), 7, tensor.dtype)
        return self._lanes[tensor.dtype]

    monkeypatch.setattr(scalars_module, "start", start)
    monkeypatch.setattr(scalars_module.Scalars, "_lane", lane)
    monkeypatch.setattr(engine_module, "refuse_capture", refuse_capture)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: sent.is_capturing)
    return sent


def test_values_of_the_host_are_there_at_once():
    scalars = tp.Scalars()
    scalars.add(loss=torch.tensor(1.5, requires_grad=True), n=torch.tensor(2), lr=0.5)
    scalars.add(loss=torch.tensor([2.5]))
    scalars.add(10, loss=3)
    scalars.add(loss=4)
    assert scalars.ready() == [(0, {"loss": 1.5, "n": 2, "lr": 0.5}), (1, {"loss": 2.5}), (10, {"loss": 3}),
                               (11, {"loss": 4})]  # fmt: skip
    assert scalars.ready() == [] and scalars.finish() == []
    with pytest.raises(tp.Error, match="loss has 3 items"):
        scalars.add(loss=torch.ones(3))
    with pytest.raises(ValueError, match="every is 0"):
        tp.Scalars(every=0)


VALUES = [
    torch.tensor(2**53 + 1), torch.tensor(-(2**63)), torch.tensor([True]), torch.tensor(1.5), torch.tensor([[0.1]]),
    torch.tensor(0.1, dtype=torch.float64), torch.tensor(0.1).bfloat16(), torch.tensor(0.1).half(),
    torch.tensor(1 + 2j),
    torch.tensor(200, dtype=torch.uint8), torch.tensor(float("inf")), torch.tensor(3.0, requires_grad=True),
    torch.nn.Parameter(torch.ones(1)), torch.ones(4)[2], torch.tensor(1 + 2j).conj(), torch.tensor(1 + 2j).conj().imag,
]  # fmt: skip


def test_values_are_those_of_item(sent):
    scalars = tp.Scalars()
    for _ in range(3):
        scalars.add(**{f"v{i}": value for i, value in enumerate(VALUES)})
        for value in VALUES:
            scalars.add(alone=value)
    rows = [values for _, values in scalars.finish()]
    expected = [value.item() for value in VALUES]
    for begin in range(0, 3 * (len(VALUES) + 1), len(VALUES) + 1):
        together = list(rows[begin].values())
        alone = [values["alone"] for values in rows[begin + 1 : begin + 1 + len(VALUES)]]
        for got in (together, alone):
            assert got == expected and list(map(type, got)) == list(map(type, expected))
    assert {one.stream for one in sent} == {7}


def test_values_are_those_at_the_call(sent):
    scalars = tp.Scalars(every=4)
    running = torch.zeros(())
    for _ in range(10):
        running += 1
        scalars.add(sum=running)
    with torch.inference_mode():
        running = torch.zeros(())
        for _ in range(10):
            running += 1
            scalars.add(sum=running)
    with torch.no_grad():
        scalars.add(sum=running)
    assert [values["sum"] for _, values in scalars.finish()] == [*range(1, 11), *range(1, 11), 10]
    assert len(sent) == 6


def test_steps_of_some_milliseconds_cross_together(sent, clock):
    scalars = tp.Scalars()
    for step in range(40):
        clock.now += 0.003
        scalars.add(loss=torch.tensor(float(step)), n=torch.tensor(step))
        assert scalars.ready() == []
    assert len(sent) == 2 * 10  # every 10 ms, of each type
    for one in sent[:4]:
        one.has_arrived = True
    assert [step for step, _ in scalars.ready()] == list(range(5))
    clock.now += 1
    assert scalars.ready() == [] and len(sent) == 2 * 11  # what was left is sent off by who asks for it
    for one in sent:
        one.has_arrived = True
    assert scalars.ready() == [(step, {"loss": float(step), "n": step}) for step in range(5, 40)]
    assert scalars.finish() == [] and len(sent) == 2 * 11


def test_steps_that_take_longer_cross_at_once(sent, clock):
    scalars = tp.Scalars()
    for step in range(5):
        clock.now += 0.2
        scalars.add(loss=torch.tensor(float(step)))
        assert len(sent) == step + 1


def test_every_counts_steps(sent, clock):
    scalars = tp.Scalars(every=3)
    for step in range(10):
        clock.now += 1
        scalars.add(loss=torch.tensor(float(step)))
        scalars.ready()
        assert len(sent) == (step + 1) // 3
    assert [step for step, _ in scalars.finish()] == list(range(10)) and len(sent) == 4


def test_more_values_than_cross_together(sent):
    most = scalars_module._MOST
    scalars = tp.Scalars(every=10**9)
    scalars.add(**{f"v{i}": torch.tensor(i) for i in range(2 * most + 5)})
    for i in range(3 * most):
        scalars.add(i=torch.tensor(i))
    rows = scalars.finish()
    assert list(rows[0][1].values()) == list(range(2 * most + 5))
    assert [values["i"] for _, values in rows[1:]] == list(range(3 * most))
    assert all(len(one.values) <= most for one in sent)


def test_a_capture_refuses_new_values_and_loses_no_others(sent, clock):
    scalars = tp.Scalars()
    scalars.add(loss=torch.tensor(0.0))  # sent
    scalars.add(loss=torch.tensor(1.0))  # taken
    sent.is_capturing = True
    clock.now += 1
    with pytest.raises(tp.Error, match="Scalars.add.. cannot run while a CUDA graph"):
        scalars.add(loss=torch.tensor(2.0))
    scalars.add(2, lr=0.5)
    sent[0].has_arrived = True
    assert scalars.ready() == [(0, {"loss": 0.0})]
    with pytest.raises(tp.Error, match="Scalars.finish.. cannot run while a CUDA graph"):
        scalars.finish()
    assert len(sent) == 1
    sent.is_capturing = False
    assert scalars.finish() == [(1, {"loss": 1.0}), (2, {"lr": 0.5})]


def test_a_copy_that_cannot_be_begun_is_tried_again(sent, monkeypatch):
    scalars = tp.Scalars(every=2)
    scalars.add(loss=torch.tensor(0.0))
    with monkeypatch.context() as patch, pytest.raises(tp.Error, match="no memory"):
        patch.setattr(scalars_module, "start", lambda *_: (_ for _ in ()).throw(tp.Error("no memory")))
        scalars.add(loss=torch.tensor(1.0))
    scalars.add(loss=torch.tensor(2.0))
    assert [values["loss"] for _, values in scalars.finish()] == [0, 1, 2]
