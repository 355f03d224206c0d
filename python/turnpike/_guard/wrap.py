"""A block around each call of a function: plain ones, generators, coroutines and asynchronous generators.

A generator is in its block while it executes, not while whoever iterates does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, TypeVar, cast

from turnpike._guard.block import Block
from turnpike._guard.compiling import is_compiling

Function = TypeVar("Function", bound=Callable[..., Any])
Enter = Callable[[], "Block | None"]


def wrapped(function: Function, enter: Enter) -> Function:
    """The function with a block around each call, of the same kind as it was."""
    if inspect.isasyncgenfunction(function):
        wrapper = _async_generator(function, enter)
    elif inspect.iscoroutinefunction(function):
        wrapper = _coroutine(function, enter)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function, enter)
    else:
        wrapper = _plain(function, enter)
    return cast("Function", functools.wraps(function)(wrapper))


def _plain(function: Callable[..., Any], enter: Enter) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        if is_compiling() or (block := enter()) is None:
            return function(*arguments, **named)
        try:
            result = function(*arguments, **named)
        except BaseException as error:
            block.leave(error, error.__traceback__)
            raise
        block.leave(None, None)
        return result

    return call


def _driven(steps: Generator[Any, Any, Any], block: Block | None) -> Generator[Any, Any, Any]:
    """Drives `steps` with the block in force while they execute. The block stays entered, and paused, at the end."""
    if block is None:
        return (yield from steps)
    resume: Callable[[], Any] = functools.partial(next, steps)
    while True:
        block.resume()
        try:
            item = resume()
        except StopIteration as end:
            return end.value
        finally:
            block.pause()
        try:
            sent = yield item
        except GeneratorExit:
            block.resume()
            try:
                steps.close()
            finally:
                block.pause()
            raise
        except BaseException as error:
            resume = functools.partial(steps.throw, error)
        else:
            resume = functools.partial(steps.send, sent)


def _left(steps: Generator[Any, Any, Any], block: Block | None) -> Generator[Any, Any, Any]:
    """The same, and leaves the block."""
    try:
        result = yield from _driven(steps, block)
    except BaseException as error:
        if block is not None:
            block.leave(error, error.__traceback__)
        raise
    if block is not None:
        block.leave(None, None)
    return result


def _paused(enter: Enter) -> Block | None:
    block = enter()
    if block is not None:
        block.pause()
    return block


def _generator(function: Callable[..., Any], enter: Enter) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
        return (yield from _left(function(*arguments, **named), _paused(enter)))

    return call


class _Await:
    """What `await` drives."""

    def __init__(self, steps: Generator[Any, Any, Any]) -> None:
        self._steps = steps

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._steps


def _steps_of(awaitable: Awaitable[Any]) -> Generator[Any, Any, Any]:
    return (yield from awaitable.__await__())


def _coroutine(function: Callable[..., Any], enter: Enter) -> Callable[..., Any]:
    async def call(*arguments: Any, **named: Any) -> Any:
        return await _Await(_left(_steps_of(function(*arguments, **named)), _paused(enter)))

    return call


def _async_generator(function: Callable[..., Any], enter: Enter) -> Callable[..., Any]:
    async def call(*arguments: Any, **named: Any) -> AsyncGenerator[Any, Any]:
        steps = function(*arguments, **named)
        block = _paused(enter)
        step = steps.asend(None)
        try:
            while True:
                try:
                    item = await _Await(_driven(_steps_of(step), block))
                except StopAsyncIteration:
                    break
                try:
                    sent = yield item
                except GeneratorExit:
                    await _Await(_driven(_steps_of(steps.aclose()), block))
                    raise
                except BaseException as error:
                    step = steps.athrow(error)
                else:
                    step = steps.asend(sent)
        except BaseException as error:
            if block is not None:
                block.leave(error, error.__traceback__)
            raise
        if block is not None:
            block.leave(None, None)

    return call
