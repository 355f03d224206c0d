"""What `turnpike fleet` finds in made-up fleets: detection and false alarms, by the functions that decide.

A healthy fleet of each kind is drawn anew for each seed (fleet_noise.py), and then a fault is planted in it: one slow
rank, one slow host, or half of the ranks, by several parts. Found is what names these ranks and no other; of the half,
what says that these are a part. The false alarms are those of a whole fleet: `slow_rank`, `drift`, and `slow_link` at
four lines.
"""

from __future__ import annotations

import concurrent.futures
import itertools
import os
import sys
from collections.abc import Iterable
from typing import Any

import fleet_noise
import result_file

from turnpike._fleet import splits, times
from turnpike._fleet.outliers import find_by_host
from turnpike._fleet.thresholds import FALSE_ALARMS, LEAST, RULES

RANKS = (16, 64, 1024)
SPREADS = (0.002, 0.005, 0.02, 0.04)
SLOWNESS = (0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 1.0)
LINES = 4
# As the command divides them where all ranks do the same.
OF_RULE = FALSE_ALARMS / len(RULES)


def planted(ranks: int) -> dict[str, set[int]]:
    host = ranks // fleet_noise.RANKS_OF_HOST // 2 * fleet_noise.RANKS_OF_HOST
    return {
        "one rank": {ranks // 3},
        "one host": set(range(host, host + fleet_noise.RANKS_OF_HOST)),
        "every second rank": set(range(0, ranks, 2)),
    }


def named(own: dict[str, list[float]], hosts: dict[str, str]) -> set[int]:
    """Those of `slow_rank`."""
    return {int(one.key) for one in times.slow(own, hosts, OF_RULE)}


def part(own: dict[str, list[float]]) -> set[int]:
    """The slower part of ranks that fall apart; empty: they do not."""
    split = splits.find(times.usual_own(own), LEAST["slow_rank"] * fleet_noise.OWN_NS, OF_RULE)
    return {int(id) for id in split.slower} if split else set()


def has_alarm(own: dict[str, list[float]], hosts: dict[str, str], effects: Iterable[list[float]]) -> bool:
    """Whether anything is found in a healthy fleet. effects: those of the ranks' links at each line."""
    if named(own, hosts) or times.drifting(own, hosts, OF_RULE):
        return True
    rates = [{id: 52 / effect for id, effect in zip(hosts, of_line, strict=True)} for of_line in effects]
    return any(find_by_host(one, hosts, LEAST["slow_link"] * 52, OF_RULE / LINES, side=-1) for one in rates)


def curves(ranks: int, kind: str, spread: float, seeds: int) -> list[dict[str, Any]]:
    """The rows of one kind of fleet."""
    hosts = fleet_noise.hosts(ranks)
    faults = planted(ranks)
    found = {(fault, slowness): 0 for fault, slowness in itertools.product(faults, SLOWNESS)}
    others = dict.fromkeys(found, 0)
    alarms = parted = 0
    for seed in range(seeds):
        own = fleet_noise.minutes(fleet_noise.effects(kind, spread, ranks, seed), seed)
        healthy = fleet_noise.with_fault(own, (), 0)
        of_lines = [fleet_noise.effects(kind, spread, ranks, seeds * (line + 1) + seed) for line in range(LINES)]
        alarms += has_alarm(healthy, hosts, of_lines)
        parted += bool(part(healthy))
        for fault, slowness in found:
            faulty = fleet_noise.with_fault(own, faults[fault], slowness)
            seen = named(faulty, hosts)
            others[fault, slowness] += not seen <= faults[fault]
            found[fault, slowness] += (part(faulty) if fault == "every second rank" else seen) == faults[fault]
    case = f"{ranks} ranks, {kind} of {100 * spread:g} %"
    rows = [
        result_file.row(case, "healthy fleets with a finding", "of fleets", alarms / seeds, samples=seeds,
                        target=FALSE_ALARMS, met=alarms / seeds <= FALSE_ALARMS, parted=parted / seeds)
    ]  # fmt: skip
    for fault in faults:
        share = [found[fault, slowness] / seeds for slowness in SLOWNESS]
        always = [slowness for slowness, of in zip(SLOWNESS, share, strict=True) if of >= 0.9]
        rows.append(
            result_file.row(case, f"{fault} slow: least part that is found in nine fleets of ten", "of a step",
                            min(always, default=None), samples=seeds, slower_by=list(SLOWNESS), found=share,
                            others_named=[others[fault, slowness] / seeds for slowness in SLOWNESS])
        )  # fmt: skip
    return rows


def all_rows(seeds: int) -> list[dict[str, Any]]:
    kinds = list(itertools.product(RANKS, fleet_noise.EFFECTS, SPREADS))
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        tasks = [pool.submit(curves, *kind, seeds) for kind in kinds]
        rows = []
        for kind, task in zip(kinds, tasks, strict=True):
            rows += task.result()
            print(*kind, rows[-4]["value"], [row["found"] for row in rows[-3:]], file=sys.stderr, flush=True)
    return rows
