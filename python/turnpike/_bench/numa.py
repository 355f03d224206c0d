"""The NUMA nodes of this machine: where a GPU is attached, where memory lies, and memory of a chosen node."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import platform
from typing import Any

NODES = "/sys/devices/system/node"
_MPOL_BIND = 2
# mbind and move_pages have no wrapper in glibc; libnuma is not everywhere.
_NUMBERS = {"x86_64": (237, 279), "aarch64": (235, 239)}


def nodes(folder: str = NODES) -> list[int]:
    """The nodes that have memory; empty where /sys does not tell."""
    try:
        with open(os.path.join(folder, "has_memory")) as file:
            return parse_list(file.read())
    except OSError:
        return []


def parse_list(text: str) -> list[int]:
    """As the kernel writes sets of numbers: "0-1,4"."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first:
            numbers += range(int(first), int(last or first) + 1)
    return numbers


def node_of_gpu(pci_address: str | None, folder: str = "/sys/bus/pci/devices") -> int | None:
    """None where /sys does not tell: the kernel says -1 for that."""
    if pci_address is None:
        return None
    try:
        with open(os.path.join(folder, pci_address, "numa_node")) as file:
            node = int(file.read())
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None


def node_of_memory(address: int) -> int | None:
    """The node of a page that was touched; None where the system does not tell."""
    numbers = _NUMBERS.get(platform.machine())
    if numbers is None:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    page = ctypes.c_void_p(address & ~(mmap.PAGESIZE - 1))
    status = ctypes.c_int(-1)
    # Without a list of nodes, move_pages moves nothing and tells where the page is.
    failed = libc.syscall(numbers[1], 0, ctypes.c_ulong(1), ctypes.byref(page), None, ctypes.byref(status), 0)
    return None if failed or status.value < 0 else status.value


def memory_on(node: int, size_bytes: int) -> mmap.mmap:
    """Fresh memory whose pages will come from `node`. Raises OSError where the system refuses that."""
    numbers = _NUMBERS.get(platform.machine())
    if numbers is None:
        raise OSError(f"no way known to choose a NUMA node on {platform.machine()}")
    memory = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    holder = ctypes.c_char.from_buffer(memory)
    address = ctypes.c_void_p(ctypes.addressof(holder))
    del holder
    mask = ctypes.c_ulong(1 << node)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(
        numbers[0], address, ctypes.c_ulong(size_bytes), _MPOL_BIND, ctypes.byref(mask), ctypes.c_ulong(64), 0
    ):
        error = ctypes.get_errno()
        with contextlib.suppress(BufferError):
            memory.close()
        raise OSError(error, f"memory of NUMA node {node} is refused: {os.strerror(error)}")
    return memory


def sentence(pci_address: str | None, tensors: dict[str, Any]) -> str:
    """Where everything lies, for people."""
    known = nodes()
    if len(known) < 2:
        where = "this machine has one NUMA node" if known else "this system does not tell its NUMA nodes"
        return where
    gpu = node_of_gpu(pci_address)
    parts = [f"the GPU is at NUMA node {gpu}" if gpu is not None else "the GPU's NUMA node is not known"]
    for name, tensor in tensors.items():
        node = node_of_memory(tensor.data_ptr())
        parts.append(f"{name}: node {node}" if node is not None else f"{name}: not known")
    return "; ".join(parts)
