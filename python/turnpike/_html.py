"""The report as HTML for notebooks. Every text of the run is escaped: file and function names are not ours."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnpike._report import Report

# A notebook shows the report below a cell: more rows than this hide the next cell. The rest is in Report.sites.
_MAX_ROWS = 20


def of_report(report: Report) -> str:
    """A <div> with the totals, the sites, the synchronisations and the losses of `report`."""
    parts = [f"<p><b>Turnpike</b>: {_text(repr(report)[1:-1])}</p>"]
    if report.verdict.why:
        parts.append(f"<p>{_text(report.verdict.why)}</p>")
    parts.append(_table("Totals", _TOTALS, ((name, total) for name, total in report.totals.items() if total.count)))
    parts.append(_table("Transfers", _SITES, report.sites))
    parts.append(_table("Synchronisations", _SYNC_SITES, report.sync_sites))
    losses = ((report.loss_sentences.get(name, name), count) for name, count in report.losses.items())
    parts.append(_table("What this recording lacks", _LOSSES, losses))
    return "<div>" + "".join(parts) + "</div>"


def _text(value: object) -> str:
    return html.escape(str(value))


def _bytes(value: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value} B"


def _milliseconds(value_ns: int | None) -> str:
    return "?" if value_ns is None else f"{value_ns / 1e6:.3f}"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.1f}"


_Columns = list[tuple[str, Callable[[Any], str]]]

_TOTALS: _Columns = [
    ("direction", lambda row: row[0]),
    ("count", lambda row: str(row[1].count)),
    ("size", lambda row: _bytes(row[1].bytes)),
    ("device ms", lambda row: _milliseconds(row[1].device_time_ns)),
    ("blocked ms", lambda row: _milliseconds(row[1].host_blocked_ns)),
    ("GB/s", lambda row: _number(row[1].bandwidth_gbps)),
]
_SITES: _Columns = [
    ("site", lambda row: row.site),
    ("operator", lambda row: row.op or row.api or "?"),
    ("phase", lambda row: row.phase or "?"),
    ("direction", lambda row: row.direction),
    ("memory", lambda row: f"{row.src_kind or '?'} -> {row.dst_kind or '?'}"),
    ("count", lambda row: str(row.count)),
    ("size", lambda row: _bytes(row.bytes)),
    ("device ms", lambda row: _milliseconds(row.device_time_ns)),
    ("blocked ms", lambda row: _milliseconds(row.host_blocked_ns)),
    ("overlapped %", lambda row: _number(row.overlapped_pct)),
]
_SYNC_SITES: _Columns = [
    ("site", lambda row: row.site),
    ("operator", lambda row: row.op or row.api or "?"),
    ("phase", lambda row: row.phase or "?"),
    ("count", lambda row: str(row.count)),
    ("blocked ms", lambda row: _milliseconds(row.host_blocked_ns)),
]
_LOSSES: _Columns = [("what", lambda row: row[0]), ("count", lambda row: str(row[1]))]


def _table(title: str, columns: _Columns, rows: Iterable[Any]) -> str:
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
