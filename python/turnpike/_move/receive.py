"""Where tp.prefetch takes batches from: its iterable, or a thread that receives what a DataLoader's workers made.

To receive a batch from a worker costs the DataLoader about a millisecond of Python, most of it for a handle of the
shared memory that the batch lies in. Its own thread for pin_memory hides that from the training loop; so does this one.
"""

from __future__ import annotations

import queue
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from turnpike import _core


def source_of(iterable: Iterable[Any], most: int) -> Pulled | Received:
    """most: how many batches may have been taken and not handed over to the loop."""
    if not _comes_from_workers(iterable):
        return Pulled(iter(iterable))
    # Persistent workers, and their iterator, are the same in every epoch.
    former = _of_persistent_workers.pop(iterable, lambda: None)()
    if former is not None:
        former.close()
    source = Received(iterable, most)
    if iterable.persistent_workers:  # type: ignore[attr-defined]
        _of_persistent_workers[iterable] = weakref.ref(source)
    return source


def _comes_from_workers(iterable: Iterable[Any]) -> bool:
    data = sys.modules.get("torch.utils.data")  # who has a DataLoader has imported it
    if data is None or not isinstance(iterable, data.DataLoader):
        return False
    # A class with an __iter__ of its own may do anything there. With pin_memory there is a thread already.
    is_its_own = type(iterable).__iter__ is data.DataLoader.__iter__
    return is_its_own and iterable.num_workers > 0 and not iterable.pin_memory


class NotYet(Exception):
    """The next batch has not been received, and nobody wants to wait for it."""


class Pulled:
    """Takes each batch when it is asked for, in the thread that asks."""

    def __init__(self, source: Iterator[Any]) -> None:
        self._source = source

    def take(self, block: bool) -> Any:  # noqa: ARG002
        """The next batch. StopIteration: there is none."""
        return next(self._source)

    def handed_over(self) -> None:
        """A batch that was taken is the loop's now."""

    def close(self) -> None:
        """Takes no more."""


class Received:
    """Takes batches in a thread, at most so many ahead of those that were handed over.

    Not the first: it is waited for anyhow, and until it is on its way two threads would want the interpreter. The
    second comes when the first has been handed over.
    """

    def __init__(self, iterable: Iterable[Any], most: int) -> None:
        self._shared = _Shared()
        self._thread = threading.Thread(target=_receive, args=(self._shared,), name="turnpike prefetch", daemon=True)
        # Also at the end of the interpreter, before its threads are stopped wherever they are.
        self._stop = weakref.finalize(self, self._shared.stop)
        self._thread.start()  # before there are workers, who want the cores, too
        self._shared.source = iter(iterable)
        self._is_first = True
        self._wanted = most  # once a batch is handed over

    def take(self, block: bool) -> Any:
        """The next batch. StopIteration: there is none. NotYet: it is not there, and not waited for."""
        shared = self._shared
        if shared.is_over:
            raise _core.Error(
                "this iterator of turnpike.prefetch() was left: the persistent workers of its DataLoader serve one "
                "iteration at a time, and another one has begun."
            )
        if self._is_first:
            self._is_first = False
            return next(shared.source)
        if not self._thread.is_alive() and shared.arrived.empty():
            raise _core.Error("an iterator of turnpike.prefetch() over a DataLoader does not go on in a forked child.")
        try:
            taken = shared.arrived.get(block)
        except queue.Empty:
            raise NotYet from None
        if taken is _OVER:
            raise StopIteration
        if isinstance(taken, Raised):
            taken.hand_over()
        return taken

    def handed_over(self) -> None:
        """A batch that was taken is the loop's now: another may be received."""
        for _ in range(self._wanted):
            self._shared.wanted.put(None)
        self._wanted = 1

    def close(self) -> None:
        """Takes no more, after the batch that is being received: a DataLoader cannot be interrupted."""
        is_first = self._stop.detach() is not None
        self._shared.stop()
        # A garbage collection may come here in that thread, and at the end of the interpreter it is of no use to wait.
        if is_first and threading.current_thread() is not self._thread:
            self._thread.join()


_of_persistent_workers: weakref.WeakKeyDictionary[Any, weakref.ref[Received]] = weakref.WeakKeyDictionary()


class _Shared:
    """What the thread knows of a Received: not the object itself, which it would keep alive."""

    def __init__(self) -> None:
        self.wanted: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.source: Iterator[Any] = iter(())
        self.is_over = False

    def stop(self) -> None:
        self.is_over = True
        self.wanted.put(None)


class Raised:
    """An exception in the place of a batch."""

    def __init__(self, error: BaseException) -> None:
        self._error: BaseException | None = error

    def hand_over(self) -> NoReturn:
        """Raises it. Once: its traceback knows this frame, which may not know it for ever."""
        error, self._error = self._error, None
        assert error is not None
        try:
            raise error
        finally:
            del error


_OVER = object()


def _receive(shared: _Shared) -> None:
    while True:
        shared.wanted.get()
        if shared.is_over:
            return
        try:
            shared.arrived.put(next(shared.source))  # no name here: it would keep the batch
        except StopIteration:
            shared.arrived.put(_OVER)
            return
        except BaseException as error:
            shared.arrived.put(Raised(error))
            return
