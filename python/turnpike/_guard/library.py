"""libturnpike_guard.so by its C interface (src/guard/guard.h).

By ctypes and not in the extension: the library must be one for the whole process, whoever loads it first.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import logging
import os
import warnings
from typing import Any

from turnpike import _native
from turnpike._core import Error


def _open() -> dict[str, Any]:
    path = os.environ.get("TURNPIKE_GUARD_LIBRARY") or _native.GUARD_LIBRARY
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise Error(f"The guard could not be loaded: {error}") from error
    functions: dict[str, Any] = {}
    text, number = ctypes.c_char_p, ctypes.c_uint64
    signatures: tuple[tuple[str, Any, list[Any]], ...] = (
        ("take_slots", number, []),
        ("restore_slots", None, []),
        ("sees_outside", ctypes.c_int, []),
        ("has_gpu", ctypes.c_int, []),
        ("check", text, [text]),
        ("enter", number, [text]),
        ("pause", None, [number]),
        ("resume", None, [number]),
        ("leave", text, [number]),
        ("move", text, [text, number]),
        ("raised", text, [text]),
        ("learn_context", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p]),
        ("self_time", ctypes.c_int, [ctypes.POINTER(number)] * 2),
        ("logged", text, []),
        ("unmatched", text, []),
        ("begin", number, [text, ctypes.c_int]),
        ("end", ctypes.c_int, [number]),
    )
    # These two are over before another thread could have taken the GIL.
    keeping_the_gil = ctypes.PyDLL(path)
    for name, result, arguments in signatures:
        try:
            source = keeping_the_gil if name in ("begin", "end") else library
            functions[name] = function = source[f"turnpike_guard_{name}"]
        except AttributeError as error:
            raise Error(f"{path} is of another version of Turnpike. Install the package again.") from error
        function.restype, function.argtypes = result, arguments
    return functions


@functools.cache
def functions() -> dict[str, Any]:
    """The library's functions, loaded at the first use."""
    loaded = _open()
    inner, outer = contextvars.copy_context(), contextvars.copy_context()
    _check_rules_of_process(loaded)
    if not outer.run(inner.run, loaded["learn_context"], id(inner), id(outer)):
        logging.getLogger("turnpike.guard").warning(
            "the contexts of this Python cannot be read: a guard in a task of asyncio holds for all tasks of its thread"
        )
    return loaded


def _check_rules_of_process(loaded: dict[str, Any]) -> None:
    """The library reads them where the driver loads it: without a GPU nobody would say that they are wrong."""
    text = os.environ.get("TURNPIKE_GUARD", "")
    if mistake := loaded["check"](os.fsencode(text)).decode(errors="replace"):
        warnings.warn(f"TURNPIKE_GUARD={text!r} guards nothing: {mistake}", RuntimeWarning, stacklevel=2)


def is_loaded() -> bool:
    """Whether the library was used."""
    return functions.cache_info().currsize != 0


def call(name: str, *arguments: Any) -> Any:
    """Calls a function of the library; text goes in and comes back as str."""
    encoded = [one.encode(errors="surrogateescape") if isinstance(one, str) else one for one in arguments]
    result = functions()[name](*encoded)
    return result.decode(errors="replace") if isinstance(result, bytes) else result
