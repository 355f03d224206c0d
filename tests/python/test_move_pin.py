"""tp.pin_ with an engine that only notes what is locked: whatever becomes of a storage, freed memory never is."""

import functools
import gc
import io
import pickle
import signal
import sys
import threading

import pytest

import turnpike as tp
from turnpike._move import engine as engine_module
from turnpike._move import pin as pin_module

SIZE = 4 << 20  # far above what malloc keeps: freed memory is unmapped


def is_mapped(address):
    with open("/proc/self/maps") as maps:
        for line in maps:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if begin <= address < end:
                return True
    return False


class StandIn:
    """Knows what is locked, and notes memory that was gone before its lock was."""

    def __init__(self):
        self.locked = {}
        self.gone = []

    def pin(self, address, size_bytes, device):
        assert device == 3, "not the current device"
        if address in self.locked:
            raise tp.Error("this memory is page-locked by Turnpike already")
        self.locked[address] = size_bytes

    def unpin(self, address):
        if self.locked.pop(address, None) is None:
            raise tp.Error("this memory was not page-locked by Turnpike")
        if not is_mapped(address + SIZE // 2):
            self.gone.append(address)

    def unlocker(self, address):
        return lambda _: self.unpin(address)

    def holds(self, *tensors):
        assert self.gone == []
        return sorted(self.locked) == sorted({tensor.untyped_storage().data_ptr() for tensor in tensors})


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: what moves its tensors cannot be tried")


@pytest.fixture
def engine(torch, monkeypatch):
    found = StandIn()
    monkeypatch.setattr(engine_module, "_engine", found)
    monkeypatch.setattr(engine_module, "refuse_capture", lambda call: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr(torch.UntypedStorage, "is_pinned", lambda storage: storage.data_ptr() in found.locked)
    yield found
    gc.collect()
    assert found.locked == {} and found.gone == [] and pin_module._locked == {}


def made(torch):
    return torch.arange(SIZE, dtype=torch.int64).to(torch.uint8)


def test_a_lock_is_counted_and_ends_with_the_last_tensor(torch, engine):
    tensor = made(torch)
    for _ in range(2):
        assert tp.pin_(tensor) is tensor
    view = tensor[10:20]
    tp.unpin_(view)
    assert engine.holds(tensor)
    tp.unpin_(tensor)
    assert engine.holds()
    tp.unpin_(tensor)
    with tp.pinned(view):
        assert engine.holds(tensor)
    assert engine.holds()
    tp.pin_(view)
    del tensor
    assert engine.holds(view)
    del view
    assert engine.holds()


def test_what_is_locked_by_others_is_left_alone(torch, engine):
    tensor = made(torch)
    engine.locked[tensor.data_ptr()] = SIZE
    tp.pin_(tensor)
    tp.unpin_(tensor)
    assert engine.locked.pop(tensor.data_ptr()) == SIZE


@pytest.mark.parametrize("strategy", ["file_descriptor", "file_system"])
def test_a_storage_that_becomes_shared_is_unlocked_before_and_locked_after(torch, engine, monkeypatch, strategy):
    tensor = made(torch)
    monkeypatch.setattr(torch.multiprocessing, "_sharing_strategy", strategy)
    tp.pin_(tp.pin_(tensor))
    before, values = tensor.data_ptr(), tensor.clone()
    tensor.share_memory_()
    assert tensor.data_ptr() != before and engine.holds(tensor) and torch.equal(tensor, values)
    tensor.share_memory_()
    tp.unpin_(tensor)
    assert engine.holds(tensor)
    tp.unpin_(tensor)
    assert engine.holds()


class LateLock:
    """The lock of pin_, before whose first turn another thread unpins."""

    def __init__(self, lock, unpin):
        self._lock = lock
        self._other = threading.Thread(target=unpin)

    def __enter__(self):
        other, self._other = self._other, None
        if other is not None:
            other.start()
            other.join()
        return self._lock.__enter__()

    def __exit__(self, *error):
        return self._lock.__exit__(*error)


def test_a_storage_that_another_thread_unlocks_as_it_becomes_shared_is_shared(torch, engine, monkeypatch):
    tensor = tp.pin_(made(torch))
    lock = pin_module._lock

    def unpin():
        monkeypatch.setattr(pin_module, "_lock", lock)
        tp.unpin_(tensor)

    monkeypatch.setattr(pin_module, "_lock", LateLock(lock, unpin))
    tensor.share_memory_()
    assert tensor.is_shared() and engine.holds()


def test_a_storage_that_is_shared_in_two_ways_moves_twice(torch, engine, monkeypatch):
    tensor = made(torch)
    tensor.share_memory_()
    tp.pin_(tensor)
    before = tensor.data_ptr()
    monkeypatch.setattr(torch.multiprocessing, "_sharing_strategy", "file_system")
    tensor.share_memory_()
    assert tensor.data_ptr() != before and engine.holds(tensor)


def test_what_is_not_locked_is_shared_as_ever_beside_what_is(torch, engine):
    share = pin_module._unlocked_meanwhile(lambda storage, *args, **keywords: (storage.nbytes(), args, keywords))
    locked, other = made(torch), made(torch)[: SIZE // 2].clone()
    for pin in (False, True):
        if pin:
            tp.pin_(locked)
        assert share(other.untyped_storage(), 1, way=2) == (SIZE // 2, (1,), {"way": 2})
        assert share(locked.untyped_storage(), 3) == (SIZE, (3,), {})
        assert engine.holds(*([locked] if pin else []))
    tp.unpin_(locked)


def test_a_storage_that_is_sent_to_a_process_is_unlocked_before(torch, engine):
    tensor = made(torch)
    from multiprocessing.reduction import ForkingPickler

    import torch.multiprocessing  # noqa: F401  # registers how storages are sent

    tp.pin_(tensor)
    before, values = tensor.data_ptr(), tensor.clone()
    sent = ForkingPickler.dumps({"data": tensor[5:]})
    assert tensor.data_ptr() != before and engine.holds(tensor)
    assert torch.equal(pickle.loads(sent)["data"], values[5:])


def test_where_shared_memory_cannot_be_locked_it_is_said(torch, engine, monkeypatch):
    tensor = made(torch)
    tp.pin_(tensor)

    def refuse(*_):
        raise tp.Error("ulimit")

    monkeypatch.setattr(engine, "pin", refuse)
    with pytest.warns(RuntimeWarning, match="could not be page-locked again: ulimit"):
        tensor.share_memory_()
    assert engine.holds()


RESIZES = {
    "resize_": lambda torch, tensor, larger: tensor.resize_(larger.shape),
    "resize_as_": lambda torch, tensor, larger: tensor.resize_as_(larger),
    "set_": lambda torch, tensor, larger: tensor.set_(tensor.untyped_storage(), 0, larger.shape, (1,)),
    "out=": lambda torch, tensor, larger: torch.add(larger, 1, out=tensor),
    "storage": lambda torch, tensor, larger: tensor.untyped_storage().resize_(larger.nbytes),
    "storage of 0": lambda torch, tensor, larger: tensor.untyped_storage().resize_(0),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("way", RESIZES)
def test_pytorch_refuses_what_would_reallocate(torch, engine, way):
    pytest.importorskip("numpy", reason="what marks a storage as fixed is NumPy")
    tensor = made(torch)
    whole = tensor.view(-1)
    tp.pin_(tensor)
    with pytest.raises(RuntimeError, match="not resizable|out of bounds"):
        RESIZES[way](torch, tensor, torch.ones(2 * SIZE, dtype=torch.uint8))
    assert engine.holds(whole)


@pytest.mark.parametrize("way", ["set_", "data", "swap", "numpy"])
def test_a_tensor_that_gets_other_memory_lets_the_old_go(torch, engine, way):
    tensor = made(torch)
    other = torch.ones(3, dtype=torch.uint8)
    if way == "numpy":
        tensor = torch.from_numpy(tensor.numpy())
    tp.pin_(tensor)
    if way == "swap":
        torch.utils.swap_tensors(tensor, other)
        assert engine.holds(other)
        del other
    elif way == "data":
        tensor.data = other
    else:
        tensor.set_(other)
    assert engine.holds()


def test_saving_and_pickling_leave_it_locked(torch, engine):
    tensor = made(torch)
    tp.pin_(tensor)
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    assert torch.equal(torch.load(file), tensor) and torch.equal(pickle.loads(pickle.dumps(tensor)), tensor)
    assert engine.holds(tensor)


def test_memory_that_was_left_unseen_is_unlocked_at_the_next_lock(torch, engine):
    """Such as by a copy on write: nothing tells of it."""
    tensor = made(torch)
    tp.pin_(tensor)
    [locked] = pin_module._locked.values()
    locked.has_moved = lambda address: True
    del locked
    tp.pin_(tensor)
    assert engine.holds(tensor) and pin_module._locked[tensor.data_ptr()].count == 1


def test_a_refused_lock_leaves_nothing(torch, engine, monkeypatch):
    tensor = made(torch)

    def refuse(*_):
        raise tp.Error("a file's")

    with monkeypatch.context() as patch, pytest.raises(tp.Error, match="a file's"):
        patch.setattr(engine, "pin", refuse)
        tp.pin_(tensor)
    assert pin_module._locked == {} and engine.holds()
    tp.pin_(tensor)
    assert engine.holds(tensor)


def test_an_interrupt_anywhere_leaves_no_freed_memory_locked(torch, engine):
    """After each line of Python in pin_ and unpin_ in turn."""

    class Interrupt(BaseException):
        pass

    def after(lines):
        def trace(frame, event, arg):
            nonlocal lines
            if frame.f_code.co_filename != pin_module.__file__:
                return None
            lines -= event == "line"
            if lines < 0:
                sys.settrace(None)
                raise Interrupt
            return trace

        return trace

    ended = False
    for lines in range(100):
        tensor = torch.ones(SIZE, dtype=torch.uint8)
        former = sys.gettrace()
        sys.settrace(after(lines))
        try:
            tp.pin_(tensor)
            tp.unpin_(tensor)
            ended = True
        except Interrupt:
            pass
        finally:
            sys.settrace(former)
        tp.pin_(tensor)
        assert engine.holds(tensor), lines
        del tensor
        assert engine.holds(), lines
        if ended:
            break
    assert ended and lines > 20


def test_signals_while_storages_die_leave_none_locked(torch, engine, monkeypatch):
    # As that of the engine, a function of C.
    monkeypatch.setattr(engine, "unlocker", lambda address: functools.partial(engine.locked.pop, address))

    class Interrupt(BaseException):
        pass

    def interrupt(*_):
        raise Interrupt

    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0003)
                while True:
                    tp.pin_(torch.empty(SIZE, dtype=torch.uint8))
            except Interrupt:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert engine.holds()
    finally:
        signal.signal(signal.SIGALRM, former)
