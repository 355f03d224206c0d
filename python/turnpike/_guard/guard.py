"""`tp.guard` and `tp.allow`: blocks and functions in which transfers are logged, limited or forbidden."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import Any, Literal, TypeVar

from turnpike._guard import wrap
from turnpike._guard.block import Block, Rules, is_ready
from turnpike._guard.compiling import is_compiling
from turnpike._guard.rules import KINDS, Level, read_config, rules_text

Function = TypeVar("Function", bound=Callable[..., Any])


class _Blocks:
    """What guard and allow have in common: a `with` block as often as wanted, and a decorator.

    One object may be entered by several threads and tasks at once: each leaves what it entered.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entered: list[tuple[Any, Block | None]] = []

    def _enter(self, where: FrameType) -> Block | None:
        """The block for one more entry; None: this entry has no rules of its own."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        if is_compiling():
            return self
        block = self._enter(sys._getframe(1))
        with self._lock:
            self._entered.append((_who(), block))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if is_compiling():
            return
        who = _who()
        with self._lock:
            # A block that another task leaves, as a fixture's: the last one that was entered.
            at = next((at for at in reversed(range(len(self._entered))) if self._entered[at][0] == who), -1)
            _, block = self._entered.pop(at)
        if block is not None:
            block.leave(error, traceback)

    def __call__(self, function: Function) -> Function:
        return wrap.wrapped(function, lambda: self._enter(sys._getframe(2)))


def _who() -> tuple[int, int]:
    """The thread, and the task of asyncio that it executes."""
    asyncio = sys.modules.get("asyncio")
    task = None
    if asyncio is not None and asyncio._get_running_loop() is not None:
        task = asyncio.current_task()
    return threading.get_ident(), id(task)


class guard(_Blocks):
    """Logs, limits or forbids transfers between CPU and GPU and waits, in a `with` block or a function.

        with tp.guard(d2h="disallow", sync="disallow", h2d="log"):
            step(batch)

        @tp.guard(d2h=2, h2d="16 MB", skip=3)
        def step(batch): ...

    What is forbidden raises `TransferError` at its line, before it happens. Inside of the block it is a RuntimeError
    whose text begins with "turnpike.guard:"; it leaves the block as a TransferError with all that is known of it.

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
        alloc: Allocations by the CUDA runtime: cudaMalloc, cudaFree, cudaHostAlloc, cudaHostRegister.
        repeat: Copies from CPU to GPU of bytes that the same line copied there before. Only "allow" and "log",
            because the guard compares hashes of samples, not all bytes.
        allow: Sites that no rule is about: "checkpoint.py:*", "train.py:save", for one kind "d2h train.py:80". Lines
            that led to the transfer count, too.
        skip: So many entries come first, as warm-up, and are not guarded.
        capture: Whether copies that are captured into a CUDA graph are guarded ("disallow", as outside) or not.
        compile: Whether what PyTorch's compiler copies for itself is guarded ("disallow") or not.
        moves: Whether what tp.to, tp.prefetch, tp.fetch and tp.copy_ copy is guarded ("disallow") or not.
        threads: "own": this thread and this task, as said above. "all": every thread and task of the process. Of a
            thread that pins memory for a loader, only what is `pageable`.
        strict: Raise RuntimeError where no PyTorch with CUDA is loaded. Without it that is said once, and nothing is
            guarded.
        config: A turnpike.toml, whose table [guard] gives the rules and whose [[allow]] entries give sites. Arguments
            come before it.

    Raises:
        turnpike.TransferError: At the end of the block, for what was forbidden in it.
        ValueError: A level, a size or a site cannot be read.
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
        allow: str | Iterable[str] = (),
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
        table, sites = read_config(config) if config is not None else ({}, [])
        given: dict[str, Level | None] = {
            "h2d": h2d, "d2h": d2h, "d2d": d2d, "p2p": p2p, "h2h": h2h, "sync": sync, "pageable": pageable,
            "alloc": alloc, "repeat": repeat, "capture": capture, "compile": compile, "moves": moves,
            "threads": threads,
        }  # fmt: skip
        levels = {name: table.get(name) if value is None else value for name, value in given.items()}
        self._rules = Rules(rules_text(levels, [*sites, *([allow] if isinstance(allow, str) else allow)]))
        self._skip = table.get("skip", 0) if skip is None else skip
        if isinstance(self._skip, bool) or not isinstance(self._skip, int) or self._skip < 0:
            raise ValueError(f"guard: skip={self._skip!r} is no number of entries")
        self._strict = strict
        self._is_warm = self._skip == 0
        self._entries = itertools.count()

    def _enter(self, where: FrameType) -> Block | None:
        if not self._is_warm:
            if not is_ready(self._strict) or next(self._entries) < self._skip:
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

    _seen: set[tuple[str, int]] = set()

    def __init__(self, *kinds: str, reason: str | None = None, first_only: bool = False) -> None:
        if is_compiling():
            return
        super().__init__()
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError(f"allow: there is no kind {kind!r}. Known are {', '.join(KINDS)}")
        self._rules = Rules(rules_text(dict.fromkeys(kinds or KINDS, "allow"), ()))
        self.reason = reason
        self._is_first_only = first_only

    def _enter(self, where: FrameType) -> Block | None:
        if self._is_first_only:
            line = (where.f_code.co_filename, where.f_lineno)
            with self._lock:
                if line in self._seen:
                    return None
                self._seen.add(line)
        return self._rules.enter(needs_torch=False)
