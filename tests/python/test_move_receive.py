"""Where prefetch takes batches from: in order, bounded, errors at their place, and no thread that stays behind."""

import gc
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

import turnpike as tp
from loop_stand_in import let_nothing_cross
from turnpike._move import ahead, receive


def wait_until(is_so):
    end = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.001)


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "turnpike prefetch"]


class Batch:
    def __init__(self, number):
        self.number = number


class Counted:
    """Yields batches and knows how many it has made."""

    def __init__(self, count=10):
        self.count, self.made = count, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.made == self.count:
            raise StopIteration
        self.made += 1
        return Batch(self.made - 1)


class Gated:
    """Yields a batch, and another one when its gate is opened, or forgotten by a test that failed."""

    def __init__(self):
        self.reached, self.gate = threading.Event(), threading.Event()

    def __iter__(self):
        yield Batch(0)
        self.reached.set()
        self.gate.wait(timeout=5)
        yield Batch(1)


def begun(iterable, most):
    """A Received whose first batch has been handed over."""
    received = receive.Received(iterable, most)
    assert received.take(block=True).number == 0
    received.handed_over()
    return received


def test_batches_come_in_order_and_are_not_taken_far_ahead():
    source = Counted()
    received = receive.Received(source, most=3)
    seen = [received.take(block=True).number]
    time.sleep(0.005)
    assert source.made == 1
    received.handed_over()
    with pytest.raises(StopIteration):
        while True:
            wait_until(lambda: source.made == min(10, 3 + len(seen)))
            time.sleep(0.005)
            assert source.made <= 3 + len(seen)
            seen.append(received.take(block=True).number)
            received.handed_over()
    assert seen == list(range(10))
    received.close()
    wait_until(lambda: not threads())


def test_what_is_late_is_waited_for_only_where_that_is_wanted():
    source = Gated()
    received = begun(source, most=2)
    with pytest.raises(receive.NotYet):
        received.take(block=False)
    threading.Timer(0.05, source.gate.set).start()
    assert received.take(block=True).number == 1
    received.close()


def test_nothing_of_it_needs_the_garbage_collector():
    def broken():
        yield 0
        yield 1
        raise KeyError("broken")

    def use(received):
        try:
            while True:
                received.take(block=True)
                received.handed_over()
        except (StopIteration, KeyError):
            pass
        received.close()

    gc.collect()
    gc.disable()
    try:
        for iterable in (Counted(), broken()):
            received = receive.Received(iterable, most=3)
            gone = weakref.ref(received), weakref.ref(received.receiver)
            use(received)
            del received, iterable
            assert [reference() for reference in gone] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("error", [KeyError("broken"), queue.Empty(), SystemExit(3)])
def test_an_error_comes_behind_the_batches_before_it(error):
    def source():
        yield 0
        yield 1
        raise error

    received = receive.Received(source(), most=3)
    assert received.take(block=True) == 0
    received.handed_over()
    assert received.take(block=True) == 1
    with pytest.raises(type(error)) as raised:
        received.take(block=True)
    assert raised.value is error
    wait_until(lambda: not threads())


def test_closing_waits_for_the_batch_under_way_and_lets_everything_go():
    reached, gate = threading.Event(), threading.Event()
    gone = []

    class Slow(Counted):
        def __next__(self):
            if self.made:
                reached.set()
                gate.wait()
            batch = super().__next__()
            gone.append(weakref.ref(batch))
            return batch

    source = Slow()
    gone.append(weakref.ref(source))
    received = begun(source, most=3)
    reached.wait()
    threading.Timer(0.05, gate.set).start()
    received.close()
    assert source.made == 2
    wait_until(lambda: not threads())
    del source, received
    gc.collect()
    assert [reference() for reference in gone] == [None] * 3


def test_closing_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(receive, "_PATIENCE_S", 0.02)
    source = Gated()
    received = receive.Received(source, most=3)
    gone = weakref.ref(received.take(block=True)), weakref.ref(received.receiver)
    received.handed_over()
    source.reached.wait()
    received.close()
    del received
    assert len(threads()) == 1
    source.gate.set()
    wait_until(lambda: not threads() and [reference() for reference in gone] == [None, None])


def test_one_who_waits_again_after_ctrl_c_waits_till_the_end():
    source = Gated()
    received = begun(source, most=3)
    source.reached.wait()
    interrupt = threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        interrupt.start()
        received.close()
        pytest.fail("nobody interrupted it")
    threading.Timer(0.1, source.gate.set).start()
    received.receiver.join()
    assert source.gate.is_set()


def test_one_that_is_dropped_stops():
    received = receive.Received(Counted(), most=2)
    assert len(threads()) == 1
    del received
    wait_until(lambda: not threads())


def test_one_that_is_dropped_within_its_own_thread_stops():
    class Dropping(Counted):
        def __next__(self):
            if self.made:
                kept.clear()
            return super().__next__()

    class Holder:
        def __init__(self):
            self.received = receive.Received(Dropping(), most=2)

        def __del__(self):
            closed_by.append(threading.current_thread().name)
            self.received.close()

    closed_by = []
    kept = [Holder()]
    received = kept[0].received
    received.take(block=True)
    received.handed_over()
    wait_until(lambda: not threads())
    assert closed_by == ["turnpike prefetch"]


@pytest.mark.parametrize("pause_s", [0, 30])
def test_the_interpreter_ends_with_one_left_open(pause_s):
    program = (
        "import time\nfrom turnpike._move import receive\n"
        "def source():\n    yield 0\n    yield 1\n"
        f"    while True:\n        time.sleep({pause_s})\n        yield 2\n"
        "def batches():\n    source_ = receive.Received(source(), most=3)\n"
        "    try:\n        while True:\n            yield source_.take(block=True)\n            source_.handed_over()\n"
        "    finally: source_.close()\n"
        "left = batches(); print(next(left), next(left))"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 1\n", "")
    assert time.monotonic() - started < 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_is_told_instead_of_waiting_forever():
    source = Gated()
    received = begun(source, most=1)
    child = os.fork()
    if child == 0:
        try:
            received.take(block=True)
        except tp.Error as error:
            os._exit(0 if "forked child" in str(error) else 2)
        finally:
            os._exit(3)
    assert os.waitpid(child, 0)[1] == 0
    source.gate.set()
    assert received.take(block=True).number == 1
    received.close()


def test_what_has_no_workers_is_taken_where_it_is_asked_for():
    source = receive.source_of([1, 2], most=3)
    assert isinstance(source, receive.Pulled)
    assert source.take(block=False) == 1
    source.handed_over()
    assert source.take(block=True) == 2
    with pytest.raises(StopIteration):
        source.take(block=True)
    source.close()
    assert not threads()


@pytest.fixture
def make_loader():
    data = pytest.importorskip("torch.utils.data", reason="PyTorch is not installed: there is no DataLoader")

    def make(kind=None, **options):
        return (kind or data.DataLoader)(list(range(12)), batch_size=2, **options)

    return make


def test_a_loader_with_workers_is_received_in_a_thread(make_loader):
    received = receive.source_of(make_loader(num_workers=2, multiprocessing_context="fork"), most=3)
    assert isinstance(received, receive.Received)
    for expected in ([0, 1], [2, 3], [4, 5]):
        assert received.take(block=True).tolist() == expected
        received.handed_over()
    received.close()
    wait_until(lambda: not threads())


def test_other_loaders_are_not(make_loader):
    from torch.utils.data import DataLoader

    class WithItsOwn(DataLoader):
        def __iter__(self):
            return iter([7])

    class WithItsOwnBelow(DataLoader):
        def _get_iterator(self):
            return iter([7])

    class Unhashable(DataLoader):
        def __iter__(self):
            return iter([7])

        def __eq__(self, other):
            return False

    assert isinstance(receive.source_of(make_loader(), most=3), receive.Pulled)
    for kind in (WithItsOwn, WithItsOwnBelow, Unhashable):
        source = receive.source_of(make_loader(kind, num_workers=2), most=3)
        assert isinstance(source, receive.Pulled) and source.take(block=True) == 7
    timed = make_loader(num_workers=1, multiprocessing_context="fork", timeout=60)
    assert isinstance(receive.source_of(timed, most=3), receive.Pulled)


def test_what_the_loop_has_set_holds_in_the_thread(make_loader):
    import torch

    def source():
        while True:
            yield torch.get_default_device()

    with torch.device("meta"):
        received = receive.Received(source(), most=1)
    received.take(block=True)
    received.handed_over()
    assert received.take(block=True) == torch.device("meta")
    received.close()


class Slow:
    def __len__(self):
        return 12

    def __getitem__(self, index):
        time.sleep(0.05)
        return index


def test_an_epoch_begins_when_the_one_that_was_left_is_over(make_loader, monkeypatch):
    from torch.utils.data import DataLoader

    monkeypatch.setattr(receive, "_PATIENCE_S", 0.001)
    loader = DataLoader(Slow(), batch_size=3, num_workers=1, multiprocessing_context="fork", persistent_workers=True)
    for _ in range(4):
        left = receive.source_of(loader, most=3)
        assert left.take(block=True).tolist() == [0, 1, 2]
        left.handed_over()
        time.sleep(0.01)  # the thread is in the middle of the next
        left.close()
        del left
    wait_until(lambda: not threads())


def test_persistent_workers_serve_one_iteration_at_a_time(make_loader):
    loader = make_loader(num_workers=2, multiprocessing_context="fork", persistent_workers=True)
    for _ in range(3):
        left = receive.source_of(loader, most=3)
        assert left.take(block=True).tolist() == [0, 1]
        left.handed_over()
        received = receive.source_of(loader, most=3)
        assert len(threads()) == 1
        for first in range(0, 12, 2):
            assert received.take(block=True).tolist() == [first, first + 1]
            received.handed_over()
        with pytest.raises(StopIteration):
            received.take(block=True)
        with pytest.raises(tp.Error, match="one iteration at a time"):
            left.take(block=True)
        received.close()
    left.close()


@pytest.fixture
def loop_over(monkeypatch):
    """The batches of prefetch as the loop gets them, which cross nothing."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: there is nothing to prefetch")

    def loop(source, depth, source_of=lambda iterable, most, device: receive.Received(iterable, most)):
        monkeypatch.setattr(receive, "source_of", source_of)
        return ahead.Ahead(None, source, torch.device("cpu"), depth, None)

    let_nothing_cross(monkeypatch.setattr)
    return loop


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("pause_s", [0, 0.002])
def test_the_loop_gets_every_batch_of_a_thread_in_order(loop_over, depth, pause_s):
    def source():
        for number in range(40):
            if number % 3 == 0:
                time.sleep(pause_s)
            yield number

    seen = []
    for batch in loop_over(source(), depth):
        seen.append(batch)
        if batch % 4 == 0:
            time.sleep(0.001)
    assert seen == list(range(40))
    for batch in loop_over(source(), depth):
        if batch == 7:
            break
    wait_until(lambda: not threads())


@pytest.mark.parametrize("kind", [receive.Pulled, receive.Received])
@pytest.mark.parametrize("depth", [1, 4])
def test_an_exception_is_raised_behind_the_batches_before_it(loop_over, kind, depth):
    def source():
        yield from range(3)
        raise KeyError("broken")

    source_of = {
        receive.Pulled: lambda iterable, most, device: receive.Pulled(iterable),
        receive.Received: lambda iterable, most, device: receive.Received(iterable, most),
    }
    seen = []
    with pytest.raises(KeyError, match="broken"):
        for batch in loop_over(source(), depth, source_of[kind]):
            seen.append(batch)
            time.sleep(0.002)
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("pause_s", [0, 0.01])
@pytest.mark.parametrize("depth", [1, 3])
def test_a_batch_is_the_loops_alone_once_it_is_handed_over(loop_over, depth, pause_s):
    def source():
        for number in range(6):
            time.sleep(pause_s)
            yield Batch(number)

    batches = loop_over(source(), depth)
    for number in range(6):
        batch = next(batches)
        assert batch.number == number
        gone = weakref.ref(batch)
        del batch
        assert gone() is None
    batches.close()
