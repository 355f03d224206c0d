"""tp.move_stats, tp.configure_move and tp.release_pinned: what the engine did, and what it may take."""

from __future__ import annotations

import dataclasses
import re

from turnpike import _core
from turnpike._move import arena, born, pool
from turnpike._move import engine as _engine


@dataclasses.dataclass(frozen=True)
class Traffic:
    """What the engine copied in one direction since it was opened."""

    transfers: int = 0
    """Number of transfers."""
    bytes: int = 0
    """Bytes transferred."""
    staged_bytes: int = 0
    """Bytes from or to pageable memory, staged in the engine's pinned memory."""
    packed_pieces: int = 0
    """Blocks that shared a copy with others."""
    timed_bytes: int = 0
    """Bytes of the transfers of 16 MiB and more, from which the rate is computed."""
    timed_ns: int = 0
    """Time that these took, waits included."""

    @property
    def gbps(self) -> float | None:
        """Rate of the large transfers in 1e9 bytes per second; None if there were none."""
        return self.timed_bytes / self.timed_ns if self.timed_ns else None


@dataclasses.dataclass(frozen=True)
class LoaderBatches:
    """Batches of DataLoaders that `prefetch()` had created in pinned shared memory."""

    batches: int = 0
    """Batches created there."""
    elsewhere: int = 0
    """Batches of the same loaders for which there was no room, in whole or in part."""
    locked_bytes: int = 0
    """Memory pinned for them now; not part of `pinned_bytes`."""


@dataclasses.dataclass(frozen=True, repr=False)
class MoveStats:
    """What Turnpike's engine moved in this process, without what it left to PyTorch."""

    h2d: Traffic
    """From host to GPU."""
    d2h: Traffic
    """From GPU to host."""
    p2p: Traffic
    """From GPU to GPU."""
    pinned_bytes: int
    """Memory that the engine has pinned now."""
    pending: int
    """Transfers in flight."""
    threads: int
    """Threads that copy between pageable and pinned memory."""
    chunk_bytes: int
    """How much one of them copies at a time."""
    pinned_limit_bytes: int
    """The most that the engine pins."""
    results_bytes: int
    """Memory pinned for results on the host, in use or kept by PyTorch for the next."""
    results_limit_bytes: int
    """The most that results take."""
    loader: LoaderBatches = LoaderBatches()
    """Batches of DataLoaders."""

    def __repr__(self) -> str:
        lines = [f"{'':14}{'transfers':>10}{'bytes':>12}{'staged':>12}{'packed':>8}{'GB/s':>8}"]
        for name, traffic in (("host to GPU", self.h2d), ("GPU to host", self.d2h), ("GPU to GPU", self.p2p)):
            rate = "-" if traffic.gbps is None else f"{traffic.gbps:.1f}"
            lines.append(
                f"{name:14}{traffic.transfers:>10}{_size(traffic.bytes):>12}{_size(traffic.staged_bytes):>12}"
                f"{traffic.packed_pieces:>8}{rate:>8}"
            )
        if self.results_limit_bytes:
            taken, limit = _size(self.results_bytes), _size(self.results_limit_bytes)
            lines.append(f"{taken} page-locked for results, of at most {limit}")
        lines.append(
            f"{self.threads} threads, chunks of {_size(self.chunk_bytes)}; {_size(self.pinned_bytes)} page-locked "
            f"of at most {_size(self.pinned_limit_bytes)}; {self.pending} transfers under way"
        )
        if self.loader.batches or self.loader.elsewhere:
            lines.append(
                f"{self.loader.batches} batches made in {_size(self.loader.locked_bytes)} of page-locked memory, "
                f"{self.loader.elsewhere} elsewhere"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>"


def move_stats() -> MoveStats:
    """Returns what Turnpike's engine has moved in this process so far, and its settings.

    Rates are those of transfers of 16 MiB and more. `turnpike bench link` measures what the link can do.
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
        loader=LoaderBatches(**dataclasses.asdict(arena.counts)),
        results_bytes=pool.taken_bytes(),
        results_limit_bytes=pool.limit_bytes(),
    )


_MOST_THREADS = 64
_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def configure_move(
    *,
    threads: int | None = None,
    chunk_bytes: int | str | None = None,
    pinned_bytes: int | str | None = None,
    batch_bytes: int | str | None = None,
    results_bytes: int | str | None = None,
) -> None:
    """Changes the settings of the engine from now on. Waits for transfers in flight.

    Settings that are not given stay as they are. Sizes are numbers of bytes, or texts as "1 GB" or "64 MiB".

    Args:
        threads: Threads that copy between pageable and pinned memory, 1 to 64.
        chunk_bytes: How much one of them copies at a time.
        pinned_bytes: The most pinned memory that the engine takes; at least two chunks.
        batch_bytes: The most pinned shared memory for the batches of one DataLoader that `prefetch()` iterates over
            from now on. The default is an eighth of the system's memory; with 0, batches are created where PyTorch
            creates them.
        results_bytes: The most pinned memory for results of 1 MiB and more on the host, which is used again when they
            are gone; by default 0. Sizes are rounded up to a power of two. From the second download on it is as fast
            as the link. But if you upload such a result with non_blocking=True, you must not change it until that
            copy has run.

    Raises:
        turnpike.Error: A setting is out of range. Before the first transfer, that transfer raises it if the chunks do
            not fit into the pinned memory.
        TypeError: A size is neither a whole number nor a text.
        ValueError: A text is no size.
    """
    if threads is not None and not 1 <= threads <= _MOST_THREADS:
        raise _core.Error(f"threads is {threads}: it must be 1 to {_MOST_THREADS}")
    chunk, pinned = _bytes("chunk_bytes", chunk_bytes), _bytes("pinned_bytes", pinned_bytes)
    batch, results = _bytes("batch_bytes", batch_bytes), _bytes("results_bytes", results_bytes)
    if batch is not None:
        arena.set_limit(batch)
    if results is not None:
        pool.configure(results)
    if threads is chunk is pinned is None:
        return
    _engine.configure(threads, chunk, pinned)


def _bytes(name: str, value: int | str | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]+)", value.strip())
        if found is None or found[2] not in _UNITS:
            raise ValueError(f"{name} {value!r} is no size: write a number of bytes, or a text as '1 GB' or '64 MiB'")
        return round(float(found[1]) * _UNITS[found[2]])
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is a number of bytes, or a text as '1 GB', not {value!r}")
    if value < 0:
        raise _core.Error(f"{name} is {value}: it must be 0 or more")
    return value


def release_pinned() -> int:
    """Gives pinned memory that is not in use back to the system.

    This is memory of the engine and of the batches of DataLoaders. Later transfers take it again if they need it.
    Memory of results that are gone is given back with the rest of PyTorch's cache of pinned memory.

    Returns:
        The number of bytes given back.
    """
    engine = _engine.engine() if _engine.is_open() else None
    return 0 if engine is None else engine.release_pinned() + born.release() + pool.release()


def _size(size_bytes: int) -> str:
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
