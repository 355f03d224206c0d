"""What the fixture `transfers` gives: the figures of one block of a test."""

from __future__ import annotations

import pathlib
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_turnpike._record import Recording

if TYPE_CHECKING:
    from turnpike import Report


class Block:
    """A recorded block. `t.d2h.count`, `t.h2d.bytes`, `t.syncs.count`, `t.sites[0].line`; `t.report` has everything."""

    def __init__(self, saved: Callable[[], pathlib.Path | None], require_gpu: bool, on_end: Callable[[Block], None]):
        self._saved = saved
        self._require_gpu = require_gpu
        self._on_end = on_end
        self._recording: Recording | None = None
        self._report: Report | None = None

    @property
    def reason(self) -> str | None:
        """Why nothing was recorded; None if it was."""
        return self._recording.reason if self._recording else "the block has not run"

    @property
    def is_checked(self) -> bool:
        """Whether there are figures."""
        return self.reason is None

    @property
    def report(self) -> Report:
        """The report on the block. Without a recording, skips the test, or fails it if a GPU is required."""
        if self._report is None:
            if self._recording is not None and self._recording.reason is None:
                raise RuntimeError("the block has not ended: look at its figures below it")
            text = f"transfers not checked: {self.reason}"
            if self._require_gpu:
                pytest.fail(text, pytrace=False)
            pytest.skip(text)
        return self._report

    @property
    def run(self) -> pathlib.Path:
        """The run on disk, which stays there with --turnpike-save."""
        assert self._recording is not None
        return self._recording.run

    def __getattr__(self, name: str) -> Any:
        if name in ("h2d", "d2h", "d2d", "p2p", "h2h", "memset"):
            return self.report.totals[name]
        if name in ("syncs", "sites", "sync_sites", "losses"):
            return getattr(self.report, name)
        raise AttributeError(f"a block has no '{name}'; its report has everything: t.report")

    def __enter__(self) -> Block:
        self._recording = Recording(self._saved())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> None:
        recording = self._recording
        if recording is None or recording.reason is not None:
            self._on_end(self)
            return
        recording.stop()
        try:
            if error is None:
                from turnpike import _report

                # The whole block was recorded. If it used no GPU, it transferred nothing, so 0 is right.
                run: list[str | bytes] = [str(recording.run)]
                self._report = _report.Report(_report.analysis_of(run), run, may_be_empty=True)
                self._on_end(self)
        finally:
            recording.close()
