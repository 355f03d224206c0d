"""Samples of threads that run on: each is a place where its thread can have been, and looking harms nobody."""

import collections
import contextlib
import ctypes
import gc
import os
import statistics
import sys
import threading
import time

from stack_probe import capture, expected_frames, library, read, run

library.probe_time_sample.restype = ctypes.c_double
library.probe_reads.restype = ctypes.c_uint64


def sample(*threads):
    """The stacks of threads, None where there is none."""
    # A thread that is being started has no handle yet.
    handles = (ctypes.c_uint64 * len(threads))(*(thread.ident or 0 for thread in threads))
    numbers = (ctypes.c_uint32 * len(threads))()
    library.probe_sample(handles, numbers, len(threads))
    return [read(number) if number else None for number in numbers]


def functions_of(stack):
    assert all(frame.kind == "P" for frame in stack.frames)
    return [frame.function.split(".")[-1] for frame in stack.frames]


def line_of(name):
    with open(__file__) as script:
        return next(number for number, line in enumerate(script, 1) if line.rstrip().endswith("# line " + name))


class Running:
    """A thread that runs `function(stop)` while the block lasts."""

    def __init__(self, function):
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(function,))
        self.error = None

    def run(self, function):
        try:
            function(self.stop)
        except BaseException as error:
            self.error = error

    def __enter__(self):
        self.thread.start()
        return self.thread

    def __exit__(self, *exc):
        self.stop.set()
        self.thread.join()
        assert self.error is None, self.error


def waiting_thread(stop):
    stop.wait()  # line waiting


def a_thread_that_waits_is_where_it_waits():
    with Running(waiting_thread) as thread:
        time.sleep(0.05)
        stack, = sample(thread)
        names = functions_of(stack)
        frame = stack.frames[names.index("waiting_thread")]
        assert frame.line == line_of("waiting"), frame
        assert frame.file == os.path.abspath(__file__) or frame.file == __file__, frame
        assert names[-1] in ("_bootstrap", "<module>"), names
        assert not stack.is_truncated
        again, = sample(thread)
        assert again.id == stack.id


def every_frame_is_what_cpython_says():
    def through_a_generator(stop):
        def inside():
            yield (lambda: stop.wait())()

        list(inside())

    with Running(through_a_generator) as thread:
        time.sleep(0.05)
        stack, = sample(thread)
        expected = expected_frames(sys._current_frames()[thread.ident])
        found = [(frame.function, frame.file, frame.line, frame.first_line) for frame in stack.frames]
        assert found == expected, (found, expected)


def the_caller_itself_is_seen():
    stack, = sample(threading.current_thread())
    assert "sample" in functions_of(stack) and "the_caller_itself_is_seen" in functions_of(stack)


def a_thread_that_is_not_there_has_no_sample():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    assert sample(thread) == [None]


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def runs_hot(stop):
    while not stop.is_set():
        fib(12)


def a_hot_thread_is_seen_in_what_it_runs():
    with Running(runs_hot) as thread:
        seen = 0
        for _ in range(400):
            stack, = sample(thread)
            if stack is None:
                continue
            names = functions_of(stack)
            unknown = set(names) - {"fib", "runs_hot", "run", "_bootstrap", "_bootstrap_inner", "is_set", "start",
                                    "set", "__init__"}
            assert not unknown, names
            seen += "runs_hot" in names
            time.sleep(0.0005)
        assert seen > 200, seen


def yields(stop):
    def numbers(n):
        for i in range(n):
            yield from (i, i)

    while not stop.is_set():
        sum(numbers(50))


def share_cut(thread):
    """The share of a thousand samples of a thread that do not end at its outermost function."""
    numbers = (ctypes.c_uint32 * 1_000)()
    library.probe_samples(ctypes.c_uint64(thread.ident), numbers, len(numbers))
    looks = collections.Counter(numbers)
    del looks[0]
    if not looks:
        return None
    return sum(looks[number] for number in looks if functions_of(read(number))[-1] != "_bootstrap") / looks.total()


def a_stack_is_never_cut():
    """A frame that is entered or left leads nowhere for a moment: a sample of that moment would end at it."""
    # 3.10 links freed frames by the same field: chains of recursive functions there end at any of them.
    for work in (yields, runs_hot) if sys.version_info >= (3, 11) else (yields,):
        shares = []
        with Running(work) as thread:
            for _ in range(40):
                time.sleep(0.005)
                shares.append(share_cut(thread))
        shares = [share for share in shares if share is not None]
        assert len(shares) > 20, shares
        # The median: a thread that loses its processor at such a moment is seen there in all samples until it goes on.
        assert statistics.median(shares) <= 0.01, (work.__name__, shares)


def makes_and_drops_code(stop):
    number = 0
    while not stop.is_set():
        number += 1
        scope = {}
        body = "\n" * (number % 50) + f"  return [i for i in range({number % 9})]\n"
        exec(compile(f"def made_{number}():\n{body}", f"<made {number}>", "exec"), scope)
        scope[f"made_{number}"]()


def calls_deeply(stop):
    def down(depth):
        return down(depth - 1) + 1 if depth else 0

    depth = 0
    while not stop.is_set():
        depth = (depth + 37) % 700
        down(depth)


def starts_threads(stop):
    while not stop.is_set():
        threads = [threading.Thread(target=fib, args=(5,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def collects(stop):
    while not stop.is_set():
        cycle = [object() for _ in range(100)]
        cycle.append(cycle)
        gc.collect(1)


def is_of_this_program(frame):
    files = (os.path.abspath(__file__), __file__, sys.modules["stack_probe"].__file__)
    library_folder = os.path.dirname(threading.__file__)
    return frame.file in files or frame.file.startswith(("<made ", "<frozen ", library_folder))


def threads_that_churn_are_not_harmed():
    """Every frame that is seen is of code that runs here, in a line that there is."""
    before = fib(15)
    end = time.monotonic() + float(os.environ.get("TURNPIKE_CHURN_SECONDS", "3"))
    with open(__file__) as script:
        line_count = len(script.readlines())
    looks = samples = 0
    with contextlib.ExitStack() as running:
        churning = [running.enter_context(Running(work))
                    for work in (makes_and_drops_code, calls_deeply, starts_threads, yields, collects)]
        while time.monotonic() < end:
            looks += 1
            # All threads there are; those that run a moment may be gone by now.
            for stack in sample(*threading.enumerate(), *churning):
                if stack is None:
                    continue
                samples += 1
                for frame in stack.frames:
                    assert is_of_this_program(frame), frame
                    assert frame.file != __file__ or 0 <= frame.line <= line_count, frame
    assert fib(15) == before
    assert samples > looks, (samples, looks)


def new_frames_are_told_apart_by_few_reads():
    """From 3.12 on a code object has a number, which stands in the part of it that is read for all frames at once."""
    if sys.version_info < (3, 12):
        return

    def reads(*_):
        before = library.probe_reads()
        assert sample(threading.current_thread()) != [None]
        return library.probe_reads() - before

    def chain():
        """20 functions that call each other, far from each other in memory."""
        functions = [eval("lambda chain, then: then.pop()(chain, then)", {}) for _ in range(400)]
        return functions[::20]

    chains = [chain(), chain()]
    # The inner frames are others each time, the outer ones the same.
    counts = [
        reads(0) if turn % 3 == 2 else chains[turn % 3][0](0, [reads, *chains[turn % 3][1:]]) for turn in range(60)
    ]
    assert statistics.median(counts[6:]) <= 12, counts  # at first, names are read, too


def what_a_look_costs():
    def deep(depth):
        if depth:
            return deep(depth - 1)
        handles = (ctypes.c_uint64 * 2)(worker.ident, threading.get_ident())
        return library.probe_time_sample(handles, 2, 500)

    with Running(waiting_thread) as worker:
        print(f"   a look at 2 threads, 36 frames: {deep(30) / 1000:.1f} us")
    with Running(runs_hot) as worker:
        print(f"   a look at 2 threads, one of them hot: {deep(30) / 1000:.1f} us")


if __name__ == "__main__":
    sys.setrecursionlimit(3000)
    capture()  # finds this Python, as the first CUDA call of a recorded program does
    run([a_thread_that_waits_is_where_it_waits, every_frame_is_what_cpython_says, the_caller_itself_is_seen,
         a_thread_that_is_not_there_has_no_sample, a_hot_thread_is_seen_in_what_it_runs, a_stack_is_never_cut,
         threads_that_churn_are_not_harmed, new_frames_are_told_apart_by_few_reads, what_a_look_costs])
