"""strict=True: what a nest holds that is not moved is named."""

from __future__ import annotations

from typing import Any

from turnpike import _core
from turnpike._move import tree
from turnpike._move.late import torch

# Types that hold no tensor.
_KNOWN = {
    "builtins": {
        *("str", "bytes", "int", "float", "bool", "complex", "NoneType"),
        "range",
        "slice",
        "ellipsis",
        "NotImplementedType",
        "type",
        "function",
        "builtin_function_or_method",
        "memoryview",
        "bytearray",
    },
    "torch": {"dtype", "device", "layout", "memory_format", "Generator", "Size"},
}
_MODULES = {"datetime", "decimal", "fractions", "pathlib", "uuid", "numpy", "zoneinfo", "re", "PIL", "pandas", "enum"}


def left_behind(nest: Any) -> list[tuple[str, Any]]:
    """The objects of a nest that are passed through as they are though they may hold tensors, each with its path.

    Those of unknown types are among them, and sets; text, numbers, dates, arrays of NumPy and the like are not.
    """
    return [(path, leaf) for path, leaf in tree.leaves(nest) if not (_is_moved(leaf) or _holds_no_tensor(leaf))]


def refuse_left_behind(call: str, nest: Any) -> None:
    """Raises turnpike.Error for what :func:`left_behind` finds: this is strict=True."""
    found = left_behind(nest)
    if found:
        names = [f"{path or 'the object itself'} ({_type_name(leaf)})" for path, leaf in found]
        raise _core.Error(
            f"{call} with strict=True leaves behind what it does not know: {', '.join(names[:8])}"
            f"{f' and {len(names) - 8} more' if len(names) > 8 else ''}. Give the type a method .to(device), register "
            "it with torch.utils._pytree.register_pytree_node, or put its tensors into a dict."
        )


def _is_moved(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) or tree.moves_itself(leaf)


def _holds_no_tensor(leaf: Any) -> bool:
    for kind in type(leaf).__mro__:
        module, name = kind.__module__, kind.__qualname__
        if name in _KNOWN.get(module, ()) or name == "Enum" and module == "enum":
            return True
        if module.partition(".")[0] in _MODULES:
            return not getattr(getattr(leaf, "dtype", None), "hasobject", False)  # an array of objects
    return False


def _type_name(leaf: Any) -> str:
    kind = type(leaf)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
