"""What is looked for in a fleet. Each function compares one figure over the ranks."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from turnpike._fleet.figures import Figures, Place, Rank
from turnpike._fleet.outliers import FEWEST, Outlier, Spread, find, spread
from turnpike._fleet.retime import REMOVED, Meetings

# What a finding may be.
RULES = ("slow_rank", "drift", "slow_link", "wrong_pinning", "wrong_numa_node", "diverging_code", "uneven_bytes")
# Of equal figures, a deviation of this part of the median counts as noise.
_NOISE = 0.02
# A host is named instead of its ranks when at least so many of them differ.
_MOST_OF_HOST = 0.75


@dataclass(frozen=True)
class Finding:
    """Ranks that differ from the others in one figure.

    z: robust z of the one that differs most. saving_ns: of a step, on all ranks if `saves_all`, else on these; None
    where it cannot be told. all_saving_ns: of a step on all ranks of the job, re-timed over them; None where they do
    not meet, or do so unseen.
    """

    rule: str
    title: str
    ranks: list[Rank]
    hosts: list[str]  # of which most ranks are among them
    unit: str
    z: float
    these: Spread
    others: Spread
    saving_ns: float | None
    saves_all: bool
    evidence: str
    site: str | None = None
    file: str | None = None
    line: int | None = None
    all_saving_ns: float | None = None


def all_findings(figures: Figures) -> list[Finding]:
    """Most time first, of all ranks together."""
    rules = (_slow_ranks, _drift, _slow_links, _unpinned, _far_memory, _diverging_code, _uneven_bytes)
    meetings = Meetings(figures)
    found = [one for rule in rules for one in rule(figures, meetings)]

    def gain(one: Finding) -> tuple[float, float]:
        on_these = (one.saving_ns or 0) * (len(figures.ranks) if one.saves_all else len(one.ranks))
        return (on_these if one.all_saving_ns is None else one.all_saving_ns * len(figures.ranks), on_these)

    def name(one: Finding) -> tuple[str, str, list[str]]:
        return (one.rule, one.site or "", [rank.name() for rank in one.ranks])

    return sorted(sorted(found, key=name), key=gain, reverse=True)


def is_too_few(figures: Figures) -> bool:
    """Whether the figures come from too few ranks for a median to mean anything."""
    return len(figures.ranks) < FEWEST


def _jobs(figures: Figures) -> list[tuple[str, Rank]]:
    """All processes with the names of their jobs.

    A run that names no job is one by itself, but files of torch.profiler hold a rank each: those are one job which
    have the same process group, different ranks, and recorded at the same time. It goes by the first one's name.
    """
    named: list[tuple[str, Rank]] = []
    joined: list[list[Rank]] = []
    for rank in figures.all_ranks:
        if rank.job is not None or rank.process_group is None or rank.rank is None:
            named.append((rank.job or rank.run, rank))
            continue
        job = next((job for job in joined if all(_is_beside(rank, other) for other in job)), None)
        if job is None:
            job = []
            joined.append(job)
        job.append(rank)
        named.append((job[0].run, rank))
    return named


def _is_beside(a: Rank, b: Rank) -> bool:
    is_alike = (a.world_size, a.process_group) == (b.world_size, b.process_group) and a.rank != b.rank
    if a.start_ns is None or a.end_ns is None or b.start_ns is None or b.end_ns is None:
        return False
    return is_alike and a.start_ns <= b.end_ns and b.start_ns <= a.end_ns


def missing_ranks(figures: Figures) -> dict[str, list[int]]:
    """The ranks below the world size that have no recording, for each job."""
    seen: dict[str, set[int]] = defaultdict(set)
    size: dict[str, int] = defaultdict(int)
    for job, rank in _jobs(figures):
        if rank.rank is not None:
            seen[job].add(rank.rank)
        size[job] = max(size[job], rank.world_size or 0)
    missing = {job: sorted(set(range(size[job])) - ranks) for job, ranks in seen.items()}
    return {job: ranks for job, ranks in missing.items() if ranks}


def losses(figures: Figures) -> list[tuple[str, int, int]]:
    """Each kind of loss with its count and how many processes have it."""
    query = """SELECT loss, sum("count"), count(DISTINCT process) FROM rollups JOIN files USING (filename)
        WHERE what = 'loss' GROUP BY loss ORDER BY loss"""
    return [(str(name), int(count), int(of)) for name, count, of in figures.rows(query)]


def _hosts_of(ids: set[str], figures: Figures) -> list[str]:
    of_host = Counter(rank.host for rank in figures.ranks.values() if rank.host)
    these = Counter(host for id in ids if (host := figures.ranks[id].host))
    return sorted(host for host, count in these.items() if count > 1 and count >= _MOST_OF_HOST * of_host[host])


def _finding(
    figures: Figures,
    rule: str,
    title: str,
    values: dict[str, float],
    outliers: list[Outlier],
    unit: str,
    evidence: str,
    saving_ns: float | None,
    all_saving_ns: float | None,
    saves_all: bool = False,
    place: Place | None = None,
) -> Finding:
    ids = {one.key for one in outliers}
    return Finding(
        rule, title, [rank for id, rank in figures.ranks.items() if id in ids], _hosts_of(ids, figures), unit,
        max((one.z for one in outliers), key=abs), spread([values[id] for id in ids]),
        spread([value for id, value in values.items() if id not in ids]), saving_ns, saves_all, evidence,
        place.key[0] if place else None, place.file if place else None, place.line if place else None,
        all_saving_ns,
    )  # fmt: skip


def _slow_ranks(figures: Figures, meetings: Meetings) -> Iterator[Finding]:
    values = {id: rank.own_ns for id, rank in figures.ranks.items()}
    if not values:
        return
    median = statistics.median(values.values())
    slow = [one for one in find(values, _NOISE * median, 0.05 * median) if one.z > 0]
    if not slow:
        return
    ids = {one.key for one in slow}
    meets = any(rank.collective_ns for rank in figures.ranks.values())
    # The slowest of the others is no faster than they are at the median: so with these like the others, or without.
    retimed = meetings.gain_ns(ids, lambda _, __: REMOVED)
    saving = max(values.values()) - max(value for id, value in values.items() if id not in ids)
    waits = [
        (figures.ranks[id].collective_ns or 0) / figures.ranks[id].steps for id in values if id not in ids
    ]  # fmt: skip
    evidence = (
        f"the other {len(waits)} ranks spend {statistics.median(waits) / 1e6:.2f} ms of a step in collectives, "
        "where they wait for it"
        if meets
        else "no collectives were recorded: its own steps are longer"
    )
    yield _finding(figures, "slow_rank", "takes longer for its own part of a step", values, slow, "ns a step",
                   evidence, saving if retimed is None else retimed, retimed, saves_all=meets)  # fmt: skip


def _drift(figures: Figures, meetings: Meetings) -> Iterator[Finding]:
    """The last quarter of the minutes against the first one; the first and the last minute are not whole."""
    of_rank: dict[str, dict[int, float]] = defaultdict(dict)
    for id, minute, steps, own_ns in figures.rows("SELECT id, minute_ns, steps, own_ns FROM minutes ORDER BY ALL"):
        of_rank[id][minute] = float(own_ns) / float(steps)
    values, before = {}, {}
    for id, minutes in of_rank.items():
        whole = list(minutes.values())[1:-1]
        quarter = len(whole) // 4
        if quarter >= 1:
            before[id] = statistics.median(whole[:quarter])
            values[id] = statistics.median(whole[-quarter:]) / before[id]
    drifting = [one for one in find(values, _NOISE, 0.1) if one.z > 0]
    if drifting:
        growth = {one.key: one.value - 1 for one in drifting}
        saving = max(figures.ranks[id].own_ns * part / 2 for id, part in growth.items())
        retimed = meetings.gain_ns(set(growth), lambda id, minute: max(0.0, of_rank[id][minute] - before[id]))
        yield _finding(figures, "drift", "gets slower over time", values, drifting, "times as long at the end",
                       "its own part of a step, the last quarter of the time against the first",
                       saving, retimed)  # fmt: skip


def _delays(figures: Figures, column: str, place: Place, ids: set[str]) -> dict[str, float]:
    """By how much a column of times is more on each of these ranks than on the others at the median, of a step."""
    of_rank = {
        id: float(value)
        for id, value in figures.rows(
            f"SELECT id, sum({column}) / steps FROM sites WHERE site = {_quoted(place.key[0])} "
            f"AND direction = {_quoted(place.key[1])} GROUP BY id, steps HAVING sum({column}) IS NOT NULL ORDER BY ALL"
        )
    }
    others = [value for id, value in of_rank.items() if id not in ids]
    return {id: value - statistics.median(others) for id, value in of_rank.items() if id in ids} if others else {}


def _savings(delays: dict[str, float], meetings: Meetings) -> tuple[float, float | None]:
    """Without these delays: of a step on the ranks that have them, at the median, and on all ranks."""
    if not delays:
        return 0.0, None
    on_all = meetings.gain_ns(set(delays), lambda id, _: max(0.0, delays[id]))
    return max(0.0, statistics.median(delays.values())), on_all


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _at_places(
    figures: Figures,
    places: Iterator[Place],
    is_wanted: Callable[[Outlier, float], bool],
    floor: Callable[[float], float],
    least: Callable[[float], float],
) -> Iterator[tuple[Place, list[Outlier]]]:
    for place in places:
        if len(place.values) < len(figures.ranks) / 2:
            continue
        median = statistics.median(place.values.values())
        found = [one for one in find(place.values, floor(median), least(median)) if is_wanted(one, median)]
        if found:
            yield place, found


def _slow_links(figures: Figures, meetings: Meetings) -> Iterator[Finding]:
    """Against the others with the same line, direction, memory, GPU and class of size: all that sets a rate."""
    places = figures.by_place(
        "sum(timed_bytes) / nullif(sum(device_time_ns), 0)",
        "site, direction, host_memory, gpu",
        "bytes >= 1e6 * \"count\" AND direction IN ('h2d', 'd2h', 'p2p')",
    )
    slow = _at_places(figures, places, lambda one, _: one.z < 0, lambda m: _NOISE * m, lambda m: 0.15 * m)
    for place, found in slow:
        ids = {one.key for one in found}
        exposed = _delays(figures, "exposed_ns", place, ids)
        delays = {
            id: min(delay, exposed.get(id, 0.0))
            for id, delay in _delays(figures, "device_time_ns", place, ids).items()
        }  # fmt: skip
        yield _finding(figures, "slow_link", f"copies {place.key[1]} more slowly than the others", place.values, found,
                       "GB/s", _link_evidence(figures, ids), *_savings(delays, meetings), place=place)  # fmt: skip


def _link_evidence(figures: Figures, ids: set[str]) -> str:
    def links(ranks: list[Rank]) -> str:
        seen = Counter((rank.pcie_generation, rank.pcie_width) for rank in ranks)
        (generation, width), _ = seen.most_common(1)[0]
        return f"PCIe {generation} x{width}" if generation and width else "unknown"

    these = links([rank for id, rank in figures.ranks.items() if id in ids])
    others = links([rank for id, rank in figures.ranks.items() if id not in ids])
    if these == others:
        return f"their link is as that of the others: {these}"
    return f"their link: {these}, that of the others: {others}"


def _unpinned(figures: Figures, meetings: Meetings) -> Iterator[Finding]:
    places = figures.by_place(
        "coalesce(sum(bytes) FILTER (host_memory = 'pageable'), 0) / nullif(sum(bytes), 0)",
        where="direction IN ('h2d', 'd2h') AND bytes >= 65536 * \"count\"",
    )
    found_places = _at_places(figures, places, lambda one, _: one.z > 0, lambda _: 0.05, lambda _: 0.5)
    for place, found in found_places:
        ids = {one.key for one in found}
        yield _finding(figures, "wrong_pinning", "copies pageable memory where the others copy pinned memory",
                       place.values, found, "of the bytes pageable",
                       "the same line: look at pin_memory and at the limit of locked memory (ulimit -l)",
                       *_savings(_delays(figures, "host_blocked_ns", place, ids), meetings), place=place)  # fmt: skip


def _far_memory(figures: Figures, meetings: Meetings) -> Iterator[Finding]:
    places = figures.by_place("sum(far_bytes) / nullif(sum(node_bytes), 0)", where="node_bytes > 0")
    for place, found in _at_places(figures, places, lambda one, _: one.z > 0, lambda _: 0.05, lambda _: 0.5):
        ids = {one.key for one in found}
        nodes = sorted({str(rank.gpu_node) for id, rank in figures.ranks.items() if id in ids})
        yield _finding(figures, "wrong_numa_node", "has its host memory on another NUMA node than its GPU",
                       place.values, found, "of the bytes far away",
                       f"start it with numactl --cpunodebind={nodes[0]} --membind={nodes[0]}",
                       *_savings(_delays(figures, "exposed_ns", place, ids), meetings), place=place)  # fmt: skip


def _diverging_code(figures: Figures, meetings: Meetings) -> Iterator[Finding]:
    for place in figures.by_place('sum("count") / steps', where="direction <> 'memset'"):
        values = {id: place.values.get(id, 0.0) for id in figures.ranks}
        median = statistics.median(values.values())
        found = find(values, _NOISE * median + 0.0005, max(0.2 * median, 0.005))
        if not found:
            continue
        ids = {one.key for one in found}
        what = "synchronises" if place.key[1] == "sync" else f"copies {place.key[1]}"
        how = "more often" if found[0].z > 0 else "less often"
        # A rank that alone has the line has nothing to compare its time with.
        savings: tuple[float | None, float | None] = (None, None)
        if ids <= set(place.values):
            savings = _savings(_delays(figures, "host_blocked_ns", place, ids), meetings)
        yield _finding(figures, "diverging_code", f"{what} {how} than the others", values, found, "times a step",
                       "the same program does not do the same on all ranks, e.g. only rank 0 logs",
                       *savings, place=place)  # fmt: skip


def _uneven_bytes(figures: Figures, meetings: Meetings) -> Iterator[Finding]:
    places = figures.by_place("sum(bytes) / steps", where="direction IN ('h2d', 'd2h', 'p2p')")
    uneven = _at_places(figures, places, lambda _, m: m >= 1e5, lambda m: _NOISE * m, lambda m: 0.2 * m)
    for place, found in uneven:
        ids = {one.key for one in found}
        yield _finding(figures, "uneven_bytes", f"moves {'more' if found[0].z > 0 else 'fewer'} bytes {place.key[1]}",
                       place.values, found, "bytes a step", "batches of different sizes",
                       *_savings(_delays(figures, "exposed_ns", place, ids), meetings), place=place)  # fmt: skip
