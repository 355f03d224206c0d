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


def graph_batch(seed):
    """PyG's batch of two graphs; where PyG is not installed, a dict with the same names."""
    graphs = [
        {"x": torch.full((4 + k, 3), float(seed + k)), "edge_index": torch.tensor([[0, 1, 2], [1, 2, 3]])}
        for k in range(2)
    ]
    try:
        from torch_geometric.data import Batch, Data
    except ImportError:
        return graphs[0]
    return Batch.from_data_list([Data(**graph) for graph in graphs])
