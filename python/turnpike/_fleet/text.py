"""The comparison as text and as JSON."""

from __future__ import annotations

from typing import Any

from turnpike._fleet.budget import Limit
from turnpike._fleet.figures import Rank
from turnpike._fleet.findings import Finding
from turnpike._fleet.groups import Group
from turnpike._fleet.outliers import Spread

_MOST_NAMES = 8


def printable(text: str) -> str:
    """Without what a terminal would obey: names come from recordings."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def numbers(ranks: list[int]) -> str:
    """3, 7-9"""
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][-1] + 1:
            parts[-1].append(rank)
        else:
            parts.append([rank])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _figure(value: float, unit: str) -> str:
    if unit.startswith("ns"):
        return f"{value / 1e6:.2f} ms"
    return f"{value:.3g}"


def _shown(one: Spread, unit: str) -> str:
    low, median, high = (_figure(value, unit) for value in (one.low, one.median, one.high))
    return f"{median} ({low} to {high}, {one.count})"


def who(finding: Finding) -> str:
    if finding.hosts:
        rest = [rank for rank in finding.ranks if rank.host not in finding.hosts]
        names = [f"host {host}" for host in finding.hosts] + [rank.name() for rank in rest]
    else:
        names = [rank.name() for rank in finding.ranks]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _on_all(saving_ns: float) -> str:
    ms = f"{saving_ns / 1e6:.2f}"
    return "; nothing on all ranks, which wait for others" if ms == "0.00" else f"; up to {ms} ms on all ranks"


def facts_of(one: Finding) -> list[tuple[str, str]]:
    """What stands below a finding's title: a name and a sentence for each."""
    facts = [("line", one.site)] if one.site else []
    facts.append(("these", f"{_shown(one.these, one.unit)} {'' if one.unit[:2] == 'ns' else one.unit}".rstrip()))
    facts.append(("others", f"{_shown(one.others, one.unit)}; robust z {one.z:.1f}"))
    facts.append(("why", one.evidence))
    if one.saving_ns:
        of = "on all ranks" if one.saves_all else "on these ranks"
        on_all = "" if one.saves_all or one.all_saving_ns is None else _on_all(one.all_saving_ns)
        facts.append(("gain", f"up to {one.saving_ns / 1e6:.2f} ms a step {of}{on_all}"))
    return facts


def _group_name(key: str, value: str | int | None) -> str:
    return f"no {key} known" if value is None else f"NUMA node {value}" if key == "numa" else f"{key} {value}"


def _name_of(rank: dict[str, Any]) -> str:
    return f"rank {rank['rank']}" if rank["rank"] is not None else f"process {rank['pid']}"


def as_text(result: dict[str, Any], findings: list[Finding]) -> str:
    """For a terminal. The same facts as the JSON."""
    fleet = result["fleet"]
    lines = [
        "TURNPIKE FLEET",
        f"  ranks     {fleet['ranks']} compared, on {fleet['hosts']} hosts; {fleet['processes']} processes in all",
    ]
    if fleet["median_step_ns"] is not None:
        lines.append(f"  step      {fleet['median_step_ns'] / 1e6:.2f} ms (median of the ranks)")
    for job, missing in result["missing_ranks"].items():
        lines.append(f"  MISSING   of {job}: rank {numbers(missing)}. What they did is not in what follows.")
    for one in result["unreadable"]:
        lines.append(f"  MISSING   {one}")
    for loss in result["losses"]:
        lines.append(f"  LOST      {loss['loss']}: {loss['count']}, in {loss['processes']} processes")
    for group in result.get("groups", []):
        name = ", ".join(_group_name(key, value) for key, value in group["key"].items())
        lines.append(
            f"  GROUP     {name}: {group['ranks']} ranks, a step {group['step_ns'] / 1e6:.2f} ms, of it their own part "
            f"{group['own_ns'] / 1e6:.2f} ms (medians); slowest {_name_of(group['slowest'])}"
        )
    lines += ["", "WHAT DIFFERS" if findings else "No rank differs from the others."]
    for number, one in enumerate(findings, 1):
        lines.append(f"  {number}  {who(one)} {one.title} [{one.rule}]")
        lines += [f"     {name:<7} {value}" for name, value in facts_of(one)]
    if findings:
        lines += ["", "  Figures: median (5th to 95th percentile, number of ranks)."]
    if "budget" in result:
        lines += ["", "BUDGET"]
        lines += [
            f"  {'ok  ' if one['is_kept'] else 'FAIL'}  {one['limit']}: {one['what']}" for one in result["budget"]
        ]
    return "\n".join(printable(line) for line in lines) + "\n"


def _rank(rank: Rank) -> dict[str, Any]:
    return {"rank": rank.rank, "host": rank.host, "pid": rank.pid, "job": rank.job, "gpu": rank.gpu, "pci": rank.pci}


def _spread(one: Spread) -> dict[str, Any]:
    return {"p5": one.low, "median": one.median, "p95": one.high, "ranks": one.count}


def finding_json(one: Finding) -> dict[str, Any]:
    """As in docs/howto/many_gpus.md."""
    return {
        "rule": one.rule,
        "title": one.title,
        "ranks": [_rank(rank) for rank in one.ranks],
        "hosts": one.hosts,
        "site": one.site,
        "file": one.file,
        "line": one.line,
        "unit": one.unit,
        "z": one.z,
        "these": _spread(one.these),
        "others": _spread(one.others),
        "saving_ns": None if one.saving_ns is None else round(one.saving_ns),
        "saves_all_ranks": one.saves_all,
        "all_ranks_saving_ns": None if one.all_saving_ns is None else round(one.all_saving_ns),
        "evidence": one.evidence,
    }


def group_json(keys: list[str], group: Group) -> dict[str, Any]:
    """As in docs/howto/many_gpus.md."""
    return {
        "key": dict(zip(keys, group.values, strict=True)),
        "ranks": group.ranks,
        "step_ns": round(group.step_ns),
        "own_ns": round(group.own_ns),
        "slowest": _rank(group.slowest),
    }


def limit_json(one: Limit) -> dict[str, Any]:
    """As in docs/howto/many_gpus.md."""
    return {"limit": one.name, "most": one.most, "found": one.found, "is_kept": one.is_kept, "what": one.what}
