"""The loop of tp.prefetch: takes batches ahead, as far as the loop cannot tell, and hands them over in order."""

from __future__ import annotations

import collections
import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from turnpike import _core
from turnpike._move import draws, loaders, receive, refill
from turnpike._move import engine as _engine
from turnpike._move import strict as _strict
from turnpike._move.aside import Aside
from turnpike._move.crossing import Crossing, Kept, send_off
from turnpike._move.late import torch
from turnpike._move.to import to

_CALL = "turnpike.prefetch()"


class Plain:
    """The same where there is no engine: each batch when it is asked for."""

    def __init__(self, iterable: Any, device: torch.device, dtype: torch.dtype | None, strict: bool) -> None:
        self._source: Iterator[Any] | None = iter(iterable)
        self._device, self._dtype, self._strict = device, dtype, strict

    def __iter__(self) -> Plain:
        return self

    def __next__(self) -> Any:
        if self._source is None:
            raise StopIteration
        batch = next(self._source)
        if self._strict:
            _strict.refuse_left_behind(_CALL, batch)
        return to(batch, self._device, dtype=self._dtype)

    def close(self) -> None:
        """Gives no more."""
        self._source = None


class _End:
    """In the place of a batch: there are no more."""

    def let_go(self) -> None:
        """There is no memory to be dropped."""

    def hand_over(self) -> Any:
        raise StopIteration


class _Taken:
    """A batch, an exception or the end, and what the loop is to see of it when it gets it."""

    def __init__(self, content: Crossing | Kept | receive.Raised | _End) -> None:
        self.content = content
        self.draws: dict[int, tuple[Any, Any]] = {}  # for a generator: its state before and after
        self.changes: list[Any] = []
        self.state: Any = None

    @property
    def is_batch(self) -> bool:
        return not isinstance(self.content, (receive.Raised, _End))

    @property
    def is_late(self) -> bool:
        """Whether its memory is still to be read when the loop gets it."""
        return not isinstance(self.content, (receive.Raised, _End)) and self.content.reading.is_late


class Ahead:
    """Iterates over the batches of an iterable on the GPU.

    The first is taken when it is asked for, and handed over before others are taken: to wait for `depth` more at the
    beginning of each epoch would cost as many steps' time where the loader is not faster than the loop. Then two are
    taken for each, until `depth` are ahead. So the second is taken when it is asked for, too, as in a plain loop, and
    shows whether what makes the batches draws random numbers that the loop may draw as well.
    """

    def __init__(
        self,
        engine: _core.MoveEngine,
        iterable: Any,
        device: torch.device,
        depth: int,
        dtype: torch.dtype | None,
        *,
        strict: bool = False,
        resumable: loaders.Resumable | None = None,
        warned: set[str] | None = None,
    ) -> None:
        self._source: receive.Source | None = None
        self._ahead: collections.deque[_Taken] = collections.deque()
        self._refills = refill.Refills(engine, iterable, depth)
        self._engine, self._device, self._dtype, self._strict = engine, device, dtype, strict
        self._depth, self._most = depth, 1
        self._is_looking_ahead = True
        self._count = 0
        self._resumable, self._warned = resumable, set() if warned is None else warned
        self._prepared = loaders.Prepared(iterable, device)
        self._aside = Aside(device)
        self._generators = draws.shared(device, iterable) if receive.may_draw(iterable) else []
        self._theirs: dict[int, Any] = {}  # the states of generators as the source left them, ahead of the loop
        self._source = receive.source_of(iterable, depth + 1, device)

    def __iter__(self) -> Ahead:
        return self

    def __next__(self) -> Any:
        if self._source is None:
            raise StopIteration
        _engine.refuse_capture(_CALL)
        for waiting in self._ahead:
            waiting.content.let_go()
        if not self._ahead:
            self._ahead.append(self._take_in_order())
        with contextlib.suppress(receive.NotYet):
            while self._may_take_more():
                self._refills.wait()
                self._ahead.append(self._take_early())
        self._most = min(self._most + 1, self._depth + 1)
        return self._hand_over()

    def close(self) -> None:
        """Gives no more, and releases what was taken ahead."""
        source, self._source = self._source, None
        self._ahead.clear()
        self._refills.end_trial()
        if source is not None:
            source.close()

    def __del__(self) -> None:
        self.close()

    def _may_take_more(self) -> bool:
        if not self._is_looking_ahead or len(self._ahead) >= self._most or not self._ahead[-1].is_batch:
            return False
        if self._refills.refusal is not None:
            return False
        return not self._refills.is_careful or not any(taken.is_late for taken in self._ahead)

    def _take_in_order(self) -> _Taken:
        # No batch may be bound to a name here: it would live until the next one.
        is_decisive = self._count > 0 and self._is_looking_ahead
        before = self._states() if is_decisive else []
        self._refills.wait()
        taken = self._take(block=True)
        if self._count == 1:
            self._prepared.has_begun()
            self._stop_looking_ahead(self._prepared.refusal())
        drawn = [
            generator.name
            for generator, old, new in zip(self._generators, before, self._states() if before else [], strict=False)
            if old is not None and old != new and not generator.is_its_own
        ]
        if drawn:
            self._stop_looking_ahead(
                f"what it iterates over draws random numbers in this process ({', '.join(drawn)}), and ahead of the "
                "loop it would draw others than in a plain loop. Let workers draw (num_workers), or give it a "
                "generator of its own"
            )
        return taken

    def _take_early(self) -> _Taken:
        ours = self._states()
        before = [self._theirs.get(index, state) for index, state in enumerate(ours)] if self._theirs else ours
        self._write(ours, before)
        try:
            with self._prepared.taken_ahead() as changes:
                taken = self._take(block=False)
            taken.changes = changes
        finally:
            after = self._states()
            if before is not ours or after != ours:  # else nobody has drawn
                self._write(after, ours)
                drawn = {i: (old, after[i]) for i, old in enumerate(before) if old is not None and after[i] != old}
                self._theirs |= {index: new for index, (_, new) in drawn.items()}
            else:
                drawn = {}
        taken.draws = drawn
        return taken

    def _take(self, block: bool) -> _Taken:
        assert self._source is not None
        taken = _Taken(self._content(self._source, block))
        self._count += 1
        if self._resumable is not None:
            taken.state = self._resumable.taken()
        return taken

    def _content(self, source: receive.Source, block: bool) -> Crossing | Kept | receive.Raised | _End:
        try:
            batch = self._prepared.take_unplaced(source, block)
        except StopIteration:
            self._refills.end_trial()
            return _End()
        except receive.NotYet:
            raise
        except Exception as error:
            return receive.Raised(error)
        try:
            if self._strict:
                _strict.refuse_left_behind(_CALL, batch)
        except Exception as error:
            return receive.Raised(error)
        sent = send_off(self._engine, batch, self._device, self._dtype, self._aside, self._refills.is_trial)
        self._refills.taken(sent.reading)
        return sent

    def _hand_over(self) -> Any:
        taken = self._ahead.popleft()
        assert self._source is not None
        self._prepared.handed_over(taken.changes)
        self._stop_looking_ahead(self._refills.refusal)
        for index, (old, new) in taken.draws.items():
            self._stop_looking_ahead(self._draw(index, old, new))
        if self._resumable is not None:
            self._resumable.shown = taken.state if self._ahead or taken.is_batch else None
        try:
            return taken.content.hand_over()
        finally:
            self._source.handed_over()

    # Random numbers. The loop sees each generator as if nothing had been taken ahead.

    def _states(self) -> list[Any]:
        return [generator.read() for generator in self._generators]

    def _write(self, old: list[Any], new: list[Any]) -> None:
        if old is not new:
            for generator, is_, to_be in zip(self._generators, old, new, strict=True):
                if is_ != to_be:
                    generator.write(to_be)

    def _draw(self, index: int, before: Any, after: Any) -> str | None:
        """Lets the loop see that a batch has drawn. Why that cannot be, where the loop has drawn, too."""
        generator = self._generators[index]
        if self._theirs.get(index) == after:
            del self._theirs[index]
        if generator.read() == before:
            generator.write(after)
            return None
        for taken in self._ahead:
            taken.draws.pop(index, None)
        self._theirs.pop(index, None)
        return (
            f"the loop and what it iterates over both draw random numbers from {generator.name}, and up to "
            f"{self._depth} batches were made ahead with other numbers than in a plain loop. Let workers draw "
            "(num_workers), or give one of the two a generator of its own"
        )

    def _stop_looking_ahead(self, reason: str | None) -> None:
        if reason is None:
            return
        self._is_looking_ahead = False
        if reason not in self._warned:
            self._warned.add(reason)
            warnings.warn(f"{_CALL} takes no batch ahead in this loop: {reason}.", RuntimeWarning, stacklevel=4)
