"""Work for the GPU of a wanted length, which is what transfers are put beside."""

from __future__ import annotations

import time
from typing import Any

from turnpike._bench.machine import Machine


class Work:
    """Multiplies matrices of bfloat16 on the current stream: 2048 x 2048 takes about 30 us on an H100."""

    EDGE = 2048

    def __init__(self, machine: Machine, device: Any = None) -> None:
        torch = machine.torch
        edge = machine.side(self.EDGE)
        self.machine = machine
        self.device = device or machine.device
        self.left = torch.full((edge, edge), 0.01, dtype=torch.bfloat16, device=self.device)
        self.right = torch.eye(edge, dtype=torch.bfloat16, device=self.device)
        self.out = torch.empty_like(self.left)
        self.one_s = self._measure()

    def run(self, times: int) -> None:
        for _ in range(times):
            self.machine.torch.mm(self.left, self.right, out=self.out)

    def times_for(self, seconds: float) -> int:
        """How many multiplications take that long; at least one."""
        return max(1, round(seconds / self.one_s))

    def _measure(self, times: int = 200) -> float:
        taken = []
        for _ in range(4):  # the first warms up
            self.machine.synchronize()
            start = time.perf_counter()
            self.run(times)
            self.machine.synchronize()
            taken.append((time.perf_counter() - start) / times)
        return min(taken[1:])


def seconds_of(machine: Machine, run: Any, repeat: int = 3) -> float:
    """The shortest time of a few, until the device has finished."""
    taken = []
    for _ in range(repeat + 1):
        machine.synchronize()
        start = time.perf_counter()
        run()
        machine.synchronize()
        taken.append(time.perf_counter() - start)
    return min(taken[1:])
