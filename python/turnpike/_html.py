"""The report as HTML for notebooks. Every text of the run is escaped: file and function names are not ours."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import Any

# A notebook shows the report below a cell: more rows than this hide the next cell. The rest is in Report.sites.
_MAX_ROWS = 20
# As many as the text report tells.
_MAX_FINDINGS = 10

_Values = dict[str, Any]


def of_report(headline: str, values: _Values) -> str:
    """A <div> with the verdict, what to do, and the tables of a report.

    headline: one line that names the run. values: the object of `turnpike report --json`.
    """
    totals = ({"direction": name, **total} for name, total in values["totals"].items() if total["count"])
    losses = (
        # A later recorder's loss has a name and no sentence here.
        {"what": values["loss_sentences"].get(name) or name, "count": count}
        for name, count in values["losses"].items()
    )
    parts = [
        f"<p><b>Turnpike</b>: {_text(headline)}</p>",
        _verdict(values["verdict"]),
        _findings(values),
        _table("Totals", _TOTALS, totals),
        _table("Transfers", _SITES, values["sites"]),
        _table("Synchronisations", _SYNC_SITES, values["sync_sites"]),
        _table("What this recording lacks", _LOSSES, losses),
    ]
    return "<div>" + "".join(parts) + "</div>"


def _verdict(verdict: _Values) -> str:
    bound = verdict["bound_by"]
    if bound is None:
        what = "unknown what limits this program"
    elif bound == "mixed":
        what = "several things limit this program"
    else:
        what = f"this program is {bound}-bound"
    return f"<p><b>Verdict</b>: {_text(what)}. {_text(verdict['why'])}</p>"


def _findings(values: _Values) -> str:
    leading = [finding for finding in values["findings"] if finding["superseded_by"] is None]
    if not leading:
        return ""
    items = "".join(_finding(finding, values["steps"] is not None) for finding in leading[:_MAX_FINDINGS])
    hidden_count = len(leading) - _MAX_FINDINGS
    more = f"<p>and {hidden_count} more</p>" if hidden_count > 0 else ""
    return f"<p><b>What to do</b></p><ol>{items}</ol>{more}"


def _finding(finding: _Values, has_steps: bool) -> str:
    place = finding["site"] or "the step as a whole"
    head = f"{place}: {finding['title']}; {_saving(finding, has_steps)}"
    return (
        f"<li><strong>{_text(head)}</strong><br>what: {_text(finding['evidence'])}<br>fix: {_text(finding['advice'])} "
        f"<small>({_text(finding['rule'])})</small></li>"
    )


def _saving(finding: _Values, has_steps: bool) -> str:
    if finding["saving_pct"] is None:
        return "results may be wrong" if finding["severity"] == "error" else "gain unknown"
    per_step = " a step" if has_steps else ""
    return f"saves {_milliseconds(finding['saving_step_ns'])} ms{per_step} ({finding['saving_pct']:.0f} %)"


def _text(value: object) -> str:
    return html.escape(str(value))


def _bytes(value: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= 0.9995 * size:  # what rounds to 1000 of a unit is 1 of the next
            return f"{value / size:.3g} {unit}"
    return f"{value} B"


def _milliseconds(value_ns: int | None) -> str:
    return "?" if value_ns is None else f"{value_ns / 1e6:.3f}"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f}"


_Columns = list[tuple[str, Callable[[_Values], str]]]

_TOTALS: _Columns = [
    ("direction", lambda row: row["direction"]),
    ("count", lambda row: str(row["count"])),
    ("size", lambda row: _bytes(row["bytes"])),
    ("device ms", lambda row: _milliseconds(row["device_time_ns"])),
    ("blocked ms", lambda row: _milliseconds(row["host_blocked_ns"])),
    ("GB/s", lambda row: _number(row["bandwidth_gbps"])),
]
_SITES: _Columns = [
    ("site", lambda row: row["site"]),
    ("operator", lambda row: row["op"] or row["api"] or "?"),
    ("phase", lambda row: row["phase"] or "?"),
    ("direction", lambda row: row["direction"]),
    ("memory", lambda row: f"{row['src_kind'] or '?'} -> {row['dst_kind'] or '?'}"),
    ("count", lambda row: str(row["count"])),
    ("size", lambda row: _bytes(row["bytes"])),
    ("device ms", lambda row: _milliseconds(row["device_time_ns"])),
    ("blocked ms", lambda row: _milliseconds(row["host_blocked_ns"])),
    ("overlapped %", lambda row: _number(row["overlapped_pct"])),
]
_SYNC_SITES: _Columns = [
    ("site", lambda row: row["site"]),
    ("operator", lambda row: row["op"] or row["api"] or "?"),
    ("phase", lambda row: row["phase"] or "?"),
    ("count", lambda row: str(row["count"])),
    ("blocked ms", lambda row: _milliseconds(row["host_blocked_ns"])),
]
_LOSSES: _Columns = [("what", lambda row: row["what"]), ("count", lambda row: str(row["count"]))]


def _table(title: str, columns: _Columns, rows: Iterable[_Values]) -> str:
    all_rows = list(rows)
    if not all_rows:
        return ""
    head = "".join(f"<th>{_text(name)}</th>" for name, _ in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(cell(row))}</td>" for _, cell in columns) + "</tr>"
        for row in all_rows[:_MAX_ROWS]
    )
    hidden_count = len(all_rows) - _MAX_ROWS
    more = f"<p>and {hidden_count} more</p>" if hidden_count > 0 else ""
    return f"<p><b>{_text(title)}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
