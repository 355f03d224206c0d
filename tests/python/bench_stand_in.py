"""A machine without a GPU, and Turnpike's calls as plain PyTorch: lets every line of the experiments run here.

Only for tests: what it measures means nothing. Sizes are small; streams and events do nothing; "page-locked" is a mark.
"""

import collections
import collections.abc
import contextlib
import types

from turnpike._bench.machine import Machine

SHRINK = 1 << 12


class NoStream:
    """Stands for streams and events: on the CPU everything has happened when it is called."""

    def synchronize(self):
        pass

    def wait_stream(self, _):
        pass

    def wait_event(self, _):
        pass

    def record(self, _=None):
        pass


class CpuMachine(Machine):
    def __init__(self, torch, tp):
        super().__init__(torch, tp, torch.device("cpu"))
        self.locked = set()

    def sized(self, size_bytes):
        return max(4096, size_bytes // SHRINK // 4096 * 4096)

    def side(self, edge):
        return max(16, edge // 128)

    def workers(self, count):
        return min(count, 1)

    def steps(self, count):
        return min(count, 20)

    def device_count(self):
        return 2

    def other_device(self):
        return self.device

    def can_reach(self, device, other):
        return True

    def synchronize(self):
        pass

    def new_stream(self, device=None):
        return NoStream()

    current_stream = new_stream

    def use(self, stream):
        return contextlib.nullcontext()

    def keep_busy(self, ms):
        pass

    def new_event(self):
        return NoStream()

    def keep_for(self, tensor, stream):
        pass

    def pin(self, tensor):
        copy = tensor.clone()
        self.locked.add(copy.data_ptr())
        return copy

    def empty_pinned(self, shape, dtype):
        return self.torch.empty(shape, dtype=dtype)

    def register(self, tensor):
        self.locked.add(tensor.data_ptr())

    def unregister(self, tensor):
        self.locked.discard(tensor.data_ptr())

    def is_pinned(self, tensor):
        return tensor.data_ptr() in self.locked

    def release_device_memory(self):
        pass

    def release_pinned_memory(self):
        pass

    def reset_peak(self):
        return 0

    def peak_bytes(self):
        return 0

    @contextlib.contextmanager
    def profile(self, path):
        yield
        with open(path, "w") as file:
            file.write('{"traceEvents": []}')

    def pci_address(self):
        return None

    def facts(self):
        return {
            "device": "none",
            "device_count": 0,
            "versions": {"torch": self.torch.__version__},
            "settings": self.settings(),
        }


class BatchEncoding(collections.UserDict):
    """The part of transformers.BatchEncoding that moves: it changes itself."""

    def to(self, device, *, non_blocking=False):
        self.data = {key: value.to(device, non_blocking=non_blocking) for key, value in self.data.items()}
        return self


def transformers():
    """The library, or where it is not installed what stands for it."""
    try:
        import transformers
    except ImportError:
        return types.SimpleNamespace(BatchEncoding=BatchEncoding)
    return transformers


class Future:
    def __init__(self, tensor):
        self.tensor = tensor.clone()

    def ready(self):
        return True

    def result(self):
        return self.tensor

    def item(self):
        return self.tensor.item()


class Scalars:
    def __init__(self, every=1):
        self.rows = []

    def add(self, step=None, **values):
        self.rows.append((step, {name: float(value) for name, value in values.items()}))

    def ready(self):
        rows, self.rows = self.rows, []
        return rows

    finish = ready


class Work:
    def wait(self):
        pass

    synchronize = wait


STATS = types.SimpleNamespace(
    p2p=types.SimpleNamespace(staged_bytes=0), threads=8, chunk_bytes=4 << 20, pinned_limit_bytes=64 << 20
)


def plain_turnpike(machine_of):
    """Turnpike's calls with PyTorch's semantics. machine_of: returns the machine whose page-locked memory is marked."""
    import torch

    def to(obj, device, *, dtype=None, stream=None, non_blocking=False):
        if isinstance(obj, torch.Tensor):
            return obj.to(device, dtype or obj.dtype, copy=True)
        if isinstance(obj, collections.abc.Mapping):
            return type(obj)({key: to(value, device, dtype=dtype) for key, value in obj.items()})
        if isinstance(obj, list | tuple):
            return type(obj)(to(value, device, dtype=dtype) for value in obj)
        return obj

    def prefetch(iterable, device, depth=2):
        for batch in iterable:
            yield to(batch, device)

    def copy_(dst, src):
        dst.copy_(src)
        return Work()

    def pipeline(fn, inputs, device, depth=3, *, out=None):
        for number, value in enumerate(inputs):
            product = fn(value.to(device))
            yield product if out is None else out[number].copy_(product)

    return types.SimpleNamespace(
        to=to,
        prefetch=prefetch,
        fetch=Future,
        Scalars=Scalars,
        copy_=copy_,
        pipeline=pipeline,
        configure_move=lambda **settings: None,
        pin_=lambda tensor: machine_of().register(tensor),
        unpin_=lambda tensor: machine_of().unregister(tensor),
        move_stats=lambda: STATS,
    )


def cpu_machine(tp=None):
    import torch

    machine = CpuMachine(torch, None)
    machine.tp = tp or plain_turnpike(lambda: machine)
    return machine
