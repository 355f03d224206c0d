"""Containers: what is moved within them, and that it is moved by the engine."""

from __future__ import annotations

import collections
import dataclasses
import functools
import types
from collections.abc import Mapping

import torch
from stage import KIB, MIB

from catalogue import fault


class AttributeDict(dict):
    """A dict whose attributes are its items."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.__dict__ = self


class GetItemDict(dict):
    """A dict whose missing attributes are its items: it raises KeyError where AttributeError is expected."""

    __getattr__ = dict.__getitem__


class LazyMapping(Mapping):
    """Makes its items when they are asked for, anew each time."""

    def __init__(self, items):
        self._numbers = items if isinstance(items, dict) else dict(items)

    def __getitem__(self, key):
        value = self._numbers[key]
        return value if isinstance(value, torch.Tensor) else torch.full((1000,), float(value))

    def __iter__(self):
        return iter(self._numbers)

    def __len__(self):
        return len(self._numbers)


@dataclasses.dataclass
class WithCache:
    """A dataclass with a property that keeps what it computed."""

    x: torch.Tensor

    @functools.cached_property
    def doubled(self):
        return self.x * 2


def _see(way, log, stage, label, make, read):
    log.attempt(f"{label}: to", lambda: read(way.to(make(), stage.device)))
    log.attempt(f"{label}: prefetch", lambda: read(next(iter(way.prefetch([make()], stage.device)))))


def _attributes(nest):
    return [nest["x"], nest.x, nest["y"][0], nest.y[0]]


@fault("17-dict-whose-dict-is-itself", "containers")
def attribute_dict(way, log, stage):
    _see(
        way, log, stage, "AttributeDict", lambda: AttributeDict(x=stage.filled(1, KIB), y=[stage.filled(2, KIB)]),
        _attributes,
    )  # fmt: skip


@fault("17-dict-with-getattr", "containers")
def getitem_dict(way, log, stage):
    _see(
        way, log, stage, "GetItemDict", lambda: GetItemDict(x=stage.filled(1, KIB), y=[stage.filled(2, KIB)]),
        _attributes,
    )  # fmt: skip


@fault("17-simple-namespace", "containers")
def namespace(way, log, stage):
    _see(
        way, log, stage, "SimpleNamespace", lambda: types.SimpleNamespace(x=stage.filled(1, KIB), name="a"),
        lambda nest: [nest.x, nest.name],
    )  # fmt: skip


@fault("17-deque", "containers")
def deque(way, log, stage):
    _see(
        way, log, stage, "deque", lambda: collections.deque([stage.filled(turn, KIB) for turn in range(3)], maxlen=4),
        lambda nest: [type(nest).__name__, nest.maxlen, list(nest)],
    )  # fmt: skip


@fault("17-lazy-mapping", "containers")
def lazy_mapping(way, log, stage):
    _see(
        way, log, stage, "LazyMapping", lambda: LazyMapping({"a": 1, "b": 2}),
        lambda nest: [nest[key].to(stage.device) + 0 for key in nest],
    )  # fmt: skip


@fault("17-cached-property", "containers")
def cached_property(way, log, stage):
    def make():
        made = WithCache(stage.filled(1, KIB))
        assert made.doubled is not None
        return made

    _see(way, log, stage, "dataclass", make, lambda nest: [nest.x, nest.doubled])


def _encoding(stage, size_bytes):
    from transformers import BatchEncoding

    return BatchEncoding({"input_ids": stage.filled(1, size_bytes), "mask": stage.filled(2, KIB), "names": ["a"]})


@fault("17-batch-encoding-dtype", "containers", needs=("transformers",))
def encoding_dtype(way, log, stage):
    def read(nest):
        return [type(nest).__name__, nest["input_ids"], nest.mask, nest["names"]]

    _see(way, log, stage, "BatchEncoding", lambda: _encoding(stage, KIB), read)
    log.attempt("BatchEncoding: dtype", lambda: read(way.to(_encoding(stage, KIB), stage.device, dtype=torch.float16)))


@fault("17-batch-encoding-by-the-engine", "containers", needs=("transformers",))
def encoding_engine(way, log, stage):
    before = way.moved_bytes() or 0
    for batch in way.prefetch([_encoding(stage, 4 * MIB) for _ in range(4)], stage.device):
        log.see("batch", batch["input_ids"])
    moved = (way.moved_bytes() or 0) - before
    log.claim("the engine moves it", not (stage.is_gpu and way.is_tp) or moved >= 16 * MIB, f"{moved} bytes")


@fault("17-strict", "containers")
def strict(way, log, stage):
    class Unknown:
        def __init__(self):
            self.x = torch.ones(3)

    def refused():
        try:
            way.to({"a": Unknown()}, stage.device, strict=True)
        except TypeError as error:
            # An argument that is not known is not a refusal.
            return "strict" not in str(error)
        except (RuntimeError, ValueError):
            return True
        return False

    log.claim("to(strict=True) refuses what it does not move", not way.is_tp or refused(), "not refused")


@fault("17-registered-with-pytree", "containers")
def registered(way, log, stage):
    """A container of the program's own that torch.utils._pytree knows."""
    from torch.utils import _pytree

    class Pair:
        def __init__(self, first, second):
            self.first, self.second = first, second

    _pytree.register_pytree_node(
        Pair, lambda pair: ([pair.first, pair.second], None), lambda items, _: Pair(*items),
        serialized_type_name="turnpike.tests.Pair",
    )  # fmt: skip

    def read(pair):
        return [pair.first, pair.second]

    def move():
        pair = Pair(stage.filled(1, KIB), stage.filled(2, KIB))
        return read(way.to(pair, stage.device)) if way.is_tp else [each.to(stage.device) for each in read(pair)]

    log.attempt("to", move)


@fault("17-graph-data", "containers", needs=("torch_geometric",))
def graph_data(way, log, stage):
    from torch_geometric.data import Batch, Data

    def make():
        graphs = [
            Data(x=stage.tensor(5, 3, seed=turn), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]])) for turn in range(3)
        ]
        return Batch.from_data_list(graphs)

    _see(way, log, stage, "Batch", make, lambda batch: [batch.x, batch.edge_index, batch.batch, batch.ptr])


@fault("17-tensordict", "containers", needs=("tensordict",))
def tensordict(way, log, stage):
    from tensordict import TensorDict

    _see(
        way, log, stage, "TensorDict", lambda: TensorDict({"x": torch.ones(4, 3), "y": torch.zeros(4)}, batch_size=[4]),
        lambda nest: [nest["x"] + 0, nest["y"] + 0, str(nest.device)],
    )  # fmt: skip


@fault("17-named-tensors", "containers")
def named(way, log, stage):
    def make():
        return [torch.ones(3, 4, names=("row", "column")) for _ in range(3)]

    _see(
        way, log, stage, "named", make, lambda nest: [[list(each.names), each.rename(None) + 0] for each in nest]
    )  # fmt: skip
