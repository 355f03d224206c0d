"""What the programs are made of: tensors in every kind of memory, streams, kernels that take their time, captures."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

KIB, MIB = 1 << 10, 1 << 20
CYCLES_PER_MS = 1_900_000  # of an H100 at its full clock
SETTLE_S = 0.2  # so long after its last reference memory may stay


class Stage:
    """One run's surroundings. device: "cuda", or "cpu" for a dry run, where what needs a GPU does nothing."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.is_gpu = device != "cpu"
        self._streams: dict[int, Any] = {}
        self._files: list[str] = []

    # Tensors.

    def tensor(
        self, *shape: int, dtype: torch.dtype = torch.float32, seed: int = 0, memory: str = "pageable"
    ) -> torch.Tensor:
        """Items that depend on the seed, in memory of one kind: pageable, pinned, shared, file or gpu."""
        generator = torch.Generator().manual_seed(seed)
        if dtype.is_floating_point or dtype.is_complex:
            made = torch.randint(-1000, 1000, shape, generator=generator).to(torch.float32).div_(7).to(dtype)
        else:
            made = torch.randint(0, 2 if dtype is torch.bool else 100, shape, generator=generator).to(dtype)
        return self.placed(made, memory)

    def filled(self, value: float, size_bytes: int, memory: str = "pageable") -> torch.Tensor:
        """A tensor of float32 of one value."""
        return self.placed(torch.full((size_bytes // 4,), float(value)), memory)

    def placed(self, tensor: torch.Tensor, memory: str) -> torch.Tensor:
        if memory == "gpu":
            return tensor.to(self.device)
        if memory == "pinned" and self.is_gpu:
            return tensor.pin_memory()
        if memory == "shared":
            return tensor.share_memory_()
        if memory == "file" and tensor.numel():
            handle, path = tempfile.mkstemp(suffix=".bin")
            os.close(handle)
            self._files.append(path)
            mapped = torch.from_file(path, shared=True, size=tensor.numel(), dtype=tensor.dtype)
            mapped.copy_(tensor.flatten())
            return mapped.view(tensor.shape)
        return tensor

    # The GPU.

    def busy(self, ms: float) -> None:
        """Keeps the current stream working for about so long."""
        if self.is_gpu:
            torch.cuda._sleep(int(ms * CYCLES_PER_MS))

    def settle(self) -> None:
        """The host waits for the GPU."""
        if self.is_gpu:
            torch.cuda.synchronize()

    def wait_for_stream(self) -> None:
        """The host waits for the current stream alone."""
        if self.is_gpu:
            torch.cuda.current_stream().synchronize()

    def stream(self, number: int) -> Any:
        """A side stream; number 0 is the stream that is current by default."""
        if not self.is_gpu:
            return None
        if number not in self._streams:
            self._streams[number] = torch.cuda.Stream() if number else torch.cuda.default_stream()
        return self._streams[number]

    def on(self, number: int) -> Any:
        """A block whose work goes to a stream; that waits for what is in the current one first."""
        if not self.is_gpu:
            return contextlib.nullcontext()
        side = self.stream(number)
        if side != torch.cuda.current_stream():
            side.wait_stream(torch.cuda.current_stream())
        return torch.cuda.stream(side)

    def join(self, number: int) -> None:
        """The current stream waits for another."""
        if self.is_gpu:
            torch.cuda.current_stream().wait_stream(self.stream(number))

    def captured(self, work: Callable[[], Any], *, waits: bool = True) -> tuple[Callable[[], Any], Any]:
        """Captures `work` as PyTorch does by default, and returns what replays it and what it returned.

        waits: as torch.cuda.graph(), which waits for the GPU first; else by hand on a side stream, at once.
        """
        if not self.is_gpu:
            return work, work()
        graph = torch.cuda.CUDAGraph()
        if waits:
            with torch.cuda.graph(graph):
                result = work()
            return graph.replay, result
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            graph.capture_begin()
            try:
                result = work()
            finally:
                graph.capture_end()
        return graph.replay, result

    # Memory.

    def allocated(self) -> int:
        if not self.is_gpu:
            return 0
        gc.collect()
        torch.cuda.synchronize()
        return torch.cuda.memory_allocated()

    def kept_mib(self, before: int) -> int:
        """MiB of GPU memory that are in use beyond `before` when references are gone, without another call."""
        if not self.is_gpu:
            return 0
        until = time.monotonic() + SETTLE_S
        kept = self.allocated() - before
        while kept > 0 and time.monotonic() < until:
            time.sleep(0.005)
            kept = torch.cuda.memory_allocated() - before
        return max(0, -(-kept // MIB))

    def is_gone(self, reference: Any) -> bool:
        """Whether a weak reference's object goes within SETTLE_S of the GPU's last work."""
        gc.collect()
        self.settle()
        until = time.monotonic() + SETTLE_S
        while reference() is not None and time.monotonic() < until:
            time.sleep(0.005)
        return reference() is None

    def close(self) -> None:
        self._streams.clear()
        for path in self._files:
            with contextlib.suppress(OSError):
                os.unlink(path)
        self._files.clear()


def captured_threads(stage: Stage, stop: threading.Event) -> None:
    """Captures one graph after another until `stop`, as another part of a program might."""
    static = torch.ones(1000, device=stage.device)
    while not stop.is_set():
        stage.captured(lambda: [static * index for index in range(100)], waits=False)
        time.sleep(0.002)


def saved_bytes(value: Any) -> int:
    """What torch.save() writes, in whole KiB."""
    file = io.BytesIO()
    torch.save(value, file)
    return file.tell() >> 10


def in_thread(work: Callable[[], Any], is_daemon: bool = False) -> Callable[[], Any]:
    """Starts `work` in a thread. What it returns waits for it, and gives its value or raises its exception."""
    box: dict[str, Any] = {}

    def run() -> None:
        try:
            box["value"] = work()
        except BaseException as error:
            box["error"] = error

    thread = threading.Thread(target=run, daemon=is_daemon)
    thread.start()

    def join() -> Any:
        thread.join()
        if "error" in box:
            raise box["error"]
        return box.get("value")

    return join


def interrupted(after_ms: float, work: Callable[[], Any]) -> str:
    """Runs `work` while a Ctrl-C comes, soon after the start: whether it came inside the call, or later."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(after_ms / 1e3, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        timer.start()
        work()
        timer.join()
        time.sleep(0.05)
    except KeyboardInterrupt:
        return "interrupted"
    finally:
        timer.cancel()
        with contextlib.suppress(KeyboardInterrupt):
            timer.join()
            time.sleep(0.01)
        signal.signal(signal.SIGINT, before)
    return "not interrupted"


def in_fork(work: Callable[[], Any]) -> str:
    """Runs `work` in a forked child: "returned VALUE", "raised TYPE", or how the child ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            text = f"returned {work()!r}"
        except BaseException as error:
            text = f"raised {type(error).__name__}: {error}"
        os.write(write, text.encode()[:4000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return text if status == 0 else f"ended with status {status}"


def open_contexts(count: int) -> list[bool]:
    """For each GPU whether this process has opened it."""
    driver = ctypes.CDLL("libcuda.so.1")
    found = []
    for device in range(count):
        flags, active = ctypes.c_uint(), ctypes.c_int()
        driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
        found.append(bool(active.value))
    return found


def seed_all(seed: int) -> None:
    import numpy

    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


def draws(device: str) -> list[Any]:
    """The next number of each generator that a loop may use."""
    import numpy

    return [random.random(), float(numpy.random.rand()), torch.rand(1).item(), torch.rand(1, device=device).item()]


def iterated(batches: Any) -> Iterator[Any]:
    """Batches, or the exception that came in place of one: goes on until the loader has no more."""
    iterator = iter(batches)
    for _ in range(1000):
        try:
            yield next(iterator)
        except StopIteration:
            return
        except Exception as error:
            yield error
