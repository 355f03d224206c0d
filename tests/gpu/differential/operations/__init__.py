"""The operations that random programs are made of: each draws a few statements around one of the move calls."""

from __future__ import annotations

import dataclasses
import importlib
import random
from collections.abc import Callable, Sequence
from typing import Any

MODULES = ("crossing", "memory", "loops", "surroundings")

KIB, MIB = 1 << 10, 1 << 20

# Around every threshold of the engine: 64 KiB, 256 KiB, 2 MiB, 4 MiB, and its chunks.
SMALL = (0, 4, 100, 4 * KIB, 60 * KIB, 64 * KIB - 8, 64 * KIB, 64 * KIB + 8)
MIDDLE = (240 * KIB, 256 * KIB - 8, 256 * KIB, 256 * KIB + 8, MIB, 2 * MIB - 8, 2 * MIB, 2 * MIB + 8)
LARGE = (4 * MIB - 8, 4 * MIB, 4 * MIB + 8, 9 * MIB, 16 * MIB + 8, 33 * MIB, 64 * MIB)

DTYPES = {
    "float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1,
    "bool": 1, "complex64": 8,
}  # fmt: skip


@dataclasses.dataclass
class Block:
    """The statements of one operation, with the row and the column of the table that they count for."""

    operation: str
    aspect: str
    call: str
    number: int
    statements: list[str] = dataclasses.field(default_factory=list)
    is_alone: bool = False  # nothing else is in the program
    is_isolated: bool = False  # the program runs in processes of its own

    @property
    def label(self) -> str:
        return f"{self.operation}/{self.number}"

    def add(self, *statements: str) -> None:
        self.statements += statements

    def see(self, value: str, what: str = "") -> None:
        self.add(f"log.see({self.labelled(what)!r}, {value})")

    def attempt(self, call: str, what: str = "") -> None:
        self.add(f"log.attempt({self.labelled(what)!r}, {call})")

    def labelled(self, what: str) -> str:
        return f"{self.label}/{what}" if what else self.label


class Draw(random.Random):
    """The random choices of a program."""

    def one(self, *options: Any) -> Any:
        return self.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def size(self, most: int = 64 * MIB) -> int:
        """Bytes, mostly few."""
        sizes = self.choices((SMALL, MIDDLE, LARGE), (6, 3, 1))[0]
        return min(self.choice(sizes), most)

    def busy(self, probability: float = 0.5) -> list[str]:
        """A statement that keeps the stream busy, or none."""
        return [f"stage.busy({self.one(1, 5, 20, 40)})"] if self.chance(probability) else []

    def tensor(self, memory: str | None = None, most: int = 16 * MIB, gapless: bool = False) -> str:
        """The expression of a tensor of any size, dtype, memory and layout."""
        memory = memory or self.choices(
            ("pageable", "pinned", "shared", "file", "registered"), (10, 3, 1, 1, 1 if not gapless else 0)
        )[0]  # fmt: skip
        dtype = self.choice(list(DTYPES)) if self.chance(0.5) else "float32"
        items = self.size(most) // DTYPES[dtype]
        shape = f"{items}"
        if items > 8 and self.chance(0.4):
            columns = self.one(1, 3, 8)
            shape = f"{items // columns}, {columns}"
        made = f"stage.tensor({shape}, dtype=torch.{dtype}, seed={self.randrange(100)}, memory={memory!r})"
        if memory == "registered":
            made = f"way.pin_({made.replace(repr(memory), repr('pageable'))})"
        return made if gapless else made + self._layout("," in shape, items)

    def _layout(self, is_matrix: bool, items: int) -> str:
        options = ["", "", "", "[::2]", "[1:]", ".unsqueeze(0)", "[:0]"]
        if is_matrix:
            options += [".t()", "[:, 1:]", "[:, :1]", ".t()[:, ::2]"]
        if 0 < items < 64 * KIB:
            options += [f".expand(3, *[-1] * {2 if is_matrix else 1})"]
        if items == 1:
            options += ["[0]", "[0]"]
        return self.choice(options)

    def nest(self, names: Sequence[str]) -> str:
        """An expression with these names in it, each at least once."""
        shuffled = list(names)
        if self.chance(0.2):
            shuffled.append(self.choice(shuffled))
        kind = self.randrange(5)
        if kind == 0 and len(shuffled) == 1:
            return shuffled[0]
        if kind == 1:
            return "{" + ", ".join(f"'{index}': {name}" for index, name in enumerate(shuffled)) + "}"
        if kind == 2:
            return f"({', '.join(shuffled)}, 'a word')"
        if kind == 3:
            return f"{{'all': [{', '.join(shuffled)}], 'number': 3}}"
        return f"[{', '.join(shuffled)}]"


Operation = Callable[[Draw, int], Block]
_found: dict[str, tuple[Operation, float]] = {}


def operation(weight: float) -> Callable[[Operation], Operation]:
    """Puts a function into the list, drawn in proportion to its weight."""

    def add(draws: Operation) -> Operation:
        _found[draws.__name__] = draws, weight
        return draws

    return add


def all_operations() -> dict[str, tuple[Operation, float]]:
    """The operations and their weights, by name."""
    for module in MODULES:
        importlib.import_module(f"operations.{module}")
    return dict(_found)
