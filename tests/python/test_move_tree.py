"""Walking nests: every container comes back as what it was, with each tensor replaced once."""

import collections
import dataclasses
import types
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: what moves its tensors cannot be tried")

import turnpike as tp  # noqa: E402
from turnpike._move import tree  # noqa: E402


class Point(NamedTuple):
    x: object
    y: object


@dataclasses.dataclass(frozen=True)
class Frozen:
    image: torch.Tensor
    name: str = "x"
    late: object = dataclasses.field(init=False, default=None)


class Own:
    """Moves itself, as a TensorDict does."""

    def __init__(self, asked=()):
        self.asked = asked

    def to(self, *arguments, **keywords):
        return Own((arguments, keywords))


def negated(nest):
    tensors = tree.tensors_of(nest)
    return tree.replaced(nest, {id(tensor): -tensor for tensor in tensors}, lambda own: own.to("there"))


def test_containers_keep_their_type_and_what_is_no_tensor():
    default = collections.defaultdict(list, a=torch.ones(1))
    ordered = collections.OrderedDict(b=torch.ones(2), a="text")
    nest = {
        "list": [torch.ones(1), 3, None],
        "tuple": (torch.ones(1), "x"),
        "named": Point(torch.ones(1), 2),
        "class": Frozen(torch.ones(3)),
        "default": default,
        "ordered": ordered,
        "proxy": types.MappingProxyType({"k": 1}),
        "size": torch.Size([2, 3]),
        "set": {1, 2},
    }
    new = negated(nest)
    assert new["list"][0].item() == -1 and new["list"][1:] == [3, None]
    assert type(new["tuple"]) is tuple and new["tuple"][0].item() == -1
    assert type(new["named"]) is Point and new["named"].x.item() == -1 and new["named"].y == 2
    assert type(new["class"]) is Frozen and new["class"].image.sum() == -3 and new["class"].name == "x"
    assert new["default"].default_factory is list and new["default"]["a"].item() == -1
    assert list(new["ordered"]) == ["b", "a"] and type(new["ordered"]) is collections.OrderedDict
    assert new["proxy"] is nest["proxy"] and new["size"] is nest["size"] and new["set"] is nest["set"]
    # The nest itself is as it was.
    assert nest["list"][0].item() == 1 and default["a"].item() == 1 and nest["class"].image.sum() == 3


def test_shared_tensors_stay_shared():
    shared = torch.ones(4)
    new = negated({"a": shared, "b": [shared, (shared,)]})
    assert new["a"] is new["b"][0] is new["b"][1][0]
    assert len(tree.tensors_of([shared, shared])) == 1


def test_objects_with_their_own_to_move_themselves():
    moved = tp.to({"own": Own(), "x": torch.ones(1)}, "cpu", dtype=torch.float16, non_blocking=True)
    assert moved["own"].asked == ((torch.device("cpu"),), {"dtype": torch.float16, "non_blocking": True})
    # A class with such a method is no object that has it.
    assert tp.to([Own], "cpu") == [Own]


def test_paths_are_written_as_in_python():
    tensor = torch.ones(2, 3)
    nest = {"images": [None, Point(1, Frozen(tensor))]}
    assert tree.path_of(nest, tensor) == "['images'][1].y.image"
    assert tree.describe(nest, tensor) == "the tensor at ['images'][1].y.image (shape (2, 3), torch.float32)"
    assert tree.describe(tensor, tensor) == "the tensor (shape (2, 3), torch.float32)"


def test_random_nests_come_back_whole():
    import random

    def make(rng, depth):
        kind = rng.randrange(7) if depth else rng.randrange(2)
        if kind == 0:
            return torch.full((rng.randrange(3),), rng.random())
        if kind == 1:
            return rng.choice([None, 1, "x", 2.5, True, b"y"])
        items = [make(rng, depth - 1) for _ in range(rng.randrange(4))]
        return [
            lambda: items,
            lambda: tuple(items),
            lambda: dict(enumerate(items)),
            lambda: Point(items, items),
            lambda: collections.OrderedDict(enumerate(items)),
        ][kind - 2]()

    def same(a, b):
        if isinstance(a, torch.Tensor):
            return torch.equal(-a, b)
        if type(a) is not type(b):
            return False
        if isinstance(a, dict):
            return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
        if isinstance(a, (list, tuple)):
            return len(a) == len(b) and all(map(same, a, b))
        return a == b

    for seed in range(300):
        nest = make(random.Random(seed), 4)
        assert same(nest, negated(nest)), seed
