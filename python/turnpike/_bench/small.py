"""bench small: hundreds of small tensors to the device."""

from __future__ import annotations

from functools import partial
from typing import Any

from turnpike._bench.by_hand import PackedUpload
from turnpike._bench.collate import Encodings
from turnpike._bench.figures import Target
from turnpike._bench.machine import KIB, Machine
from turnpike._bench.timing import Case, Planned, Way, WrongResult

COUNT = 500
ONE_BY_ONE, TURNPIKE, ONE_DMA = "one .to each", "Turnpike", "one pinned copy"
CONVERTED = f"{COUNT} tensors of 16 KiB, float32 to bfloat16"
ENCODINGS, BATCH_TO, BATCHES = "Hugging Face batches", "batch.to", 20
SETS = 4  # of sources, taken in turn


def plan(quick: bool, **_: Any) -> list[Planned]:
    sizes = [16 * KIB] if quick else [KIB, 16 * KIB, 64 * KIB]
    cases = [Planned(_name(size), partial(equal_sizes, size_bytes=size)) for size in sizes]
    cases.append(Planned("mixed nest", mixed_nest))
    return cases if quick else [*cases, Planned(CONVERTED, converted), Planned(ENCODINGS, encodings)]


def _name(size_bytes: int) -> str:
    return f"{COUNT} tensors of {size_bytes // KIB} KiB"


class Turns:
    """Takes the next set of sources for a turn and remembers which one it was."""

    def __init__(self, m: Machine, sets: list[Any], size_bytes: int) -> None:
        self.m = m
        self.sets = sets
        self.size_bytes = size_bytes
        self.index = 0

    def next(self) -> None:
        self.index = (self.index + 1) % len(self.sets)
        self.m.poison(self.size_bytes)

    @property
    def sources(self) -> Any:
        return self.sets[self.index]


def equal_sizes(m: Machine, size_bytes: int) -> Case:
    sets = [[m.pattern(size_bytes, COUNT * number + seed) for seed in range(COUNT)] for number in range(SETS)]
    references = [m.torch.stack(tensors).to(m.device) for tensors in sets]
    turns = Turns(m, sets, size_bytes * COUNT)
    packed = PackedUpload(m, sets[0])
    flat = m.pin(m.torch.cat(sets[0]))

    def check(crossed: list[Any]) -> None:
        m.on_device(crossed[0])
        m.same(m.torch.stack(list(crossed)), references[turns.index], "one of the copies")

    def check_flat(crossed: Any) -> None:
        m.same(crossed, references[0].view(-1))

    ways = [
        Way(ONE_BY_ONE, "pytorch", lambda: [t.to(m.device) for t in turns.sources], check, turns.next),
        Way("packed by hand", "best", lambda: packed.upload(turns.sources), check, turns.next),
        Way(TURNPIKE, "turnpike", lambda: m.tp.to(turns.sources, m.device), check, turns.next),
        Way(ONE_DMA, "bound", lambda: flat.to(m.device, non_blocking=True), check_flat, turns.next),
    ]
    targets = [
        Target(TURNPIKE, "ratio <=", 1 / 8.5, "at least 8.5x faster than one .to each", ONE_BY_ONE),
        Target(TURNPIKE, "value <=", 700, "at most 700 us"),
    ]
    targets = targets if size_bytes == 16 * KIB else []
    return Case(_name(size_bytes), "us", 1, ways, ONE_BY_ONE, bound=ONE_DMA, targets=targets)


def converted(m: Machine) -> Case:
    torch = m.torch
    sets = [
        [m.pattern(16 * KIB, COUNT * number + seed).to(torch.float32) for seed in range(COUNT)]
        for number in range(SETS)
    ]
    references = [torch.stack(tensors).to(torch.bfloat16).to(m.device) for tensors in sets]
    turns = Turns(m, sets, references[0].nbytes)
    flat = m.pin(torch.cat(sets[0]).to(torch.bfloat16))

    def check(crossed: list[Any]) -> None:
        m.on_device(crossed[0])
        m.same(torch.stack(list(crossed)), references[turns.index], "one of the copies")

    def each(tensors: list[Any]) -> list[Any]:
        return [tensor.to(m.device, torch.bfloat16) for tensor in tensors]

    ways = [
        Way(ONE_BY_ONE, "pytorch", lambda: each(turns.sources), check, turns.next),
        Way(TURNPIKE, "turnpike", lambda: m.tp.to(turns.sources, m.device, dtype=torch.bfloat16), check, turns.next),
        Way(
            ONE_DMA,
            "bound",
            lambda: flat.to(m.device, non_blocking=True),
            lambda crossed: m.same(crossed, references[0].view(-1)),
            turns.next,
        ),
    ]
    targets = [Target(TURNPIKE, "value <=", 1800, "at most 1.8 ms")]
    return Case(CONVERTED, "us", 1, ways, ONE_BY_ONE, bound=ONE_DMA, targets=targets)


def mixed_nest(m: Machine) -> Case:
    """A batch of a real program: 200 tensors of five dtypes, 8 bytes to 1 MiB, and a few other things."""
    torch = m.torch
    dtypes = [torch.int32, torch.float32, torch.int64, torch.bfloat16, torch.uint8]

    def tensor(seed: int) -> Any:
        count = 2 if seed % 50 == 0 else m.sized(1 << (6 + seed % 15)) // 8
        return m.pattern(8 * max(1, count), seed).remainder_(1000).to(dtypes[seed % 5])

    def nest(first: int) -> dict[str, Any]:
        numbers = range(first, first + 200, 2)
        return {
            "pairs": [(tensor(seed), {"mask": tensor(seed + 1)}) for seed in numbers],
            "name": "batch",
            "count": len(numbers),
        }

    sets = [nest(200 * number) for number in range(SETS)]
    turns = Turns(m, sets, sum(one.nbytes for one in _leaves(sets[0])))

    def check(crossed: dict[str, Any]) -> None:
        if (crossed["name"], crossed["count"]) != ("batch", 100):
            raise WrongResult("what is no tensor was changed")
        for got, source in zip(_leaves(crossed), _leaves(turns.sources), strict=True):
            m.on_device(got)
            m.same(got.cpu(), source, "one of the copies")

    def by_hand(nested: dict[str, Any]) -> dict[str, Any]:
        return _map(nested, lambda leaf: m.pin(leaf).to(m.device, non_blocking=True))

    ways = [
        Way(ONE_BY_ONE, "pytorch", lambda: _map(turns.sources, lambda leaf: leaf.to(m.device)), check, turns.next),
        Way("each pinned, then async", "best", lambda: by_hand(turns.sources), check, turns.next),
        Way(TURNPIKE, "turnpike", lambda: m.tp.to(turns.sources, m.device), check, turns.next),
    ]
    return Case("mixed nest", "us", 1, ways, ONE_BY_ONE)


def encodings(m: Machine) -> Case:
    """What a tokenizer's collator returns, 32 texts of 512 tokens, a few times: four tensors of 128 KiB each."""
    kind = Encodings()
    item_bytes = m.sized(kind.ITEM_BYTES)
    texts = [m.pattern(32 * item_bytes, seed).view(32, -1) for seed in range(SETS * BATCHES)]
    numbers = [range(first, first + BATCHES) for first in range(0, len(texts), BATCHES)]
    turns = Turns(m, [[kind.collate_fn(list(texts[number])) for number in some] for some in numbers], texts[0].nbytes)
    references = [m.torch.stack([texts[number] for number in some]).to(m.device) for some in numbers]
    batches: list[Any] = []

    def prepare() -> None:
        turns.next()
        # BatchEncoding.to() changes the batch itself.
        batches[:] = [kind.kind(dict(batch)) for batch in turns.sources]

    def check(crossed: list[Any]) -> None:
        tensors = m.torch.stack([kind.tensor(batch) for batch in crossed])
        m.on_device(tensors)
        m.same(tensors, references[turns.index], "one of the batches")

    def by_hand(batch: Any) -> Any:
        return kind.kind({name: m.pin(tensor).to(m.device, non_blocking=True) for name, tensor in batch.items()})

    ways = [
        Way(BATCH_TO, "pytorch", lambda: [batch.to(m.device) for batch in batches], check, prepare),
        Way("each pinned, then async", "best", lambda: [by_hand(batch) for batch in batches], check, prepare),
        Way(TURNPIKE, "turnpike", lambda: [m.tp.to(batch, m.device) for batch in batches], check, prepare),
    ]
    return Case(ENCODINGS, "us", BATCHES, ways, BATCH_TO)


def _map(nested: dict[str, Any], do: Any) -> dict[str, Any]:
    pairs = [(do(first), {"mask": do(second["mask"])}) for first, second in nested["pairs"]]
    return {**nested, "pairs": pairs}


def _leaves(nested: dict[str, Any]) -> list[Any]:
    return [leaf for first, second in nested["pairs"] for leaf in (first, second["mask"])]
