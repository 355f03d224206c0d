"""tp.move_stats, tp.configure_move and tp.release_pinned: what the engine did, and what it may take."""

from __future__ import annotations

import dataclasses

from turnpike._move import engine as _engine


@dataclasses.dataclass(frozen=True)
class Traffic:
    """What the engine copied in one direction since it was opened."""

    transfers: int = 0
    bytes: int = 0
    staged_bytes: int = 0
    """Of pageable memory, through the engine's page-locked memory."""
    packed_pieces: int = 0
    """Blocks that shared a copy with others."""
    timed_bytes: int = 0
    """Of the transfers of 16 MiB and more, whose rate is worth telling."""
    timed_ns: int = 0
    """How long these took, with what they waited for."""

    @property
    def gbps(self) -> float | None:
        """10^9 bytes a second over the large transfers; None when there was none."""
        return self.timed_bytes / self.timed_ns if self.timed_ns else None


@dataclasses.dataclass(frozen=True, repr=False)
class MoveStats:
    """What Turnpike's engine moved in this process. What was left to PyTorch is not in it."""

    h2d: Traffic
    d2h: Traffic
    p2p: Traffic
    pinned_bytes: int
    """Page-locked by the engine now."""
    pending: int
    """Transfers that are not done."""
    threads: int
    chunk_bytes: int
    pinned_limit_bytes: int

    def __repr__(self) -> str:
        lines = [f"{'':14}{'transfers':>10}{'bytes':>12}{'staged':>12}{'packed':>8}{'GB/s':>8}"]
        for name, traffic in (("host to GPU", self.h2d), ("GPU to host", self.d2h), ("GPU to GPU", self.p2p)):
            rate = "-" if traffic.gbps is None else f"{traffic.gbps:.1f}"
            lines.append(
                f"{name:14}{traffic.transfers:>10}{_size(traffic.bytes):>12}{_size(traffic.staged_bytes):>12}"
                f"{traffic.packed_pieces:>8}{rate:>8}"
            )
        lines.append(
            f"{self.threads} threads, chunks of {_size(self.chunk_bytes)}; {_size(self.pinned_bytes)} page-locked "
            f"of at most {_size(self.pinned_limit_bytes)}; {self.pending} transfers under way"
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>"


def move_stats() -> MoveStats:
    """What Turnpike's engine moved in this process so far, and how it is set.

    The rate is that of transfers of 16 MiB and more; `turnpike bench link` says what the link can do.
    """
    threads, chunk_bytes, pinned_limit_bytes, *_ = _engine.settings()
    engine = _engine.engine() if _engine.is_open() else None
    counted = {} if engine is None else engine.stats()
    traffic = {name: Traffic(**counted.get(name, {})) for name in ("h2d", "d2h", "p2p")}
    return MoveStats(
        **traffic,
        pinned_bytes=counted.get("pinned_bytes", 0),
        pending=counted.get("pending", 0),
        threads=threads,
        chunk_bytes=chunk_bytes,
        pinned_limit_bytes=pinned_limit_bytes,
    )


def configure_move(
    *, threads: int | None = None, chunk_bytes: int | None = None, pinned_bytes: int | None = None
) -> None:
    """Sets how the engine works, from now on; what is not given stays as it is. Waits for what is under way.

    threads: that copy between pageable and page-locked memory, 1 to 64.
    chunk_bytes: how much one of them copies at a time.
    pinned_bytes: the most page-locked memory that the engine takes; at least two chunks.

    Raises turnpike.Error for settings out of range; before the first transfer, that transfer does.
    """
    old = _engine.settings()
    _engine.configure(
        (
            old[0] if threads is None else threads,
            old[1] if chunk_bytes is None else chunk_bytes,
            old[2] if pinned_bytes is None else pinned_bytes,
            *old[3:],
        )
    )


def release_pinned() -> int:
    """Gives the engine's page-locked memory that is not in use back to the system, and returns how many bytes.

    It is taken again when a transfer needs it.
    """
    engine = _engine.engine() if _engine.is_open() else None
    return 0 if engine is None else engine.release_pinned()


def _size(size_bytes: int) -> str:
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
