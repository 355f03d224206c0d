"""Ranks that move data otherwise than those that do the same, at one line of the program."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from turnpike._fleet import finding
from turnpike._fleet.figures import Place, Rank
from turnpike._fleet.finding import Finding, Gain, Search
from turnpike._fleet.outliers import Outlier, find, find_by_host
from turnpike._fleet.thresholds import LEAST

# Copies of less say nothing of a link's rate.
_LINK_BYTES = 1e6
# Uneven batches of less a step cost nothing.
_UNEVEN_BYTES = 1e5
# How often a line does something must differ by so much a step: what happens every thousand steps may fall out.
_LEAST_TIMES = 0.005


def _of_cohort(places: list[Place], search: Search) -> list[Place]:
    """Those that at least half of the ranks have."""
    ids = search.cohort.ranks
    these = [replace(place, values={id: v for id, v in place.values.items() if id in ids}) for place in places]
    return [place for place in these if len(place.values) >= len(ids) / 2]


def _at_places(
    places: list[Place], search: Search, find_at: Callable[[Place, float], list[Outlier]]
) -> Iterator[tuple[Place, list[Outlier]]]:
    """The false alarms that are left to the rule are divided over the places."""
    for place in places:
        found = find_at(place, search.false_alarms / len(places))
        if found:
            yield place, found


def _delays(search: Search, column: str, place: Place, ids: set[str]) -> dict[str, float]:
    """By how much a column of times is more on each of these ranks than on the others at the median, of a step."""
    of_rank = {
        id: float(value)
        for id, value in search.figures.rows(
            f"SELECT id, sum({column}) / steps FROM sites WHERE site = {_quoted(place.key[0])} "
            f"AND direction = {_quoted(place.key[1])} GROUP BY id, steps HAVING sum({column}) IS NOT NULL ORDER BY ALL"
        )
        if id in search.cohort.ranks
    }
    others = [value for id, value in of_rank.items() if id not in ids]
    return {id: value - statistics.median(others) for id, value in of_rank.items() if id in ids} if others else {}


def _gain(delays: dict[str, float], search: Search) -> Gain:
    """Without these delays: of a step on the ranks that have them, at the median, and on all ranks."""
    if not delays:
        return Gain(0.0, None)
    on_all = search.meetings.gain_ns(set(delays), lambda id, _: max(0.0, delays[id]))
    return Gain(max(0.0, statistics.median(delays.values())), on_all)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def slow_link(search: Search) -> Iterator[Finding]:
    """Against the others with the same line, direction, memory, GPU and class of size: all that sets a rate."""
    places = search.figures.by_place(
        "sum(timed_bytes) / nullif(sum(device_time_ns), 0)",
        "site, direction, host_memory, gpu",
        f"bytes >= {_LINK_BYTES} * \"count\" AND direction IN ('h2d', 'd2h', 'p2p')",
    )
    hosts = search.cohort.hosts()

    def find_at(place: Place, false_alarms: float) -> list[Outlier]:
        least = LEAST["slow_link"] * statistics.median(place.values.values())
        return find_by_host(place.values, hosts, least, false_alarms, side=-1)

    for place, found in _at_places(_of_cohort(places, search), search, find_at):
        ids = {one.key for one in found}
        exposed = _delays(search, "exposed_ns", place, ids)
        delays = {
            id: min(delay, exposed.get(id, 0.0))
            for id, delay in _delays(search, "device_time_ns", place, ids).items()
        }  # fmt: skip
        yield finding.make(search, "slow_link", f"copies {place.key[1]} more slowly than the others", place.values,
                           found, "GB/s", _link_evidence(search, ids), _gain(delays, search), place)  # fmt: skip


def _link_evidence(search: Search, ids: set[str]) -> str:
    def links(ranks: list[Rank]) -> str:
        seen = Counter((rank.pcie_generation, rank.pcie_width) for rank in ranks)
        (generation, width), _ = seen.most_common(1)[0]
        return f"PCIe {generation} x{width}" if generation and width else "unknown"

    these = links([rank for id, rank in search.cohort.ranks.items() if id in ids])
    others = links([rank for id, rank in search.cohort.ranks.items() if id not in ids])
    if these == others:
        return f"their link is as that of the others: {these}"
    return f"their link: {these}, that of the others: {others}"


def wrong_pinning(search: Search) -> Iterator[Finding]:
    """Pageable memory at a line where the others have pinned memory."""
    places = search.figures.by_place(
        "coalesce(sum(bytes) FILTER (host_memory = 'pageable'), 0) / nullif(sum(bytes), 0)",
        where="direction IN ('h2d', 'd2h') AND bytes >= 65536 * \"count\"",
    )
    for place, found in _at_places(_of_cohort(places, search), search, _more_by_a_part("wrong_pinning")):
        delays = _delays(search, "host_blocked_ns", place, {one.key for one in found})
        yield finding.make(search, "wrong_pinning", "copies pageable memory where the others copy pinned memory",
                           place.values, found, "of the bytes pageable",
                           "the same line: look at pin_memory and at the limit of locked memory (ulimit -l)",
                           _gain(delays, search), place)  # fmt: skip


def wrong_numa_node(search: Search) -> Iterator[Finding]:
    """Host memory on another NUMA node than the GPU's, where that of the others is on the same."""
    places = search.figures.by_place("sum(far_bytes) / nullif(sum(node_bytes), 0)", where="node_bytes > 0")
    for place, found in _at_places(_of_cohort(places, search), search, _more_by_a_part("wrong_numa_node")):
        ids = {one.key for one in found}
        nodes = sorted({str(search.cohort.ranks[id].gpu_node) for id in ids})
        yield finding.make(search, "wrong_numa_node", "has its host memory on another NUMA node than its GPU",
                           place.values, found, "of the bytes far away",
                           f"start it with numactl --cpunodebind={nodes[0]} --membind={nodes[0]}",
                           _gain(_delays(search, "exposed_ns", place, ids), search), place)  # fmt: skip


def _more_by_a_part(rule: str) -> Callable[[Place, float], list[Outlier]]:
    """Of a figure that is itself a part of the bytes."""
    return lambda place, false_alarms: find(place.values, LEAST[rule], false_alarms, side=1)


def diverging_code(search: Search) -> Iterator[Finding]:
    """A line that some ranks run more or less often than the others. Ranks that lack the line run it never."""
    ids_of_all = search.cohort.ranks
    places = search.figures.by_place('sum("count") / steps', where="direction <> 'memset'")
    here = [place for place in places if place.values.keys() & ids_of_all.keys()]
    for own in here:
        place = replace(own, values={id: own.values.get(id, 0.0) for id in ids_of_all})
        least = max(LEAST["diverging_code"] * statistics.median(place.values.values()), _LEAST_TIMES)
        found = find(place.values, least, search.false_alarms / len(here))
        if not found:
            continue
        ids = {one.key for one in found}
        what = "synchronises" if place.key[1] == "sync" else f"copies {place.key[1]}"
        how = "more often" if found[0].z > 0 else "less often"
        # A rank that alone has the line has nothing to compare its time with.
        is_with_others = ids <= set(own.values)
        gain = _gain(_delays(search, "host_blocked_ns", place, ids), search) if is_with_others else Gain(None, None)
        yield finding.make(search, "diverging_code", f"{what} {how} than the others", place.values, found,
                           "times a step", "the same program does not do the same on all ranks, e.g. only rank 0 logs",
                           gain, place)  # fmt: skip


def uneven_bytes(search: Search) -> Iterator[Finding]:
    """Ranks that move more or fewer bytes in a step."""
    places = search.figures.by_place("sum(bytes) / steps", where="direction IN ('h2d', 'd2h', 'p2p')")

    def find_at(place: Place, false_alarms: float) -> list[Outlier]:
        median = statistics.median(place.values.values())
        if median < _UNEVEN_BYTES:
            return []
        return find(place.values, LEAST["uneven_bytes"] * median, false_alarms)

    for place, found in _at_places(_of_cohort(places, search), search, find_at):
        delays = _delays(search, "exposed_ns", place, {one.key for one in found})
        title = f"moves {'more' if found[0].z > 0 else 'fewer'} bytes {place.key[1]}"
        yield finding.make(search, "uneven_bytes", title, place.values, found, "bytes a step",
                           "batches of different sizes", _gain(delays, search), place)  # fmt: skip
