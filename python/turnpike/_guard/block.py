"""One entered block of a guard, from its beginning to its end."""

from __future__ import annotations

import functools
import json
import logging
import os
import warnings
from types import TracebackType

from turnpike._guard import log, moves
from turnpike._guard.errors import TransferError, error_of, transfer_error
from turnpike._guard.library import call, functions

_has_gpu = False  # True: the process uses one, or it was said that it does not
_is_told = 0  # 1: what a process that nothing records does not see was said


@functools.cache
def _say_once(level: int, text: str) -> None:
    log.LOGGER.log(level, text)


def is_ready(strict: bool) -> bool:
    """Takes the slots of the loaded PyTorch. Returns False, and says so once, if it has no CUDA."""
    global _is_told
    if call("take_slots"):
        if not call("sees_outside"):
            _say_once(
                logging.INFO, "nothing records this process: of copies by libraries outside PyTorch nothing is known"
            )
            _is_told = 1
        return True
    text = "guard: no PyTorch with CUDA is loaded, so nothing is guarded: import torch first, one that has CUDA"
    if strict:
        raise RuntimeError(text)
    _warn_once(f"{text}; strict=True raises instead")
    return False


@functools.cache
def _warn_once(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=6)  # at the `with` statement


def _warn_without_gpu() -> None:
    """Warns once if the process has used no GPU by the end of a block."""
    global _has_gpu
    if not call("has_gpu"):
        text = "guard: nothing was checked, because this process has not used a GPU"
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    _has_gpu = True


def _is_forked() -> None:
    """A forked child says nothing: to ask, it would need the loader's lock, which a lost thread may hold."""
    global _has_gpu
    _has_gpu = True


os.register_at_fork(after_in_child=_is_forked)


class Block:
    """An entered block. Any thread may leave it, once."""

    __slots__ = ("_forbids", "_functions", "_guards_moves", "_number")

    def __init__(self, number: int, rules: Rules) -> None:
        self._functions = rules.functions
        self._forbids = rules.forbids
        self._number = number
        self._guards_moves = rules.guards_moves
        if self._guards_moves:
            moves.add(1)

    def pause(self) -> None:
        """Not in force until it is resumed."""
        call("pause", self._number)

    def resume(self) -> None:
        """In force again, for the calling thread."""
        call("resume", self._number)

    def leave(self, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Ends it; `error` is what leaves the block with it. Raises TransferError for what the library raised in it."""
        if self._guards_moves:
            moves.add(-1)
            self._guards_moves = False
        if self._forbids and not _has_gpu:
            _warn_without_gpu()
        has_more = self._functions["end"](self._number)
        if not has_more and error is None:
            return
        text = call("leave", self._number) if has_more else ""
        happened = json.loads(text) if text else {"logged": [], "deferred": []}
        for row in happened["logged"]:
            log.add(row)
        ours = transfer_error(error) if error is not None else None
        deferred = [error_of({**event, "exact": False}) for event in happened["deferred"]]
        if error is None and deferred:
            ours = deferred.pop(0)
        for one in deferred:
            log.LOGGER.error("found, and not raised where it happened: %s", one)
        if ours is not None:
            raise _in_place_of(ours, error, traceback)


class Rules:
    """The rules of a guard, ready to be entered."""

    __slots__ = ("_encoded", "_text", "forbids", "functions", "guards_moves")

    def __init__(self, text: str, forbids: bool = True) -> None:
        self._text = text
        self._encoded = text.encode(errors="surrogateescape")
        self.guards_moves = "moves=disallow" in text.split("\n")
        self.forbids = forbids
        self.functions = functions()

    def enter(self, strict: bool = False, needs_torch: bool = True) -> Block | None:
        """A block for the calling thread. None, and said once, where no PyTorch with CUDA is loaded.

        Args:
            strict: Raise RuntimeError instead.
            needs_torch: Without it the block is entered even then.
        """
        number = self.functions["begin"](self._encoded, _is_told)
        if not number:
            if needs_torch and not is_ready(strict):
                return None
            number = call("enter", self._text)
        if not number:
            raise MemoryError("guard: there is no memory to enter a block")
        return Block(number, self)


def _program_line(traceback: TracebackType | None) -> tuple[str | None, int, str | None]:
    """The innermost line outside installed packages, such as PyTorch with its backward()."""
    found: tuple[str | None, int, str | None] = (None, 0, None)
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if found[0] is None or "-packages/" not in code.co_filename:
            found = (code.co_filename, traceback.tb_lineno, code.co_name)
        traceback = traceback.tb_next
    return found


def _in_place_of(ours: TransferError, error: BaseException | None, traceback: TracebackType | None) -> TransferError:
    # An autograd thread runs no Python: the line is that of backward(), where the exception came out.
    if ours.file is None:
        ours.file, ours.line, ours.function = _program_line(traceback)
    # The exception that PyTorch raised says the same: what it was raised beside is what matters.
    ours.__cause__ = None if error is None else error.__cause__ or error.__context__
    ours.__suppress_context__ = True
    return ours.with_traceback(traceback)
