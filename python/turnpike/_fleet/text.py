"""The comparison as text and as JSON."""

from __future__ import annotations

from typing import Any

from turnpike._fleet.budget import Limit
from turnpike._fleet.figures import Rank
from turnpike._fleet.findings import Finding
from turnpike._fleet.groups import Group
from turnpike._fleet.outliers import Spread
from turnpike._printable import printable

_MOST_NAMES = 8
_MOST_Z = 100
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
# The verbs with which titles begin.
_PLURALS = {
    "takes": "take", "gets": "get", "copies": "copy", "has": "have", "moves": "move", "synchronises": "synchronise"
}  # fmt: skip


def numbers(ranks: list[int]) -> str:
    """3, 7-9"""
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][-1] + 1:
            parts[-1].append(rank)
        else:
            parts.append([rank])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def counted(count: int, name: str) -> str:
    """3 ranks, 1 process"""
    return f"{count} {name}" if count == 1 else f"{count} {name}es" if name.endswith("s") else f"{count} {name}s"


def _figure(value: float, unit: str) -> str:
    """With its unit as far as that belongs to the number; `_rest_of` is the other part."""
    if unit.startswith("ns"):
        return f"{value / 1e6:.2f} ms"
    if unit.startswith("bytes"):
        size, name = next(((size, name) for size, name in _SIZES if value >= size), (1.0, "B"))
        return f"{value / size:.3g} {name}"
    if unit.startswith("of "):
        return f"{100 * value:.0f} %"
    return f"{value:.3g}"


def _rest_of(unit: str) -> str:
    return unit.removeprefix("ns").removeprefix("bytes").strip()


def _shown(one: Spread, unit: str) -> str:
    """37.8 MB a step (30 MB to 40 MB, 8 ranks)"""
    low, median, high = (_figure(value, unit) for value in (one.low, one.median, one.high))
    of = counted(one.count, "rank")
    return f"{median} {_rest_of(unit)} ({of if low == high else f'{low} to {high}, {of}'})"


def _z(z: float) -> str:
    """Beyond that it says only that the others are all the same."""
    return f"{z:.1f}" if abs(z) <= _MOST_Z else f"over {_MOST_Z}" if z > 0 else f"below -{_MOST_Z}"


def sentence(finding: Finding) -> str:
    """Such as "rank 13 on host001, rank 61 on host007 take longer for their own part of a step"."""
    names = _names(finding)
    title = finding.title
    if len(names) > 1:
        verb, rest = title.split(" ", 1)
        title = f"{_PLURALS.get(verb, verb)} {rest}"
        for one, many in ((" its own ", " their own "), (" its host ", " their host "), (" its GPU", " their GPU")):
            title = title.replace(one, many)
    return f"{who(finding)} {title}"


def _names(finding: Finding) -> list[str]:
    if not finding.hosts:
        return [rank.name() for rank in finding.ranks]
    rest = [rank for rank in finding.ranks if rank.host not in finding.hosts]
    return [f"host {host}" for host in finding.hosts] + [rank.name() for rank in rest]


def who(finding: Finding) -> str:
    names = _names(finding)
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _on_all(saving_ns: float) -> str:
    ms = f"{saving_ns / 1e6:.2f}"
    return "; nothing on all ranks, which wait for others" if ms == "0.00" else f"; up to {ms} ms on all ranks"


def facts_of(one: Finding) -> list[tuple[str, str]]:
    """What stands below a finding's title: a name and a sentence for each."""
    facts = [("line", one.site)] if one.site else []
    facts.append(("these", _shown(one.these, one.unit)))
    facts.append(("others", f"{_shown(one.others, one.unit)}; robust z {_z(one.z)}"))
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


def ranks_of(fleet: dict[str, Any]) -> str:
    """8 compared, on 2 hosts"""
    on = f", on {counted(fleet['hosts'], 'host')}"
    return f"{fleet['ranks']} compared{on}" if fleet["is_compared"] else counted(fleet["ranks"], "rank") + on


def nothing_differs(fleet: dict[str, Any]) -> str:
    """Why there are no findings."""
    if fleet["is_compared"]:
        return "No rank differs from the others."
    return (
        f"Not compared: {counted(fleet['ranks'], 'rank')} with steps {'is' if fleet['ranks'] == 1 else 'are'} too few "
        f"to tell what is usual. It takes {fleet['fewest_ranks']}. `turnpike diff` compares two runs."
    )


def as_text(result: dict[str, Any], findings: list[Finding]) -> str:
    """For a terminal. The same facts as the JSON."""
    fleet = result["fleet"]
    lines = [
        "TURNPIKE FLEET",
        f"  ranks     {ranks_of(fleet)}; {counted(fleet['processes'], 'process')} in all",
    ]
    if result["incomplete"] is not None:
        lines.insert(1, f"  INCOMPLETE: {result['incomplete']['reason']}.")
    if fleet["median_step_ns"] is not None:
        lines.append(f"  step      {fleet['median_step_ns'] / 1e6:.2f} ms (median of the ranks)")
    for job, missing in result["missing_ranks"].items():
        lines.append(f"  MISSING   of {job}: rank {numbers(missing)}. What they did is not in what follows.")
    for one in result["unreadable"]:
        lines.append(f"  MISSING   {one}")
    for loss in result["losses"]:
        lines.append(f"  LOST      {loss['loss']}: {loss['count']}, in {counted(loss['processes'], 'process')}")
    for group in result.get("groups", []):
        name = ", ".join(_group_name(key, value) for key, value in group["key"].items())
        lines.append(
            f"  GROUP     {name}: {counted(group['ranks'], 'rank')}, a step {group['step_ns'] / 1e6:.2f} ms, "
            f"of it their own part {group['own_ns'] / 1e6:.2f} ms (medians); slowest {_name_of(group['slowest'])}"
        )
    lines += ["", "WHAT DIFFERS" if findings else nothing_differs(fleet)]
    for number, one in enumerate(findings, 1):
        lines.append(f"  {number}  {sentence(one)} [{one.rule}]")
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
