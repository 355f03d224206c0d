"""How a batch comes from a worker: its tensors lie in a slot, and their places and the pickled rest are sent."""

from __future__ import annotations

import io
import pickle
import threading
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

from turnpike._move import arena, plan
from turnpike._move import slots as _slots
from turnpike._move.late import torch

# Begins of tensors in a slot, for the widest loads of the CPU and the bursts of the link.
_ALIGNMENT = 256
# From so many bytes on the pickled rest lies in the slot, too: a pipe takes 64 KiB at a time.
_LONG = 64 << 10

Take = Callable[[], "tuple[int, memoryview] | None"]
Part = tuple[int, int]  # of a slot: offset and size, in bytes


def storage_of(view: memoryview, part: Part) -> torch.UntypedStorage:
    """A part of a slot. Keeps the view."""
    return torch.frombuffer(view, dtype=torch.uint8, count=part[1], offset=part[0]).untyped_storage()


def tensor_of(
    storage: torch.UntypedStorage, dtype: torch.dtype, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> torch.Tensor:
    return torch.empty(0, dtype=dtype, device="cpu").set_(storage, offset, size, stride)


class Room:
    """The slot of one batch, in the process that makes it. It takes one when something is to be put there."""

    def __init__(self, take: Take, give_back: Callable[[int], None]) -> None:
        self._take: Take | None = take
        self._give_back = give_back
        self.slot: int | None = None
        self.view: memoryview | None = None
        self.missing = 0  # bytes of a slot that would have held what did not fit
        self._small_end, self._large_end = 0, arena.SMALL_AREA

    @property
    def used(self) -> int:
        """Bytes of the part that is to be page-locked."""
        return self._large_end - arena.SMALL_AREA

    def part(self, size_bytes: int) -> Part | None:
        """A place of that size. None: there is no free slot, or it is full."""
        if self._take is not None:
            found, self._take = self._take(), None
            if found is not None:
                self.slot, self.view = found
        if self.view is None:
            return None
        if size_bytes < arena.SMALL_BYTES and self._small_end + size_bytes <= arena.SMALL_AREA:
            start = self._small_end
            self._small_end = arena.rounded_up(start + size_bytes, _ALIGNMENT)
        else:
            start = self._large_end
            if start + size_bytes > len(self.view):
                self.missing = max(self.missing, start + size_bytes)
                return None
            self._large_end = arena.rounded_up(start + size_bytes, _ALIGNMENT)
        return start, size_bytes

    def part_of(self, storage: torch.UntypedStorage) -> Part | None:
        """Where a storage lies in the slot; None when it lies elsewhere."""
        if self.view is None:
            return None
        start = storage.data_ptr() - _slots.address_of(self.view)
        return (start, storage.nbytes()) if 0 <= start < len(self.view) else None

    def give_back(self) -> None:
        """The batch is not sent."""
        if self.slot is not None:
            self._give_back(self.slot)
            self.slot = None


class Parcel:
    """A batch on its way: pickled where PyTorch pickles batches, unpickled to the batch itself."""

    def __init__(self, token: int, room: Room, batch: Any) -> None:
        self._token, self._room, self._batch = token, room, batch

    def __reduce__(self) -> tuple[Any, ...]:
        room = self._room
        file = io.BytesIO()
        writer = _Writer(file, room)
        try:
            writer.dump(self._batch)
        except BaseException:
            room.give_back()
            raise
        pickled = file.getvalue()
        rest: bytes | Part = pickled
        if len(pickled) >= _LONG and (part := room.part(len(pickled))) is not None:
            assert room.view is not None
            room.view[part[0] : part[0] + part[1]] = pickled
            rest = part
        return _opened, (self._token, room.slot, room.used, room.missing, writer.parts, rest)


class _Writer(ForkingPickler):
    """Puts plain tensors into a room, and pickles all else as PyTorch does it between processes."""

    def __init__(self, file: io.BytesIO, room: Room) -> None:
        super().__init__(file)
        self.parts: list[Part] = []
        self._room = room
        # By the storage, and where in it a tensor begins and ends. With the storages: their numbers are used again.
        self._places: dict[tuple[int, int, int], tuple[int, Any]] = {}

    def reducer_override(self, found: Any) -> Any:
        if type(found) is torch.Tensor and (place := self._place(found)) is not None:
            return _tensor, place
        return NotImplemented

    def _place(self, tensor: torch.Tensor) -> tuple[Any, ...] | None:
        if not plan.is_plain(tensor) or tensor.device.type != "cpu" or tensor.requires_grad or tensor.has_names():
            return None
        size, stride, item = tuple(tensor.shape), tensor.stride(), tensor.itemsize
        if tensor.numel() == 0:
            return None
        storage = tensor.untyped_storage()
        first = int(tensor.storage_offset()) * item
        span = (sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1) * item
        if first + span > storage.nbytes():
            return None
        # A small part of a large storage goes alone: else its whole storage, which others may share.
        if storage.nbytes() <= 2 * span:
            first, span = 0, storage.nbytes()
        index = self._index_of(storage, first, span)
        if index is None:
            return None
        return index, tensor.dtype, int(tensor.storage_offset()) - first // item, size, stride

    def _index_of(self, storage: torch.UntypedStorage, first: int, span: int) -> int | None:
        key = storage._cdata, first, span
        if key in self._places:
            return self._places[key][0]
        part = self._room.part_of(storage)
        if part is not None:
            part = part[0] + first, span
        else:
            # What is shared already travels as it is, and stays what its worker shares.
            if storage.is_shared() or (part := self._room.part(span)) is None:
                return None
            assert self._room.view is not None
            target = tensor_of(storage_of(self._room.view, part), torch.uint8, 0, (span,), (1,))
            target.copy_(tensor_of(storage, torch.uint8, first, (span,), (1,)))
        self.parts.append(part)
        self._places[key] = len(self.parts) - 1, storage
        return len(self.parts) - 1


# In the process that receives.

_opening = threading.local()


def _opened(token: int, slot: int | None, used: int, missing: int, parts: list[Part], rest: bytes | Part) -> Any:
    slots = _slots.slots_of(token)
    view = None if slot is None else slots.lease(slot)
    if view is None or missing:
        arena.counts.elsewhere += 1
    else:
        arena.counts.batches += 1
    if missing:
        _say_too_large(slots, missing)
    if slot is None or view is None:
        return pickle.loads(rest)  # type: ignore[arg-type]
    slots.page_lock(slot, view, used)
    _opening.storages = [storage_of(view, part) for part in parts]
    try:
        return pickle.loads(rest if isinstance(rest, bytes) else view[rest[0] : rest[0] + rest[1]])
    finally:
        _opening.storages = None


def _say_too_large(slots: _slots.Slots, missing: int) -> None:
    whole = slots.arena.count * missing
    arena.say(
        f"a batch needs a slot of {missing >> 20} MiB, and one of {slots.arena.count} in "
        f"{arena.limit_bytes() >> 20} MiB has {slots.arena.slot_bytes >> 20}",
        f"Allow more with turnpike.configure_move(batch_bytes={arena.rounded_up(whole, 1 << 30) >> 30} << 30), or "
        "take fewer workers or a lower prefetch_factor.",
    )


def _tensor(index: int, dtype: torch.dtype, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Any:
    return tensor_of(_opening.storages[index], dtype, offset, size, stride)
