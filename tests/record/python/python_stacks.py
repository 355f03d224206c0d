"""Every Python frame that the recorder captures is the one that CPython itself names: function, file and line."""

import asyncio
import atexit
import collections
import ctypes
import functools
import gc
import os
import subprocess
import sys
import threading
import time

from stack_probe import (CALLBACK, KEPT_PYTHON_FRAMES, capture, check, compare, expected_frames, library,
                         library_with_gil, losses, read, run)


def plain_call():
    check()


def same_stack_has_the_same_number():
    numbers = set()
    for _ in range(1000):
        numbers.add(check())
    assert len(numbers) == 1, numbers


def two_lines_have_two_numbers():
    first = check()
    second = check()
    assert first != second


def recurse(depth):
    if depth == 0:
        return check()
    return recurse(depth - 1)


def every_depth_up_to_the_limit():
    for depth in range(0, KEPT_PYTHON_FRAMES + 20, 7):
        recurse(depth)


def deep_recursion_is_cut_and_counted():
    before = losses().truncated
    number = recurse(500)
    stack = read(number)
    assert stack.is_truncated
    assert sum(f.kind == "P" for f in stack.frames) == KEPT_PYTHON_FRAMES
    assert losses().truncated == before + 2


def generators():
    def inner():
        yield check()
        yield check()

    def outer():
        yield from inner()
        yield check()

    assert len(list(outer())) == 3
    assert sum(1 for _ in (check() for _ in range(2))) == 2


def coroutines():
    async def leaf():
        await asyncio.sleep(0)
        return check()

    async def agen():
        for _ in range(2):
            yield check()

    async def main():
        await asyncio.gather(leaf(), leaf())
        async for _ in agen():
            check()
        async with asyncio.Lock():
            await leaf()

    asyncio.run(main())


def threads():
    errors = []

    def work(depth):
        try:
            for _ in range(50):
                recurse(depth)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(depth,)) for depth in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors, errors


def beside_a_thread_that_runs_hot():
    stop = threading.Event()

    def make_and_drop_code():
        while not stop.is_set():
            scope = {}
            exec(compile("def f():\n  return [i for i in range(9)]\n", f"<hot {time.time()}>", "exec"), scope)
            scope["f"]()

    worker = threading.Thread(target=make_and_drop_code)
    worker.start()
    try:
        for depth in range(300):
            recurse(depth % 20)
    finally:
        stop.set()
        worker.join()


def c_callbacks():
    sorted([3, 1, 2], key=lambda value: (check(), value)[1])
    functools.reduce(lambda a, b: check() and a + b, [1, 2, 3])
    list(map(lambda value: check(), [1]))
    functools.partial(check)()
    max([1, 2], key=functools.cmp_to_key(lambda a, b: check() * 0 or a - b))

    class Callable:
        def __call__(self):
            return check()

        def __getattr__(self, name):
            return check()

        def __lt__(self, other):
            check()
            return True

        def __enter__(self):
            check()

        def __exit__(self, *exc):
            check()

        @property
        def value(self):
            return check()

    Callable()()
    Callable().missing
    Callable().value
    sorted([Callable(), Callable()])
    with Callable():
        pass


def ctypes_callbacks():
    @CALLBACK
    def back():
        return check()

    assert library.probe_call(back) != 0

    @CALLBACK
    def nested():
        return library.probe_call(back)

    stack = read(library.probe_call(nested))
    # The native part is what the innermost line called, and ends at the evaluator that runs it.
    natives = [f for f in stack.frames if f.kind == "N"]
    kinds = "".join(f.kind for f in stack.frames)
    assert "PN" not in kinds, kinds
    assert natives and not any("PyEval" in f.function for f in natives), natives


def lambdas_and_comprehensions():
    (lambda: (lambda: check())())()
    [check() for _ in range(2)]
    [[check() for _ in range(2)] for _ in range(2)]
    {check() for _ in range(1)}
    {check(): check() for _ in range(1)}


def executed_text_without_a_file():
    scope = {"check": check}
    exec("check()\n\n\ncheck()\n", scope)
    exec(compile("\n\n\ndef f(n):\n    return check() if n == 0 else f(n - 1)\nf(3)\n", "<cell>", "exec"), scope)
    eval("(lambda: check())()", scope)


def freed_and_reused_code_objects_give_no_stale_lines():
    scope = {"check": check}
    for i in range(300):
        blank = "\n" * (i % 7)
        exec(compile(f"{blank}check()\n", "<same>", "exec"), scope)
    for i in range(300):
        # As long, with the same names and the same number of lines: only one step in the middle of the table differs.
        lines = ["a = 1"] * 40
        lines.insert(i % 39, "")
        body = "\n    ".join(lines)
        exec(compile(f"def f():\n    {body}\n    check()\n    a = 2\nf()\n", "<same>", "exec"), scope)
        moved = ["    a = 1"] * 40 + ["    check()"]
        moved.insert(i % 41, "")
        exec(compile("def f():\n" + "\n".join(moved) + "\nf()\n", "<same>", "exec"), scope)
    for i in range(300):
        exec(compile(f"def f{i % 10}():\n  check()\nf{i % 10}()\n", f"<file {i % 13}>", "exec"), scope)
        gc.collect(0)


def calls_over_several_lines():
    check(
    )
    min(
        1,
        check(),
        2 +
        check(),
    )
    result = (
        "a"
        + str(check())
        + str(
            check())
    )
    assert result
    value = [
        check(),
        check()]
    assert f"""{
        check()
    }""" and value
    if (check()
            and check()):
        pass


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        check()
        return function(*args, **kwargs)

    return wrapper


@decorated
@decorated
def decorators():
    check()

    class Local:
        check()

        class Nested:
            check()

        @decorated
        def method(self):
            check()

        @classmethod
        def of_class(cls):
            check()

        @staticmethod
        def of_nothing():
            check()

    Local().method()
    Local.of_class()
    Local.of_nothing()


def exceptions():
    try:
        try:
            raise ValueError
        except ValueError:
            check()
            raise KeyError from None
        finally:
            check()
    except KeyError:
        check()
    match [1, check()]:
        case [1, _]:
            check()


def names_beyond_ascii():
    def größe():
        check()

    def 函数():
        check()

    größe()
    函数()
    scope = {"check": check}
    for name in ("/tmp/naïve.py", "/tmp/файл.py", "/tmp/文件.py", "/tmp/\U0001f600.py", "/tmp/\udcff.py"):
        exec(compile("check()\n", name, "exec"), scope)
        exec(compile("def 𝔘():\n check()\n𝔘()\n", name, "exec"), scope)


def a_long_function():
    body = "".join(f"  x{i} = {i}\n" + "\n" * (i % 300) for i in range(2000))
    scope = {"check": check}
    exec(compile(f"def f():\n{body}  check()\n{body}  check()\nf()\n", "<long>", "exec"), scope)


def while_traced():
    seen = []
    sys.settrace(lambda *args: seen.append(1))
    try:
        check()
        recurse(3)
    finally:
        sys.settrace(None)
    if hasattr(sys, "monitoring"):
        sys.monitoring.use_tool_id(4, "test")
        sys.monitoring.register_callback(4, sys.monitoring.events.LINE, lambda *args: seen.append(1))
        sys.monitoring.set_events(4, sys.monitoring.events.LINE)
        try:
            check()
            recurse(3)
        finally:
            sys.monitoring.set_events(4, 0)
            sys.monitoring.free_tool_id(4)
    assert seen


def classes_whose_call_is_specialized():
    class Plain:
        def __init__(self):
            self.number = check()

    for _ in range(100):
        Plain()


def a_loop_that_runs_hot():
    """Long enough that an interpreter with a compiler compiles it."""
    def turn(number):
        if number % 2:
            return library.probe_capture()
        number += 1
        return library.probe_capture()

    counts = collections.Counter()
    for number in range(20_000):
        counts[turn(number)] += 1
    # Specialized and compiled code calls C in other ways: the native part of one place differs.
    lines = collections.Counter()
    for number, count in counts.items():
        innermost = next(frame for frame in read(number).frames if frame.kind == "P")
        lines[innermost.line - turn.__code__.co_firstlineno] += count
    assert lines == {2: 10_000, 4: 10_000}, lines


def a_thread_of_c_without_frames():
    """It has a thread state, and Python has nothing to show of it."""
    number = library.probe_without_frames()
    stack = read(number)
    assert not any(frame.kind == "P" for frame in stack.frames), stack
    assert not stack.is_truncated


def in_a_finalizer():
    class Dropped:
        def __del__(self):
            check()

    dropped = Dropped()
    del dropped
    cycle = Dropped()
    cycle.cycle = cycle
    del cycle
    gc.collect()


def a_new_file_has_everything_again():
    number = check()
    before = read(number)
    library_with_gil.probe_restart()
    assert read(number) == before


def while_others_capture_and_the_writer_drains():
    errors = []
    stop = threading.Event()

    def work(seed):
        scope = {"check": check}
        try:
            for i in range(100):
                exec(compile(f"{chr(10) * (i * seed % 50)}check()\n", f"<w{seed % 3}>", "exec"), scope)
        except BaseException as error:
            errors.append(error)

    def drain():
        while not stop.is_set():
            read(capture())

    reader = threading.Thread(target=drain)
    reader.start()
    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    stop.set()
    reader.join()
    assert not errors, errors


def a_subinterpreter():
    try:
        import _interpreters as interpreters
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            return "this Python has none"
    here = os.path.dirname(os.path.abspath(__file__))
    # _ctypes does not load into isolated interpreters of every version; what counts is that nothing breaks.
    script = f"import sys; sys.path.insert(0, {here!r})\ntry:\n  import stack_probe\nexcept ImportError:\n  pass\n" \
             "else:\n  stack_probe.read(stack_probe.capture())\n  assert stack_probe.capture() != 0\n"
    made = interpreters.create()
    try:
        failure = interpreters.run_string(made, script)
    finally:
        interpreters.destroy(made)
    assert failure is None, failure
    check()


CHILD = """
import atexit, sys, threading, time
sys.path.insert(0, {here!r})
import stack_probe
def at_exit():
    stack_probe.check()
    print("at exit", flush=True)
atexit.register(at_exit)
class Last:
    def __del__(self, capture=stack_probe.library.probe_capture, held=stack_probe.library_with_gil.probe_capture):
        capture()
        held()
sys.last = Last()
keep = Last()
{before}
def forever():
    while True:
        stack_probe.library.probe_capture()
        stack_probe.library.probe_time_capture(1000)
for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.05)
"""


# What a child does before its threads run: whose frames are then read with care; where they stand; with care again.
DRAIN = "stack_probe.read(stack_probe.capture())\nwhile not stack_probe.library.probe_python_stays(): time.sleep(0.001)"
BEFORE = ["", DRAIN, DRAIN + "\natexit._clear()\natexit.register(at_exit)\nassert not stack_probe.library.probe_python_stays()"]


def an_interpreter_that_ends():
    here = os.path.dirname(os.path.abspath(__file__))
    for before in BEFORE * 3:
        script = CHILD.format(here=here, before=before)
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, (before, ended.returncode, ended.stderr)
        assert ended.stdout == "at exit\n", (before, ended.stdout, ended.stderr)
        assert ended.stderr == "", (before, ended.stderr)


JOINED = """
import sys, threading, time
sys.path.insert(0, {here!r})
import stack_probe
def work():
    stack_probe.read(stack_probe.capture())
    until = time.monotonic() + 20
    while not stack_probe.library.probe_python_stays() and time.monotonic() < until:
        time.sleep(0.001)
    stack_probe.check()
    print(stack_probe.library.probe_python_stays())
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def a_thread_that_the_main_one_waits_for():
    """Its captures are dear until Python has promised to tell of its end, which must not wait for the main thread."""
    if sys.version_info < (3, 12):
        return  # only the main thread can promise
    script = JOINED.format(here=os.path.dirname(os.path.abspath(__file__)))
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "1\n"), (ended.returncode, ended.stdout, ended.stderr)


def a_forked_child():
    pid = os.fork()
    if pid == 0:
        try:
            check()
            began = time.monotonic()
            atexit._run_exitfuncs()
            assert time.monotonic() - began < 0.5, "the child waited for its parent's threads"
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def what_it_costs():
    def at_depth(depth):
        if depth:
            return at_depth(depth - 1)
        return min(library.probe_time_capture(1000) for _ in range(20))

    print(f"capture at 10 Python frames, seen before: {at_depth(6):.0f} ns")
    in_thread = []
    thread = threading.Thread(target=lambda: in_thread.append(at_depth(4)))
    thread.start()
    thread.join()
    directly = "where they stand" if library.probe_python_stays() else "with care"
    print(f"the same in a thread without the GIL, frames read {directly}: {in_thread[0]:.0f} ns")


def nothing_was_lost():
    assert losses().full == 0, losses()
    assert losses().not_walked == 0, losses()


if __name__ == "__main__":
    print(sys.version)
    run([plain_call, same_stack_has_the_same_number, two_lines_have_two_numbers, every_depth_up_to_the_limit,
         deep_recursion_is_cut_and_counted, generators, coroutines, threads, beside_a_thread_that_runs_hot, c_callbacks,
         ctypes_callbacks, lambdas_and_comprehensions, executed_text_without_a_file,
         freed_and_reused_code_objects_give_no_stale_lines, calls_over_several_lines, decorators, exceptions,
         names_beyond_ascii, a_long_function, while_traced, classes_whose_call_is_specialized,
         a_loop_that_runs_hot, a_thread_of_c_without_frames, in_a_finalizer,
         a_new_file_has_everything_again, while_others_capture_and_the_writer_drains, a_subinterpreter, an_interpreter_that_ends, a_thread_that_the_main_one_waits_for,
         a_forked_child,
         what_it_costs, nothing_was_lost])
