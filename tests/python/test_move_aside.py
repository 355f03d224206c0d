"""Objects that move themselves beside the loop: when they are moved again, and where. Streams are stand-ins."""

import contextlib

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there is nothing to move")

from turnpike._move import aside  # noqa: E402


class Stream:
    def __init__(self):
        self.log = []

    def record_event(self):
        self.log.append("event")
        return "event"

    def wait_stream(self, other):
        self.log.append("waits")

    def wait_event(self, event):
        self.log.append(event)


@pytest.fixture
def early(monkeypatch):
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    return lambda move: aside.Early(move, Stream(), Stream())


def handed_over(early):
    stream = Stream()
    result = early.hand_over(stream)
    assert stream.log == ["event"]
    return result


def test_the_result_is_that_of_the_first_call(early):
    calls = []
    one = early(lambda: calls.append(1) or [torch.ones(3).to("meta")])
    assert calls == [1] and one.is_clear
    assert handed_over(one)[0].is_meta and calls == [1]


def test_an_exception_comes_when_the_loop_asks(early):
    calls = []

    def move():
        calls.append(1)
        raise KeyError("broken")

    one = early(move)
    assert calls == [1] and not one.is_clear
    with pytest.raises(KeyError, match="broken"):
        handed_over(one)
    assert calls == [1, 1]


def test_what_autograd_records_runs_where_the_loop_is(early):
    leaf = torch.ones(3, requires_grad=True)
    calls = []
    one = early(lambda: calls.append(1) or leaf * 2)
    assert not one.is_clear
    assert handed_over(one).requires_grad and calls == [1, 1]
    with torch.no_grad():
        assert early(lambda: leaf * 2).is_clear


def test_tensors_whose_parts_are_unknown_move_where_the_loop_is(early):
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    assert not early(lambda: nested.to("meta")).is_clear
    for known in (torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr(), torch.eye(3).to_sparse_csc()):
        assert early(lambda known=known: known.to("meta")).is_clear
        parts = aside._parts(known)
        assert len(parts) == len({id(part) for part in parts}) > 1
        assert all(part.layout is torch.strided for part in parts)


def test_the_side_stream_waits_for_the_loop_before_it_reads_what_the_loop_may_write(monkeypatch):
    """Of what it made itself it need not. Meta tensors stand for those of the GPU."""
    pinned, of_the_loop, used = torch.ones(3), torch.ones(3, device="meta"), []
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: self is pinned)
    monkeypatch.setattr(torch.Tensor, "is_cuda", property(lambda self: self.is_meta), raising=False)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda self, stream: used.append((self, stream)))

    def log_of(move):
        side = Stream()
        one = aside.Early(move, side, Stream())
        assert one.is_clear
        return side.log, one

    assert log_of(lambda: torch.ones(3) + 1)[0] == ["event"]
    assert log_of(lambda: pinned + 1)[0] == ["waits", "event"]
    assert log_of(lambda: of_the_loop + 1)[0] == ["waits", "event"]
    log, one = log_of(lambda: pinned.to("meta").mul_(2) + 1)
    assert log == ["waits", "event"]
    loop = Stream()
    result = one.hand_over(loop)
    assert len(used) == 2 and used[1][0] is result and all(stream is loop for _, stream in used)
    one.hand_over(loop)
    assert len(used) == 2, "once is enough"


def test_results_can_be_trained_on_in_whatever_mode_they_were_begun(early):
    with torch.inference_mode():
        one = early(lambda: torch.ones(3) * 2)
    assert not handed_over(one).is_inference()


def test_where_there_is_no_gpu_nothing_is_begun():
    assert aside.Aside(torch.device("cpu")).start(lambda: pytest.fail("it was called")) is None


def test_after_one_that_had_to_be_moved_again_no_other_is_begun(monkeypatch):
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: Stream())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream())
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    beside = aside.Aside(torch.device("cuda", 0))
    assert beside.start(lambda: 1).is_clear and beside.start(lambda: 2).is_clear
    assert not beside.start(lambda: 1 / 0).is_clear
    assert beside.start(lambda: 1) is None
