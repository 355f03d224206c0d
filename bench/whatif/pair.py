"""A pair: a program as users write it and the same program fixed by hand, in one file of pairs/.

The file defines `as_is(device)` and `fixed(device)`. Each returns `step`, called with 0, 1, 2, ..., and `result`,
called after the last step, whose tensor must be the same for both. It also says
    EDITS    what `turnpike whatif` shall change in a recording of as_is: "NAME@{MARKER}", or "NAME" without a line.
             {MARKER} stands for the line that ends in "# <- edit MARKER"; {line} for the one that ends in "# <- edit".
    STEPS    how many steps to record (60)
    GPUS     how many GPUs it needs (1)
    RTOL     how far, relatively, the two results may be apart (1e-4)
    DRY_RUN  smaller values of its constants, for trying it out on a CPU
"""

from __future__ import annotations

import dataclasses
import glob
import importlib.util
import os
import re
from collections.abc import Callable
from typing import Any

import torch

PAIRS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pairs")
Build = Callable[[str], tuple[Callable[[int], None], Callable[[], torch.Tensor]]]
MARKER = re.compile(r"# <- edit(?: (\w+))?$")


@dataclasses.dataclass
class Pair:
    name: str
    path: str
    module: Any

    @property
    def steps(self) -> int:
        return getattr(self.module, "STEPS", 60)

    @property
    def gpus(self) -> int:
        return getattr(self.module, "GPUS", 1)

    @property
    def mistake(self) -> str:
        return " ".join(self.module.__doc__.split())

    def edits(self) -> list[str]:
        """EDITS with the places filled in: "hoist_upload@reupload.py:25"."""
        places = {name: f"{os.path.basename(self.path)}:{line}" for name, line in marked_lines(self.path).items()}
        return [edit.format_map(places) for edit in self.module.EDITS]

    def loops(self, device: str) -> tuple[Loop, Loop]:
        """Both programs, not yet run: as it is, fixed."""
        return tuple(Loop(build, device, self.gpus) for build in (self.module.as_is, self.module.fixed))

    def compare(self, one: torch.Tensor, other: torch.Tensor) -> None:
        """Raises AssertionError when the two programs did not compute the same."""
        if not bool(torch.isfinite(one).all()):
            raise AssertionError("the result is not finite, so that it proves nothing")
        torch.testing.assert_close(one, other, rtol=getattr(self.module, "RTOL", 1e-4), atol=1e-5, check_device=False)


class Loop:
    """One of the two programs, as far as it has run."""

    def __init__(self, build: Build, device: str, gpus: int) -> None:
        self.step, self.result = build(device)
        self.gpus = gpus
        self.done = 0

    def run(self, steps: int, *, marked: bool = False) -> None:
        """The next `steps` steps; `marked`: each inside an NVTX range named step. Does not wait for the GPU."""
        step, first = self.step, self.done
        self.done += steps
        if not marked:
            for i in range(first, first + steps):
                step(i)
            return
        for i in range(first, first + steps):
            with torch.cuda.nvtx.range("step"):
                step(i)

    def wait(self) -> None:
        """Until the GPUs are done."""
        for gpu in range(self.gpus):
            torch.cuda.synchronize(gpu)


def names() -> list[str]:
    return sorted(os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(PAIRS, "*.py")))


def load(name: str, *, dry_run: bool = False) -> Pair:
    path = os.path.join(PAIRS, name + ".py")
    spec = importlib.util.spec_from_file_location(f"whatif_{name}", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise ValueError(f"there is no pair {name}; there are {', '.join(names())}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if dry_run:
        vars(module).update(module.DRY_RUN)
    return Pair(name, path, module)


def marked_lines(path: str) -> dict[str, int]:
    """The numbers of the marked lines by the name of their marker, "line" for one without a name."""
    found: dict[str, int] = {}
    with open(path) as file:
        for number, text in enumerate(file, 1):
            if match := MARKER.search(text.rstrip()):
                name = match[1] or "line"
                if name in found:
                    raise ValueError(f"{path}:{number}: the marker {name} is already on line {found[name]}")
                found[name] = number
    return found
