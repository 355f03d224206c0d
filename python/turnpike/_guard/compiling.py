"""Whether the compiler of PyTorch traces the caller. In what it compiles a guard is nothing, and breaks no graph."""

from __future__ import annotations

import sys


def is_compiling() -> bool:
    """True only for the compiler, which takes the branch that follows for good."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "compiler") and torch.compiler.is_compiling()
