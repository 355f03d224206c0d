"""Runs a workload of bench/overhead_workloads.py as a program of bench/field, which the harness lets run in turns."""

import os
import sys

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [BENCH, os.path.join(BENCH, "field", "programs")]

from _clock import Clock, arguments  # noqa: E402
from overhead_workloads import WORKLOADS  # noqa: E402


def run(name, doc):
    args = arguments(doc, [])
    workload = WORKLOADS[name](args.device)
    clock = Clock(args)
    for _ in range(args.steps):
        clock.step(workload.step())
    clock.finish()
