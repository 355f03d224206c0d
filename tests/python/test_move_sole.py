"""Which outputs of a function nobody else can write to. When in doubt: none."""

import sys
import weakref

import pytest

from turnpike._move import sole

torch = pytest.importorskip("torch", reason="PyTorch is not installed: what counts its references cannot be tried")

CONTAINERS = {
    "tensor": lambda *tensors: tensors[0],
    "list": lambda *tensors: list(tensors),
    "tuple": lambda *tensors: tensors,
    "dict": lambda *tensors: dict(enumerate(tensors)),
}


def is_sole(fn):
    """For each tensor of fn's result, in order."""
    result, ids = sole.call(fn, None)
    tensors = [result] if isinstance(result, torch.Tensor) else result.values() if type(result) is dict else result
    return [id(tensor) in ids for tensor in tensors]


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_new_tensor_is(container):
    wrap = CONTAINERS[container]
    assert all(is_sole(lambda _: wrap(torch.ones(3))))
    assert all(is_sole(lambda _: wrap(torch.ones(3) * 2, torch.zeros(1 << 20))))
    for _ in range(3):
        assert all(is_sole(torch.nn.Sequential(torch.nn.Identity(), Doubled(wrap))))


class Doubled(torch.nn.Module):
    def __init__(self, wrap):
        super().__init__()
        self.wrap = wrap

    def forward(self, _):
        kept = torch.ones(5)
        return self.wrap(kept * 2)


class Keeps:
    """Returns what it can still write to."""

    def __init__(self, way, wrap):
        self.way, self.wrap = way, wrap
        self.static = torch.zeros(8)

    def __call__(self, _):
        new = torch.ones(8)
        match self.way:
            case "the same tensor":
                new = self.static
            case "out=":
                new = torch.add(torch.ones(8), 1, out=self.static)
            case "a detached one":
                new = self.static.detach()
            case "a view":
                new = self.static[2:5]
            case "the base of a view":
                self.kept = new[2:3]
            case "the tensor":
                self.kept = new
            case "its data":
                self.kept = new.data
            case "its storage":
                self.kept = new.untyped_storage()
            case "a weak reference":
                self.kept = weakref.ref(new)
            case "a weak reference to its storage":
                self.kept = weakref.ref(new.untyped_storage())
            case "a capsule":
                self.kept = torch.utils.dlpack.to_dlpack(new)
            case "the container":
                self.kept = self.wrap(new)
                return self.kept
            case "a closure":
                self.kept = lambda: new
            case "memory of another library":
                self.kept = bytearray(32)
                new = torch.frombuffer(self.kept, dtype=torch.float32)
            case "a leaf of a graph":
                weight = torch.ones(8, requires_grad=True)
                self.kept = weight * new
        return self.wrap(new)


KEPT = [
    "the same tensor", "out=", "a detached one", "a view", "the base of a view", "the tensor", "its data",
    "its storage",
    "a weak reference", "a weak reference to its storage", "a capsule", "the container", "a closure",
    "memory of another library", "a leaf of a graph",
]  # fmt: skip


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("way", KEPT)
def test_what_is_kept_is_not(way, container):
    if sys.version_info < (3, 11) and way == "a weak reference to its storage":
        pytest.skip("tried with later versions")
    fn = Keeps(way, CONTAINERS[container])
    for _ in range(3):
        assert is_sole(fn) == [False]


def test_tensors_of_one_storage_are_not():
    def halves(_):
        both = torch.ones(8)
        return both[:4], both[4:]

    assert is_sole(halves) == [False, False]

    def twice(_):
        one = torch.ones(8)
        return [one, one]

    assert is_sole(twice) == [False, False]


def test_the_input_is_not():
    item = torch.ones(3)
    assert sole.call(lambda x: x, item)[1] == set()
    assert sole.call(lambda x: [x], item)[1] == set()
    assert len(sole.call(lambda x: [x * 2], item)[1]) == 1


def test_nests_and_other_types_are_not():
    for result in ({"a": [torch.ones(3)]}, torch.nn.Parameter(torch.ones(3)), [[torch.ones(1)]], 3, None):
        assert sole.call(lambda _, result=result: result, None)[1] == set()


def test_nothing_is_where_counts_mean_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch._inductor.cudagraph_trees", sys)
    assert is_sole(lambda _: torch.ones(3)) == [False]
    monkeypatch.delitem(sys.modules, "torch._inductor.cudagraph_trees")
    assert is_sole(lambda _: torch.ones(3)) == [True]
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert is_sole(lambda _: torch.ones(3)) == [False]


def test_nothing_is_where_pytorch_does_not_count(monkeypatch):
    sole._has_counters.cache_clear()
    with monkeypatch.context() as patch:
        patch.delattr(torch._C, "_storage_Use_Count")
        assert is_sole(lambda _: torch.ones(3)) == [False]
    sole._has_counters.cache_clear()
    assert is_sole(lambda _: torch.ones(3)) == [True]
