"""The report on a run as Python objects. Times are integer nanoseconds, sizes bytes, rates 1e9 bytes per second.

The fields are those of `turnpike report --json` (schema 1). None means that the source cannot tell: it is never 0.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pathlib
import urllib.parse
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from turnpike import _core, _output_file, _summary, _table, _unrecorded

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Row = TypeVar("_Row")
# The usual size of a text.
_WIDTH = 100
_TOP = 15
# Of these, a 0 or an empty list would look like a program that keeps to every limit.
_FIGURES = frozenset({"totals", "syncs", "idle", "ranges", "sites", "sync_sites", "lines", "paths", "findings"})


@dataclasses.dataclass(frozen=True)
class Device:
    """One GPU of the run."""

    id: int
    name: str | None
    memory_bytes: int | None
    numa_node: int | None  #: the host's, to which it is attached
    pcie_generation: int | None  #: the highest that was seen
    pcie_width: int | None  #: in lanes
    pcie_max_generation: int | None  #: of the card
    pcie_max_width: int | None


@dataclasses.dataclass(frozen=True)
class SelfTime:
    """What threads of a process spent in the recorder's own code, where TURNPIKE_SELF_TIME=1 had it counted."""

    count: int  #: how often they came in
    ns: int


@dataclasses.dataclass(frozen=True)
class Identity:
    """Who a process is: what torchrun, Slurm, MPI, Ray Train or Kubernetes told it. None: unknown."""

    pid: int
    host: str | None
    node: str | None  #: name of the machine in the cluster, which the host name of a container is not
    node_rank: int | None
    rank: int | None
    local_rank: int | None
    world_size: int | None
    local_world_size: int | None
    job_id: str | None
    restart_count: int | None
    launcher: str | None  #: what started it, the innermost first, e.g. "torchrun slurm"
    self_time: SelfTime | None = None  #: None: it was not counted


@dataclasses.dataclass(frozen=True)
class KeptWindow:
    """What a recording that keeps only the last of its program (`turnpike record --last`) kept."""

    last_ns: int  #: how long the kept part is, of the process of which most was kept
    of_ns: int  #: how long that process was recorded
    because: list[str]  #: why it was kept before the end of the program, in sentences; empty: at its end


@dataclasses.dataclass(frozen=True)
class Incomplete:
    """What is missing of a run whose files are damaged, cut off or unreadable."""

    reason: str  #: a sentence
    losses: dict[str, int]  #: those of `Report.losses` that say so


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
    identities: list[Identity]  #: one for each process
    kept: KeptWindow | None  #: None: everything was kept


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
    link_source: str | None  #: how that is known: measured, learnt, generation or model
    link_basis: str | None  #: what it was computed from, e.g. "PCIe 5 x16"


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
    device_median_ns: int | None = None  #: what a step takes on the GPUs; longer where the CPU runs ahead
    is_host_ahead: bool = False  #: whether the CPU runs ahead of the GPUs: then a step takes `device_median_ns`
    #: What the median step did, of each figure its own median: `h2d_count`, `h2d_bytes` and likewise for each
    #: direction, `syncs_count`, `blocked_ns` (time the CPU was blocked). None: no step was recorded whole.
    per_step: dict[str, float] | None = None


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
    """What limits the run, with the measured shares.

    ``bound_by``: gpu, transfer, sync, launch, input, host, communication, unrecorded or mixed; None: unknown.
    """

    bound_by: str | None
    gpu_busy_pct: float | None
    gpu_idle_pct: float | None
    exposed_transfer_pct: float | None
    why: str
    idle: dict[str, float] | None  #: shares of the time in which the GPU did nothing, by cause
    launch_lead: dict[str, int] | None  #: p10_ns, median_ns, p90_ns from a launch's return to its kernel's start
    threads: list[HostThread]  #: the busiest first
    steps_by_bound: dict[str, int]  #: how many steps are bound by what
    exposed_collective_pct: float | None = None


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
    library_site: str | None  #: the line of a library that made the call for this line
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
    library_site: str | None  #: the line of a library that made the call for this line
    stack: list[str]
    count: int
    of_transfers_count: int
    host_blocked_ns: int | None
    gpu_idle_ns: int | None


@dataclasses.dataclass(frozen=True)
class LineTime:
    """A line of source while its transfers and synchronisations took time; no moment counts twice."""

    file: str
    line: int
    time_ns: int  #: the CPU waited, copies ran, or both
    waits_ns: int
    copies_ns: int
    gpu_idle_ns: int | None  #: during the waits


@dataclasses.dataclass(frozen=True)
class IdleSite:
    """Time in which no kernel ran on a device, for one cause at one place."""

    site: str | None  #: the place that made the device wait; None: not known
    file: str | None
    line: int | None
    function: str | None
    op: str | None
    phase: str | None
    forward_site: str | None
    device: int | None
    cause: str  #: copies_only, copy, sync, input, launch, unknown or rank
    count: int  #: stretches
    time_ns: int
    in_steps_count: int  #: in the steps that the verdict covers; 0 without steps
    in_steps_ns: int
    library_site: str | None  #: the line of a library that made the call for this line


@dataclasses.dataclass(frozen=True)
class LineChange:
    """A line of the program, and what to write in its place."""

    file: str
    line: int
    before: str  #: as it stands in the file, without its indent
    after: str | None  #: None: the line goes
    imports: list[str]  #: that the new line needs, as lines of code
    indent: str  #: of the line, which `before` and `after` leave out


@dataclasses.dataclass(frozen=True)
class StepEvidence:
    """What calls do in one step; in the whole run where there are no steps."""

    calls: float
    bytes: float  #: that their copies move
    host_ns: float  #: in them, and in the synchronisations that their operators make
    device_ns: float  #: of their copies and kernels


@dataclasses.dataclass(frozen=True)
class Alternative:
    """Another way to what a finding advises, with what it saves."""

    advice: str
    saving_step_low_ns: int | None  #: of one step at least; None where it is not known
    saving_step_high_ns: int | None  #: and at most
    saving_step_expected_ns: int | None  #: and as expected


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing worth changing: what was seen, what a change would save, and the code to write."""

    rule: str
    severity: str
    title: str
    site: str
    saving_ns: int | None  #: over all steps; None where it is not known, or none is claimed
    saving_step_ns: int | None  #: of one step, by the change that was re-timed
    saving_step_low_ns: int | None  #: what the advice saves of one step at least
    saving_step_high_ns: int | None  #: and at most
    saving_step_expected_ns: int | None  #: and as expected
    saving_reason: str | None  #: why the advice may reach only a part, or why no saving is claimed
    alternatives: list[Alternative]  #: other ways to the same
    library_site: str | None  #: the line of a library where it is one's
    saving_pct: float | None
    superseded_by: str | None  #: the rule of the finding at the same site that leaves nothing of this one to gain
    evidence: str
    advice: str
    docs: str
    change: LineChange | None  #: the advice as code, where the line is as it ran and a rule can rewrite it for certain
    id: str | None  #: stays when the line moves
    file: str | None
    relative_file: str | None  #: from the top of the repository; None where it is not in it
    line: int | None
    function: str | None
    op: str | None
    per_step: StepEvidence | None  #: what the calls that the advice is about do

    def __repr__(self) -> str:
        saving = "" if self.saving_pct is None else f", saves {self.saving_pct:.3g} %"
        return f"<turnpike.Finding {self.rule}{f' at {self.site}' if self.site else ''}{saving}>"


class _Kept:
    """An analysis as pickling keeps it: its values, its text in the usual size, and what notebooks show."""

    def __init__(self, values: str, text: str, overview: str) -> None:
        self._values = values
        self._text = text
        self._overview = overview

    def json(self) -> str:
        return self._values

    def text(self, width: int, top: int, show: list[str]) -> str:
        if (width, top, show) != (_WIDTH, _TOP, []):
            raise _core.Error(
                f"This report was pickled, which keeps its text of {_WIDTH} columns and {_TOP} rows a table alone, "
                "without other parts. Make the report again from the run for another text."
            )
        return self._text

    def overview(self, path: str, address: str) -> str:
        return self._overview

    def write_page(self, *_: object) -> None:
        raise _core.Error(
            "This report was pickled, and only the run has the events of a page. Make the report again from the run, "
            "or use `turnpike report RUN --html FILE`."
        )


class Report:
    """The report on a run: what happened and what it cost. `report()` creates it; `print` shows it as the command does.

    A notebook shows its overview, and `to_html` writes the whole report with its timeline for browsers.

    Of a run that holds nothing of a GPU the report says so, and its figures (`totals`, `syncs`, `sites`, `sync_sites`,
    `lines`, `paths`, `idle`, `ranges`, `findings`) raise `turnpike.Error`: they would satisfy every assertion.

    Reports can be copied and pickled. A pickled report keeps every field, but its text only in the default size and
    without other parts, and no page.
    """

    source: Source
    span_ns: int  #: from the first to the last record
    used_gpu: bool  #: whether the recording shows use of a GPU; if False, the figures would be 0 and mean nothing
    totals: dict[str, Total]  #: by direction: h2d, d2h, d2d, p2p, h2h, memset
    syncs: Syncs
    steps: Steps | None  #: None when no steps were found
    verdict: Verdict
    idle: list[IdleSite]  #: why the GPU did not compute, most time in the steps first; empty: kernels unknown
    ranges: list[RangeVerdict]  #: NVTX ranges, most time first
    memory: MemoryUse | None  #: None: nothing of it was recorded
    sites: list[Site]  #: ranked by the time the host was blocked plus the device time that nothing hid
    sync_sites: list[SyncSite]  #: ranked by the time the host was blocked
    lines: list[LineTime]  #: most time first
    paths: list[dict[str, Any]]  #: every way to a transfer or a synchronisation, most cost first
    findings: list[Finding]  #: errors first, then most expected saving
    saving_pct_all: float | None  #: of a step, with all findings done together
    why_no_advice: str | None  #: why nothing is advised about the verdict's cause; None if a finding is about it
    losses: dict[str, int]  #: by name, only those that happened: what the recording lacks
    loss_sentences: dict[str, str]  #: what each of them means and what to do
    incomplete: Incomplete | None  #: what of the run is damaged, cut off or unreadable; None: nothing

    def __init__(
        self, analysis: _core.Analysis | _Kept, inputs: Sequence[str | bytes] = (), may_be_empty: bool = False
    ) -> None:
        self._analysis = analysis
        self._may_be_empty = may_be_empty
        self._inputs = list(inputs)
        self._page: pathlib.Path | None = None  # that to_html wrote
        values: dict[str, Any] = json.loads(analysis.json())
        self._values = values
        source = values["source"]
        identities = [
            _row(Identity, {**row, "self_time": row["self_time"] and _row(SelfTime, row["self_time"])})
            for row in source["identities"]
        ]
        kept = source["kept"] and _row(KeptWindow, source["kept"])
        devices = _rows(Device, source["devices"])
        self.source = _row(Source, {**source, "devices": devices, "identities": identities, "kept": kept})
        self.span_ns = values["span_ns"]
        self.used_gpu = values["used_gpu"]
        self.totals = {direction: _row(Total, total) for direction, total in values["totals"].items()}
        self.syncs = _row(Syncs, values["syncs"])
        self.steps = None if values["steps"] is None else _row(Steps, values["steps"])
        threads = _rows(HostThread, values["verdict"]["threads"])
        self.verdict = _row(Verdict, {**values["verdict"], "threads": threads})
        self.idle = _rows(IdleSite, values["idle"])
        self.ranges = _rows(RangeVerdict, values["ranges"])
        self.memory = None if values["memory"] is None else _row(MemoryUse, values["memory"])
        self.sites = _rows(Site, values["sites"])
        self.sync_sites = _rows(SyncSite, values["sync_sites"])
        self.lines = _rows(LineTime, values["lines"])
        self.paths = values["paths"]
        self.findings = [_finding(finding) for finding in values["findings"]]
        self.saving_pct_all = values["saving_pct_all"]
        self.why_no_advice = values["why_no_advice"]
        self.losses = values["losses"]
        self.loss_sentences = values["loss_sentences"]
        self.incomplete = None if values["incomplete"] is None else _row(Incomplete, values["incomplete"])
        if not (self.used_gpu or may_be_empty):
            for name in _FIGURES:
                delattr(self, name)

    def __getattr__(self, name: str) -> Any:
        """Of what `__init__` has set, Python does not ask here."""
        if name not in _FIGURES:
            raise AttributeError(f"a report has no '{name}'")
        why = "; ".join(self.source.unusable) or (self.incomplete and self.incomplete.reason)
        raise _core.Error(
            f"nothing was recorded into {', '.join(self.source.paths)}, so its {name} are unknown: "
            f"{why or 'the program used no GPU while it was recorded'}"
        )

    def table(self, name: str, *, dictionary: bool = True) -> _table.Table:
        """Returns the rows behind the report, for pandas, polars, DuckDB, pyarrow and others that read Arrow.

            pandas.DataFrame.from_arrow(report.table("transfers"))

        Args:
            name: "transfers", "syncs", "sites", "kernels", "steps", "idle" or "allocations".
            dictionary: Whether texts are dictionaries, which take less room. Daft reads none: False gives plain texts.

        Raises:
            turnpike.Error: There is no table of this name. Reading it raises if the run is no longer there, or has no
                kernels and the table is about them.
        """
        return _table.Table(
            [os.fsdecode(one) for one in self._inputs] or self.source.paths,
            name,
            dictionary=dictionary,
            of=self._analysis,
        )

    def summary(self) -> dict[str, int | float]:
        """Returns a flat dict of numbers: counts, bytes and milliseconds by direction, and shares of the step.

        The names never change. A figure that the recording cannot tell is left out.
        """
        return _summary.summary(self)

    def log_to(self, target: Any, *, step: int | None = None, prefix: str = "turnpike/") -> None:
        """Logs `summary()` where the figures of a training are kept.

        Args:
            target: A run of W&B, the module `mlflow`, a logger of Lightning, or a `SummaryWriter` of TensorBoard.
            step: The step to log it at.
            prefix: Stands before each name.

        Raises:
            TypeError: `target` is something else.
        """
        _summary.log_to(self.summary(), target, step, prefix)

    def to_dict(self) -> dict[str, Any]:
        """Returns a copy of the JSON object that `turnpike report --json` prints."""
        return copy.deepcopy(self._values)

    def __copy__(self) -> Report:
        return Report(self._analysis, self._inputs, self._may_be_empty)

    def __deepcopy__(self, memo: dict[int, Any]) -> Report:
        return copy.copy(self)

    def __reduce__(self) -> tuple[type[Report], tuple[_Kept, tuple[()], bool]]:
        kept = _Kept(self._analysis.json(), self.text(), self._analysis.overview("", ""))
        return Report, (kept, (), self._may_be_empty)

    def text(self, *, width: int = _WIDTH, top: int = _TOP, show: str | Iterable[str] = ()) -> str:
        """Returns the report as the command prints it: its first screen, or the parts that `show` names.

        Args:
            width: The most columns that a line takes, 40 at least.
            top: The most rows in a table. Another number than 15 shows the tables by line, as `--top` does.
            show: Names of parts, as the command has options: `"findings"`, `"threads"`, `"transfers"`, `"syncs"`,
                `"memory"`, `"losses"`, `"explain"`; or `"all"`.

        Raises:
            turnpike.Error: There is no such part, or the report was pickled and another text than the default is asked
                for.
        """
        return self._analysis.text(width, top, [show] if isinstance(show, str) else list(show))

    def to_html(
        self, path: Path, *, source: bool = True, redact_paths: bool = False, events: int = 1_000_000
    ) -> pathlib.Path:
        """Writes the whole report with its timeline as one file for browsers, as `turnpike report --html` does.

        Reads the run again, from where it was: a report keeps no events. A file at `path` is replaced once the new one
        is whole. From then on a notebook shows a link to it with the report.

        Args:
            path: The file to write.
            source: Whether the page holds the source code of lines with a cost.
            redact_paths: Cuts paths to what tells files apart, and leaves out names of machines.
            events: So many events at most; transfers and waits are always in the page.

        Returns:
            The path of the file.

        Raises:
            turnpike.Error: The run has gone or changed since this report was made, `path` is a file of it, or the
                report was pickled.
            OSError: The file cannot be written.
        """
        target = pathlib.Path(os.fsdecode(path))
        _output_file.check_is_no_input(target, self._inputs)
        with _output_file.whole(target) as unfinished, open(unfinished, "wb") as file:
            self._analysis.write_page(self._inputs, file.write, source, redact_paths, events)
        self._page = target.absolute()
        return target

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        if "totals" not in vars(self):
            return f"<turnpike.Report of {', '.join(self.source.paths)}: nothing was recorded>"
        transfers = sum(total.count for name, total in self.totals.items() if name != "memset")
        size_bytes = sum(total.bytes for name, total in self.totals.items() if name != "memset")
        bound = f", bound by {self.verdict.bound_by}" if self.verdict.bound_by else ""
        return (
            f"<turnpike.Report of {', '.join(self.source.paths)}: {self.span_ns / 1e9:.3g} s, "
            f"{transfers} transfers, {size_bytes} bytes, {self.syncs.count} synchronisations{bound}>"
        )

    def _repr_html_(self) -> str:
        if self._page is None:
            return self._analysis.overview("", "")
        # Relative, as a notebook beside it links files: its server knows no others.
        address = urllib.parse.quote(os.path.relpath(self._page))
        return self._analysis.overview(str(self._page), address)


def report(paths: Path | Iterable[Path] | None = None) -> Report:
    """Analyses a run, or several runs that belong together, such as the ranks of a program.

    Needs neither a GPU nor PyTorch. Data that is damaged or missing inside a run is counted in `Report.losses`.
    Of a run into which this process could record nothing, the report says that nothing was recorded, and why. Ctrl-C
    while files are read raises KeyboardInterrupt.

    Args:
        paths: A run directory (NAME.tpk), one file of it, a trace of torch.profiler (.json, .json.gz), an export of
            Nsight Systems (.sqlite), or an iterable of these. Each may be text, bytes or a path object. Without it,
            the newest run in the working directory.

    Raises:
        turnpike.Error: There is no run at a path, or no part of it can be read.

    Warns:
        RuntimeWarning: A run is incomplete, a file of it cannot be read, a run is given twice, or the runs share
            neither time nor program.
    """
    if paths is None:
        paths = _core.newest_run()
        if paths is None:
            raise _core.Error("this folder has no run (*.tpk): name one, or record one.")
    names = [paths] if isinstance(paths, str | bytes | os.PathLike) else list(paths)
    inputs = [os.fspath(name) for name in names]
    return Report(analysis_of(inputs), inputs)


def analysis_of(inputs: list[str | bytes]) -> _core.Analysis:
    """Reads runs. One into which this process could record nothing has an analysis that says so."""
    reason = _unrecorded.reason_of(inputs[0]) if len(inputs) == 1 else None
    return _core.analyze(inputs) if reason is None else _core.nothing_recorded(os.fsdecode(inputs[0]), reason)


def _row(row_type: type[_Row], values: dict[str, Any]) -> _Row:
    # Keys are only ever added to the schema: one without a field stays reachable by to_dict().
    names = [field.name for field in dataclasses.fields(row_type)]  # type: ignore[arg-type]
    return row_type(**{name: values[name] for name in names})


def _rows(row_type: type[_Row], values: list[dict[str, Any]]) -> list[_Row]:
    return [_row(row_type, row) for row in values]


def _finding(values: dict[str, Any]) -> Finding:
    change, per_step = values["change"], values["per_step"]
    parts = {
        "change": None if change is None else _row(LineChange, change),
        "per_step": None if per_step is None else _row(StepEvidence, per_step),
        "alternatives": _rows(Alternative, values["alternatives"]),
    }
    return _row(Finding, values | parts)
