"""The pytest plugin of Turnpike: limits on what a test transfers, counted and not timed.

    @pytest.mark.limit_transfers(d2h=0, syncs=0, h2d="1 MB", warmup=1)
    def test_step(model, batch): ...

This module is all that pytest loads by itself. It imports nothing of `turnpike`, which happens when the first test is
to be recorded. Each test is recorded with `turnpike.start` and `turnpike.stop`, which do not initialise CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_turnpike._block import Block
    from pytest_turnpike._session import Checks

_MARKER = (
    'limit_transfers(d2h=0, syncs=0, h2d="1 MB", warmup=1, allow=[...], guard=True, require_gpu=True): fail the test '
    "if it transfers between CPU and GPU, or waits, more than this. See 'Limit transfers in tests' in Turnpike's "
    "documentation."
)


# An attribute of pytest's config: pytest before 7.0 has no stash.
_CHECKS = "_turnpike"


def _known_checks(config: pytest.Config) -> Checks | None:
    """What is known of all tests, if any needed it."""
    return getattr(config, _CHECKS, None)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("turnpike", "transfers between CPU and GPU")
    group.addoption("--turnpike", action="store_true", help="Record every test and show which transfer most.")
    group.addoption(
        "--turnpike-top", type=int, default=10, metavar="N", help="How many tests --turnpike shows (default: 10)."
    )
    group.addoption("--turnpike-save", metavar="DIR", help="Keep the recording of each test as DIR/NAME.tpk.")
    group.addoption(
        "--turnpike-update",
        action="store_true",
        help="Write what the recorded tests transfer into the file of limits, instead of comparing with it.",
    )
    group.addoption(
        "--turnpike-fail-on-increase",
        action="store_true",
        help="Fail a recorded test that transfers more than the file of limits says, whatever its marker permits.",
    )
    group.addoption(
        "--turnpike-require-gpu",
        action="store_true",
        help="Fail a test with limits if they cannot be checked, for example without a GPU.",
    )
    parser.addini("turnpike_default", "Limits of every test, as of the marker: d2h=0 syncs=2", default="")
    parser.addini("turnpike_require_gpu", "As --turnpike-require-gpu.", type="bool", default=False)
    parser.addini(
        "turnpike_limits", "The file of --turnpike-update, from the root directory.", default="turnpike-limits.toml"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)


def _checks(config: pytest.Config) -> Checks:
    """What is known of all tests; made when the first of them needs it."""
    checks = _known_checks(config)
    if checks is None:
        from pytest_turnpike._session import Checks

        checks = Checks(config)
        setattr(config, _CHECKS, checks)
    return checks


def _is_recorded(item: pytest.Item) -> bool:
    config = item.config
    return (
        item.get_closest_marker("limit_transfers") is not None
        or "transfers" in getattr(item, "fixturenames", ())
        or bool(config.getoption("turnpike") or config.getini("turnpike_default"))
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _is_recorded(item):  # a wrong ini or file of limits ends the session here, before any test ran
            _checks(item.config)
            return


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    checks = _known_checks(item.config)
    if checks is not None:
        checks.begin(item)
        if _is_recorded(item):
            checks.collect(item)


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if _is_recorded(item):
        yield from _checks(item.config).call(item)
        return
    outcome: Any = yield
    if _is_recorded(item):  # by now
        _checks(item.config).came_late(item, outcome)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome: Any = yield
    is_last = call.when == "call" or (call.when == "setup" and call.excinfo is not None)
    checks = _known_checks(item.config)
    if is_last and checks is not None:
        checks.annotate(item, outcome.get_result())


class _Results:
    """Where results arrive: in the only process, or under pytest-xdist in the one that the user started."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = getattr(report, "turnpike", None)
        if result is not None:
            _checks(self._config).add(report.nodeid, result)

    def pytest_sessionfinish(self) -> None:
        checks = _known_checks(self._config)
        if checks is not None:
            checks.finish()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        checks = _known_checks(self._config)
        if checks is not None:
            checks.tell(terminalreporter)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Results(session.config), "turnpike_results")


@pytest.fixture
def transfers(request: pytest.FixtureRequest) -> Callable[[], Block]:
    """Records blocks of a test: `with transfers() as t: ...`, then `assert t.d2h.count == 0`.

    Where nothing can be recorded, the block runs, and the first look at a figure skips the test with the reason; it
    fails the test if a GPU is required.
    """
    return _checks(request.config).blocks_of(request.node)
