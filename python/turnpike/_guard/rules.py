"""The rules of a guard as the library reads them: text (src/guard/rules.h)."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from turnpike import _toml
from turnpike._guard.library import call

Level = Literal["allow", "log", "disallow"] | int | str
KINDS = ("h2d", "d2h", "d2d", "p2p", "h2h", "sync", "pageable", "alloc", "repeat")
SWITCHES = ("capture", "compile", "moves", "threads")
_ALLOW_KEYS = ("site", "direction", "reason", "optional")
_DIRECTIONS = (*KINDS[:5], "memset")  # of [[allow]]; memset concerns `turnpike check` alone


class Allowed(NamedTuple):
    """An entry of an allow list."""

    site: str
    is_optional: bool = False


def allowed_of(entries: Iterable[Any]) -> tuple[Allowed, ...]:
    """The entries that a program gives: sites, or what [[allow]] holds as a dict."""
    found = []
    for entry in entries:
        if isinstance(entry, dict):
            allowed = _allowed(entry, f"guard: allow={entry!r}")
        elif isinstance(entry, str):
            allowed = Allowed(entry)
        else:
            raise ValueError(f"guard: allow={entry!r} is no site: write it like 'train.py:save'")
        if allowed is not None:
            found.append(allowed)
    return tuple(found)


def rules_text(levels: dict[str, Level | None], allow: Iterable[Allowed]) -> str:
    """The rules as text, checked. Raises ValueError with what is wrong."""
    lines = [f"{key}={_value(key, level)}" for key, level in levels.items() if level is not None]
    for site, is_optional in allow:
        if "," in site or "\n" in site:
            raise ValueError(f"guard: a site holds neither a comma nor a line break: {site!r}")
        lines.append(f"may_allow={site}" if is_optional else f"allow={site}")
    text = "\n".join(lines)
    if mistake := _mistake_in(text):
        raise ValueError(f"guard: {mistake}")
    return text


@functools.lru_cache(maxsize=256)
def _mistake_in(text: str) -> str:
    # Once, for a `with` statement in a loop.
    mistake: str = call("check", text)
    return mistake


def _value(key: str, level: Level) -> str:
    if key in SWITCHES and not isinstance(level, str):
        choices = "'own' nor 'all'" if key == "threads" else "'allow' nor 'disallow'"
        raise ValueError(f"guard: {key}={level!r} is neither {choices}")
    if isinstance(level, bool) or not isinstance(level, int | str):
        raise ValueError(f"guard: {key}={level!r} is neither 'allow', 'log', 'disallow', a number nor a size")
    text = str(level)
    if "," in text or "\n" in text:
        raise ValueError(f"guard: {key}={level!r} is neither 'allow', 'log', 'disallow', a number nor a size")
    return text


def read_config(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Allowed]]:
    """The table [guard] of a turnpike.toml, and the sites of its [[allow]] entries."""
    content = _toml.load(path)
    table = content.get("guard")
    if not isinstance(table, dict):
        raise ValueError(f"{os.fspath(path)} has no table [guard]")
    if not table:
        raise ValueError(f'{os.fspath(path)}: [guard] has no rules, such as d2h = "disallow"')
    known = (*KINDS, *SWITCHES, "skip")
    for key in table:
        if key not in known:
            raise ValueError(f"{os.fspath(path)}: [guard]: there is no key {key!r}. Known are {', '.join(known)}")
    entries = content.get("allow", [])
    if not isinstance(entries, list):
        raise ValueError(f"{os.fspath(path)}: allow is no list of tables: write [[allow]]")
    allowed = [_allowed(entry, f"{os.fspath(path)}: [[allow]] {number}") for number, entry in enumerate(entries, 1)]
    return table, [one for one in allowed if one is not None]


def _allowed(entry: Any, place: str) -> Allowed | None:
    """An entry of [[allow]], which `turnpike check` reads as well. None: it does not concern a guard."""
    site = entry.get("site") if isinstance(entry, dict) else None
    if not isinstance(site, str):
        raise ValueError(f'{place} needs a site, such as site = "train.py:save"')
    for key in entry:
        if key not in _ALLOW_KEYS:
            raise ValueError(f"{place}: there is no key {key!r}. Known are {', '.join(_ALLOW_KEYS)}")
    reason, is_optional, direction = entry.get("reason", ""), entry.get("optional", False), entry.get("direction")
    if not isinstance(reason, str):
        raise ValueError(f"{place}: reason={reason!r} is no text")
    if not isinstance(is_optional, bool):
        raise ValueError(f"{place}: optional={is_optional!r} is neither true nor false")
    if direction is None:
        return Allowed(site, is_optional)
    if direction not in _DIRECTIONS:
        raise ValueError(f"{place}: there is no direction {direction!r}. Known are {', '.join(_DIRECTIONS)}")
    return None if direction == "memset" else Allowed(f"{direction} {site}", is_optional)
