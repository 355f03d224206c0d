"""The report on a run as Python objects. Times are integer nanoseconds, sizes bytes, rates 1e9 bytes per second.

The fields are those of `turnpike report --json` (schema 1). None means that the source cannot tell: it is never 0.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
from collections.abc import Iterable
from typing import Any, TypeVar

from turnpike import _core, _html

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Row = TypeVar("_Row")
# The usual size of a text.
_WIDTH = 100
_TOP = 15


@dataclasses.dataclass(frozen=True)
class Device:
    """One GPU of the run."""

    id: int
    name: str | None
    memory_bytes: int | None


@dataclasses.dataclass(frozen=True)
class Source:
    """Where the report comes from: files, processes, GPUs, machines, command line, versions."""

    kind: str
    paths: list[str]
    processes: int
    devices: list[Device]
    hosts: list[str]
    program: str | None
    detail: str | None
    versions: dict[str, str]
    unusable: list[str]  #: why processes that use CUDA could not be recorded
    unreadable: list[str]  #: why files of a run could not be read beside others that could
    notes: list[str]  #: what is doubtful about taking the paths together


@dataclasses.dataclass(frozen=True)
class Total:
    """All transfers of one direction. `pageable_*`: those with pageable memory on the host's side."""

    count: int
    bytes: int
    device_time_ns: int | None
    host_blocked_ns: int | None
    pageable_count: int
    pageable_bytes: int
    bandwidth_gbps: float | None
    link_gbps: float | None


@dataclasses.dataclass(frozen=True)
class Syncs:
    """All synchronisations. `of_transfers_*`: those in which an operator waited for its own transfer."""

    count: int
    host_blocked_ns: int | None
    of_transfers_count: int
    of_transfers_host_blocked_ns: int | None


@dataclasses.dataclass(frozen=True)
class Steps:
    """The steps found in the run, and how they were found."""

    count: int
    median_ns: int
    source: str


@dataclasses.dataclass(frozen=True)
class HostThread:
    """What a thread that launches work did: shares of the steps' time in per cent."""

    thread: int  #: the system's id
    name: str | None
    role: str  #: main, autograd or other
    launches: int
    calls_pct: float  #: in calls of CUDA, without what they waited
    waits_pct: float  #: in calls of CUDA, waiting for the device
    between_pct: float  #: between its calls, while it had the turn
    python_pct: float | None  #: of its samples; None where they do not tell
    operator_pct: float | None
    busiest_lines: list[str]  #: where it was seen most: "train.py:31 (40 %)"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What limits the run (gpu, transfer, sync, launch, input or mixed), with the measured shares."""

    bound_by: str | None
    gpu_busy_pct: float | None
    gpu_idle_pct: float | None
    exposed_transfer_pct: float | None
    why: str
    idle: dict[str, float] | None  #: shares of the time in which the GPU did nothing, by what the host did
    launch_lead: dict[str, int] | None  #: p10_ns, median_ns, p90_ns from a launch's return to its kernel's start
    threads: list[HostThread]  #: the busiest first
    steps_by_bound: dict[str, int]  #: how many steps are bound by what


@dataclasses.dataclass(frozen=True)
class RangeVerdict:
    """NVTX ranges of one name, numbers aside."""

    name: str
    count: int
    total_ns: int
    verdict: dict[str, Any]  #: as `Verdict`, without threads and steps


@dataclasses.dataclass(frozen=True)
class MemoryUse:
    """Memory of the process that took most, while recording."""

    peak_resident_bytes: int | None
    peak_device_bytes: int
    peak_pinned_bytes: int
    sites: list[dict[str, Any]]  #: live at the peak of their kind: site, kind, bytes, count
    points: list[dict[str, Any]]  #: over time: time_ns, resident_bytes, device_bytes, pinned_bytes


@dataclasses.dataclass(frozen=True)
class Site:
    """The transfers of one line with one operator, phase, direction and pair of memory kinds."""

    site: str
    file: str | None
    line: int | None
    function: str | None
    op: str | None
    inner_op: str | None
    api: str | None
    phase: str | None
    direction: str
    src_kind: str | None
    dst_kind: str | None
    forward_site: str | None
    streams: list[int]
    stack: list[str]
    missing_call: str | None  #: why the call is not known: "earlier" than those in the file, or "unknown"
    in_graph: bool
    count: int
    bytes: int
    blocked_count: int
    device_time_ns: int | None
    host_blocked_ns: int | None
    exposed_ns: int | None
    gpu_idle_ns: int | None
    overlapped_pct: float | None
    bandwidth_gbps: float | None


@dataclasses.dataclass(frozen=True)
class SyncSite:
    """The synchronisations of one line with one operator and phase."""

    site: str
    file: str | None
    line: int | None
    function: str | None
    op: str | None
    api: str | None
    phase: str | None
    forward_site: str | None
    stack: list[str]
    count: int
    of_transfers_count: int
    host_blocked_ns: int | None
    gpu_idle_ns: int | None


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing worth changing: what was seen, what a change would save, and the code to write."""

    rule: str
    severity: str
    title: str
    site: str
    saving_ns: int | None  #: over all steps; None where it is not known, or none is claimed
    saving_step_ns: int | None  #: of one step
    saving_pct: float | None
    superseded_by: str | None  #: the rule of the finding at the same site that leaves nothing of this one to gain
    evidence: str
    advice: str
    docs: str


class _Kept:
    """An analysis as pickling keeps it: its values, and its text in the usual size."""

    def __init__(self, values: str, text: str) -> None:
        self._values = values
        self._text = text

    def json(self) -> str:
        return self._values

    def text(self, width: int, top: int) -> str:
        if (width, top) != (_WIDTH, _TOP):
            raise _core.Error(
                f"This report was pickled, which keeps its text of {_WIDTH} columns and {_TOP} rows a table alone. "
                "Make the report again from the run for another size."
            )
        return self._text


class Report:
    """The report on a run: what happened and what it cost. `report()` creates it; `print` shows it as the command does.

    Reports can be copied and pickled. A pickled report keeps every field, but its text only in the default size.
    """

    source: Source
    span_ns: int  #: from the first to the last record
    totals: dict[str, Total]  #: by direction: h2d, d2h, d2d, p2p, h2h, memset
    syncs: Syncs
    steps: Steps | None  #: None when no steps were found
    verdict: Verdict
    ranges: list[RangeVerdict]  #: NVTX ranges, most time first
    memory: MemoryUse | None  #: None: nothing of it was recorded
    sites: list[Site]  #: ranked by the time the host was blocked plus the device time that nothing hid
    sync_sites: list[SyncSite]  #: ranked by the time the host was blocked
    findings: list[Finding]  #: errors first, then most saving
    saving_pct_all: float | None  #: of a step, with all findings done together
    losses: dict[str, int]  #: by name, only those that happened: what the recording lacks
    loss_sentences: dict[str, str]  #: what each of them means and what to do

    def __init__(self, analysis: _core.Analysis | _Kept) -> None:
        self._analysis = analysis
        values: dict[str, Any] = json.loads(analysis.json())
        self._values = values
        self.source = _row(Source, {**values["source"], "devices": _rows(Device, values["source"]["devices"])})
        self.span_ns = values["span_ns"]
        self.totals = {direction: _row(Total, total) for direction, total in values["totals"].items()}
        self.syncs = _row(Syncs, values["syncs"])
        self.steps = None if values["steps"] is None else _row(Steps, values["steps"])
        threads = _rows(HostThread, values["verdict"]["threads"])
        self.verdict = _row(Verdict, {**values["verdict"], "threads": threads})
        self.ranges = _rows(RangeVerdict, values["ranges"])
        self.memory = None if values["memory"] is None else _row(MemoryUse, values["memory"])
        self.sites = _rows(Site, values["sites"])
        self.sync_sites = _rows(SyncSite, values["sync_sites"])
        self.findings = _rows(Finding, values["findings"])
        self.saving_pct_all = values["saving_pct_all"]
        self.losses = values["losses"]
        self.loss_sentences = values["loss_sentences"]

    def to_dict(self) -> dict[str, Any]:
        """Returns a copy of the JSON object that `turnpike report --json` prints."""
        return copy.deepcopy(self._values)

    def __copy__(self) -> Report:
        return Report(self._analysis)

    def __deepcopy__(self, memo: dict[int, Any]) -> Report:
        return Report(self._analysis)

    def __reduce__(self) -> tuple[type[Report], tuple[_Kept]]:
        return Report, (_Kept(self._analysis.json(), self.text()),)

    def text(self, *, width: int = _WIDTH, top: int = _TOP) -> str:
        """Returns the report as the command prints it.

        Args:
            width: The most columns that a line takes, 40 at least.
            top: The most rows in a table.

        Raises:
            turnpike.Error: The report was pickled and another size than the default is asked for.
        """
        return self._analysis.text(width, top)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        transfers = sum(total.count for name, total in self.totals.items() if name != "memset")
        size_bytes = sum(total.bytes for name, total in self.totals.items() if name != "memset")
        bound = f", bound by {self.verdict.bound_by}" if self.verdict.bound_by else ""
        return (
            f"<turnpike.Report of {', '.join(self.source.paths)}: {self.span_ns / 1e9:.3g} s, "
            f"{transfers} transfers, {size_bytes} bytes, {self.syncs.count} synchronisations{bound}>"
        )

    def _repr_html_(self) -> str:
        return _html.of_report(repr(self)[1:-1], self._values)


def report(paths: Path | Iterable[Path]) -> Report:
    """Analyses a run, or several runs that belong together, such as the ranks of a program.

    Needs neither a GPU nor PyTorch. Data that is damaged or missing inside a run is counted in `Report.losses`.
    Ctrl-C while files are read raises KeyboardInterrupt.

    Args:
        paths: A run directory (NAME.tpk), one file of it, a trace of torch.profiler (.json, .json.gz), an export of
            Nsight Systems (.sqlite), or an iterable of these. Each may be text, bytes or a path object.

    Raises:
        turnpike.Error: There is no run at a path, or no part of it can be read.

    Warns:
        RuntimeWarning: A file of a run cannot be read, a run is given twice, or the runs share neither time nor
            program.
    """
    names = [paths] if isinstance(paths, str | bytes | os.PathLike) else list(paths)
    return Report(_core.analyze([os.fspath(name) for name in names]))


def _row(row_type: type[_Row], values: dict[str, Any]) -> _Row:
    # Keys are only ever added to the schema: one without a field stays reachable by to_dict().
    names = [field.name for field in dataclasses.fields(row_type)]  # type: ignore[arg-type]
    return row_type(**{name: values[name] for name in names})


def _rows(row_type: type[_Row], values: list[dict[str, Any]]) -> list[_Row]:
    return [_row(row_type, row) for row in values]
