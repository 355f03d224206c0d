"""Walking nests: every container comes back as what it was, with each tensor replaced once."""

import argparse
import collections
import collections.abc
import dataclasses
import datetime
import enum
import functools
import pathlib
import types
from typing import NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: what moves its tensors cannot be tried")

import turnpike as tp  # noqa: E402
from turnpike._move import strict, tree  # noqa: E402


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


# Containers of many kinds.


class Attributes(dict):
    """Its items are its attributes."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.__dict__ = self


class Strict(Attributes):
    """The same, made from two things that are no items."""

    def __init__(self, x, y):
        super().__init__(x=x, y=y)


class Items(dict):
    """Looks for attributes among its items, also for those that there are not."""

    __getattr__ = dict.__getitem__


class Loading(collections.abc.Mapping):
    """Makes its items when they are asked for."""

    def __init__(self, items=None):
        self.kept, self.asked = items, 0

    def __getitem__(self, key):
        self.asked += 1
        return torch.ones(2) if self.kept is None else self.kept[key]

    def __iter__(self):
        return iter(["a", "b"])

    def __len__(self):
        return 2


@dataclasses.dataclass
class Cached:
    image: torch.Tensor

    def __post_init__(self):
        self.extra = [self.image + 1]

    @functools.cached_property
    def mean(self):
        return self.image.mean()


@dataclasses.dataclass(frozen=True)
class Slotted:
    __slots__ = ("image", "name")
    image: torch.Tensor
    name: str


class Node:
    def __init__(self, x, label):
        self.x, self.label = x, label


torch.utils._pytree.register_pytree_node(
    Node, lambda node: ([node.x], node.label), lambda items, label: Node(items[0], label)
)


def test_a_dict_whose_attributes_are_its_items():
    for nest in (Attributes(x=torch.ones(2), y=[1]), Strict(torch.ones(2), [1])):
        new = negated(nest)
        assert type(new) is type(nest) and new.x is new["x"] and new.x.sum() == -2 and new.y == [1]
        new.z = 3
        assert new["z"] == 3 and "z" not in nest and nest.x.sum() == 2


def test_a_dict_that_looks_for_attributes_among_its_items():
    nest = Items(x=torch.ones(2), to=torch.ones(1))
    new = negated(nest)
    assert type(new) is Items and new.x.sum() == -2 and new.to.item() == -1
    with_attribute = Items(x=torch.ones(2))
    vars(with_attribute)["note"] = 1
    assert negated(with_attribute).note == 1


def test_namespaces_queues_and_registered_nodes():
    new = negated(types.SimpleNamespace(x=torch.ones(2), inner=types.SimpleNamespace(y=torch.ones(3)), n=1))
    assert new.x.sum() == -2 and new.inner.y.sum() == -3 and new.n == 1
    queue = negated(collections.deque([torch.ones(1), 2], maxlen=4))
    assert type(queue) is collections.deque and queue.maxlen == 4 and queue[0].item() == -1 and queue[1] == 2
    node = negated([Node(torch.ones(2), "label")])[0]
    assert type(node) is Node and node.x.sum() == -2 and node.label == "label"
    chained = negated(collections.ChainMap({"a": torch.ones(1)}, {"b": torch.ones(1)}))
    assert chained["a"].item() == -1 and chained["b"].item() == -1
    users = negated(collections.UserDict(a=torch.ones(1)))
    assert type(users) is collections.UserDict and users["a"].item() == -1
    proxy = negated(types.MappingProxyType({"a": torch.ones(1)}))
    assert type(proxy) is types.MappingProxyType and proxy["a"].item() == -1
    found = torch.ones(2, 2).max(0)
    assert type(negated(found)) is type(found) and negated(found).values.sum() == -2


def test_items_that_are_made_when_they_are_asked_for():
    nest = Loading()
    tensors = tree.tensors_of(nest)
    new = tree.replaced(nest, {id(tensor): -tensor for tensor in tensors}, lambda tensor: -tensor)
    assert type(new) is Loading and new["a"].sum() == -2 and new["b"].sum() == -2
    assert nest.asked == 4
    assert tp.to({"x": Loading()}, "cpu", dtype=torch.float16)["x"]["a"].dtype == torch.float16


def test_what_a_dataclass_has_computed_is_computed_again():
    nest = Cached(torch.ones(2))
    assert nest.mean == 1
    new = negated(nest)
    assert new.mean == -1 and new.extra[0].sum() == -4 and nest.mean == 1
    slotted = negated(Slotted(torch.ones(2), "x"))
    assert slotted.image.sum() == -2 and slotted.name == "x"


def test_classes_of_attrs():
    attrs = pytest.importorskip("attrs", reason="attrs is not installed")

    @attrs.frozen
    class Frozen_:
        x: object
        y: object = None

    @attrs.define(slots=False)
    class Open:
        x: object

    new = negated([Frozen_(torch.ones(2), 3), Open(torch.ones(2))])
    assert new[0].x.sum() == -2 and new[0].y == 3 and new[1].x.sum() == -2


def test_what_has_no_tensor_stays_the_same_object():
    kept = [types.SimpleNamespace(a=1), Slotted(3, "x"), types.MappingProxyType({}), torch.Size([1]), Frozen_none()]
    assert all(new is old for new, old in zip(negated(kept), kept, strict=True))


def Frozen_none():
    return Frozen(None)


def test_an_object_that_moves_itself_and_occurs_twice_is_moved_once():
    own = Own()
    new = negated({"a": own, "b": [own]})
    assert new["a"] is new["b"][0] and new["a"] is not own


def test_a_nest_that_contains_itself_is_refused():
    nest = {"a": [torch.ones(1)]}
    nest["a"].append(nest)
    with pytest.raises(tp.Error, match=r"contains itself at \['a'\]\[1\], which is the nest itself"):
        tree.tensors_of(nest)
    deep = current = []
    for _ in range(100_000):
        current.append([])
        current = current[0]
    with pytest.raises(RecursionError):
        tree.tensors_of(deep)


# Of other libraries.


def encodings():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    data = {"input_ids": torch.ones(2, 3, dtype=torch.int64), "lengths": [3, 3]}
    return transformers.BatchEncoding(data), transformers.BatchFeature({"pixels": torch.ones(4)})


def test_batches_of_transformers_are_containers():
    for nest in encodings():
        new = negated({"batch": nest})["batch"]
        assert type(new) is type(nest) and new is not nest
        for key, value in nest.items():
            assert new[key].equal(-value) if isinstance(value, torch.Tensor) else new[key] == value
        assert len(tree.tensors_of(nest)) == 1
    text, _ = encodings()
    moved = tp.to(text, "cpu", dtype=torch.float16)
    assert moved.input_ids.dtype == torch.float16 and text.input_ids.dtype == torch.int64 and moved.lengths == [3, 3]


def test_outputs_of_models_are_containers():
    outputs = pytest.importorskip("transformers.modeling_outputs", reason="transformers is not installed")
    new = negated(outputs.BaseModelOutput(last_hidden_state=torch.ones(2)))
    assert (
        type(new) is outputs.BaseModelOutput and new.last_hidden_state.sum() == -2 and new[0] is new.last_hidden_state
    )


def test_others_move_themselves():
    tensordict = pytest.importorskip("tensordict", reason="tensordict is not installed")
    geometric = pytest.importorskip("torch_geometric.data", reason="PyTorch Geometric is not installed")
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])
    graph = geometric.Batch.from_data_list([geometric.Data(x=torch.ones(2, 1))])
    nest = [tensordict.TensorDict({"a": torch.ones(2)}, [2]), graph, packed]
    seen = []
    tree.replaced(nest, {}, seen.append)
    assert [type(one) for one in seen] == [type(one) for one in nest]
    moved = tp.to(nest, "meta")
    assert moved[0]["a"].is_meta and moved[1].x.is_meta and moved[2].data.is_meta
    assert strict.left_behind(nest) == []


def random_nest(rng, depth):
    kind = rng.randrange(12) if depth else rng.randrange(2)
    if kind == 0:
        return torch.full((rng.randrange(3),), rng.random())
    if kind == 1:
        return rng.choice([None, 1, "x", 2.5, True, b"y"])
    items = [random_nest(rng, depth - 1) for _ in range(rng.randrange(4))]
    named = {f"k{i}": item for i, item in enumerate(items)}
    return [
        lambda: items,
        lambda: tuple(items),
        lambda: named,
        lambda: Point(items, items),
        lambda: collections.OrderedDict(named),
        lambda: collections.deque(items),
        lambda: collections.defaultdict(list, named),
        lambda: Node(items, 1),
        lambda: Attributes(named),
        lambda: types.MappingProxyType(named),
    ][kind - 2]()


def test_everything_that_pytree_and_accelerate_move_is_moved():
    import random

    pytree = torch.utils._pytree
    operations = pytest.importorskip("accelerate.utils", reason="accelerate is not installed")

    def on_meta(nest):
        return [leaf.is_meta for leaf in pytree.tree_leaves(nest) if isinstance(leaf, torch.Tensor)]

    for seed in range(200):
        nest = random_nest(random.Random(seed), 4)
        ours = tp.to(nest, "meta")
        plain = pytree.tree_map(lambda leaf: leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf, nest)
        assert on_meta(ours) == on_meta(plain), seed
        assert pytree.tree_structure(ours) == pytree.tree_structure(plain), seed
        try:
            theirs = operations.send_to_device(nest, "meta")
        except TypeError:  # a defaultdict
            continue
        assert all(mine or not its for mine, its in zip(on_meta(ours), on_meta(theirs), strict=True)), seed


# What is left behind.


class Unknown:
    def __init__(self):
        self.x = torch.ones(1)


class Color(enum.Enum):
    RED = 1


def test_what_is_left_behind_is_named():
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    known = [
        1,
        "x",
        None,
        b"",
        2j,
        range(3),
        Ellipsis,
        torch.float32,
        torch.device("cpu"),
        torch.Size([1]),
        int,
        Color.RED,
    ]
    known += [
        datetime.date(2024, 1, 1),
        pathlib.Path("x"),
        numpy.ones(2),
        numpy.float32(1),
        (),
        {},
        Own(),
        torch.ones(1),
    ]
    known += [len, test_what_is_left_behind_is_named, slice(1)]
    assert strict.left_behind(known) == []
    unknown = Unknown(), {torch.ones(1)}, argparse.Namespace(a=1), numpy.array([torch.ones(1)], dtype=object), iter([1])
    nest = {"a": unknown[0], "b": list(unknown[1:])}
    assert [path for path, _ in strict.left_behind(nest)] == ["['a']", *(f"['b'][{i}]" for i in range(4))]
    assert all(found is one for (_, found), one in zip(strict.left_behind(nest), unknown, strict=True))
    with pytest.raises(
        tp.Error, match=r"turnpike.to\(\) with strict=True .*\['a'\] \(.*Unknown\), \['b'\]\[0\] \(set\)"
    ):
        strict.refuse_left_behind("turnpike.to()", nest)
    strict.refuse_left_behind("turnpike.to()", known)


def test_prefetch_refuses_what_it_would_leave_behind_also_where_there_is_no_gpu():
    class Unknown:
        pass

    batches = [{"a": torch.ones(1)}, {"b": [Unknown()]}, {"a": torch.ones(2)}]
    loop = iter(tp.prefetch(batches, "cpu", strict=True))
    assert next(loop)["a"].numel() == 1
    with pytest.raises(tp.Error, match=r"turnpike\.prefetch\(\) with strict=True .*\['b'\]\[0\]"):
        next(loop)
    assert len(list(tp.prefetch(batches, "cpu"))) == 3
