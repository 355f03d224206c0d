"""Measures the host memory of one way to have a tensor: python -m turnpike._bench.resident MODE BYTES DEVICE.

Prints {"peak_bytes": N}: the most that the process had resident, over what it had when CUDA was up.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

MODES = ("pageable", "pinned at allocation", "pin_memory() afterwards", "Turnpike, in place")


def resident_bytes(field: str) -> int:
    """field: VmRSS, what is resident now; VmHWM, the most since it was reset."""
    with open("/proc/self/status") as status:
        found = re.search(rf"^{field}:\s+(\d+) kB", status.read(), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"/proc/self/status has no {field}")
    return int(found.group(1)) * 1024


def reset_peak() -> None:
    # Needs no privilege for the own process. Where it is refused the peak would be that of importing PyTorch.
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def take(mode: str, size_bytes: int, torch: Any) -> Any:
    """A tensor of that many bytes, written, and page-locked as `mode` says."""
    if mode == "pinned at allocation":
        return torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True).fill_(1)
    tensor = torch.ones(size_bytes, dtype=torch.uint8)
    if mode == "pin_memory() afterwards":
        return tensor.pin_memory()
    if mode == "Turnpike, in place":
        import turnpike

        turnpike.pin_(tensor)
    return tensor


def give_back(mode: str, tensor: Any) -> None:
    if mode == "Turnpike, in place":
        import turnpike

        turnpike.unpin_(tensor)


def measure(mode: str, size_bytes: int, device: str) -> dict[str, int]:
    import torch

    torch.ones(1 << 12, dtype=torch.uint8).to(device)
    give_back(mode, take(mode, 1 << 20, torch))  # brings in the code and, for Turnpike, the engine
    before = resident_bytes("VmRSS")
    reset_peak()
    tensor = take(mode, size_bytes, torch)
    peak = resident_bytes("VmHWM")
    if int(tensor[-1]) != 1:
        raise RuntimeError("the tensor lost its values")
    give_back(mode, tensor)
    return {"peak_bytes": peak - before}


def main() -> int:
    mode, size_bytes, device = sys.argv[1:4]
    if mode not in MODES:
        print(f"unknown mode {mode!r}; one of {', '.join(MODES)}", file=sys.stderr)
        return 2
    print(json.dumps(measure(mode, int(size_bytes), device)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
