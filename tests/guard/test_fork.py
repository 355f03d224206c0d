"""A forked child that enters a block never waits for a thread that it lacks, whatever that thread was doing."""

import os

import pytest

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("TURNPIKE_STRESS_SECONDS", "10")) / 2  # of each test

# Other threads run `work` over and over while this one forks children that enter a block.
PROGRAM = f"""
import ctypes, itertools, os, shutil, signal, threading, time
from turnpike._guard.library import call
until = time.monotonic() + {SECONDS}
def step(number):
    with tp.guard(h2d="log", d2h=number % 300, moves="disallow"), tp.allow("sync", first_only=True):
        torch.upload(8, 1)
def child():
    signal.alarm(20)
    step(os.getpid())
    os._exit(0)
def keep_forking(*works):
    def repeat(work):
        for number in itertools.count():
            work(number)
            if time.monotonic() > until:
                return
    step(0)
    threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    while time.monotonic() < until:
        pid = os.fork()
        if pid == 0:
            child()
        assert os.waitpid(pid, 0)[1] == 0, "SIGALRM: it hung"
    for thread in threads:
        thread.join()
"""


def test_a_thread_takes_slots(run):
    run(
        PROGRAM
        + """
def take(number):
    call("restore_slots")
    call("take_slots")
keep_forking(take, step)
"""
    )


def test_a_thread_loads_libraries(run, environment, tmp_path):
    run(
        PROGRAM
        + f"""
def load(number):
    copy = f"{tmp_path}/copy{{number}}.so"
    shutil.copy({environment["FAKE_EXTENSION"]!r}, copy)
    ctypes.CDLL(copy)
    step(number)
    time.sleep(0.01)
keep_forking(load, step)
"""
    )


def test_a_child_keeps_the_slots_that_are_taken(run):
    run("""
        import os
        from turnpike._guard.library import call
        with tp.guard(h2d="log"):
            torch.upload(8, 1)
        taken = call("take_slots")
        extension = torch.library("FAKE_EXTENSION")
        pid = os.fork()
        if pid == 0:
            os._exit(0 if call("take_slots") == taken else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert call("take_slots") > taken
    """)
