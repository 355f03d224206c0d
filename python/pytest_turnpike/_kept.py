"""What the plugin keeps on pytest's own objects, by attributes: pytest before 7.0 has no stash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_turnpike._record import Recording

_NAME = "_turnpike"


class OfTest:
    """Of one test."""

    def __init__(self) -> None:
        self.result: dict[str, Any] = {}
        self.has_blocks = False  # the fixture `transfers` was asked for
        self.whole: Recording | None = None  # of the test that runs


def of_test(item: Any) -> OfTest:
    """What is kept of a test; nothing yet if the first recorded test got its marker after its set-up had begun."""
    kept = getattr(item, _NAME, None)
    if kept is None:
        kept = OfTest()
        setattr(item, _NAME, kept)
    return kept


def force_exception(outcome: Any, error: BaseException) -> None:
    """Makes `error` the outcome of a hook: by pluggy's own function, which came with 1.1."""
    if hasattr(outcome, "force_exception"):
        outcome.force_exception(error)
    else:
        outcome._result, outcome._excinfo = None, (type(error), error, error.__traceback__)
