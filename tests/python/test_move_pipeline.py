"""tp.pipeline with an engine that copies as late as it may: outputs are those of the plain loop, whatever fn keeps."""

import contextlib
import ctypes
import types

import pytest

import turnpike as tp
from turnpike._move import engine as engine_module
from turnpike._move import pipeline, plan

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there is nothing to be moved")

CPU = torch.device("cpu")
ITEMS = 1 << 16  # of 4 bytes: more than what is copied in the stream


class Pieces(list):
    def add(self, host, device, size_bytes, is_pinned=False):
        self.append((host, device, size_bytes))

    def add_strided(self, *_):
        raise AssertionError("not with these inputs")


class Transfer:
    def __init__(self, copies, owner):
        self.copies, self.owner = copies, owner

    def wait(self):
        for target, source, size_bytes in self.copies:
            ctypes.memmove(target, source, size_bytes)
        self.copies = []

    def wait_on(self, device, stream):
        self.wait()


class LateEngine:
    """Its GPU is the host. Uploads run when a stream waits for them, downloads when the host does, or in the stream."""

    def upload_ahead(self, device, pieces, stream, owner, label):
        return Transfer([(device, host, size) for host, device, size in pieces], owner)

    def download_behind(self, device, pieces, stream, owner, is_fresh, label):
        transfer = Transfer(list(pieces), owner)
        if sum(size for *_, size in pieces) <= plan.SMALL_BYTES:
            transfer.wait()
        return transfer


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setattr(engine_module, "refuse_capture", lambda call: None)
    monkeypatch.setattr(pipeline, "_core", types.SimpleNamespace(MovePieces=Pieces, Error=tp.Error))
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: types.SimpleNamespace(cuda_stream=0))
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda tensor: False)


def run(fn, inputs, depth=3, out=None):
    return pipeline._run(pipeline._Lanes(LateEngine(), fn, CPU, depth, out), iter(inputs), depth)


def inputs(count=9, items=ITEMS):
    return [torch.full((items,), float(i)) for i in range(count)]


def plainly(fn, items):
    return [fn(item.clone()).clone() for item in items]


class Static:
    def __init__(self, items=ITEMS):
        self.out = torch.empty(items)
        self.last = None

    def by_out(self, x):
        return torch.mul(x, 2, out=self.out)

    def detached(self, x):
        return self.out.copy_(x * 2).detach()

    def view(self, x):
        return self.out.copy_(x * 2).view(2, -1)

    def remembered(self, x):
        if self.last is None:
            self.last = torch.empty_like(x)
        self.last.copy_(x * 2)
        return self.last

    def kept_and_changed(self, x):
        if self.last is not None:
            self.last.zero_()
        self.last = x * 2
        return self.last

    def accumulated(self, x):
        self.out.add_(x)
        return self.out

    def expanded(self, x):
        self.out[0] = x[0]
        return self.out[:1].expand(ITEMS)


WAYS = ["by_out", "detached", "view", "remembered", "kept_and_changed", "accumulated", "expanded"]


@pytest.mark.parametrize("items", [ITEMS, 100])
@pytest.mark.parametrize("way", WAYS)
def test_memory_that_fn_writes_to_again(way, items):
    fn, plain = Static(items), Static(items)
    fn.out.zero_(), plain.out.zero_()
    results = list(run(getattr(fn, way), inputs(items=items)))
    for result, expected in zip(results, plainly(getattr(plain, way), inputs(items=items)), strict=True):
        assert torch.equal(result, expected)


def test_outputs_in_nests_and_halves_of_one_storage():
    kept = {"x": torch.empty(ITEMS)}

    def nest(x):
        torch.mul(x, 3, out=kept["x"])
        return kept

    assert [r["x"][-1].item() for r in run(nest, inputs())] == [3.0 * i for i in range(9)]

    both = torch.empty(2 * ITEMS)

    def halves(x):
        both[:ITEMS].copy_(x)
        both[ITEMS:].copy_(-x)
        return both[:ITEMS], [both[ITEMS:]]

    results = list(run(halves, inputs()))
    assert [(a[0].item(), b[0].item()) for a, [b] in results] == [(i, -i) for i in range(9)]


def test_the_input_given_back_or_changed():
    assert [r[0].item() for r in run(lambda x: x, inputs())] == list(range(9))
    assert [r[0].item() for r in run(lambda x: x.add_(1), inputs(), depth=1)] == [i + 1 for i in range(9)]
    assert [r[0].item() for r in run(lambda x: x[: ITEMS // 2 + 1], inputs())] == list(range(9))


def test_a_new_output_is_not_cloned(monkeypatch):
    cloned = []
    clone = torch.Tensor.clone
    monkeypatch.setattr(torch.Tensor, "clone", lambda tensor: cloned.append(tensor) or clone(tensor))
    assert [r[0].item() for r in run(lambda x: x * 2, inputs())] == [2 * i for i in range(9)]
    assert [r[0][0].item() for r in run(lambda x: (x * 2, x + 1), inputs())] == [2 * i for i in range(9)]
    assert cloned == []
    list(run(lambda x: x, inputs()))
    assert len(cloned) == 9


def test_one_place_for_all_outputs_is_seen_with_each():
    place = torch.empty(ITEMS)
    seen = [result[5].item() for result in run(lambda x: x * 2, inputs(), out=[place] * 9)]
    assert seen == [2 * i for i in range(9)]
    halves = [place[: ITEMS // 2 + 1], place[ITEMS // 2 - 1 :]] * 3
    short = inputs(6, ITEMS // 2 + 1)
    assert [result[0].item() for result in run(lambda x: x * 2, short, out=halves)] == [2 * i for i in range(6)]


def test_no_place_is_written_to_after_the_loop_was_left():
    out = [torch.full((ITEMS,), -1.0) for _ in range(9)]
    results = run(lambda x: x * 2, inputs(), out=out)
    assert next(results)[0] == 0
    results.close()
    after = [place.clone() for place in out]
    assert all((place == place[0]).all() for place in out), "one is half written"
    assert [place[0].item() for place in after[3:]] == [-1.0] * 6


def test_slots_made_in_inference_mode_can_be_trained_with_later():
    with torch.inference_mode():
        results = run(lambda x: x, inputs())
        first = next(results)
    assert not first.is_inference()
    weight = torch.ones(ITEMS, requires_grad=True)

    def train(x):
        (x.add_(1) * weight).sum().backward()
        return x

    with torch.inference_mode():
        results = run(train, inputs())
        with torch.inference_mode(False):
            next(results)
    assert weight.grad is not None


def test_a_slot_is_allocated_again_only_for_a_larger_input():
    lanes = pipeline._Lanes(LateEngine(), lambda x: x, CPU, 2, None)
    first, second = lanes._slot(100), lanes._slot(200)
    assert (first.numel(), second.numel()) == (100, 200) and first.dtype is torch.uint8
    assert lanes._slot(100) is first and lanes._slot(199) is second
    larger = lanes._slot(101)
    assert larger.numel() == 101 and lanes._slot(200) is second and lanes._slot(1) is larger
