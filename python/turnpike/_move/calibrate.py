"""tp.calibrate: finds out once with how many threads and how large chunks this machine is fastest."""

from __future__ import annotations

import dataclasses
import sys

from turnpike import _core
from turnpike._move import engine as _engine
from turnpike._move.late import torch


@dataclasses.dataclass(frozen=True)
class CalibrationPoint:
    """What one setting reached. Rates are in 1e9 bytes per second."""

    threads: int
    """Threads that copied between pageable and pinned memory."""
    chunk_bytes: int
    """How much one of them copied at a time."""
    h2d_gbps: float
    """Rate from pageable memory to the GPU."""
    d2h_gbps: float
    """Rate from the GPU to pageable memory."""
    store: str
    """How threads store into slots: "plain", "streaming" or "string"."""


@dataclasses.dataclass(frozen=True)
class Calibration:
    """What `calibrate()` found. Rates are in 1e9 bytes per second."""

    device: int
    """Number of the GPU."""
    device_name: str
    """Its name."""
    threads: int
    """The fastest number of threads."""
    chunk_bytes: int
    """The fastest size of a chunk."""
    h2d_gbps: float
    """Rate from pageable memory to the GPU, with these settings."""
    d2h_gbps: float
    """Rate from the GPU to pageable memory, with these settings."""
    h2d_pinned_gbps: float
    """Rate from pinned memory to the GPU: what the link can do."""
    d2h_pinned_gbps: float
    """Rate from the GPU to pinned memory."""
    points: tuple[CalibrationPoint, ...]
    """All settings that were tried."""


def calibrate(device: torch.device | str | int | None = None, *, progress: bool = True) -> Calibration:
    """Measures which settings are fastest between this host and a GPU, uses them from now on, and keeps them.

    Takes a few seconds and less than 1 GB of host memory. Call it while nothing else runs. The result is kept in the
    user's cache folder for this host and this kind of GPU; later processes start with it.

    Args:
        device: The GPU; by default the current one.
        progress: Whether to show a line on standard error meanwhile.

    Raises:
        turnpike.Error: There is no GPU.
    """
    engine = _engine.engine()
    if engine is None:
        raise _core.Error("turnpike.calibrate() measures the link to a GPU, and PyTorch sees none in this process")
    target = (
        torch.device("cuda") if device is None else torch.device("cuda", device) if isinstance(device, int) else device
    )
    index = _engine.device_of(target).index
    found = engine.calibrate(index, _show if progress else None)
    threads, chunk_bytes, *_ = found.pop("settings")
    points = tuple(CalibrationPoint(**point) for point in found.pop("points"))
    return Calibration(threads=threads, chunk_bytes=chunk_bytes, points=points, **found)


def _show(done: int, of: int) -> None:
    print(f"\rcalibrating: {done} of {of}", end="\n" if done == of else "", file=sys.stderr, flush=True)
