"""Turnpike in Ray: the environment that has unchanged workers recorded.

    ray.init(runtime_env=runtime_env("/shared/run.tpk"))

Ray starts its workers itself, so they do not inherit what `turnpike record` sets. This module does not import Ray.
"""

from __future__ import annotations

import os
from typing import Any

from turnpike import _native
from turnpike._session import Detail, Path


def runtime_env(run: Path, *, detail: Detail = "full", stacks: bool = True, source: bool = True) -> dict[str, Any]:
    """Returns a `runtime_env` for `ray.init()`: all workers of the job that use CUDA are recorded.

        ray.init(runtime_env={**runtime_env("/shared/run.tpk"), "pip": ["einops"]})

    Workers write a file each, named after their ranks. To record only a part, call `turnpike.record()` in the function
    that the workers train with, and use no `runtime_env`.

    Args:
        run: The run: a directory that all machines of the job reach under this name.
        detail: As for `turnpike.start()`.
        stacks: As for `turnpike.start()`.
        source: As for `turnpike.start()`.

    Raises:
        ValueError: `detail` is neither "full" nor "transfers".
    """
    if detail not in ("full", "transfers"):
        raise ValueError(f"detail is {detail!r}: it is 'full' or 'transfers'")
    variables = {
        # Every machine of the job has Turnpike at the same place, as Ray wants it for everything that is imported.
        "CUDA_INJECTION64_PATH": _native.RECORD_LIBRARY,
        "NVTX_INJECTION64_PATH": _native.RECORD_LIBRARY,
        "TURNPIKE_RUN": os.path.abspath(os.fsdecode(run)),
        "TURNPIKE_DETAIL": detail,
        "TURNPIKE_STACKS": "1" if stacks else "0",
        "TURNPIKE_SOURCE": "1" if source else "0",
        "TURNPIKE_LINK_TRAFFIC": "1",
    }
    return {"env_vars": variables}
