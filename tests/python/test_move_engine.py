"""The engine of a process without a GPU: what a fork, the end and settings do to it."""

import subprocess
import sys
import threading
import time

import pytest

import turnpike as tp
from turnpike._move import engine as engine_module

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: what moves its tensors cannot be tried")


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


STAND_IN = """
import os, sys, turnpike as tp
from turnpike._move import engine as engine_module
from turnpike import _core
import torch

class Opened:
    def settings(self): return (1, 4096, 8192)

class Opener:
    @staticmethod
    def open(settings): return Opened()

class Core:
    MoveEngine = Opener
    Error = _core.Error
    move_default_settings = staticmethod(_core.move_default_settings)

def with_a_gpu():
    engine_module._core = Core
    torch.version.cuda = "13"
    torch.cuda.is_available = lambda: True
    torch.cuda.init = lambda: None
    torch.cuda.is_initialized = lambda: False

def in_child(check):
    child = os.fork()
    if child == 0:
        try:
            check()
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_a_child_forked_before_the_engine_was_opened_has_its_own(torch):
    run(
        STAND_IN
        + """
def check():
    with_a_gpu()
    assert isinstance(engine_module.engine(), Opened) and not engine_module.is_over()
    engine_module.refuse_child("turnpike.fetch()")
    in_child(grandchild)

def grandchild():
    assert engine_module.engine() is None and engine_module.is_over()

in_child(check)
"""
    )


def test_a_child_of_a_process_with_an_engine_has_none(torch):
    run(
        STAND_IN
        + """
def check():
    assert engine_module.engine() is None and engine_module.is_over()
    try:
        engine_module.refuse_child("turnpike.fetch()")
    except tp.Error:
        return
    raise SystemExit("not refused")

with_a_gpu()
assert isinstance(engine_module.engine(), Opened)
in_child(check)
assert isinstance(engine_module.engine(), Opened)
"""
    )


def test_a_child_of_a_process_that_used_cuda_leaves_it_to_pytorch(torch):
    run(
        STAND_IN
        + """
with_a_gpu()
torch.cuda._is_in_bad_fork = lambda: True
def refuse():
    raise SystemExit("CUDA was touched")
torch.cuda.init = torch.cuda.is_available = refuse
assert engine_module.engine() is None and not engine_module.is_over()
"""
    )


def test_settings_do_not_start_cuda_and_are_there_when_the_engine_opens(torch):
    run(
        STAND_IN
        + """
with_a_gpu()
def refuse(*_):
    raise SystemExit("CUDA was started")
torch.cuda.get_device_name = torch.cuda.init = refuse
defaults = tp.move_stats()
tp.configure_move(threads=3)
tp.configure_move(pinned_bytes=32 << 20)
stats = tp.move_stats()
assert (stats.threads, stats.chunk_bytes, stats.pinned_limit_bytes) == (3, defaults.chunk_bytes, 32 << 20), stats

# When it opens, CUDA is started, and what calibrate() kept is known.
opened = []
torch.cuda.init = lambda: None
torch.cuda.is_initialized = lambda: True
torch.cuda.get_device_name = lambda: "Test GPU"
Core.move_kept_settings = staticmethod(lambda name: (9, 8 << 20, 64 << 20))
Opener.open = staticmethod(lambda settings: opened.append(settings) or Opened())
engine_module.engine()
assert opened == [(3, 8 << 20, 32 << 20)], opened
"""
    )


def test_a_setting_that_the_engine_refuses_is_forgotten(torch, monkeypatch):
    class Refuses:
        given = []

        def settings(self):
            return (1, 4096, 8192)

        def configure(self, settings):
            self.given.append(settings)
            if settings[1] == 1:
                raise tp.Error("a chunk must be 4096 bytes or more")

    monkeypatch.setattr(engine_module, "_engine", Refuses())
    monkeypatch.setattr(engine_module, "_wanted", (None, None, None))
    with pytest.raises(tp.Error, match="chunk"):
        tp.configure_move(chunk_bytes=1)
    tp.configure_move(threads=2)
    tp.configure_move(chunk_bytes=8192)
    assert Refuses.given == [(1, 1, 8192), (2, 4096, 8192), (2, 8192, 8192)]


def test_only_a_loop_towards_a_gpu_opens_the_engine(torch, monkeypatch):
    class Opened(Exception):
        pass

    def engine():
        raise Opened

    monkeypatch.setattr(engine_module, "engine", engine)
    assert len(list(tp.prefetch([torch.ones(2)], "cpu"))) == 1
    with pytest.raises(Opened):
        iter(tp.prefetch([torch.ones(2)], "cuda:0"))


@pytest.mark.alone
def test_when_the_interpreter_ends_other_threads_begin_no_call(monkeypatch):
    monkeypatch.setattr(engine_module, "_is_over", True)
    monkeypatch.setattr(engine_module, "_END_S", 0.3)
    took = []

    def call():
        start = time.monotonic()
        assert engine_module.engine() is None
        took.append(time.monotonic() - start)

    call()
    other = threading.Thread(target=call)
    other.start()
    other.join()
    assert took[0] < 0.2 and took[1] >= 0.3, took
    monkeypatch.setattr(engine_module, "_is_child", True)  # a child's threads are its own
    other = threading.Thread(target=call)
    other.start()
    other.join()
    assert took[2] < 0.2, took
