"""Turnpike in Lightning: a callback that records steps, and hooks that move batches with `turnpike.to`.

    trainer = Trainer(callbacks=[TurnpikeCallback("run.tpk", range(10, 30))])

    class Model(TurnpikeDataHooks, LightningModule): ...

Works with `lightning` and with `pytorch_lightning`; if a program has imported both, with `lightning`.
"""

from __future__ import annotations

import sys
from typing import Any

from turnpike._move.to import to
from turnpike._report import Report
from turnpike._session import Detail, Path
from turnpike.integrations._steps import EachStep, StepRecorder


def _callback_class() -> Any:
    if "lightning.pytorch" not in sys.modules and "pytorch_lightning" in sys.modules:
        import pytorch_lightning

        return pytorch_lightning.Callback
    try:
        import lightning.pytorch

        return lightning.pytorch.Callback
    except ModuleNotFoundError as error:
        if error.name != "lightning":
            raise
    try:
        import pytorch_lightning

        return pytorch_lightning.Callback
    except ModuleNotFoundError as error:
        if error.name != "pytorch_lightning":
            raise
        text = "turnpike.integrations.lightning needs Lightning: pip install lightning"
        raise ModuleNotFoundError(text, name="lightning") from None


class TurnpikeCallback(_callback_class()):  # type: ignore[misc]
    """Records steps of `Trainer.fit()`, and prints the report at its end.

    A step is a batch of the training; the sanity check does not count. A step lasts from the end of the one before,
    so that fetching and moving its batch belong to it. Validation between two steps belongs to the second.

    Under `turnpike record -- python train.py` the callback only marks the steps, for that recording.
    """

    def __init__(
        self,
        run: Path = "lightning.tpk",
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
        super().__init__()
        self._recorder = StepRecorder(run, record_steps, detail, show, each_step)

    @property
    def report(self) -> Report | None:
        """The report on this process, once the training is over. None if nothing was recorded."""
        return self._recorder.report

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._recorder.begin()

    def on_train_batch_end(self, trainer: Any, *arguments: Any, **keywords: Any) -> None:
        self._recorder.step_ended()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._recorder.end(trainer.is_global_zero)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._recorder.abandon(exception)


class TurnpikeDataHooks:
    """For a LightningModule or a LightningDataModule: its batches move with `turnpike.to`.

        class Model(TurnpikeDataHooks, LightningModule): ...

    The hooks stand before Lightning's class. `turnpike.prefetch` around the loader gains more, because the next batch
    then moves while the GPU computes.
    """

    def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int) -> Any:
        return to(batch, device)
