"""Small runs for the tests of the commands that read them."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from tracefile import (  # noqa: E402
    COPY_CALL,
    DEVICE,
    HOST_TO_DEVICE,
    LAUNCH_CALL,
    OPERATOR_FRAME,
    PAGEABLE,
    PYTHON_FRAME,
    TraceFile,
)

US = 1_000
MS = 1_000_000
EPOCH_NS = 1_700_000_000_000_000_000


def write_run(
    directory,
    *,
    pid=433,
    program="python\x1ftrain.py",
    start_ns=EPOCH_NS,
    copies=6,
    file="train.py",
    folder="/home/me",
    losses=None,
    op=None,
    source=None,
):
    """Steps of one upload at line 23 and one kernel at line 30. `source`: the text of the file that was recorded."""
    directory.mkdir(parents=True)
    trace = TraceFile(pid=pid, start_ns=start_ns)
    trace.metadata = {"program": program, "detail": "full", "host": "box"} if program else {"detail": "full"}
    trace.losses = losses or {}
    trace.device("GPU")
    operators = [trace.frame(OPERATOR_FRAME, op, "")] if op else []
    upload = trace.stack(*operators, trace.frame(PYTHON_FRAME, "train", f"{folder}/{file}", 23))
    launch = trace.stack(trace.frame(PYTHON_FRAME, "train", f"{folder}/{file}", 30))
    for number in range(1, copies + 1):
        at = number * MS
        trace.call("cudaMemcpy", COPY_CALL, 2 * number, at, at + 500 * US, stack=upload, size_bytes=1 << 20)
        trace.memcpy(HOST_TO_DEVICE, PAGEABLE, DEVICE, 1 << 20, 2 * number, at + 50 * US, at + 450 * US)
        trace.call("cudaLaunchKernel", LAUNCH_CALL, 2 * number + 1, at + 510 * US, at + 515 * US, stack=launch)
        trace.kernel("kernel", 2 * number + 1, at + 520 * US, at + 620 * US)
    if source:
        trace.source(f"{folder}/{file}", 1, source)
    trace.write(directory / f"{pid}.tpt")
    return directory
