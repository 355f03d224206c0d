"""A loop that reads one number from the GPU, over and over."""

from _workload import run

run("item-loop", __doc__)
