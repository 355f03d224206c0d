"""Turnpike: every transfer between CPU and GPU in a PyTorch program, with the line that caused it and what it costs.

From the program itself; with no change to it: turnpike record -- python train.py

    import turnpike as tp
    with tp.record("run.tpk"):
        train()
    print(tp.report("run.tpk"))
"""

from turnpike._core import Error, __version__
from turnpike._report import (
    Device,
    Finding,
    HostThread,
    MemoryUse,
    RangeVerdict,
    Report,
    Site,
    Source,
    Steps,
    Syncs,
    SyncSite,
    Total,
    Verdict,
    report,
)
from turnpike._session import is_recording, record, start, stop

__all__ = [
    "Device",
    "Error",
    "Finding",
    "HostThread",
    "MemoryUse",
    "RangeVerdict",
    "Report",
    "Site",
    "Source",
    "Steps",
    "SyncSite",
    "Syncs",
    "Total",
    "Verdict",
    "__version__",
    "is_recording",
    "record",
    "report",
    "start",
    "stop",
]
