"""The GPU as the experiments see it. Tests put a stand-in without a GPU in its place."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from turnpike._bench import result
from turnpike._bench.timing import POISON, WrongResult

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class Nothing(Exception):
    """There is nothing here to measure with; the sentence says why."""


def open_machine(index: int | None) -> Machine:
    """The machine of this process. Raises Nothing without PyTorch, without a GPU, or without GPU number `index`."""
    import sys

    try:
        import torch
    except ImportError:
        raise Nothing(
            f"this needs PyTorch, and {sys.executable} has none. Install it there, or use the Python that has it: "
            "python -m turnpike bench"
        ) from None
    if not torch.cuda.is_available():
        raise Nothing(f"PyTorch {torch.__version__} sees no GPU here, and everything here is about one")
    if index is not None and index >= torch.cuda.device_count():
        raise Nothing(f"there is no GPU {index}: PyTorch sees {torch.cuda.device_count()}, counted from 0")
    import turnpike

    machine = Machine(torch, turnpike, torch.device("cuda", index or 0))
    torch.cuda.set_device(machine.device)
    return machine


class Machine:
    """PyTorch, Turnpike and a GPU."""

    def __init__(self, torch: Any, tp: Any, device: Any) -> None:
        self.torch = torch
        self.tp = tp
        self.device = device

    # Sizes and counts go through these, so that a stand-in can make them small.
    def sized(self, size_bytes: int) -> int:
        return size_bytes

    def side(self, edge: int) -> int:
        return edge

    def workers(self, count: int) -> int:
        return count

    def steps(self, count: int) -> int:
        return count

    def device_count(self) -> int:
        return self.torch.cuda.device_count()

    def other_device(self) -> Any:
        """Another GPU than this one. There must be one."""
        return self.torch.device("cuda", 1 if self.device.index == 0 else 0)

    def can_reach(self, device: Any, other: Any) -> bool:
        """Whether the first device reads and writes the other's memory directly."""
        return self.torch.cuda.can_device_access_peer(device, other)

    def synchronize(self) -> None:
        for index in range(self.torch.cuda.device_count()):
            # A device without a context has nothing to wait for, and would get one.
            if self.torch.cuda.memory_reserved(index):
                self.torch.cuda.synchronize(index)

    def new_stream(self, device: Any = None) -> Any:
        return self.torch.cuda.Stream(device or self.device)

    def current_stream(self, device: Any = None) -> Any:
        return self.torch.cuda.current_stream(device or self.device)

    def use(self, stream: Any) -> Any:
        """A context in which `stream` is its device's current one; the current device stays."""
        return self.torch.cuda.stream(stream)

    def keep_busy(self, ms: int) -> None:
        """Gives the current stream work for about `ms` milliseconds (on a GPU of 2 GHz)."""
        self.torch.cuda._sleep(ms * 2_000_000)

    def new_event(self) -> Any:
        return self.torch.cuda.Event()

    def keep_for(self, tensor: Any, stream: Any) -> None:
        tensor.record_stream(stream)

    def pin(self, tensor: Any) -> Any:
        return tensor.pin_memory()

    def empty_pinned(self, shape: Any, dtype: Any) -> Any:
        return self.torch.empty(shape, dtype=dtype, pin_memory=True)

    def register(self, tensor: Any) -> None:
        """cudaHostRegister: page-locks the tensor's memory."""
        code = self.torch.cuda.cudart().cudaHostRegister(tensor.data_ptr(), tensor.nbytes, 0)
        if int(code) != 0:
            raise RuntimeError(f"cudaHostRegister of {tensor.nbytes} bytes failed with error {int(code)}")

    def unregister(self, tensor: Any) -> None:
        self.torch.cuda.cudart().cudaHostUnregister(tensor.data_ptr())

    def is_pinned(self, tensor: Any) -> bool:
        return tensor.is_pinned()

    def release_device_memory(self) -> None:
        self.torch.cuda.empty_cache()

    def release_pinned_memory(self) -> None:
        """Gives PyTorch's cached page-locked blocks back to the system, where PyTorch has a call for that."""
        empty = getattr(self.torch._C, "_host_emptyCache", None)
        if empty is not None:
            empty()

    def reset_peak(self) -> int:
        """Starts a new measurement of the most device memory taken; returns what is taken now.

        What PyTorch has taken from the driver, not what its tensors are: a tensor that is freed while its stream still
        works holds memory that no other stream can have.
        """
        self.release_device_memory()
        self.torch.cuda.reset_peak_memory_stats(self.device)
        return self.torch.cuda.memory_reserved(self.device)

    def peak_bytes(self) -> int:
        return self.torch.cuda.max_memory_reserved(self.device)

    def poison(self, size_bytes: int, *streams: Any) -> None:
        """Fills device memory and frees it: PyTorch hands it to the next one who asks for as much.

        streams: those for which it is to be allocated, beside the current one: each has memory of its own.
        """
        for stream in (self.current_stream(), *streams):
            with self.use(stream):
                self.torch.empty(size_bytes, dtype=self.torch.uint8, device=self.device).fill_(POISON)

    def poison_pinned(self, tensor: Any) -> None:
        """Fills pinned memory by the GPU.

        What the CPU writes stays in its caches, and the link writes over cached lines at a part of its rate.
        """
        pattern = self.torch.full((tensor.nbytes,), POISON, dtype=self.torch.uint8, device=self.device)
        tensor.view(-1).view(self.torch.uint8).copy_(pattern)

    def pattern(self, size_bytes: int, seed: int = 0) -> Any:
        """Pageable host memory, touched, as int32 of which none is like another: a misplaced piece is seen."""
        torch = self.torch
        return torch.arange(size_bytes // 4, dtype=torch.int32).mul_(-1640531527).add_(seed * 7919)

    def same(self, got: Any, wanted: Any, what: str = "the copy") -> None:
        """Raises WrongResult unless both tensors have the same shape, dtype and bytes. Compares where `got` lies."""
        if got.shape != wanted.shape or got.dtype != wanted.dtype:
            raise WrongResult(f"{what} is {got.dtype} {list(got.shape)}, not {wanted.dtype} {list(wanted.shape)}")
        wanted = wanted.to(got.device)
        if not self.torch.equal(_bits(got, self.torch), _bits(wanted, self.torch)):
            raise WrongResult(f"{what} has other bytes than its source")

    def on_device(self, tensor: Any, device: Any = None) -> None:
        """Raises WrongResult unless the tensor lies on the device."""
        wanted = device or self.device
        if tensor.device != wanted:
            raise WrongResult(f"the result lies on {tensor.device}, not on {wanted}")

    @contextlib.contextmanager
    def profile(self, path: str) -> Iterator[None]:
        """Writes a Chrome trace of what happens inside."""
        profiler = self.torch.profiler
        activities = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with profiler.profile(activities=activities) as profile:
            yield
            self.synchronize()
        profile.export_chrome_trace(path)

    def pci_address(self) -> str | None:
        """Such as 0000:17:00.0; None where PyTorch does not tell."""
        properties = self.torch.cuda.get_device_properties(self.device)
        numbers = [getattr(properties, f"pci_{part}_id", None) for part in ("domain", "bus", "device")]
        if None in numbers:
            return None
        domain, bus, device = numbers
        return f"{domain:04x}:{bus:02x}:{device:02x}.0"

    def facts(self) -> dict[str, Any]:
        """What a result file says of the machine."""
        return {
            "device": self.torch.cuda.get_device_name(self.device),
            "device_count": self.torch.cuda.device_count(),
            "versions": {**result.versions(), "torch": self.torch.__version__},
            "settings": self.settings(),
        }

    def settings(self) -> dict[str, int]:
        """Those of Turnpike's engine: calibrated, set, or its defaults."""
        stats = self.tp.move_stats()
        return {name: getattr(stats, name) for name in ("threads", "chunk_bytes", "pinned_limit_bytes")}


def _bits(tensor: Any, torch: Any) -> Any:
    # Bit patterns of floats may be NaNs, which are like nothing.
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    return tensor if tensor.dtype == torch.bool else tensor.view(width)
