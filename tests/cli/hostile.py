"""Writes hostile recordings."""

import re

from runs import US

from tracefile import (
    COPY_CALL,
    DEVICE,
    HOST_TO_DEVICE,
    LAUNCH_CALL,
    PAGEABLE,
    PYTHON_FRAME,
    SYNC_CALL,
    TraceFile,
)

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "".join(f"s3cret{number}=\n" for number in range(1, 60))
RECORDED = "recorded_line()"
# All but the line feed; C1 and what changes the direction of text, too.
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
# A name that a terminal, GitHub's runner and a log would obey.
LOUD = "\x1b[2J\x1b]0;pwned\x07\x9b1m\u202e\u200b\r\n::error title=pwned::obeyed\n##[error]obeyed"


def write(folder, files, *, name="kernel", program="python\x1fsecret.py", loud=""):
    """Ten steps of an upload, a wait and a kernel at line 2 of each of the files."""
    folder.mkdir(parents=True)
    trace = TraceFile()
    trace.metadata = {"program": program, "detail": "full", "host": "box" + loud, "cwd": str(folder.parent)}
    trace.device("GPU" + loud)
    number = 0
    for step in range(10):
        for file in files:
            number += 1
            at = (step * len(files) + number) * 1000 * US
            stack = trace.stack(trace.frame(PYTHON_FRAME, "train" + loud, file, 2))
            trace.call("cudaMemcpy", COPY_CALL, 3 * number, at, at + 500 * US, stack=stack, size_bytes=1 << 20)
            trace.memcpy(HOST_TO_DEVICE, PAGEABLE, DEVICE, 1 << 20, 3 * number, at + 50 * US, at + 450 * US)
            trace.call("cudaLaunchKernel", LAUNCH_CALL, 3 * number + 1, at + 510 * US, at + 515 * US, stack=stack)
            trace.kernel(name, 3 * number + 1, at + 520 * US, at + 620 * US)
            trace.call("cudaDeviceSynchronize", SYNC_CALL, 3 * number + 2, at + 530 * US, at + 620 * US, stack=stack)
    trace.source("/recorded/here.py", 1, f"first\n{RECORDED}\nlast\n")
    trace.write(folder / "433.tpt")
    return folder
