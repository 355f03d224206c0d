"""PyTorch, imported at its first use: Turnpike itself neither needs nor loads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["torch"]


class _Torch:
    def __getattr__(self, name: str) -> Any:
        try:
            import torch
        except ImportError as error:
            raise ImportError(
                "Turnpike moves tensors of PyTorch, which cannot be imported here. Install it: pip install torch",
                name="torch",
            ) from error
        value = getattr(torch, name)
        setattr(self, name, value)  # from now on found without this method
        return value


if TYPE_CHECKING:
    import torch
else:
    torch = _Torch()
