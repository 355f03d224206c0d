"""Random programs: the statements of one to three operations, merged; and how one that fails is made smaller."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterator

from operations import Block, Draw, all_operations

SIZES = (400, 4096, 65536, 262144, 4 << 20)


@dataclasses.dataclass
class Program:
    """Source text that uses `way`, `log`, `stage`, `dev` and the names of prelude.py."""

    text: str
    blocks: list[Block]
    seed: int

    @property
    def is_isolated(self) -> bool:
        return any(block.is_isolated for block in self.blocks)

    def operation_at(self, line: int) -> str:
        return operation_at(self.text, line)


def make(seed: int, only: list[str]) -> Program:
    """The program of a seed. only: the operations that it is drawn from; all when empty."""
    d = Draw(seed)
    known = {name: found for name, found in all_operations().items() if not only or name in only}
    names = list(known)
    weights = [weight for _, weight in known.values()]
    blocks: list[Block] = []
    for number in range(d.one(1, 1, 2, 3)):
        block = known[d.choices(names, weights)[0]][0](d, number)
        if block.is_alone:
            blocks = [block]
            break
        blocks.append(block)
    return Program(_merged(d, blocks), blocks, seed)


def _merged(d: Draw, blocks: list[Block]) -> str:
    """The statements in an order that keeps each block's own. Each says behind its first line whose it is."""
    queues = [[_marked(statement, block.label) for statement in block.statements] for block in blocks]
    lines = []
    while any(queues):
        queue = d.choice([queue for queue in queues if queue])
        lines.append(queue.pop(0))
    return "\n".join(lines) + "\n"


def _marked(statement: str, label: str) -> str:
    first, *rest = statement.split("\n")
    return "\n".join([f"{first}  # {label}", *rest])


def operation_at(text: str, line: int) -> str:
    """The label of the block that a line of a program belongs to."""
    for candidate in reversed(text.splitlines()[:line]):
        found = re.search(r"  # ([a-z_]+/\d+)$", candidate)
        if found:
            return found.group(1)
    return "program"


def script(text: str, comment: str) -> str:
    """A program as a file: `run.py --replay FILE` runs it in both ways."""
    return "".join(f"# {line}\n" for line in comment.splitlines()) + text


def smaller(text: str, fails: Callable[[str], bool]) -> str:
    """The text with what is not needed for it to fail left out, while fails() may be asked: it raises TimeoutError."""
    try:
        shrunk = True
        while shrunk:
            shrunk = False
            for candidate in _candidates(text):
                if fails(candidate):
                    text, shrunk = candidate, True
                    break
    except TimeoutError:
        pass
    return text


def _candidates(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for node in reversed(ast.parse(text).body):
        yield "\n".join(lines[: node.lineno - 1] + lines[node.end_lineno :]) + "\n"
    for found in re.finditer(r"\b\d{4,}\b", text):
        for size in SIZES:
            if size < int(found.group()):
                yield text[: found.start()] + str(size) + text[found.end() :]
