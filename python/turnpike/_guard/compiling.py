"""Whether the compiler of PyTorch traces the caller. In what it compiles a guard is nothing, and breaks no graph."""

from __future__ import annotations

import sys


def is_compiling() -> bool:
    """True only for the compiler, which takes the branch that follows for good."""
    compiler = sys.modules.get("torch.compiler")
    return compiler is not None and compiler.is_compiling()
