"""Words for ranks and numbers, in the text, the page and the JSON."""

from __future__ import annotations

from typing import Any

from turnpike._fleet.figures import Rank


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


def rank_json(rank: Rank) -> dict[str, Any]:
    """As in docs/howto/many_gpus.md."""
    return {"rank": rank.rank, "host": rank.host, "pid": rank.pid, "job": rank.job, "gpu": rank.gpu, "pci": rank.pci}


def name_of(rank: dict[str, Any]) -> str:
    """Of a rank in the JSON."""
    return f"rank {rank['rank']}" if rank["rank"] is not None else f"process {rank['pid']}"
