"""The names that random programs use, beside `way`, `log`, `stage` and `dev`."""

import collections  # noqa: F401
import random  # noqa: F401
import threading  # noqa: F401
import types  # noqa: F401
import weakref  # noqa: F401

import numpy as np  # noqa: F401
import torch  # noqa: F401
from catalogue.loops import (  # noqa: F401
    Broken,
    Drawing,
    Failing,
    LazySampler,
    Numbers,
    Resumable,
    accelerator_of,
    both_ways,
)
from catalogue.nests import AttributeDict, GetItemDict, LazyMapping, WithCache  # noqa: F401
from stage import KIB, MIB, draws, in_fork, in_thread, interrupted, iterated, saved_bytes, seed_all  # noqa: F401
from torch.utils.data import DataLoader  # noqa: F401
