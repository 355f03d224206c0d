"""`tp.guard` and `tp.allow`: blocks and functions in which transfers are logged, limited or forbidden."""

from __future__ import annotations

import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Literal, TypeVar

from turnpike._guard import wrap
from turnpike._guard.block import Block, Rules, is_ready
from turnpike._guard.compiling import is_compiling
from turnpike._guard.rules import KINDS, SWITCHES, Allowed, Level, allowed_of, read_config, rules_text

Function = TypeVar("Function", bound=Callable[..., Any])
_NAMES = (*KINDS, *SWITCHES)
_order = itertools.count()


class _Blocks:
    """What guard and allow have in common: a `with` block as often as wanted, and a decorator.

    One object may be entered by several threads and tasks at once: each leaves what it entered.
    """

    def __init__(self) -> None:
        # Each thread and task changes the list of its own alone.
        self._entered: dict[Any, list[tuple[int, Block | None]]] = {}

    def _enter(self, depth: int) -> Block | None:
        """The block for one more entry; None: this entry has no rules of its own.

        Args:
            depth: How many frames above the caller of this the entered line is.
        """
        raise NotImplementedError

    def __enter__(self) -> Any:
        if is_compiling():
            return self
        entry = (next(_order), self._enter(1))
        who = _who()
        entries = self._entered.get(who)
        if entries is None:
            self._entered[who] = [entry]
        else:
            entries.append(entry)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if is_compiling():
            return
        who = _who()
        entries = self._entered.get(who)
        if entries is None:
            # A block that another task leaves, as a fixture's: the last one that was entered.
            who, entries = max(self._entered.items(), key=lambda item: item[1][-1][0])
        _, block = entries.pop()
        if not entries:
            del self._entered[who]
        if block is not None:
            block.leave(error, traceback)

    def __call__(self, function: Function) -> Function:
        return wrap.wrapped(function, lambda: self._enter(2))


def _who() -> Any:
    """The thread, and the task of asyncio that it executes."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return threading.get_ident()
    return threading.get_ident(), id(asyncio.current_task())


@functools.lru_cache(maxsize=256, typed=True)
def _rules(sites: tuple[Allowed, ...], *levels: Level | None) -> Rules:
    # Once, for a `with` statement in a loop.
    text = rules_text(dict(zip(_NAMES, levels, strict=True)), sites)
    if all(level is None for level in levels[: len(KINDS)]):
        raise ValueError('guard: say what to guard: tp.guard(d2h="disallow"), for example, or config=...')
    return Rules(text)


@functools.lru_cache(maxsize=256)
def _allowing(kinds: tuple[str, ...]) -> Rules:
    return Rules(rules_text(dict.fromkeys(kinds or KINDS, "allow"), ()), forbids=False)


def _rules_of(sites: tuple[Allowed, ...], levels: tuple[Any, ...]) -> Rules:
    try:
        return _rules(sites, *levels)
    except TypeError:  # something that has no hash, and is no level either
        return Rules(rules_text(dict(zip(_NAMES, levels, strict=True)), sites))


class guard(_Blocks):
    """Logs, limits or forbids transfers between CPU and GPU and waits, in a `with` block or a function.

        with tp.guard(d2h="disallow", sync="disallow", h2d="log"):
            step(batch)

        @tp.guard(d2h=2, h2d="16 MB", skip=3)
        def step(batch): ...

    What is forbidden raises `TransferError` at its line, before it happens. Inside of the block it is a RuntimeError
    whose text begins with "turnpike.guard:"; it leaves the block as a TransferError with all that is known of it. Where
    an exception could do harm (allocators, extensions, destructors), it happens, and raises at PyTorch's next call that
    is safe or at the end of the block, with `exact=False`. Regard the training as over after an error.

    It holds for this thread and this task of asyncio, and for autograd's threads while this thread waits in
    backward(): never for another thread, unless `threads` says so. It sees what PyTorch and extensions that link
    against it ask of the CUDA runtime, needs no CUPTI, and so works beside torch.profiler and Nsight Systems. Copies of
    other libraries (CuPy, NCCL, Triton's launcher) it sees only while this process is recorded: they are not stopped,
    and raise at PyTorch's next call or at the end of the block, with `exact=False`.

    Inside of what torch.compile compiles it is nothing: guard the call of the compiled function.

    Levels are "allow", "log" (each line once, then counted), "disallow", and limits for each entry of the block: a
    number ("at most so many") or a size ("16 MB"). A kind that is not named is decided by the guard around, else
    allowed.

    Args:
        h2d: Copies from CPU to GPU.
        d2h: Copies from GPU to CPU.
        d2d: Copies within a GPU.
        p2p: Copies between GPUs.
        h2h: Copies within the host that CUDA makes.
        sync: Waits for a stream, an event or a device, as in `.item()`, and copies that only return when they are done.
        pageable: Copies from or to memory that is not pinned, asynchronous or not.
        alloc: Allocations by the CUDA runtime, and their release. They always raise later.
        repeat: Copies from CPU to GPU of bytes that the same line copied there before. Only "allow" and "log",
            because the guard compares hashes of samples, not all bytes.
        allow: Sites that no rule is about: "checkpoint.py:*", "train.py:save", for one kind "d2h train.py:80". Lines
            that led to the transfer count, too. A dict holds what [[allow]] does. Sites by which nothing was allowed
            are said when Python ends, unless "optional" is true.
        skip: So many entries come first, as warm-up, and are not guarded.
        capture: Whether copies that are captured into a CUDA graph are guarded ("disallow", as outside) or not.
        compile: Whether what PyTorch's compiler copies for itself is guarded ("disallow") or not.
        moves: Whether what tp.to, tp.prefetch, tp.fetch and tp.copy_ copy is guarded ("disallow") or not.
        threads: "own": this thread and this task, as said above. "all": every thread and task of the process. Of a
            thread that pins memory for a loader, only what is `pageable`.
        strict: Raise RuntimeError where no PyTorch with CUDA is loaded. Without it that is a warning, and nothing is
            guarded.
        config: A turnpike.toml, whose table [guard] gives the rules and whose [[allow]] entries give sites. Arguments
            come before it.

    Raises:
        turnpike.TransferError: At the end of the block, for what was forbidden in it.
        ValueError: A level, a size or a site cannot be read, or no kind has a level.

    Warns:
        RuntimeWarning: Once, where no PyTorch with CUDA is loaded: nothing is guarded. Once, at the end of a block,
            where the process has used no GPU: nothing was checked. The rules in TURNPIKE_GUARD are wrong.
    """

    def __init__(
        self,
        *,
        h2d: Level | None = None,
        d2h: Level | None = None,
        d2d: Level | None = None,
        p2p: Level | None = None,
        h2h: Level | None = None,
        sync: Level | None = None,
        pageable: Level | None = None,
        alloc: Level | None = None,
        repeat: Literal["allow", "log"] | None = None,
        allow: str | Iterable[str | dict[str, Any]] = (),
        skip: int | None = None,
        capture: Literal["allow", "disallow"] | None = None,
        compile: Literal["allow", "disallow"] | None = None,
        moves: Literal["allow", "disallow"] | None = None,
        threads: Literal["own", "all"] | None = None,
        strict: bool = False,
        config: str | os.PathLike[str] | None = None,
    ) -> None:
        if is_compiling():
            return
        super().__init__()
        levels: tuple[Any, ...] = (
            h2d, d2h, d2d, p2p, h2h, sync, pageable, alloc, repeat, capture, compile, moves, threads,
        )  # fmt: skip
        given = (allow,) if isinstance(allow, str | dict) else allow
        if not isinstance(given, Iterable):
            raise ValueError(f"guard: allow={allow!r} is no list of sites")
        sites = allowed_of(given)
        table: dict[str, Any] = {}
        if config is not None:
            table, listed = read_config(config)
            sites = (*listed, *sites)
            levels = tuple(
                table.get(name) if level is None else level for name, level in zip(_NAMES, levels, strict=True)
            )
        self._skip = table.get("skip", 0) if skip is None else skip
        if isinstance(self._skip, bool) or not isinstance(self._skip, int) or self._skip < 0:
            raise ValueError(f"guard: skip={self._skip!r} is no number of entries")
        self._rules = _rules_of(sites, levels)
        self._strict = strict
        self._is_warm = self._skip == 0
        self._is_ready = False
        self._entries = itertools.count()

    def _enter(self, depth: int) -> Block | None:
        if not self._is_warm:
            self._is_ready = self._is_ready or is_ready(self._strict)
            if not self._is_ready or next(self._entries) < self._skip:
                return None
            self._is_warm = True
        return self._rules.enter(self._strict)


class allow(_Blocks):
    """Allows in a `with` block or a function what a guard around it forbids.

        with tp.allow("d2h", "sync", reason="the loss, every 100 steps"):
            print(loss.item())

    Args:
        kinds: What is allowed ("d2h", "sync", ...); without any, everything.
        reason: Why, for those who read the program.
        first_only: Only the first time at this line in this process, as for what is initialised when it is needed.
    """

    _seen: dict[tuple[str, int], object] = {}  # without a lock, which a forked child might find locked

    def __init__(self, *kinds: str, reason: str | None = None, first_only: bool = False) -> None:
        if is_compiling():
            return
        super().__init__()
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError(f"allow: there is no kind {kind!r}. Known are {', '.join(KINDS)}")
        self._rules = _allowing(kinds)
        self.reason = reason
        self._is_first_only = first_only

    def _enter(self, depth: int) -> Block | None:
        if self._is_first_only:
            where = sys._getframe(depth + 1)
            line = (where.f_code.co_filename, where.f_lineno)
            first = object()
            if self._seen.setdefault(line, first) is not first:
                return None
        return self._rules.enter(needs_torch=False)
