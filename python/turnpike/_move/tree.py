"""Walks nests of containers: finds the tensors in them, and makes the same nest with others in their place."""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from turnpike._move.late import torch

_ATOMS = frozenset({str, bytes, int, float, bool, complex, type(None)})


def tensors_of(nest: Any) -> list[torch.Tensor]:
    """The tensors of a nest, each once."""
    found: dict[int, torch.Tensor] = {}
    _find(nest, found)
    return list(found.values())


def replaced(nest: Any, tensors: dict[int, torch.Tensor], foreign: Callable[[Any], Any]) -> Any:
    """The nest with tensors[id(t)] for each of its tensors t, and foreign(x) for objects x that move themselves.

    Containers are made anew, of the same type; what holds nothing that is replaced may be the same object.
    """
    if isinstance(nest, torch.Tensor):
        return tensors[id(nest)]
    kind = type(nest)
    if kind is list:
        return [tensors[id(item)] if id(item) in tensors else replaced(item, tensors, foreign) for item in nest]
    if kind is dict:
        return {key: replaced(item, tensors, foreign) for key, item in nest.items()}
    if kind in _ATOMS:
        return nest
    if _moves_itself(nest):
        return foreign(nest)
    if isinstance(nest, tuple):
        return _replaced_tuple(nest, [replaced(item, tensors, foreign) for item in nest])
    if isinstance(nest, list):
        new = copy.copy(nest)
        new[:] = [replaced(item, tensors, foreign) for item in nest]
        return new
    if isinstance(nest, collections.abc.Mapping):
        return _replaced_mapping(nest, {key: replaced(item, tensors, foreign) for key, item in nest.items()})
    if _is_dataclass(nest):
        new = copy.copy(nest)
        for name, value in _fields(nest):
            object.__setattr__(new, name, replaced(value, tensors, foreign))
        return new
    return nest


def path_of(nest: Any, tensor: torch.Tensor) -> str:
    """Where in the nest a tensor is, as it would be written: `["image"][0]`; empty for the nest itself."""
    return next((path for path, found in _paths(nest, "") if found is tensor), "")


def describe(nest: Any, tensor: torch.Tensor) -> str:
    """A tensor for an error's sentence: where it is, its shape and its dtype."""
    path = path_of(nest, tensor)
    return f"the tensor{' at ' + path if path else ''} (shape {tuple(tensor.shape)}, {tensor.dtype})"


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
        for _, item in _children(nest):
            _find(item, found)


def _children(nest: Any) -> Iterator[tuple[str, Any]]:
    if type(nest) in _ATOMS or _moves_itself(nest):
        return
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        yield from ((f".{name}", item) for name, item in zip(nest._fields, nest, strict=True))
    elif isinstance(nest, (list, tuple)):
        yield from ((f"[{index}]", item) for index, item in enumerate(nest))
    elif isinstance(nest, collections.abc.Mapping):
        yield from ((f"[{key!r}]", item) for key, item in nest.items())
    elif _is_dataclass(nest):
        yield from ((f".{name}", item) for name, item in _fields(nest))


def _paths(nest: Any, path: str) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(nest, torch.Tensor):
        yield path, nest
        return
    for step, item in _children(nest):
        yield from _paths(item, path + step)


def _moves_itself(nest: Any) -> bool:
    # A TensorDict, a BatchEncoding, a PackedSequence: what has a .to() knows best. Never a class.
    return not isinstance(nest, type) and callable(getattr(nest, "to", None))


def _is_dataclass(nest: Any) -> bool:
    return dataclasses.is_dataclass(nest) and not isinstance(nest, type)


def _fields(nest: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(nest):
        if hasattr(nest, field.name):  # one without a default may not have been set
            yield field.name, getattr(nest, field.name)


def _replaced_tuple(nest: tuple, items: list) -> tuple:
    if type(nest) is tuple:
        return tuple(items)
    # Also keeps torch.Size and tuples of unknown making that hold no tensor.
    if all(new is old for new, old in zip(items, nest, strict=True)):
        return nest
    make = getattr(type(nest), "_make", None)  # of a namedtuple
    return make(items) if make is not None else type(nest)(items)


def _replaced_mapping(nest: collections.abc.Mapping, items: dict) -> collections.abc.Mapping:
    if isinstance(nest, collections.abc.MutableMapping):
        new = copy.copy(nest)  # keeps a default factory, an order, attributes
        for key, item in items.items():
            new[key] = item
        return new
    if all(item is nest[key] for key, item in items.items()):
        return nest
    return type(nest)(items)  # type: ignore[call-arg]
