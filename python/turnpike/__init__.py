"""Turnpike: every transfer between CPU and GPU in a PyTorch program, with the line that caused it and what it costs.

From the program itself; with no change to it: turnpike record -- python train.py

    import turnpike as tp
    with tp.record("run.tpk"):
        train()
    print(tp.report("run.tpk"))

And moves what has to be moved, at the speed of the link:

    batch = tp.to(batch, "cuda")
    for batch in tp.prefetch(loader, "cuda"): ...
"""

try:
    from turnpike._core import Error, __version__
except ModuleNotFoundError as error:
    from turnpike._missing import no_extension

    raise no_extension() from error

TYPE_CHECKING = False  # type checkers take it for true; typing, which has it too, costs more than this module
if TYPE_CHECKING:
    from turnpike._guard.errors import TransferError
    from turnpike._guard.guard import allow, guard
    from turnpike._move.calibrate import Calibration, CalibrationPoint, calibrate
    from turnpike._move.copy import Work, copy_
    from turnpike._move.fetch import Fetched, fetch
    from turnpike._move.pin import pin_, pinned, unpin_
    from turnpike._move.pipeline import pipeline
    from turnpike._move.prefetch import Prefetch, prefetch
    from turnpike._move.scalars import Scalars
    from turnpike._move.stats import LoaderBatches, MoveStats, Traffic, configure_move, move_stats, release_pinned
    from turnpike._move.to import to
    from turnpike._report import (
        Alternative,
        Device,
        Finding,
        HostThread,
        Identity,
        IdleSite,
        Incomplete,
        KeptWindow,
        LineChange,
        LineTime,
        MemoryUse,
        RangeVerdict,
        Report,
        SelfTime,
        Site,
        Source,
        StepEvidence,
        Steps,
        Syncs,
        SyncSite,
        Total,
        Verdict,
        report,
    )
    from turnpike._session import is_recording, keep, record, start, stop
    from turnpike._table import Table

# What each module defines, imported when it is first asked for: most programs use a few of these, and some modules need
# much of Python's library. The imports above say the same to type checkers.
_NAMES_OF_MODULES = {
    "_guard.errors": ("TransferError",),
    "_guard.guard": ("allow", "guard"),
    "_move.calibrate": ("Calibration", "CalibrationPoint", "calibrate"),
    "_move.copy": ("Work", "copy_"),
    "_move.fetch": ("Fetched", "fetch"),
    "_move.pin": ("pin_", "pinned", "unpin_"),
    "_move.pipeline": ("pipeline",),
    "_move.prefetch": ("Prefetch", "prefetch"),
    "_move.scalars": ("Scalars",),
    "_move.stats": ("LoaderBatches", "MoveStats", "Traffic", "configure_move", "move_stats", "release_pinned"),
    "_move.to": ("to",),
    "_report": (
        "Alternative",
        "Device",
        "Finding",
        "HostThread",
        "Identity",
        "IdleSite",
        "Incomplete",
        "KeptWindow",
        "LineChange",
        "LineTime",
        "MemoryUse",
        "RangeVerdict",
        "Report",
        "SelfTime",
        "Site",
        "Source",
        "StepEvidence",
        "Steps",
        "Syncs",
        "SyncSite",
        "Total",
        "Verdict",
        "report",
    ),
    "_session": ("is_recording", "keep", "record", "start", "stop"),
    "_table": ("Table",),
}
_MODULE_OF_NAME = {name: module for module, names in _NAMES_OF_MODULES.items() for name in names}


if not TYPE_CHECKING:  # they would believe that every name exists

    def __getattr__(name):
        module = _MODULE_OF_NAME.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = import_module(f"{__name__}.{module}")
        # From now on Python finds all of these without this function. What a program has put in place of one stays.
        for one in _NAMES_OF_MODULES[module]:
            globals().setdefault(one, getattr(found, one))
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *_MODULE_OF_NAME})


def load_ipython_extension(shell: object) -> None:
    """What `%load_ext turnpike` calls: adds the magics `%turnpike` and `%%turnpike`."""
    from turnpike import _notebook

    _notebook.load(shell)


__all__ = [
    "Alternative",
    "Calibration",
    "CalibrationPoint",
    "Device",
    "Error",
    "Fetched",
    "Finding",
    "LineChange",
    "LineTime",
    "HostThread",
    "Identity",
    "KeptWindow",
    "IdleSite",
    "Incomplete",
    "LoaderBatches",
    "MemoryUse",
    "MoveStats",
    "Prefetch",
    "RangeVerdict",
    "Report",
    "Scalars",
    "SelfTime",
    "Site",
    "Source",
    "StepEvidence",
    "Steps",
    "SyncSite",
    "Syncs",
    "Table",
    "Total",
    "Traffic",
    "TransferError",
    "Verdict",
    "Work",
    "__version__",
    "allow",
    "calibrate",
    "configure_move",
    "copy_",
    "fetch",
    "guard",
    "is_recording",
    "keep",
    "move_stats",
    "pin_",
    "pinned",
    "pipeline",
    "prefetch",
    "record",
    "release_pinned",
    "report",
    "start",
    "stop",
    "to",
    "unpin_",
]
