"""Records a range of a trainer's steps: what the callbacks of Lightning and of Hugging Face have in common."""

from __future__ import annotations

import contextlib
import os
import pathlib
import warnings
from collections.abc import Callable, Iterator

from turnpike import _core, _native
from turnpike._report import Report, report
from turnpike._session import Detail, Path, is_recording, start, stop

_INJECTION = "NVTX_INJECTION64_PATH"
_NAME = "train_step"  # one of the names that reports take for steps

EachStep = Callable[[], contextlib.AbstractContextManager[object]]


class StepRecorder:
    """Counts the steps of a training, and records those of a range.

    The framework says when one ended, and nothing says when the next begins: its batch is fetched, and often moved,
    before any hook runs. So a step lasts from the end of the one before it.
    """

    def __init__(self, run: Path, steps: range, detail: Detail, is_shown: bool, each_step: EachStep | None) -> None:
        if steps.step != 1 or steps.start < 0 or not steps:
            raise ValueError(f"{steps!r} is no range of steps: write range(10, 30)")
        self.report: Report | None = None
        self._run = run
        self._steps = steps
        self._detail: Detail = detail
        self._is_shown = is_shown
        self._each_step = each_step
        self._next = 0  # the step that begins next, or has begun
        self._is_ours = False
        self._file: pathlib.Path | None = None  # that this process wrote
        self._step = contextlib.ExitStack()

    def begin(self) -> None:
        """A training begins. One before it that has not ended has failed: some trainers try a smaller batch then."""
        self.abandon()
        self._next = 0
        self._file = self.report = None
        self._go_on()

    def step_ended(self) -> None:
        """The next one begins at once."""
        self._step.close()
        self._next += 1
        self._go_on()

    def abandon(self, error: BaseException | None = None) -> None:
        """The training has failed: keeps what was recorded. Not even a failure of ours takes the place of `error`.

        What `each_step` entered hears of `error` first, as in a `with` statement: a guard makes a TransferError of what
        it raised.
        """
        try:
            if error is None:
                self._step.close()
            else:
                self._step.__exit__(type(error), error, error.__traceback__)
        finally:
            try:
                self._stop()
            except _core.Error as failure:
                if error is None:
                    raise
                warnings.warn(f"Turnpike keeps no recording of this training: {failure}", RuntimeWarning, stacklevel=3)

    def end(self, is_first: bool) -> None:
        """The training is over. `is_first`: this process shows its report, of all in a job."""
        self.abandon()
        if self._file is None:
            return
        self.report = report(self._file)
        if self._is_shown and is_first:
            print(self.report)
            print(f"turnpike report {os.fsdecode(self._run)}    shows all processes")

    def _go_on(self) -> None:
        if self._next >= self._steps.stop:
            self._stop()
        if self._next not in self._steps:
            return
        if self._next == self._steps.start:
            self._start()
        if is_recording():
            self._step.enter_context(_marked())
        if self._each_step is not None:
            self._step.enter_context(self._each_step())

    def _start(self) -> None:
        if is_recording():  # by `turnpike record`, which has its own file and shows its own summary
            return
        try:
            start(self._run, detail=self._detail, required=True)
            self._is_ours = True
        except _core.Error as error:
            warnings.warn(f"Turnpike records nothing of this training: {error}", RuntimeWarning, stacklevel=4)

    def _stop(self) -> None:
        if self._is_ours and is_recording():
            self._file = stop()
        self._is_ours = False


@contextlib.contextmanager
def _marked() -> Iterator[None]:
    """An NVTX range, by which the report knows the step."""
    from torch.cuda import nvtx

    # At its first use NVTX looks there for who listens, once and for all. Children need not inherit it.
    is_free = not os.environ.get(_INJECTION)
    if is_free:
        os.environ[_INJECTION] = _native.RECORD_LIBRARY
    try:
        nvtx.range_push(_NAME)
    finally:
        if is_free:
            os.environ.pop(_INJECTION)
    try:
        yield
    finally:
        nvtx.range_pop()
