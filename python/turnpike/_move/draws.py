"""The random number generators that a loop and what it iterates over share: Python's, NumPy's, PyTorch's.

Their states are read twice for each batch. Python and NumPy take 14 and 27 us to make objects of the 2.5 kB of a state,
so the memory is read as it is, where it looks as expected.
"""

from __future__ import annotations

import _random
import ctypes
import functools
import pickle
import random
import struct
import sys
from typing import Any, Protocol

from turnpike._move.late import torch

_WORDS = 624  # of a Mersenne Twister
_BYTES = 4 * _WORDS + 4  # and its position among them


class Generator(Protocol):
    """One generator, whose states can be compared."""

    name: str
    is_its_own: bool  # it was given to the loader, and is not one that everybody draws from

    def read(self) -> Any: ...

    def write(self, state: Any) -> None: ...


def shared(device: torch.device, iterable: Any) -> list[Generator]:
    """The generators of this process that both a loop and its iterable can draw from, as far as they can be known.

    NumPy's is among them even where nobody has imported NumPy yet.
    """
    found: list[Generator] = [_Python(), _NumPy(), _Torch("torch.default_generator", torch.default_generator)]
    if device.type == "cuda":
        found.append(_Torch("torch.cuda.default_generators", torch.cuda.default_generators[device.index]))
    known = {id(torch.default_generator)}
    for generator in _generators_of(iterable):
        if id(generator) not in known:
            known.add(id(generator))
            found.append(_Torch("the loader's generator", generator, is_its_own=True))
    return found


def _generators_of(loader: Any) -> list[Any]:
    data = sys.modules.get("torch.utils.data")
    if data is None or not isinstance(loader, data.DataLoader):
        return []
    batch_sampler = getattr(loader, "batch_sampler", None)
    below = getattr(batch_sampler, "batch_sampler", None)  # accelerate's shards wrap one
    places = [loader, getattr(loader, "sampler", None), batch_sampler, getattr(batch_sampler, "sampler", None)]
    places += [below, getattr(below, "sampler", None)]
    found = [getattr(place, "generator", None) for place in places]
    return [generator for generator in found if isinstance(generator, torch.Generator)]


class _Python:
    name = "Python's random"
    is_its_own = False

    def read(self) -> Any:
        address = _address_in_python()
        instance = getattr(random.getstate, "__self__", None)
        if address is None or instance is None or id(instance) != address[0]:
            return random.getstate()
        return ctypes.string_at(address[0] + address[1], _BYTES), instance.gauss_next

    def write(self, state: Any) -> None:
        if len(state) == 2:
            position, *words = struct.unpack(f"i{_WORDS}I", state[0])
            state = random.Random.VERSION, (*words, position), state[1]
        random.setstate(state)


@functools.cache
def _address_in_python() -> tuple[int, int] | None:
    # The object of `random` and where its position and words are in it; None where they are not found.
    instance = getattr(random.getstate, "__self__", None)
    if sys.implementation.name != "cpython" or type(instance) is not random.Random:
        return None
    words = random.getstate()[1]
    memory = ctypes.string_at(id(instance), _random.Random.__basicsize__)
    at = memory.find(struct.pack(f"i{_WORDS}I", words[-1], *words[:-1]))
    return None if at < 0 else (id(instance), at)


class _NumPy:
    name = "numpy.random"
    is_its_own = False

    def __init__(self) -> None:
        self._last: bytes | None = None
        self._gauss: tuple[int, float] = (1, 0.0)  # whether one is kept, and that one

    def read(self) -> Any:
        numpy = sys.modules.get("numpy.random")
        if numpy is None:
            return None
        address = _address_in_numpy()
        if address is None or not _is_global_numpy(address[0]):
            return pickle.dumps(numpy.get_state(legacy=False))
        memory = ctypes.string_at(address[1], _BYTES)
        # Who draws one number of two that were made together changes nothing but that one is kept no more.
        if memory != self._last or self._gauss[0]:
            full = numpy.get_state(legacy=False)
            self._last, self._gauss = memory, (full["has_gauss"], full["gauss"])
        return memory, *self._gauss

    def write(self, state: Any) -> None:
        if state is None:  # it was imported since
            return
        numpy = sys.modules["numpy.random"]
        if isinstance(state, bytes):
            numpy.set_state(pickle.loads(state))
            return
        *words, position = struct.unpack(f"{_WORDS}Ii", state[0])
        numpy.set_state(("MT19937", words, position, state[1], state[2]))
        self._last = None


@functools.cache
def _address_in_numpy() -> tuple[Any, int] | None:
    # The bit generator of numpy.random and where its words and position are; None where they are not found.
    numpy = sys.modules["numpy.random"]
    bits = numpy.get_bit_generator() if hasattr(numpy, "get_bit_generator") else None
    state = numpy.get_state(legacy=False)
    if bits is None or state["bit_generator"] != "MT19937":
        return None
    address = bits.ctypes.state_address
    expected = struct.pack(f"{_WORDS}Ii", *state["state"]["key"].tolist(), state["state"]["pos"])
    return (bits, address) if ctypes.string_at(address, _BYTES) == expected else None


def _is_global_numpy(bits: Any) -> bool:
    return sys.modules["numpy.random"].get_bit_generator() is bits


class _Torch:
    def __init__(self, name: str, generator: torch.Generator, is_its_own: bool = False) -> None:
        self.name = name
        self.is_its_own = is_its_own
        self._generator = generator

    def read(self) -> bytes:
        state = self._generator.get_state()
        return ctypes.string_at(state.data_ptr(), state.numel())

    def write(self, state: bytes) -> None:
        new = self._generator.get_state()
        ctypes.memmove(new.data_ptr(), state, len(state))
        self._generator.set_state(new)
