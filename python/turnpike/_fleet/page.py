"""The comparison as one page: the ranks over time as a heat map, and what differs. Without a script."""

from __future__ import annotations

import base64
import hashlib
import html
import statistics
from collections import defaultdict
from typing import Any

from turnpike._fleet import text
from turnpike._fleet.figures import Figures, Rank
from turnpike._fleet.findings import Finding
from turnpike._printable import printable

# By how much a rank's own part of a step is longer than the median of all ranks, up to so many per cent, and the class
# of its cells. From fast to slow each is darker than the one before, for those who do not tell the hues apart.
_SHADES = ((-10.0, "f2"), (-3.0, "f1"), (3.0, "s0"), (10.0, "s1"), (25.0, "s2"), (50.0, "s3"), (float("inf"), "s4"))
_SHADE_NAMES = {
    "f2": "over 10 % faster", "f1": "3 to 10 % faster", "s0": "within 3 %", "s1": "3 to 10 % slower",
    "s2": "10 to 25 % slower", "s3": "25 to 50 % slower", "s4": "over 50 % slower",
}  # fmt: skip
_MINUTE_NS = 60 * 10**9
_STYLE = """
:root{color-scheme:light dark;--ink:#1d2127;--dim:#5b6470;--paper:#fff;--line:#d9dde3;--none:#eceff3;
--f2:#d7f0f7;--f1:#e6f4ee;--s0:#cfd8d3;--s1:#f5c77a;--s2:#e8933a;--s3:#c25a12;--s4:#6d2404}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaed;--dim:#a3abb6;--paper:#15181c;--line:#343a42;--none:#20242a;
--f2:#123c4a;--f1:#1c3a33;--s0:#38433f;--s1:#8a6420;--s2:#c47a1f;--s3:#ee9a45;--s4:#ffd9a8}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;max-width:70rem;
padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}.dim{color:var(--dim)}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .6rem;
border-bottom:1px solid var(--line);vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.wide{overflow-x:auto}svg{display:block;width:100%;background:var(--none)}
li{margin-bottom:.8rem}dl{display:grid;grid-template-columns:max-content 1fr;gap:0 1rem;margin:.2rem 0}dd{margin:0}
ul.key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.3rem 1rem}ul.key li{margin:0}
.box{display:inline-block;width:1em;height:1em;vertical-align:-.12em;border:1px solid var(--line);margin-right:.4em}
.f2{fill:var(--f2);background:var(--f2)}.f1{fill:var(--f1);background:var(--f1)}
.s0{fill:var(--s0);background:var(--s0)}.s1{fill:var(--s1);background:var(--s1)}
.s2{fill:var(--s2);background:var(--s2)}.s3{fill:var(--s3);background:var(--s3)}
.s4{fill:var(--s4);background:var(--s4)}.none{background:var(--none)}
"""


def as_page(result: dict[str, Any], findings: list[Finding], figures: Figures) -> str:
    """The page: HTML that loads nothing and runs nothing. Names from recordings are escaped."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    fleet = result["fleet"]
    step = fleet["median_step_ns"]
    subtitle = text.ranks_of(fleet) + (
        f"; a step takes {step / 1e6:.2f} ms (median of the ranks)" if step is not None else ""
    )
    body = [
        "<h1>turnpike fleet</h1>", f"<p>{_safe(subtitle)}</p>", _missing(result), "<h2>What differs</h2>",
        _findings(findings, fleet), "<h2>Ranks over time</h2>", _map(figures), "<h2>Ranks</h2>", _ranks(figures),
    ]  # fmt: skip
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width"><title>turnpike fleet</title>'
        f"<style>{_STYLE}</style></head><body><main>\n" + "\n".join(body) + "\n</main></body></html>\n"
    )


def _safe(name: str) -> str:
    return html.escape(printable(name))


def _missing(result: dict[str, Any]) -> str:
    said = [] if result["incomplete"] is None else [f"INCOMPLETE: {result['incomplete']['reason']}"]
    said += [
        f"of {job}: rank {text.numbers(ranks)}. What they did is not in what follows."
        for job, ranks in result["missing_ranks"].items()
    ]
    said += result["unreadable"]
    said += [
        f"lost: {one['loss']}, {one['count']} in {text.counted(one['processes'], 'process')}"
        for one in result["losses"]
    ]
    items = "".join(f"<li>{_safe(one)}</li>" for one in said)
    return f"<h2>Missing</h2><ul>{items}</ul>" if said else ""


def _findings(findings: list[Finding], fleet: dict[str, Any]) -> str:
    if not findings:
        return f"<p>{_safe(text.nothing_differs(fleet))}</p>"
    return "<ol>" + "".join(_finding(one) for one in findings) + "</ol>"


def _finding(one: Finding) -> str:
    facts = text.facts_of(one)
    rows = "".join(f"<dt class=dim>{_safe(name)}</dt><dd>{_safe(value)}</dd>" for name, value in facts)
    return f"<li><strong>{_safe(text.sentence(one))}</strong> [{_safe(one.rule)}]<dl>{rows}</dl></li>"


def _own_by_minute(figures: Figures) -> dict[str, dict[int, float]]:
    """ns of a rank's own part of a step: rank, then minute from the first one of any."""
    rows = [(id, int(at), own / steps) for id, at, steps, own in
            figures.rows("SELECT id, minute_ns, steps, own_ns FROM minutes WHERE steps > 0")]  # fmt: skip
    first = min((at for _, at, _ in rows), default=0)
    of_rank: dict[str, dict[int, float]] = defaultdict(dict)
    for id, at, own in rows:
        of_rank[id][(at - first) // _MINUTE_NS] = own
    return of_rank


def _shade(own: float, median: float) -> str:
    slower_pct = 100 * (own / median - 1) if median > 0 else 0.0
    return next(shade for most, shade in _SHADES if slower_pct <= most)


def _map(figures: Figures) -> str:
    """A row for each rank, a column for each minute.

    Neighbours of one shade are one rectangle, all of a shade one path: so 1,024 ranks of an hour stay small.
    """
    of_rank = _own_by_minute(figures)
    order = sorted(of_rank, key=lambda id: _order(figures.ranks[id]))
    if not order:
        return "<p>No steps were recorded.</p>"
    by_minute: dict[int, list[float]] = defaultdict(list)
    for minutes in of_rank.values():
        for minute, own in minutes.items():
            by_minute[minute].append(own)
    # A minute that few ranks have says nothing of what was usual in it.
    usual = statistics.median(own for values in by_minute.values() for own in values)
    medians = {
        minute: statistics.median(values) if 2 * len(values) >= len(order) else usual
        for minute, values in by_minute.items()
    }
    paths: dict[str, list[str]] = defaultdict(list)
    for row, id in enumerate(order):
        for start, length, shade in _runs(of_rank[id], medians):
            paths[shade].append(f"M{start} {row}h{length}v1h-{length}z")
    drawn = "".join(f'<path class={shade} d="{"".join(parts)}"/>' for shade, parts in paths.items())
    columns = max(medians) + 1
    key = "".join(f"<li><span class='box {shade}'></span>{name}</li>" for shade, name in _SHADE_NAMES.items())
    # Few ranks get rows that can be seen, many get rows of a pixel or less.
    height = max(2, min(24, 720 // len(order))) * len(order)
    return (
        f"<p>From top to bottom the ranks, {_safe(figures.ranks[order[0]].name())} first; from left to right "
        f"{columns} minutes. Shown is a rank's own part of a step, without the wait for others, against the median "
        "of all ranks in that minute. The table below has the ranks in figures.</p>"
        f"<ul class=key>{key}<li><span class='box none'></span>no steps</li></ul>"
        f'<svg role="img" aria-label="Heat map of {len(order)} ranks over {columns} minutes" '
        f'viewBox="0 0 {columns} {len(order)}" preserveAspectRatio="none" height="{height}">{drawn}</svg>'
    )


def _order(rank: Rank) -> tuple[str, int, str]:
    return (rank.job or rank.run, rank.rank if rank.rank is not None else rank.pid, rank.host or "")


def _runs(minutes: dict[int, float], medians: dict[int, float]) -> list[tuple[int, int, str]]:
    """Start, length and shade of each stretch of minutes that look alike."""
    runs: list[tuple[int, int, str]] = []
    for minute in sorted(minutes):
        shade = _shade(minutes[minute], medians[minute])
        if runs and runs[-1][2] == shade and sum(runs[-1][:2]) == minute:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1, shade)
        else:
            runs.append((minute, 1, shade))
    return runs


def _ranks(figures: Figures) -> str:
    head = "<tr><th>rank<th>host<th>GPU<th class=n>steps<th class=n>step<th class=n>own part</tr>"
    rows = "".join(
        f"<tr><td>{_safe(str(rank.rank if rank.rank is not None else f'process {rank.pid}'))}"
        f"<td>{_safe(rank.host or '?')}<td>{_safe(rank.gpu or '?')}<td class=n>{rank.steps}"
        f"<td class=n>{(rank.step_ns or 0) / rank.steps / 1e6:.2f} ms<td class=n>{rank.own_ns / 1e6:.2f} ms</tr>"
        for rank in sorted(figures.ranks.values(), key=_order)
    )
    return f"<div class=wide><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"
