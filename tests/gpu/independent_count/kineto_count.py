"""Counts the transfers of a program without Turnpike: runs it under torch.profiler and adds up the trace it exports.

    python kineto_count.py COUNT.json PROGRAM [ARGUMENTS...]

COUNT.json gets {"h2d": [count, bytes], ...}. The program's output and exit code are its own.
"""

import json
import os
import re
import runpy
import sys
import tempfile

DIRECTIONS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "PtoP": "p2p", "HtoH": "h2h"}


def count_trace(path):
    """Count and bytes by direction of the torch.profiler trace at `path`."""
    totals = {direction: [0, 0] for direction in [*DIRECTIONS.values(), "memset"]}
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        if event.get("cat") == "gpu_memset":
            direction = "memset"
        elif event.get("cat") == "gpu_memcpy":
            direction = DIRECTIONS[re.match(r"Memcpy (\w+)", event["name"])[1]]
        else:
            continue
        totals[direction][0] += 1
        totals[direction][1] += int(event["args"]["bytes"])
    return totals


def main():
    out, program = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    sys.path[0] = os.path.dirname(os.path.abspath(program))

    import torch

    torch.cuda.init()
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
    profiler.start()
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        torch.cuda.synchronize()
        profiler.stop()
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            profiler.export_chrome_trace(trace)
            totals = count_trace(trace)
        with open(out, "w") as file:
            json.dump(totals, file)


if __name__ == "__main__":
    main()
