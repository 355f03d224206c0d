"""Which ranks were compared with each other, as text and as JSON."""

from __future__ import annotations

from typing import Any

from turnpike._fleet.cohorts import Role
from turnpike._fleet.comparison import Compared
from turnpike._fleet.figures import Rank
from turnpike._fleet.splits import Split
from turnpike._fleet.thresholds import LEAST
from turnpike._fleet.words import counted, name_of, numbers, rank_json

# Of each kind of line; the JSON has them all.
_MOST = 4
_SHORT = 24  # letters of a list of ranks


def compared_json(one: Compared) -> dict[str, Any]:
    """As in docs/howto/many_gpus.md."""
    return {
        "job": one.cohort.job or None,
        "gpu": one.cohort.gpu,
        "role": _role_json(one.cohort.role),
        "ranks": len(one.cohort.ranks),
        "numbers": _numbers(list(one.cohort.ranks.values())),
        "is_compared": one.cohort.is_compared,
        "own_ns": round(one.own_ns),
        "slowest": rank_json(one.slowest),
        "slowest_pct": round(100 * one.slowness, 2),
        "least_slowness_pct": None if one.least_slowness is None else round(100 * one.least_slowness, 2),
        "split": _split_json(one.split, one.cohort.ranks),
    }


def _role_json(role: Role | None) -> dict[str, float] | None:
    if role is None:
        return None
    return {
        "kernels": round(role.kernels, 2), "collectives": round(role.collectives, 2), "sends": round(role.sends, 2)
    }  # fmt: skip


def _split_json(split: Split | None, ranks: dict[str, Rank]) -> dict[str, Any] | None:
    if split is None:
        return None
    return {
        "slower": [rank_json(ranks[id]) for id in sorted(split.slower, key=int)],
        "faster_ranks": len(split.faster),
        "slower_pct": round(100 * split.slowness, 2),
    }


def _numbers(ranks: list[Rank]) -> list[int]:
    return sorted(rank.rank for rank in ranks if rank.rank is not None)


def facts_of(result: dict[str, Any]) -> list[tuple[str, str]]:
    """What a reader must know of the comparison: a name and a sentence for each. Nothing if all ranks do the same."""
    compared = result["compared"]
    facts = []
    if len(compared) > 1:
        shared = {key for key in ("job", "gpu", "role") if all(one[key] == compared[0][key] for one in compared)}
        said = [(one["is_compared"], _told_apart(one, shared)) for one in compared]
        facts += _shortened("COMPARED", [one for is_compared, one in said if is_compared])
        facts += _shortened("ALONE", [f"{one}; too few do the same" for is_compared, one in said if not is_compared])
    facts += _shortened("PARTED", [_parted(one) for one in compared if one["split"]])
    facts += _shortened("SPREAD", [_spread(one) for one in compared if _is_spread(one, result["findings"])])
    return facts


def _shortened(name: str, said: list[str]) -> list[tuple[str, str]]:
    rest = len(said) - _MOST
    return [(name, one) for one in said[:_MOST]] + ([(name, f"and {rest} more, see --json")] if rest > 0 else [])


def _told_apart(one: dict[str, Any], shared: set[str]) -> str:
    """8 ranks (0-7) of job17 on H100 with 812 kernels, 48 collectives a step: their own part takes 90.00 ms"""
    of = numbers(one["numbers"])
    words = counted(one["ranks"], "rank") + (f" ({of})" if 0 < len(of) <= _SHORT else "")
    words += f" of {one['job']}" if one["job"] and "job" not in shared else ""
    words += f" on {one['gpu']}" if one["gpu"] and "gpu" not in shared else ""
    words += f" {_does(one['role'])}" if "role" not in shared else ""
    return f"{words}: their own part takes {one['own_ns'] / 1e6:.2f} ms a step"


def _does(role: dict[str, float] | None) -> str:
    if role is None:
        return "without kernels"
    parts = [f"{role['kernels']:.4g} kernels", f"{role['collectives']:.4g} collectives"]
    parts += [f"{role['sends']:.4g} sends and receives"] if role["sends"] else []
    return f"with {', '.join(parts)}"


def _parted(one: dict[str, Any]) -> str:
    split = one["split"]
    ranks = [rank["rank"] for rank in split["slower"] if rank["rank"] is not None]
    who = f"rank {numbers(sorted(ranks))}" if ranks else counted(len(split["slower"]), "process")
    hosts = sorted({rank["host"] for rank in split["slower"] if rank["host"]})
    on = f" (on {', '.join(hosts[:_MOST])}{' and more' if len(hosts) > _MOST else ''})" if hosts else ""
    return (
        f"two parts: {who}{on} take{'s' if len(split['slower']) == 1 else ''} {split['slower_pct']:.1f} % longer for "
        f"their own part of a step than the other {split['faster_ranks']} of {counted(one['ranks'], 'rank')}. "
        + ("Which part is as it should be, " if one["role"] else "Whether these have another role, ")
        + "the recordings do not tell"
    )


def _is_spread(one: dict[str, Any], findings: list[dict[str, Any]]) -> bool:
    """Whether the slowest rank is slow enough to matter, but is not named."""
    named = [rank for found in findings if found["rule"] in ("slow_rank", "drift") for rank in found["ranks"]]
    return (
        one["is_compared"] and not one["split"] and one["slowest"] not in named
        and one["slowest_pct"] >= 100 * LEAST["slow_rank"]
    )  # fmt: skip


def _spread(one: dict[str, Any]) -> str:
    return (
        f"{name_of(one['slowest'])} takes {one['slowest_pct']:.1f} % longer for its own part of a step than "
        f"{counted(one['ranks'], 'rank')} at the median. That may be chance: these ranks are so far apart that one is "
        f"named from {one['least_slowness_pct']:.1f} % on"
    )
