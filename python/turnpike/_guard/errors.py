"""What a guard raises."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from turnpike._guard.library import call

PREFIX = "turnpike.guard: "


class StackLine(NamedTuple):
    """A line on the way to a transfer."""

    file: str
    line: int
    function: str


class TransferError(RuntimeError):
    """A transfer or a wait that a guard does not permit. If it is `exact`, it was stopped before it happened.

    Attributes:
        kind: The kind that the guard's rule is about: "d2h", "sync", "pageable", ...
        direction: "h2d", "d2h", "d2d", "p2p" or "h2h"; "sync" of a wait, "alloc" of an allocation.
        bytes: How much would have been moved or allocated; 0 of a wait.
        file: The innermost file of the program, None where no Python was executing.
        line: The line in it.
        function: The function around it.
        op: PyTorch's operator, "aten::item"; None where there was none.
        host_memory: "pageable", "pinned" or "managed" of a copy to or from the host, else None.
        stream: The CUDA stream's handle; 0 is the default stream.
        stack: The lines that led there, innermost first.
        exact: Whether it was raised where it happened. What an allocator, an extension, a destructor or a library
            outside PyTorch does has happened, and is raised later.
    """

    __module__ = "turnpike"  # where programs find it

    kind: str
    direction: str
    bytes: int
    file: str | None
    line: int
    function: str | None
    op: str | None
    host_memory: str | None
    stream: int
    stack: list[StackLine]
    exact: bool

    def __init__(self, text: str, **details: Any) -> None:
        super().__init__(text)
        self.kind = details.get("kind", "")
        self.direction = details.get("direction", "")
        self.bytes = details.get("bytes", 0)
        self.file = details.get("file")
        self.line = details.get("line", 0)
        self.function = details.get("function")
        self.op = details.get("op")
        self.host_memory = details.get("host_memory")
        self.stream = details.get("stream", 0)
        self.stack = [StackLine(*line) for line in details.get("stack", [])]
        self.exact = details.get("exact", True)

    def __reduce__(self) -> tuple[Any, ...]:
        # With its attributes, to a parent process.
        return _unpickle, (type(self), self.args, self.__dict__)


def _unpickle(kind: type[TransferError], arguments: tuple[str], details: dict[str, Any]) -> TransferError:
    error = kind(*arguments)
    error.__dict__.update(details)
    return error


def error_of(event: dict[str, Any]) -> TransferError:
    """The exception for an event of the library."""
    details = dict(event)
    return TransferError(details.pop("text").removeprefix(PREFIX), **details)


def transfer_error(error: BaseException) -> TransferError | None:
    """The TransferError for what PyTorch raised for us; None for every other exception."""
    if not isinstance(error, RuntimeError) or isinstance(error, TransferError) or PREFIX not in str(error):
        return None
    event = call("raised", str(error))
    return error_of(json.loads(event)) if event else None
