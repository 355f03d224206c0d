"""All tests that are recorded: runs each with its limits, and tells what came of them."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_turnpike import _limit_file, _text
from pytest_turnpike._block import Block
from pytest_turnpike._guarded import Guarded
from pytest_turnpike._kept import force_exception, of_test
from pytest_turnpike._limits import COUNTED, Limit, Limits, budget, default_limits, limits_of
from pytest_turnpike._record import Checked, Recording, check, saved_run

_LATE = "the marker was applied when the test had begun: apply it in a fixture, or record all tests with --turnpike"


class Checks:
    """One for each process of pytest. Results travel on the reports, which pytest-xdist sends to the first process."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._results: dict[str, dict[str, Any]] = {}
        self._file = config.rootpath / config.getini("turnpike_limits")
        self._is_update: bool = config.getoption("turnpike_update")
        self._approved = _limit_file.read(self._file)
        default_limits(config)
        self._save: str | None = config.getoption("turnpike_save")

    def collect(self, item: pytest.Item) -> None:
        """Reads a test's limits. A wrong one is an error of the test."""
        wrong = ""
        try:
            limits = limits_of(item)
        except pytest.UsageError as error:
            wrong = str(error)
        if wrong:
            pytest.fail(wrong, pytrace=False)
        if limits.is_marked and _has_blocks(item):
            text = "limit_transfers records the whole test, and the fixture transfers blocks of it: use one of them"
            pytest.fail(f"{item.nodeid}: {text}", pytrace=False)

    def begin(self, item: pytest.Item) -> None:
        """Before the set-up of a test, which may have been called before."""
        kept = of_test(item)
        kept.result, kept.has_blocks = {}, False

    def call(self, item: pytest.Item) -> Iterator[None]:
        """Around the call of a test: a generator, as pytest's hook wrappers are."""
        self.collect(item)  # again: a fixture may have marked it
        if _has_blocks(item):
            yield
            return
        limits = limits_of(item)
        warmup = limits.warmup
        for _ in range(warmup):
            item.runtest()
        recording = of_test(item).whole = Recording(self._saved_run(item.nodeid))
        try:
            guarded = Guarded(limits, self._guarded_most(item, limits)) if limits.guard else None
            outcome: Any = yield
            if guarded is not None:
                guarded.leave(outcome)
            recording.stop()
            if not _has_failed(item, outcome) and not _has_blocks(item):
                try:
                    self._check(item, _limits_after(item, warmup), recording)
                except BaseException as error:
                    force_exception(outcome, error)
        finally:
            of_test(item).whole = None
            recording.close()

    def came_late(self, item: pytest.Item, outcome: Any) -> None:
        """After the call of a test that was marked by itself, and not recorded."""
        if _has_failed(item, outcome):
            return
        try:
            self.collect(item)
            of_test(item).result.update(_not_checked(_LATE, True))
            if limits_of(item).require_gpu:
                pytest.fail(f"transfers not checked: {_LATE}", pytrace=False)
        except BaseException as error:
            force_exception(outcome, error)

    def _check(self, item: pytest.Item, limits: Limits, recording: Recording) -> None:
        if recording.reason is not None:
            has_limits = self._has_limits(item, limits)
            of_test(item).result.update(_not_checked(recording.reason, has_limits))
            if limits.require_gpu and has_limits:
                pytest.fail(f"transfers not checked, and a GPU is required: {recording.reason}", pytrace=False)
            return
        most = self._most(item, limits)
        checked = check(recording.run, budget(limits, most))
        if grown := self._approved_besides(item, limits, most):
            more = check(recording.run, budget(limits, grown))
            known = {one["limit"] for one in checked.breaches}
            checked.breaches += [one for one in more.breaches if one["limit"] not in known]
            checked.annotations = checked.annotations or more.annotations
        breaches = [] if self._is_update and limits.is_from_file else checked.breaches
        of_test(item).result.update(_checked(checked, bool(most) or limits.is_marked, breaches))
        if breaches:
            verbosity = self._config.getoption("verbose")
            pytest.fail(_text.failure(breaches, verbosity, recording.run), pytrace=False)

    def _has_limits(self, item: pytest.Item, limits: Limits) -> bool:
        """Whether its figures are to be compared, or written to be compared later."""
        is_approved = self._config.getoption("turnpike_fail_on_increase") and item.nodeid in self._approved
        return bool(limits.most) or limits.is_marked or self._is_update or bool(is_approved)

    def _most(self, item: pytest.Item, limits: Limits) -> dict[str, Limit]:
        most = dict(limits.most)
        approved = self._approved.get(item.nodeid)
        if limits.is_from_file and not self._is_update:
            if approved is None:
                pytest.fail(
                    f"limit_transfers names no limit, and {self._file.name} has none for this test: give one, or "
                    "run pytest with --turnpike-update",
                    pytrace=False,
                )
            most = dict(approved)
        elif approved is not None and self._config.getoption("turnpike_fail_on_increase"):
            for name, value in approved.items():
                own = most.get(name, value)
                most[name] = own if isinstance(own, str) else min(own, value)
        return most

    def _guarded_most(self, item: pytest.Item, limits: Limits) -> dict[str, Limit]:
        if not limits.is_from_file:
            return limits.most
        # When they are written again, the test must come to its end.
        return {} if self._is_update else dict(self._approved.get(item.nodeid) or {})

    def _approved_besides(self, item: pytest.Item, limits: Limits, most: dict[str, Limit]) -> dict[str, Limit]:
        """The approved figures of limits with a unit, which only `turnpike check` can compare: both must hold."""
        if limits.is_from_file or not self._config.getoption("turnpike_fail_on_increase"):
            return {}
        approved = self._approved.get(item.nodeid) or {}
        return {name: value for name, value in approved.items() if isinstance(most.get(name), str)}

    def _saved_run(self, nodeid: str) -> pathlib.Path | None:
        return saved_run(self._save, nodeid) if self._save else None

    def blocks_of(self, item: pytest.Item) -> Callable[[], Block]:
        kept = of_test(item)
        kept.has_blocks = True
        self.collect(item)
        limits = limits_of(item)
        if kept.whole is not None:  # asked for by the test as it runs: from now on its blocks count
            kept.whole.stop()

        def end(block: Block) -> None:
            result = kept.result
            if block.reason is not None:
                result.update(_not_checked(block.reason, True))
                return
            report = block.report
            figures = {f"{name}_count": total.count for name, total in report.totals.items() if name != "memset"}
            figures |= {f"{name}_bytes": total.bytes for name, total in report.totals.items() if name != "memset"}
            figures["syncs"] = report.syncs.count
            figures["pageable"] = sum(report.totals[name].pageable_count for name in ("h2d", "d2h"))
            for name, value in result.get("figures", {}).items():
                figures[name] = figures.get(name, 0) + value
            result.update({"checked": True, "is_limited": True, "figures": figures, "breaches": [], "annotations": []})

        return lambda: Block(lambda: self._saved_run(item.nodeid), limits.require_gpu, end)

    def annotate(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Puts the result on a test's report: JUnit and other reporters have the figures then."""
        result = of_test(item).result
        if not result:
            return
        report.turnpike = dict(result)  # type: ignore[attr-defined]
        values = result["figures"] if result["checked"] else {"not_checked": result["reason"]}
        # JUnit takes them from the report on the tear-down, and that from the test, where a repeated one has old ones.
        item.user_properties[:] = [entry for entry in item.user_properties if not entry[0].startswith("turnpike_")]
        item.user_properties += [(f"turnpike_{name}", value) for name, value in values.items()]
        report.user_properties = list(item.user_properties)

    def add(self, nodeid: str, result: dict[str, Any]) -> None:
        self._results[nodeid] = result

    def finish(self) -> None:
        """Writes the file of limits and GitHub's summary."""
        if self._is_update:
            figures = {
                nodeid: {name: result["figures"][name] for name in COUNTED if name in result["figures"]}
                for nodeid, result in self._results.items()
                if result["checked"]
            }
            if figures:
                root = self._config.rootpath
                is_there = {nodeid: (root / nodeid.split("::")[0]).exists() for nodeid in self._approved}
                kept = {nodeid: values for nodeid, values in self._approved.items() if is_there[nodeid]}
                _limit_file.write(self._file, {**kept, **figures})
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary and self._results:
            with open(summary, "a", encoding="utf-8") as file:
                file.write(_text.markdown(self._results))

    def tell(self, terminal: Any) -> None:
        """The lines at the end of pytest's output."""
        for line in _text.github(self._results):
            terminal.write_line(line)
        count = self._config.getoption("turnpike_top") if self._config.getoption("turnpike") else 0
        lines = _text.summary(self._results, count)
        if self._is_update and any(result["checked"] for result in self._results.values()):
            lines.append(f"wrote {self._file.name}")
        if lines:
            terminal.write_sep("=", "transfers between CPU and GPU")
            for line in lines:
                terminal.write_line(line)


def _has_blocks(item: pytest.Item) -> bool:
    return of_test(item).has_blocks or "transfers" in getattr(item, "fixturenames", ())


def _has_failed(item: pytest.Item, outcome: Any) -> bool:
    return outcome.excinfo is not None or bool(getattr(item, "_excinfo", None))  # unittest keeps its own


def _limits_after(item: pytest.Item, warmup: int) -> Limits:
    """The limits of a test that may have marked itself."""
    limits = limits_of(item)
    if limits.warmup != warmup:
        pytest.fail(f"limit_transfers: warmup={limits.warmup} came when the test had begun", pytrace=False)
    return limits


def _not_checked(reason: str, is_limited: bool) -> dict[str, Any]:
    return {"checked": False, "is_limited": is_limited, "reason": reason}


def _checked(checked: Checked, is_limited: bool, breaches: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "checked": True,
        "is_limited": is_limited,
        "figures": checked.figures,
        "breaches": breaches,
        "annotations": checked.annotations if breaches else [],
    }
