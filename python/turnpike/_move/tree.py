"""Walks nests of containers: finds the tensors in them, and makes the same nest with others in their place."""

from __future__ import annotations

import collections
import collections.abc
import copy
import dataclasses
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from turnpike import _core
from turnpike._move.late import torch

_ATOMS = frozenset({str, bytes, int, float, bool, complex, type(None)})


def tensors_of(nest: Any) -> list[torch.Tensor]:
    """The tensors of a nest, each once. turnpike.Error: it contains itself."""
    found: dict[int, torch.Tensor] = {}
    try:
        _find(nest, found)
    except RecursionError:
        cycle = _cycle_in(nest, "", {})
        if cycle is None:
            raise
        raise _core.Error(f"the nest contains itself at {cycle}: it has no end, and cannot be moved.") from None
    return list(found.values())


def replaced(nest: Any, tensors: dict[int, torch.Tensor], foreign: Callable[[Any], Any]) -> Any:
    """The nest with tensors[id(t)] for each of its tensors t, and foreign(x) for objects x that move themselves.

    Containers are made anew, of the same type; what holds nothing that is replaced may be the same object. A tensor
    that is not among `tensors`, since the nest makes it anew whenever it is asked for, moves itself, too.
    """
    return _replaced(nest, tensors, _once(foreign))


def path_of(nest: Any, tensor: torch.Tensor) -> str:
    """Where in the nest a tensor is, as it would be written: `["image"][0]`; empty for the nest itself."""
    return next((path for path, found in leaves(nest) if found is tensor), "")


def describe(nest: Any, tensor: torch.Tensor) -> str:
    """A tensor for an error's sentence: where it is, its shape and its dtype."""
    path = path_of(nest, tensor)
    return f"the tensor{' at ' + path if path else ''} (shape {tuple(tensor.shape)}, {tensor.dtype})"


# What there is in a nest. Each kind of container is in three places: its children, its copy, and where it is fast.


def _find(nest: Any, found: dict[int, torch.Tensor]) -> None:
    if isinstance(nest, torch.Tensor):
        found[id(nest)] = nest
        return
    kind = type(nest)
    if kind is list or kind is tuple:
        tensor = torch.Tensor
        for item in nest:
            if type(item) is tensor:
                found[id(item)] = item
            else:
                _find(item, found)
    elif kind is dict:
        for item in nest.values():
            _find(item, found)
    elif kind not in _ATOMS:
        for _, item in _children(nest) or ():
            _find(item, found)


def _children(nest: Any) -> Iterator[tuple[str, Any]] | None:
    """The items of a container, each with the step that leads there; None if it is not a container."""
    if type(nest) in _ATOMS or moves_itself(nest):
        return None
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return ((f".{name}", item) for name, item in zip(nest._fields, nest, strict=True))
    if isinstance(nest, (list, tuple, collections.deque)):
        return ((f"[{index}]", item) for index, item in enumerate(nest))
    if isinstance(nest, collections.abc.Mapping):
        return ((f"[{key!r}]", item) for key, item in nest.items())
    node = _registered(nest)
    if node is not None:
        return ((f"<{index}>", item) for index, item in enumerate(node.flatten_fn(nest)[0]))
    if _has_attributes(nest):
        return ((f".{name}", item) for name, item in _attributes(nest))
    return None


def leaves(nest: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """What is no container, each with the path that leads there."""
    children = None if isinstance(nest, torch.Tensor) else _children(nest)
    if children is None:
        yield path, nest
        return
    for step, item in children:
        yield from leaves(item, path + step)


def _cycle_in(nest: Any, path: str, above: dict[int, str]) -> str | None:
    children = None if isinstance(nest, torch.Tensor) or id(nest) in above else _children(nest)
    if id(nest) in above:
        return f"{path}, which is {above[id(nest)] or 'the nest itself'}"
    above = above | {id(nest): path}
    return next(filter(None, (_cycle_in(item, path + step, above) for step, item in children or ())), None)


def moves_itself(nest: Any) -> bool:
    """Whether it is left to its own .to(): a TensorDict, a PackedSequence, PyG's Data. Never a class."""
    if isinstance(nest, type) or _is_of_transformers(nest):
        return False
    if isinstance(nest, (dict, list, tuple, collections.abc.Mapping)) or _has_attributes(nest):
        return callable(getattr(type(nest), "to", None))  # an item or attribute called `to` does not count
    try:
        return callable(getattr(nest, "to", None))
    except Exception:  # whatever its __getattr__ does with names that it does not know
        return False


def _is_of_transformers(nest: Any) -> bool:
    # BatchEncoding and BatchFeature: all that their .to() moves are the items, one at a time and without a dtype.
    if not isinstance(nest, collections.UserDict):
        return False
    to = getattr(type(nest), "to", None)
    return to is not None and getattr(to, "__module__", "").startswith("transformers.")


def _has_attributes(nest: Any) -> bool:
    kind = type(nest)
    return (
        dataclasses.is_dataclass(kind) or hasattr(kind, "__attrs_attrs__") or isinstance(nest, types.SimpleNamespace)
    ) and not (isinstance(nest, type))


def _attributes(nest: Any) -> Iterator[tuple[str, Any]]:
    """Fields, and what else was set; not what is computed from these and kept."""
    kind: type = type(nest)
    declared = dataclasses.fields(nest) if dataclasses.is_dataclass(kind) else getattr(kind, "__attrs_attrs__", ())
    names = {field.name: None for field in declared} | dict.fromkeys(getattr(nest, "__dict__", ()))
    for name in names:
        if hasattr(nest, name) and name not in _cached(kind):  # a field without a default may not have been set
            yield name, getattr(nest, name)


@functools.lru_cache(maxsize=1024)
def _cached(kind: type) -> frozenset[str]:
    return frozenset(
        name
        for base in kind.__mro__
        for name, value in vars(base).items()
        if isinstance(value, functools.cached_property)
    )


def _registered(nest: Any) -> Any:
    """What torch.utils._pytree knows of the type."""
    pytree = sys.modules.get("torch.utils._pytree")
    return None if pytree is None else pytree.SUPPORTED_NODES.get(type(nest))


# The same nest with other tensors.


def _once(foreign: Callable[[Any], Any]) -> Callable[[Any], Any]:
    known: dict[int, tuple[Any, Any]] = {}

    def moved(nest: Any) -> Any:
        if id(nest) not in known:
            known[id(nest)] = nest, foreign(nest)
        return known[id(nest)][1]

    return moved


def _replaced(nest: Any, tensors: dict[int, torch.Tensor], foreign: Callable[[Any], Any]) -> Any:
    if isinstance(nest, torch.Tensor):
        return tensors[id(nest)] if id(nest) in tensors else foreign(nest)
    kind = type(nest)
    if kind is list:
        return [tensors[id(item)] if id(item) in tensors else _replaced(item, tensors, foreign) for item in nest]
    if kind is dict:
        return {key: _replaced(item, tensors, foreign) for key, item in nest.items()}
    if kind in _ATOMS:
        return nest
    if moves_itself(nest):
        return foreign(nest)
    new = functools.partial(_replaced, tensors=tensors, foreign=foreign)
    if isinstance(nest, tuple):
        return _replaced_tuple(nest, [new(item) for item in nest])
    if isinstance(nest, list):
        made = copy.copy(nest)
        made[:] = [new(item) for item in nest]
        return made
    if isinstance(nest, collections.deque):
        queue = copy.copy(nest)
        queue.clear()
        queue.extend(new(item) for item in nest)
        return queue
    if isinstance(nest, collections.abc.Mapping):
        return _replaced_mapping(nest, dict(nest.items()), new)  # each item is asked for once
    node = _registered(nest)
    if node is not None:
        items, context = node.flatten_fn(nest)
        return node.unflatten_fn([new(item) for item in items], context)
    if _has_attributes(nest):
        return _replaced_attributes(nest, dict(_attributes(nest)), new)
    return nest


def _replaced_tuple(nest: tuple[Any, ...], items: list[Any]) -> Any:
    if type(nest) is tuple:
        return tuple(items)
    # Also keeps torch.Size and tuples of unknown making that hold no tensor.
    if all(new is old for new, old in zip(items, nest, strict=True)):
        return nest
    make = getattr(type(nest), "_make", None)  # of a namedtuple
    return make(items) if make is not None else type(nest)(items)


def _replaced_mapping(
    nest: collections.abc.Mapping[Any, Any], old: dict[Any, Any], replace: Callable[[Any], Any]
) -> collections.abc.Mapping[Any, Any]:
    items = {key: replace(item) for key, item in old.items()}
    if not isinstance(nest, collections.abc.MutableMapping):
        is_same = all(items[key] is item for key, item in old.items())
        return nest if is_same else type(nest)(items)  # type: ignore[call-arg]
    if isinstance(nest, dict) and _dict_of(nest) is nest:  # a copy's attributes would still be the items of this one
        kind: Any = type(nest)
        new = kind.__new__(kind)
        new.__dict__ = new
    else:
        new = _copied(nest)
    for key, item in items.items():
        new[key] = item
    return new


def _copied(nest: Any) -> Any:
    # Keeps a default factory, an order, attributes.
    try:
        return copy.copy(nest)
    except (KeyError, AttributeError):  # it looks for all attributes among its items, or is frozen and has slots
        kind: Any = type(nest)
        new = kind.__new__(kind)
        if _dict_of(nest):
            _dict_of(new).update(_dict_of(nest))
        return new


def _dict_of(nest: Any) -> Any:
    return object.__getattribute__(nest, "__dict__") if type(nest).__dictoffset__ else None


def _replaced_attributes(nest: Any, old: dict[str, Any], replace: Callable[[Any], Any]) -> Any:
    items = {name: replace(item) for name, item in old.items()}
    if all(items[name] is item for name, item in old.items()):
        return nest
    new = _copied(nest)
    for name, item in items.items():
        object.__setattr__(new, name, item)
    kind: type = type(nest)
    for name in _cached(kind):
        getattr(new, "__dict__", {}).pop(name, None)
    return new
