"""A test in a `turnpike.guard`, which raises at the line that exceeds a limit."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pytest_turnpike._kept import force_exception
from pytest_turnpike._limits import DIRECTIONS, Limit, Limits


def levels(most: Mapping[str, Limit], allocs: Limit | None) -> dict[str, Limit]:
    """The limits in the words of `turnpike.guard`.

    It takes one for each direction: where there are a number and a size, the number. The size is compared when the
    test is over, as are times.
    """
    found: dict[str, Limit] = {}
    for direction in DIRECTIONS:
        size = most.get(f"{direction}_bytes")
        if size is not None:
            found[direction] = size if isinstance(size, str) else f"{size} B"
        if f"{direction}_count" in most:
            found[direction] = most[f"{direction}_count"]
    for name, kind in (("syncs", "sync"), ("pageable", "pageable")):
        if name in most:
            found[kind] = most[name]
    if allocs is not None:
        found["alloc"] = allocs
    return {kind: "disallow" if limit == 0 else limit for kind, limit in found.items()}


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """A guard warns where it checks nothing; pytest says that itself, and a test must not fail for it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="guard: ", category=RuntimeWarning)
        yield


class Guarded:
    """The guard around one call of a test. Entered when it is made, in the thread that calls the test."""

    def __init__(self, limits: Limits, most: Mapping[str, Limit]) -> None:
        import turnpike

        rules: Any = levels(most, limits.allocs)
        try:
            # One list for many tests: not each has them all.
            sites = [{"site": site, "optional": True} for site in limits.allow]
            self._guard: Any = contextlib.nullcontext()  # while approved numbers are written
            if rules:
                self._guard = turnpike.guard(**rules, allow=sites, strict=limits.require_gpu)
            with _without_warnings():
                self._guard.__enter__()
        except (RuntimeError, ValueError) as error:  # turnpike.Error is a RuntimeError
            pytest.fail(f"transfers not guarded: {str(error).removeprefix('guard: ')}", pytrace=False)

    def leave(self, outcome: Any) -> None:
        """The test is over. What the guard raised in it, or has found by now, becomes its outcome."""
        kind, error, traceback = outcome.excinfo or (None, None, None)
        try:
            with _without_warnings():
                self._guard.__exit__(kind, error, traceback)
        except BaseException as raised:
            force_exception(outcome, raised)
