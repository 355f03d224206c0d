"""What a program lets be seen, as data: descriptions of values, and where those of two runs differ."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import time
import types
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

# A call may take so much longer than PyTorch's.
SLOWER_MS = 50.0


class Log:
    """What one run of a program let be seen, in order."""

    def __init__(self, is_tp: bool) -> None:
        self.is_tp = is_tp
        self.seen: list[list[Any]] = []  # [label, description]
        self.durations: list[list[Any]] = []  # [label, milliseconds]

    def see(self, label: str, value: Any) -> None:
        """Notes everything that can be seen of a value now: a tensor on the host is read at once, without a wait."""
        self.seen.append([label, describe(value)])

    def claim(self, label: str, is_true: Any, detail: Any = "") -> None:
        """Notes a promise of the documentation that plain PyTorch does not make: it holds there by definition."""
        self.seen.append([label, "kept" if not self.is_tp or is_true else f"broken: {detail}"])

    def at_most(self, label: str, value: float) -> None:
        """Notes a number that may be smaller than plain PyTorch's, but not larger."""
        self.seen.append([label, {"at most": value}])

    def attempt(self, label: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Notes what a call returned or raised, and returns its value, or None."""
        try:
            value = call(*arguments)
            self.seen.append([label, {"returned": describe(value)}])
        except Exception as error:
            self.seen.append([label, {"raised": kind_of(error), "text": str(error)[:200]}])
            return None
        return value

    @contextlib.contextmanager
    def timed(self, label: str, *, must_not_wait: bool = False) -> Iterator[None]:
        """Notes how long the block kept the host. must_not_wait: the documentation promises more than PyTorch does."""
        started = time.perf_counter()
        yield
        ms = (time.perf_counter() - started) * 1e3
        self.durations.append([label, 0.0 if must_not_wait and not self.is_tp else ms])

    def as_data(self) -> dict[str, Any]:
        return {"seen": self.seen, "durations": self.durations}


def kind_of(error: BaseException) -> str:
    """The exception's type as handlers see it: PyTorch's and Turnpike's own are RuntimeErrors."""
    return "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__


def describe(value: Any, storages: dict[int, int] | None = None) -> Any:
    """A value as data that can be compared and written as JSON."""
    # Which tensors of one value share memory: storages by number, in the order in which they occur.
    storages = {} if storages is None else storages
    if isinstance(value, torch.Tensor):
        return _describe_tensor(value, storages)
    if isinstance(value, (str, bool, type(None))):
        return value
    if isinstance(value, (int, float, complex)):
        return f"{type(value).__name__} {value!r}"
    name = type(value).__name__
    if isinstance(value, Mapping):
        described = {str(key): describe(item, storages) for key, item in value.items()}
        attributes = vars(value) if hasattr(value, "__dict__") else {}
        if attributes and attributes is not value:
            described["(attributes)"] = {key: describe(item, storages) for key, item in attributes.items()}
        return {"type": name, "items": described}
    if isinstance(value, (list, tuple, collections.deque)):
        return {"type": name, "items": [describe(item, storages) for item in value]}
    if isinstance(value, types.SimpleNamespace) or dataclasses.is_dataclass(value):
        return {"type": name, "items": {key: describe(item, storages) for key, item in vars(value).items()}}
    if isinstance(value, BaseException):
        return {"raised": kind_of(value)}
    return f"{name} {value!r}"


def _describe_tensor(tensor: torch.Tensor, storages: dict[int, int]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "type": type(tensor).__name__,
        "dtype": str(tensor.dtype),
        "shape": list(tensor.shape),
        "device": tensor.device.type,
        "requires_grad": tensor.requires_grad,
        "inference": tensor.is_inference(),
    }
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
        described["layout"] = str(tensor.layout)
        return described
    with contextlib.suppress(RuntimeError, NotImplementedError):  # zero tensors have none
        storage = tensor.untyped_storage()
        described["storage_bytes"] = storage.nbytes()
        if storage.nbytes():
            described["storage"] = storages.setdefault(storage.data_ptr(), len(storages))
    described["strides"] = list(tensor.stride())
    described["offset"] = tensor.storage_offset()
    if not tensor.is_inference():
        described["version"] = tensor._version
    if tensor.device.type == "cpu" and torch.cuda.is_initialized():
        with contextlib.suppress(RuntimeError, NotImplementedError):
            described["pinned"] = tensor.is_pinned()
    described["values"] = values_of(tensor)
    if tensor.is_leaf and tensor.grad is not None:
        described["grad"] = values_of(tensor.grad)
    return described


def values_of(tensor: torch.Tensor) -> Any:
    """A checksum of the items in their order, and the first of them."""
    try:
        with torch.no_grad():
            host = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
            data = host.flatten().view(torch.uint8) if host.numel() else host.flatten().to(torch.uint8)
            head = host.flatten()[:2].tolist()
    except RuntimeError as error:
        return {"raised": kind_of(error)}
    return f"{zlib.crc32(memoryview(data.numpy())):08x} {head!r}"


@dataclasses.dataclass(frozen=True)
class Difference:
    """One thing that was not the same."""

    label: str
    path: str
    plain: Any
    tp: Any

    @property
    def key(self) -> str:
        """Of the operation and the kind of difference, without which item it was."""
        fields = [step for step in self.path.split(".") if step and not step.isdigit()]
        operation = self.label.split("/", 1)[0]
        return f"{operation}: {fields[-1] if fields else 'value'}"

    def __str__(self) -> str:
        return f"{self.label}{self.path and ' ' + self.path}: plain {_short(self.plain)}, tp {_short(self.tp)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else text[:157] + "..."


def differences(plain: dict[str, Any], tp: dict[str, Any]) -> list[Difference]:
    """Where the logs of two runs differ, each kind once. A call that was slower counts by SLOWER_MS."""
    found: list[Difference] = []
    for (label, ours), (other, theirs) in zip(plain["seen"], tp["seen"], strict=False):
        if label != other:
            found.append(Difference(label, "order", label, other))
            break
        _compare(label, "", ours, theirs, found)
    if len(plain["seen"]) != len(tp["seen"]) and not found:
        longer = max(plain["seen"], tp["seen"], key=len)
        label = longer[min(len(plain["seen"]), len(tp["seen"]))][0]
        found.append(Difference(label, "missing", len(plain["seen"]), len(tp["seen"])))
    for (label, ours_ms), (_, theirs_ms) in zip(plain["durations"], tp["durations"], strict=False):
        if theirs_ms > ours_ms + SLOWER_MS:
            found.append(Difference(label, "duration_ms", round(ours_ms, 1), round(theirs_ms, 1)))
    kinds = {(difference.label, difference.key): difference for difference in reversed(found)}
    return list(reversed(kinds.values()))


def _status(value: Any) -> int:
    return value if isinstance(value, int) else -1


def _compare(label: str, path: str, plain: Any, tp: Any, found: list[Difference]) -> None:
    if isinstance(plain, dict) and isinstance(tp, dict) and "at most" in plain:
        if tp.get("at most", float("inf")) > plain["at most"]:
            found.append(Difference(label, "more", plain, tp))
    elif isinstance(plain, dict) and isinstance(tp, dict):
        if plain.keys() != tp.keys():
            found.append(Difference(label, f"{path}.keys", sorted(plain), sorted(tp)))
            return
        for key in plain:
            # Of an exception only the type counts. Where plain PyTorch aborts the process, to end well is no fault.
            is_better = key == "status" and isinstance(plain[key], int) and plain[key] < 0 <= _status(tp[key])
            if key != "text" and not is_better:
                _compare(label, f"{path}.{key}", plain[key], tp[key], found)
    elif isinstance(plain, list) and isinstance(tp, list) and len(plain) == len(tp):
        for index, (ours, theirs) in enumerate(zip(plain, tp, strict=True)):
            _compare(label, f"{path}.{index}", ours, theirs, found)
    elif isinstance(plain, list) and isinstance(tp, list):
        found.append(Difference(label, f"{path}.length", len(plain), len(tp)))
    elif plain != tp:
        found.append(Difference(label, path, plain, tp))
