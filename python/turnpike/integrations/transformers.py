"""Turnpike in Hugging Face's Trainer: a callback that records steps.

trainer = Trainer(..., callbacks=[TurnpikeCallback("run.tpk", range(10, 30))])
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

import transformers

from turnpike._report import Report
from turnpike._session import Detail, Path
from turnpike.integrations._steps import EachStep, StepRecorder


class TurnpikeCallback(transformers.TrainerCallback):
    """Records steps of `Trainer.train()`, and prints the report at its end.

    A step ends with the optimizer's, after `gradient_accumulation_steps` batches. It lasts from the end of the one
    before: accelerate moves the batches to the GPU before `on_step_begin`. Evaluation between two steps belongs to the
    second.

    Under `turnpike record -- python train.py` the callback only marks the steps, for that recording.

    The Trainer tells no callback that a training has failed. If the program goes on after that, say when it is over:

        with TurnpikeCallback("run.tpk") as callback:
            Trainer(..., callbacks=[callback]).train()

    An exception passes through, the recording ends, and what `each_step` has entered is left. Otherwise both last until
    the next training with this callback, or the end of the process, which keeps the recording, too.
    """

    def __init__(
        self,
        run: Path = "trainer.tpk",
        record_steps: range = range(10, 30),
        *,
        detail: Detail = "full",
        show: bool = True,
        each_step: EachStep | None = None,
    ) -> None:
        """Nothing happens before the first of the steps.

        Args:
            run: The run, as for `turnpike.start()`. Each process of the job writes its own file there.
            record_steps: Which steps of this training, counted from 0. The first ones load kernels.
            detail: As for `turnpike.start()`.
            show: Whether the first process of the job prints its report at the end.
            each_step: Gives a context manager that is entered for each of the steps.

        Raises:
            ValueError: `record_steps` is no range of consecutive steps.
        """
        self._recorder = StepRecorder(run, record_steps, detail, show, each_step)

    @property
    def report(self) -> Report | None:
        """The report on this process, once the training is over. None if nothing was recorded."""
        return self._recorder.report

    def on_train_begin(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        self._recorder.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        self._recorder.step_ended()

    def on_train_end(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        self._recorder.end(state.is_world_process_zero)

    def __enter__(self) -> TurnpikeCallback:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._recorder.abandon(error)
