"""Where tp.prefetch takes batches from: its iterable, or a thread that receives what a DataLoader's workers made.

To receive a batch from a worker costs the DataLoader about a millisecond of Python, most of it for a handle of the
shared memory that the batch lies in. Its own thread for pin_memory hides that from the training loop; so does this one.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import sys
import threading
import types
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NoReturn, Protocol

from turnpike import _core
from turnpike._move import born
from turnpike._move.late import torch

# So long does one who leaves a loop wait for the batch that is being received. A worker that hangs must not hold up the
# exception, or the Ctrl-C, that ended the loop.
_PATIENCE_S = 1.0


class Source(Protocol):
    """Where batches come from."""

    def take(self, block: bool) -> Any:
        """The next batch. StopIteration: there is none. NotYet: it is not there, and not waited for."""

    def handed_over(self) -> None:
        """A batch that was taken, or an exception in its place, is the loop's now."""

    def close(self) -> None:
        """Takes no more."""


def source_of(iterable: Iterable[Any], most: int, device: torch.device | None = None) -> Source:
    """most: how many batches may have been taken and not handed over to the loop. device: the GPU that they go to."""
    begin = iter if device is None else functools.partial(born.iterator_of, most=most, device=device.index)
    if not _comes_from_workers(iterable):
        return Pulled(begin(iterable))
    if not iterable.persistent_workers:  # type: ignore[attr-defined]
        return Received(iterable, most, begin)
    # Persistent workers, and their iterator, are the same in every epoch: a thread may still be in the middle of it.
    former = _of_persistent_workers.get(iterable)
    if former is not None:
        former.stop()
        former.join()
    source = Received(iterable, most, begin)
    _of_persistent_workers[iterable] = source.receiver
    return source


def goes_on(iterable: Any) -> bool:
    """Whether it is an iterator that a second loop continues. One of one's own class may begin anew, and is asked."""
    if isinstance(iterable, types.GeneratorType):
        return True
    data = sys.modules.get("torch.utils.data")
    if data is not None and isinstance(iterable, data.dataloader._BaseDataLoaderIter):
        return True
    return type(iterable).__module__ in ("builtins", "itertools") and hasattr(iterable, "__next__")


def _comes_from_workers(iterable: Any) -> bool:
    if may_draw(iterable) or not isinstance(iterable, Hashable):
        return False
    # With pin_memory there is a thread already. A timeout is for who waits, which the thread does all the time.
    return not iterable.pin_memory and not iterable.timeout and not hasattr(iterable, "state_dict")  # type: ignore[attr-defined]


def may_draw(iterable: Any) -> bool:
    """Whether taking a batch may draw random numbers in this process, or do what else the loop could notice.

    It does not where workers make the batches and a sampler of PyTorch, which has drawn all when the iteration begins,
    says which: a sampler of one's own, or with a generator that the loop may use, too, has to run when the loop asks.
    """
    if not born.iterates_as_pytorch(iterable):
        return True
    return iterable.num_workers == 0 or _draws_late(sys.modules["torch.utils.data"], iterable)


def _draws_late(data: Any, loader: Any) -> bool:
    sampler = loader.sampler
    if loader.batch_sampler is not None:
        if type(loader.batch_sampler) is not data.BatchSampler:
            return True
        sampler = loader.batch_sampler.sampler
    if (
        type(sampler) is data.RandomSampler
    ):  # it draws from a generator of its own, or at the end from the one that it got
        return sampler.generator is not None
    early = (data.SequentialSampler, data.SubsetRandomSampler, data.WeightedRandomSampler, data.DistributedSampler)
    return type(sampler) not in (*early, data.dataloader._InfiniteConstantSampler, range, list, tuple)


class NotYet(Exception):
    """The next batch has not been received, and nobody wants to wait for it."""


class Pulled:
    """Takes each batch when it is asked for, in the thread that asks."""

    def __init__(self, source: Iterator[Any]) -> None:
        self._source: Iterator[Any] | None = source

    def take(self, block: bool) -> Any:  # noqa: ARG002
        """The next batch. StopIteration: there is none."""
        if self._source is None:
            raise StopIteration
        return next(self._source)

    def handed_over(self) -> None:
        """A batch that was taken is the loop's now."""

    def close(self) -> None:
        """Takes no more."""
        self._source = None


class Received:
    """Takes batches in a thread, at most so many ahead of those that were handed over.

    Not the first: it is waited for anyhow, and until it is on its way two threads would want the interpreter. The
    second comes when the first has been handed over.
    """

    def __init__(
        self, iterable: Iterable[Any], most: int, begin: Callable[[Iterable[Any]], Iterator[Any]] = iter
    ) -> None:
        self.receiver = _Receiver()
        # Also at the end of the interpreter, before its threads are stopped wherever they are.
        self._stop = weakref.finalize(self, self.receiver.stop)
        self.receiver.start()  # before there are workers, who want the cores, too
        self._source: Iterator[Any] | None = begin(iterable)
        self.receiver.source = self._source
        self._wanted = most  # once a batch is handed over
        self._has_ended = False

    def take(self, block: bool) -> Any:
        """The next batch. StopIteration: there is none. NotYet: it is not there, and not waited for."""
        receiver = self.receiver
        if receiver.is_over:
            raise _core.Error(
                "this iterator of turnpike.prefetch() was left: the persistent workers of its DataLoader serve one "
                "iteration at a time, and another one has begun."
            )
        if self._has_ended:
            raise StopIteration
        if self._source is not None:
            source, self._source = self._source, None
            return next(source)
        if not receiver.is_here():
            raise _core.Error("an iterator of turnpike.prefetch() over a DataLoader does not go on in a forked child.")
        try:
            taken = receiver.arrived.get(block)
        except queue.Empty:
            raise NotYet from None
        if taken is _OVER:
            self._has_ended = True
            raise StopIteration
        if isinstance(taken, Raised):
            taken.hand_over()
        return taken

    def handed_over(self) -> None:
        """A batch that was taken is the loop's now: another may be received."""
        for _ in range(self._wanted):
            self.receiver.wanted.put(None)
        self._wanted = 1

    def close(self) -> None:
        """Takes no more, after the batch that is being received: a DataLoader cannot be interrupted."""
        is_at_exit = self._stop.detach() is None
        self.receiver.stop()
        if not is_at_exit:
            self.receiver.join(_PATIENCE_S)


class _Receiver:
    """The thread of a Received, and what it knows: not that object itself, which it would keep alive."""

    def __init__(self) -> None:
        self.wanted: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.source: Iterator[Any] | None = None
        self.is_over = False
        self.has_ended = threading.Event()
        self._process = os.getpid()
        self._thread = threading.Thread(target=_receive, args=(self, _surroundings()), daemon=True)
        self._thread.name = "turnpike prefetch"

    def start(self) -> None:
        self._thread.start()

    def is_here(self) -> bool:
        """Not in a forked child, which has the object and not the thread."""
        return os.getpid() == self._process

    def stop(self) -> None:
        """No batch is received any more but the one that is being received."""
        self.is_over = True
        self.wanted.put(None)

    def join(self, timeout_s: float | None = None) -> None:
        """Waits for the end of the thread. (After a Thread.join() that Ctrl-C interrupted, the next one would not.)"""
        # A garbage collection may come here in that thread.
        if self.is_here() and threading.current_thread() is not self._thread:
            self.has_ended.wait(timeout_s)


_of_persistent_workers: weakref.WeakKeyDictionary[Any, _Receiver] = weakref.WeakKeyDictionary()


class Raised:
    """An exception in the place of a batch."""

    def __init__(self, error: BaseException) -> None:
        self._error: BaseException | None = error

    def let_go(self) -> None:
        """There is no memory to be dropped."""

    def hand_over(self) -> NoReturn:
        """Raises it. Once: its traceback knows this frame, which may not know it for ever."""
        error, self._error = self._error, None
        assert error is not None
        try:
            raise error
        finally:
            del error


_OVER = object()


def _surroundings() -> list[contextlib.AbstractContextManager[Any]]:
    """What of the calling thread matters to a sampler, and to tensors that workers have put on a GPU."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    found = []
    default = torch.get_default_device()
    if default.type != "cpu":
        found.append(default)
    if torch.cuda.is_initialized():
        found.append(torch.cuda.stream(torch.cuda.current_stream()))  # and its device
    return found


def _receive(receiver: _Receiver, surroundings: list[contextlib.AbstractContextManager[Any]]) -> None:
    try:
        with contextlib.ExitStack() as stack:
            for one in surroundings:
                stack.enter_context(one)
            while _receive_one(receiver):
                pass
    except BaseException as error:
        receiver.arrived.put(Raised(error))
    finally:
        receiver.source = None
        if receiver.is_over:
            receiver.arrived = queue.SimpleQueue()
        receiver.has_ended.set()


def _receive_one(receiver: _Receiver) -> bool:
    receiver.wanted.get()
    if receiver.is_over:
        return False
    try:
        receiver.arrived.put(next(receiver.source))  # type: ignore[arg-type]  # no name here: it would keep the batch
    except StopIteration:
        receiver.arrived.put(_OVER)
        return False
    except Exception as error:  # of one batch: the loop may go on
        receiver.arrived.put(Raised(error))
    return True
