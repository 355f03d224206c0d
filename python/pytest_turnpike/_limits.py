"""Limits of one test: from markers, the ini and the file of limits to a budget of `turnpike check`."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

import pytest

DIRECTIONS = ("h2d", "d2h", "d2d", "p2p", "h2h")
# What a test is measured by: keys of [per_run] of a budget. Times are measured, too, and kept in no file of limits.
COUNTED = tuple(f"{name}_{what}" for name in DIRECTIONS for what in ("count", "bytes")) + ("syncs", "pageable")
MEASURED = (*COUNTED, "blocked")
# More than any test does: the limit of what has none, so that `turnpike check` measures it all the same.
NO_COUNT = 2**53
NO_TIME = "9e9 s"
NO_TIME_NS = 9e18

Limit = int | str


@dataclasses.dataclass
class Limits:
    """What one test may do. `most`: by the keys of `COUNTED` and `blocked`."""

    most: dict[str, Limit]
    allow: list[str]
    losses: list[str] | bool = False
    warmup: int = 0
    require_gpu: bool = False
    guard: bool = False
    allocs: Limit | None = None  # only a guard counts them
    is_marked: bool = False

    @property
    def is_from_file(self) -> bool:
        """Whether the marker names no limit, so that the file of limits has them."""
        return self.is_marked and not self.most


def default_limits(config: pytest.Config) -> Limits:
    """The limits of every test.

    Raises:
        pytest.UsageError: The ini says what is no limit.
    """
    limits = Limits({}, [])
    _add(limits, _of_ini(config.getini("turnpike_default")), "turnpike_default")
    return limits


def limits_of(item: pytest.Item) -> Limits:
    """The limits of a test: the ini's, and over them those of its module, class and function, the nearest last.

    Raises:
        pytest.UsageError: A marker or the ini says what is no limit.
    """
    limits = default_limits(item.config)
    markers = list(item.iter_markers("limit_transfers"))
    for marker in reversed(markers):
        if marker.args:
            raise pytest.UsageError(f"{item.nodeid}: limit_transfers takes limits by name: d2h=0, syncs=0")
        _add(limits, marker.kwargs, item.nodeid)
    if limits.allocs is not None and not limits.guard:
        raise pytest.UsageError(f"{item.nodeid}: only a guard counts allocations: write allocs=..., guard=True")
    limits.is_marked = bool(markers)
    limits.require_gpu |= bool(
        item.config.getoption("turnpike_require_gpu") or item.config.getini("turnpike_require_gpu")
    )
    return limits


def _of_ini(text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise pytest.UsageError(f"turnpike_default: {error}: {text}") from error
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise pytest.UsageError(f"turnpike_default: '{word}' is no limit; write d2h=0 syncs=2 h2d='1 MB'")
        flags = {"true": True, "false": False}
        values[name] = flags.get(value.lower(), int(value) if value.isdecimal() else value)
    return values


def _add(limits: Limits, values: Mapping[str, Any], where: str) -> None:
    for name, value in values.items():
        if name == "allow":
            limits.allow += [value] if isinstance(value, str) else list(value)
        elif name == "losses":
            limits.losses = value if isinstance(value, bool) else [value] if isinstance(value, str) else list(value)
        elif name == "warmup":
            if type(value) is not int or value < 0:
                raise pytest.UsageError(f"{where}: warmup={value!r} is no number of calls")
            limits.warmup = value
        elif name in ("require_gpu", "guard"):
            if not isinstance(value, bool):
                raise pytest.UsageError(f"{where}: {name}={value!r} is neither true nor false")
            setattr(limits, name, value)
        elif name == "allocs":
            if value is not None and (type(value) is not int or value < 0):
                raise pytest.UsageError(f"{where}: allocs={value!r} is no number of allocations")
            limits.allocs = value
        else:
            _add_limit(limits, name, value, where)


def _add_limit(limits: Limits, name: str, value: Any, where: str) -> None:
    if name in DIRECTIONS:
        # A number counts transfers, a text is a size; None takes an outer marker's limits of both away.
        if value is None:
            limits.most.pop(f"{name}_count", None)
            limits.most.pop(f"{name}_bytes", None)
            return
        name += "_bytes" if isinstance(value, str) else "_count"
    if name not in MEASURED:
        known = ", ".join((*DIRECTIONS, *MEASURED, "allocs", "allow", "guard", "losses", "warmup", "require_gpu"))
        raise pytest.UsageError(f"{where}: limit_transfers knows no '{name}'; known are {known}")
    if value is None:
        limits.most.pop(name, None)
        return
    is_number = type(value) is int and value >= 0 and name != "blocked"
    is_size = isinstance(value, str) and name.endswith(("_bytes", "blocked")) and re.match(r"\d", value)
    if not is_number and not is_size:
        raise pytest.UsageError(f"{where}: {name}={value!r} is no limit; write d2h=0, h2d='1 MB', blocked='2 ms'")
    limits.most[name] = value


def quoted(text: str) -> str:
    """The text in TOML's quotes: JSON's, but for DEL and for what JSON writes as two surrogates."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def budget(limits: Limits, most: dict[str, Limit]) -> str:
    """The budget of `turnpike check` that measures everything and limits `most`."""
    lines = ["[per_run]"]
    for name in MEASURED:
        unlimited: Limit = NO_TIME if name == "blocked" else NO_COUNT
        lines.append(f"{name} = {json.dumps(most.get(name, unlimited))}")
    for site in limits.allow:
        # A site of a class's marker is not in each of its tests.
        lines += ["[[allow]]", f"site = {quoted(site)}", "optional = true"]
    lines += ["[losses]", f"allow = {json.dumps(limits.losses)}"]
    return "\n".join(lines) + "\n"
