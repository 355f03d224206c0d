"""The pieces that the calls give the engine, and the bytes that arrive: with an engine that copies at once.

A GPU's memory is played by the host's, and a tensor says that it is on the GPU where the test says so.
"""

import ctypes

import pytest

import turnpike as tp
from turnpike import _core
from turnpike._move import engine as engine_module
from turnpike._move import fetch as fetch_module
from turnpike._move import plan, pool
from turnpike._move import to as to_module

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there are no tensors to be copied")

HERE = torch.device("cpu", 0)


class Pieces:
    """As the extension's, but it can be looked at: (host, device, bytes, whether page-locked)."""

    def __init__(self):
        self.added = []

    def add(self, host, device, size_bytes, is_pinned=False):
        self.added.append((host, device, size_bytes, is_pinned))


class Transfer:
    def __init__(self, owner, run):
        self.owner, self.run, self.waited = owner, run, []

    def is_done(self):
        return self.run is None

    def wait(self):
        if self.run is not None:
            run, self.run = self.run, None
            run()

    def wait_on(self, device, stream):
        self.waited.append((device, stream))
        self.wait()


class Engine:
    """Copies at once, or, for what may go on meanwhile, when it is waited for."""

    def is_page_locked(self, device, memory):
        return False

    def __init__(self):
        self.calls = []

    def _copy(self, pieces, is_up):
        for host, device, size_bytes, _ in pieces.added:
            ctypes.memmove(*((device, host) if is_up else (host, device)), size_bytes)

    def _note(self, name, device, stream, pieces, **more):
        told = [(size_bytes, is_pinned) for _, _, size_bytes, is_pinned in pieces.added]
        self.calls.append((name, device, stream, told, more))

    def upload(self, device, pieces, stream, owner=None, label=""):
        self._note("upload", device, stream, pieces)
        self._copy(pieces, True)

    def download(self, device, pieces, stream, is_fresh=False, label=""):
        self._note("download", device, stream, pieces, is_fresh=is_fresh)
        self._copy(pieces, False)

    def upload_ahead(self, device, pieces, stream, owner, label=""):
        self._note("upload_ahead", device, stream, pieces)
        return Transfer(owner, lambda: self._copy(pieces, True))

    def download_behind(self, device, pieces, stream, owner, is_fresh=False, label=""):
        self._note("download_behind", device, stream, pieces, is_fresh=is_fresh)
        return Transfer(owner, lambda: self._copy(pieces, False))

    def copy_peer(self, to_device, to, to_stream, from_device, source, from_stream, size_bytes, owner, label=""):
        self.calls.append(("copy_peer", to_device, to_stream, from_device, from_stream, size_bytes))
        return Transfer(owner, lambda: ctypes.memmove(to, source, size_bytes))


@pytest.fixture
def engine(monkeypatch):
    made = Engine()
    monkeypatch.setattr(_core, "MovePieces", Pieces)
    monkeypatch.setattr(engine_module, "engine", lambda: made)
    monkeypatch.setattr(engine_module, "current_stream", lambda device: 100 + device)
    monkeypatch.setattr(engine_module, "is_capturing", lambda devices: False)
    monkeypatch.setattr(engine_module, "refuse_capture", lambda call: None)
    return made


@pytest.fixture
def on_gpu(monkeypatch):
    """Makes tensors say that they are on GPU number so much; the others are on the host."""
    gpus = {}
    monkeypatch.setattr(torch.Tensor, "is_cuda", property(lambda one: id(one) in gpus), raising=False)
    monkeypatch.setattr(torch.Tensor, "get_device", lambda one: gpus.get(id(one), -1))
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda one: getattr(one, "plays_pinned", False))

    def put(tensor, gpu=0):
        gpus[id(tensor)] = gpu
        return tensor

    return put


def numbers(*shape, dtype=torch.float32):
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count) % 97).to(dtype).view(*shape)


# tp.copy_


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_copy_to_a_gpu_is_one_piece(engine, on_gpu, is_pinned):
    dst, src = on_gpu(torch.zeros(5, 3), 1), numbers(5, 3)
    src.plays_pinned = is_pinned
    work = tp.copy_(dst, src)
    assert engine.calls == [("upload_ahead", 1, 101, [(60, is_pinned)], {})]
    assert not work.done()
    work.synchronize()
    assert work.done()
    assert torch.equal(dst, src)


@pytest.mark.parametrize("is_pinned", [False, True])
def test_a_copy_to_the_host_is_one_piece(engine, on_gpu, is_pinned):
    dst, src = torch.zeros(5, 3), on_gpu(numbers(5, 3), 1)
    dst.plays_pinned = is_pinned
    work = tp.copy_(dst, src)
    assert engine.calls == [("download_behind", 1, 101, [(60, is_pinned)], {"is_fresh": False})]
    work.wait()
    assert torch.equal(dst, numbers(5, 3))


def test_a_copy_between_gpus_names_both(engine, on_gpu, monkeypatch):
    opened = []
    copy_module = __import__("sys").modules["turnpike._move.copy"]
    monkeypatch.setattr(copy_module, "_open_to_peer", lambda dst, src: opened.append((dst, src)))
    dst, src = on_gpu(torch.zeros(7), 2), on_gpu(numbers(7), 1)
    work = tp.copy_(dst, src)
    assert engine.calls == [("copy_peer", 2, 102, 1, 101, 28)]
    assert opened == [(2, 1)]
    transfer = work._transfer
    work.wait()
    assert sorted(transfer.waited) == [(1, 101), (2, 102)]
    assert torch.equal(dst, numbers(7))


@pytest.mark.parametrize(
    "source",
    [
        lambda: numbers(3),  # broadcast
        lambda: numbers(5, 3).double(),
        lambda: numbers(3, 5).t(),
        lambda: numbers(5, 6)[:, ::2],
        lambda: numbers(5, 1),
    ],
)
def test_a_source_of_another_form_is_made_like_the_destination(engine, on_gpu, source):
    dst, src = on_gpu(torch.zeros(5, 3)), source()
    version = dst._version
    tp.copy_(dst, src).wait()
    assert engine.calls == [("upload_ahead", 0, 100, [(60, False)], {})]
    assert torch.equal(dst, src.expand(5, 3).float())
    assert dst._version > version


def test_a_source_of_the_same_form_is_read_where_it_is(engine, on_gpu):
    dst, src = on_gpu(torch.zeros(5, 3)), numbers(5, 3)
    work = tp.copy_(dst, src)
    src.fill_(3)  # before the copy runs
    work.wait()
    assert torch.equal(dst, torch.full((5, 3), 3.0))


@pytest.mark.parametrize("dst", [lambda: torch.zeros(0), lambda: torch.zeros(6)[::2]])
def test_what_is_not_one_stretch_is_left_to_pytorch(engine, on_gpu, dst):
    target = on_gpu(dst())
    source = numbers(*target.shape)
    work = tp.copy_(target, source)
    assert engine.calls == []
    assert work.done()
    assert torch.equal(target, source)


@pytest.mark.parametrize("which", ["dst", "src"])
def test_gradients_are_refused_by_the_name_of_the_tensor(engine, on_gpu, which):
    tensors = {"dst": on_gpu(torch.zeros(3)), "src": torch.zeros(3)}
    tensors[which].requires_grad_(True)
    with pytest.raises(tp.Error, match=rf"^turnpike\.copy_\(\) does not carry gradients, and {which}, "):
        tp.copy_(tensors["dst"], tensors["src"])
    assert engine.calls == []


# tp.fetch


@pytest.mark.parametrize(("items", "is_snapshot"), [(1, False), (1 << 14, False), ((1 << 14) + 1, True)])
def test_what_is_fetched_is_a_snapshot_above_64_kib(engine, on_gpu, monkeypatch, items, is_snapshot):
    tensor = on_gpu(numbers(items))
    given = fetch_module.start(engine, tensor, 7) if not is_snapshot else None
    if is_snapshot:
        monkeypatch.setattr(torch.Tensor, "get_device", lambda one: 0)
        given = fetch_module.start(engine, tensor, 7)
    assert engine.calls == [("download_behind", 0, 7, [(items * 4, False)], {"is_fresh": True})]
    tensor.fill_(5)
    assert not given.ready()
    assert repr(given) == "turnpike.Fetched(on its way)"
    wanted = numbers(items) if is_snapshot else torch.full((items,), 5.0)
    assert torch.equal(given.result(), wanted)
    assert given.ready()
    assert given.result() is given.result()
    assert repr(given) == repr(wanted)


def test_what_has_gaps_is_fetched_without_them(engine, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "get_device", lambda one: 0)
    given = fetch_module.start(engine, numbers(6)[::2], 7)
    assert engine.calls[0][3] == [(12, False)]
    assert given.result().tolist() == [0, 2, 4]


def test_a_child_is_refused_what_its_parent_fetched(engine, on_gpu, monkeypatch):
    given, arrived = (fetch_module.start(engine, on_gpu(numbers(3)), 7) for _ in range(2))
    arrived.result()
    monkeypatch.setattr(engine_module, "_is_child", True)
    for ask in (given.ready, given.result, given.item):
        with pytest.raises(tp.Error, match=r"this turnpike\.fetch\(\) began before the process was forked"):
            ask()
    assert arrived.ready()
    assert arrived.result().tolist() == [0, 1, 2]


def test_only_tensors_without_gradients_are_fetched(engine):
    with pytest.raises(TypeError, match=r"^turnpike\.fetch\(\) takes a tensor, and this is a list$"):
        tp.fetch([1])
    with pytest.raises(tp.Error, match=r"does not carry gradients, and .* requires one: fetch tensor\.detach\(\)\.$"):
        tp.fetch(torch.ones(2, requires_grad=True))
    with torch.no_grad():
        assert tp.fetch(torch.ones(1, requires_grad=True)).item() == 1
    source = numbers(3)
    given = tp.fetch(source)
    source.zero_()
    assert given.ready()
    assert given.result().tolist() == [0, 1, 2]
    assert engine.calls == []


# tp.to


def test_a_conversion_goes_part_by_part(engine, monkeypatch):
    monkeypatch.setattr(plan, "CONVERT_BYTES", 40)
    for shape, parts in (((4, 5), [40, 40]), ((3, 7), [40, 40, 4]), ((10,), [40]), ((1,), [4])):
        engine.calls.clear()
        source = numbers(*shape)
        new = to_module._up_converted(engine, source, HERE, torch.float64)
        assert [call[3] for call in engine.calls] == [[(part, False)] for part in parts]
        assert {call[:3] for call in engine.calls} == {("upload", 0, 100)}
        assert new.dtype is torch.float64
        assert torch.equal(new, source.double())


def test_a_conversion_keeps_the_order_in_memory(engine):
    source = numbers(3, 4).t()
    new = to_module._up_converted(engine, source, HERE, torch.float64)
    assert new.stride() == source.stride()
    assert torch.equal(new, source.double())
    assert not new.requires_grad


def test_a_conversion_on_the_way_down_is_counted_in_its_result(engine, on_gpu, monkeypatch):
    monkeypatch.setattr(plan, "CONVERT_BYTES", 40)
    source = on_gpu(numbers(12), 3)
    new = to_module._down_converted(engine, source, torch.float64)
    assert [call[3] for call in engine.calls] == [[(40, False)], [(40, False)], [(16, False)]]
    assert {call[:3] for call in engine.calls} == {("download", 3, 103)}
    assert all(call[4] == {"is_fresh": True} for call in engine.calls)
    assert torch.equal(new, numbers(12).double())


def test_downloads_of_each_gpu_share_a_call(engine, on_gpu):
    many = 1 << 18
    tensors = [on_gpu(numbers(many), 0), on_gpu(numbers(many) + 1, 1), on_gpu(numbers(many) + 2, 0)]
    moved = to_module._down(engine, tensors, HERE, None, False)
    size = many * 4
    assert engine.calls == [
        ("download", 0, 100, [(size, False), (size, False)], {"is_fresh": True}),
        ("download", 1, 101, [(size, False)], {"is_fresh": True}),
    ]
    for number, tensor in enumerate(moved):
        assert torch.equal(tensor, numbers(many) + number)
        assert tensor.data_ptr() != tensors[number].data_ptr()


def test_a_dense_download_is_read_where_it_is(engine, on_gpu, monkeypatch):
    source = on_gpu(numbers(1 << 18))
    cloned = []
    real = torch.Tensor.clone
    monkeypatch.setattr(torch.Tensor, "clone", lambda one: cloned.append(one) or real(one))
    to_module._down(engine, [source], HERE, None, False)
    assert cloned == []
    assert len(engine.calls) == 1


def test_what_is_expanded_crosses_once(monkeypatch):
    sent = []
    monkeypatch.setattr(to_module, "to", lambda tensor, device: sent.append(tuple(tensor.shape)) or tensor.clone())
    source = numbers(3, 1).expand(3, 4)
    new = to_module._up_expanded(source, HERE, torch.float64)
    assert sent == [(3, 1)]
    assert torch.equal(new, source.double())
    assert new.dtype is torch.float64
    assert not new.requires_grad


def test_a_pool_that_takes_nothing_gives_new_memory():
    assert pool.limit_bytes() == 0
    host, is_pinned = pool.empty_like(torch.zeros(1 << 19))
    assert (host.shape, is_pinned) == ((1 << 19,), False)


@pytest.mark.parametrize(
    ("items", "target", "is_initialized", "is_capturing", "is_idle", "would_wait"),
    [
        (1, "cuda", True, False, False, True),
        (1, "cuda", True, False, True, False),
        (1, "cuda", True, True, False, False),
        (1, "cuda", False, False, False, False),
        (0, "cuda", True, False, False, False),
        (1, "cpu", True, False, False, False),
    ],
)
def test_pytorch_would_wait_for_a_busy_stream(
    engine, monkeypatch, items, target, is_initialized, is_capturing, is_idle, would_wait
):
    asked = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: is_initialized)
    monkeypatch.setattr(engine_module, "device_of", lambda device: torch.device(device, 2))

    def answer(device, stream):
        asked.append((device, stream))
        if is_capturing:
            raise _core.Error("the stream is being captured")
        return is_idle

    engine.is_idle = answer
    assert to_module._would_wait(torch.ones(items), target) is would_wait
    assert asked in ([], [(2, 102)])
    if would_wait:
        monkeypatch.setattr(engine_module, "engine", lambda: None)
        assert to_module._would_wait(torch.ones(items), target) is False


def test_a_stream_is_one_of_the_device():
    class Stream:
        device = torch.device("cuda", 1)

    for device in ("cuda", "cuda:1", torch.device("cuda", 1)):
        to_module._check_stream(Stream, device)
    for device in ("cpu", "cuda:0", torch.device("cuda", 2)):
        with pytest.raises(ValueError, match=r"^turnpike\.to\(\): the stream is one of cuda:1, and the tensors"):
            to_module._check_stream(Stream, device)


def test_an_object_is_told_only_what_was_asked_for():
    class Thing:
        def to(self, device, **keywords):
            return device, keywords

    assert to_module.move_itself(Thing(), HERE) == (HERE, {})
    assert to_module.move_itself(Thing(), HERE, torch.float16) == (HERE, {"dtype": torch.float16})
    assert to_module.move_itself(Thing(), HERE, waits=False) == (HERE, {"non_blocking": True})


def test_a_small_tensor_is_one_below_the_limit_or_without_a_size():
    at_limit = torch.ones(plan.ALONE_BYTES, dtype=torch.uint8)
    assert not to_module._is_small(at_limit)
    assert to_module._is_small(at_limit[1:])

    class Unknown:
        @property
        def nbytes(self):
            raise RuntimeError("no such number")

    assert to_module._is_small(Unknown())


def test_a_failure_of_pytorch_is_explained_where_a_graph_is_captured(monkeypatch):
    class Broken:
        def to(self, *_, **__):
            raise RuntimeError("CUDA error")

    asked = []
    monkeypatch.setattr(engine_module, "refuse_capture", asked.append)
    for is_open, wanted in ((False, []), (True, ["turnpike.to()"])):
        monkeypatch.setattr(engine_module, "is_open", lambda is_open=is_open: is_open)
        with pytest.raises(RuntimeError, match="^CUDA error$"):
            to_module._by_torch(Broken(), HERE, None, False)
        assert asked == wanted


def test_only_what_is_asked_for_is_given_to_pytorch():
    class Thing:
        def to(self, *words, **keywords):
            return words, keywords

    assert to_module._by_torch(Thing(), HERE, None, False) == ((HERE,), {})
    assert to_module._by_torch(Thing(), HERE, None, True) == ((HERE,), {"dtype": None, "non_blocking": True})
    both = {"dtype": torch.float16, "non_blocking": False}
    assert to_module._by_torch(Thing(), HERE, torch.float16, False) == ((HERE,), both)


@pytest.mark.parametrize("has_guard", [True, False])
def test_filling_a_new_tensor_does_not_count_as_a_change(monkeypatch, has_guard):
    if not has_guard:  # as in older versions of PyTorch
        monkeypatch.delattr(torch._C, "_AutoDispatchBelowADInplaceOrView", raising=False)
    new = torch.zeros(2)
    with to_module._without_versions():
        new.copy_(torch.ones(2))
    assert new._version == 0
    new.copy_(torch.ones(2))
    assert new._version == 1
