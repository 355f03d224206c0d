"""Replays of a CUDA graph of 500 small kernels."""

from _workload import run

run("graph-500", __doc__)
