"""A CPU-bound training step: MNIST's network on 64 images, with the loss read in each step."""

from _workload import run

run("mnist-64", __doc__)
