"""The rules of a guard as the library reads them: text (src/guard/rules.h)."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any, Literal

from turnpike import _toml
from turnpike._guard.library import call

Level = Literal["allow", "log", "disallow"] | int | str
KINDS = ("h2d", "d2h", "d2d", "p2p", "h2h", "sync", "pageable", "alloc", "repeat")
SWITCHES = ("capture", "compile", "moves", "threads")
_DIRECTIONS = (*KINDS[:5], "memset")  # of [[allow]]; memset concerns `turnpike check` alone


def rules_text(levels: dict[str, Level | None], allow: str | Iterable[str]) -> str:
    """The rules as text, checked. Raises ValueError with what is wrong."""
    sites = [allow] if isinstance(allow, str) else list(allow)
    lines = [f"{key}={_value(key, level)}" for key, level in levels.items() if level is not None]
    for site in sites:
        if not isinstance(site, str):
            raise ValueError(f"guard: allow={site!r} is no site: write it like 'train.py:save'")
        if "," in site or "\n" in site:
            raise ValueError(f"guard: a site holds neither a comma nor a line break: {site!r}")
        lines.append(f"allow={site}")
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


def read_config(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[str]]:
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
    sites = [_site_of(entry, os.fspath(path)) for entry in entries]
    return table, [site for site in sites if site is not None]


def _site_of(entry: Any, path: str) -> str | None:
    """The site of an entry of [[allow]], which `turnpike check` reads as well. None: it does not concern a guard."""
    site = entry.get("site") if isinstance(entry, dict) else None
    if not isinstance(site, str):
        raise ValueError(f'{path!s}: [[allow]] needs a site, such as site = "train.py:save"')
    direction = entry.get("direction")
    if direction is None:
        return site
    if direction not in _DIRECTIONS:
        raise ValueError(
            f"{path!s}: [[allow]]: there is no direction {direction!r}. Known are {', '.join(_DIRECTIONS)}"
        )
    return None if direction == "memset" else f"{direction} {site}"
