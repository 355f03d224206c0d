"""The line that the engine's copies are shown at: that of the program, for every call that copies."""

import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import types

import pytest

import turnpike as tp
from turnpike._guard import moves
from turnpike._move import ahead, label, plan, scalars
from turnpike._move import engine as engine_module
from turnpike._move import pipeline as pipeline_module
from turnpike._move import to as to_module

torch = pytest.importorskip("torch", reason="PyTorch is not installed: there are no tensors to be copied")

HERE = torch.device("cpu", 0)
LARGE = 1 << 18  # items


@pytest.fixture
def listened(monkeypatch):
    monkeypatch.setattr(label, "_is_listened", True)


def run_at(path, source, **names):
    exec(compile(source, path, "exec"), names)
    return names


OURS = os.path.join(os.path.dirname(label.__file__), "to.py")


def test_where_nobody_looks_no_line_is_looked_for(monkeypatch):
    monkeypatch.setattr(label, "_is_listened", False)
    monkeypatch.setattr(label, "caller_label", None)
    with label.shown() as text:
        assert text == ""


def test_it_is_the_innermost_line_outside_of_turnpike(monkeypatch):
    to = run_at(OURS, "def inner(): return label.caller_label()\ndef to(): return inner()", label=label)["to"]
    monkeypatch.chdir(os.path.dirname(__file__))
    program = os.path.join(os.getcwd(), "sub", "train.py")
    assert run_at(program, "\n\nfound = to()", to=to)["found"] == "sub/train.py:3 tp.to"
    assert run_at("/elsewhere/train.py", "\nfound = to()", to=to)["found"] == "/elsewhere/train.py:2 tp.to"
    assert run_at("<string>", "\nfound = to()", to=to)["found"] == "<string>:2 tp.to"


def test_the_call_is_that_of_the_program():
    to = run_at(OURS, "def to(): return label.caller_label()", label=label)["to"]
    loop = OURS.replace("to.py", "ahead.py")
    take = run_at(loop, "def take(): return to()", to=to)["take"]
    assert run_at("/p/train.py", "found = take()", take=take)["found"] == "/p/train.py:1 tp.prefetch"
    # What the program does in between is its own.
    mine = run_at("/p/data.py", "\ndef mine(): return to()", to=to)["mine"]
    take = run_at(loop, "def take(): return mine()", mine=mine)["take"]
    assert run_at("/p/train.py", "found = take()", take=take)["found"] == "/p/data.py:2 tp.to"


def test_autograd_in_between_is_no_line_of_the_program():
    names = run_at(
        OURS,
        """
class Moved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        found.append(label.caller_label())
        return x.clone()
    @staticmethod
    def backward(ctx, gradient):
        found.append(label.caller_label())
        return gradient
def to(x): return Moved.apply(x)
""",
        torch=torch,
        label=label,
        found=[],
    )
    x = torch.ones(2, requires_grad=True)
    run_at("/p/train.py", "y = to(x)\n\ny.sum().backward()", to=names["to"], x=x)
    assert names["found"] == ["/p/train.py:1 tp.to", "/p/train.py:3 tp.to"]


def test_torch_profiler_shows_it(monkeypatch):
    monkeypatch.setattr(label, "_is_listened", False)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        with label.shown() as text:
            torch.ones(3) + 1
        line = inspect.currentframe().f_lineno - 2
    assert text == ""  # no NVTX tool
    assert label._relative(f"{__file__}:{line} turnpike") in {event.key for event in profile.key_averages()}


# Each call, with an engine that only notes what it is given.


class Transfer:
    def is_staged(self):
        return True

    def is_done(self):
        return True

    def wait_on(self, device, stream):
        pass

    def wait(self):
        pass


class Engine:
    """Has the parameters of the real one. Each call was asked for: a guard may guard moves."""

    def _begin(self, direction, label):
        self.labels.append(label)
        assert [one for one, size in self.asked if size > 0][len(self.labels) - 1 :] == [direction]

    def is_page_locked(self, device, memory):
        return False

    def __init__(self):
        self.labels, self.asked = [], []

    def add_small(self, plan, pieces, targets, device, stream, block_bytes):
        return plan.add_to(pieces, targets) or []

    def upload(self, device, pieces, stream, owner=None, label=""):
        self._begin("h2d", label)

    def download(self, device, pieces, stream, is_fresh=False, label=""):
        self._begin("d2h", label)

    def upload_ahead(self, device, pieces, stream, owner, label=""):
        self._begin("h2d", label)
        return Transfer()

    def download_behind(self, device, pieces, stream, owner, is_fresh=False, label=""):
        self._begin("d2h", label)
        return Transfer()

    def copy_peer(self, to_device, to, to_stream, from_device, from_address, from_stream, size_bytes, owner, label=""):
        self._begin("p2p" if to_device != from_device else "d2d", label)
        return Transfer()


@pytest.fixture
def engine(monkeypatch, listened):
    engine = Engine()
    monkeypatch.setattr(engine_module, "engine", lambda: engine)
    monkeypatch.setattr(engine_module, "current_stream", lambda device: 7)
    monkeypatch.setattr(engine_module, "is_capturing", lambda devices: False)
    monkeypatch.setattr(engine_module, "refuse_capture", lambda call: None)
    monkeypatch.setattr(moves, "guarded", 1)
    monkeypatch.setattr(moves, "ask", lambda direction, size_bytes: engine.asked.append((direction, size_bytes)))
    return engine


@pytest.fixture
def on_a_gpu(monkeypatch):
    """Tensors say that they are on one."""
    monkeypatch.setattr(torch.Tensor, "is_cuda", property(lambda tensor: True), raising=False)
    monkeypatch.setattr(torch.Tensor, "get_device", lambda tensor: 0)


def expect(engine, call, count=1, before=1):
    """All labels are of the line that is `before` the caller's."""
    line = inspect.currentframe().f_back.f_lineno - before
    assert engine.labels == [label._relative(f"{__file__}:{line} {call}")] * count


def test_uploads_of_to(engine):
    tensors = [torch.ones(LARGE), torch.ones(LARGE)]
    upload = to_module.Upload(engine, tensors, plan.packing_of(tensors), HERE, None)
    to_module._up(engine, upload, None, True)
    expect(engine, "tp.to")


def test_uploads_of_to_that_convert_on_the_gpu(engine):
    to_module._up_converted(engine, torch.ones(plan.CONVERT_BYTES // 2), HERE, torch.float64)
    expect(engine, "tp.to", 2)


def test_downloads_of_to(engine, on_a_gpu):
    to_module._down(engine, [torch.ones(LARGE), torch.ones(LARGE)], HERE, None, False)
    expect(engine, "tp.to")


def test_downloads_of_to_that_convert_on_the_gpu(engine, on_a_gpu):
    to_module._down_converted(engine, torch.ones(plan.CONVERT_BYTES // 4), torch.float64)
    expect(engine, "tp.to", 2)


def test_prefetch_is_shown_at_the_loop(engine):
    batches = [{"x": torch.ones(LARGE), "y": [torch.ones(3)]} for _ in range(5)]
    for _ in ahead.Ahead(engine, batches, HERE, 2, None):
        pass
    expect(engine, "tp.prefetch", 5, before=2)


def test_fetch(engine, on_a_gpu):
    tp.fetch(torch.ones(3))
    expect(engine, "tp.fetch")


def test_scalars(engine, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    collected = scalars.Scalars(every=1)
    collected._lanes[0] = scalars._Lane(engine, HERE, 7, torch.float32)
    collected._lane = lambda value: collected._lanes[0]
    collected.add(loss=torch.tensor(1.0))
    expect(engine, "tp.Scalars")


def test_copy_between_gpus(engine, on_a_gpu):
    tp.copy_(torch.ones(3), torch.ones(3))
    expect(engine, "tp.copy_")


@pytest.mark.parametrize("is_up", [True, False])
def test_copy_from_and_to_the_host(engine, monkeypatch, is_up):
    dst, src = torch.ones(3), torch.ones(3)
    gpu = dst if is_up else src
    monkeypatch.setattr(torch.Tensor, "is_cuda", property(lambda tensor: tensor is gpu), raising=False)
    monkeypatch.setattr(torch.Tensor, "get_device", lambda tensor: 0)
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda tensor: False)
    tp.copy_(dst, src)
    expect(engine, "tp.copy_")


def test_pipeline_is_shown_at_the_loop(engine, monkeypatch):
    stream = types.SimpleNamespace(cuda_stream=0)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: label.contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
    inputs = [torch.ones(LARGE) for _ in range(4)]
    lanes = pipeline_module._Lanes(engine, lambda x: x * 2, torch.device("cpu"), 2, None)
    for _ in pipeline_module._run(lanes, iter(inputs), 2):
        pass
    expect(engine, "tp.pipeline", 8, before=2)


# A recording that begins in the process.

TOOL = r"""
#include "record/session.h"
#include <stdio.h>
static int recording;
int turnpike_start(const TurnpikeOptions* options, char* error, uint64_t error_bytes) { return !(recording = 1); }
int turnpike_stop(char* error, uint64_t error_bytes) { return recording = 0; }
int turnpike_is_recording(void) { return recording; }
void turnpike_file(char* path, uint64_t path_bytes) { snprintf(path, path_bytes, "run"); }
int turnpike_keep(const char* reason, char* error, uint64_t error_bytes) { return 0; }
int InitializeInjectionNvtx2(void* get_export_table) { puts("heard"); fflush(stdout); return 0; }
"""
RECORDED = """
import ctypes
import turnpike as tp
from turnpike import _core, _native
from turnpike._move import label
_native.RECORD_LIBRARY = {tool!r}
engine = _core.MoveEngine.open((2, 1 << 20, 8 << 20))
block = ctypes.create_string_buffer(64)
def upload(text):
    pieces = _core.MovePieces()
    pieces.add(ctypes.addressof(block), ctypes.addressof(block), 32)
    engine.upload(0, pieces, 0, label=text)
upload("")
with tp.record("run"):
    print("recording", label._is_listened, flush=True)
    upload("train.py:1 tp.to")
print("over", label._is_listened)
"""


def test_a_recording_from_inside_hears_the_labels(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: the driver that stands in for CUDA's cannot be built")
    tests = pathlib.Path(__file__).parent
    (tmp_path / "tool.c").write_text(TOOL)
    for source, library in [(tests / "synchronous_driver.c", "libcuda.so.1"), (tmp_path / "tool.c", "tool.so")]:
        include = tests.parents[1] / "src"
        command = [compiler, "-O1", "-shared", "-fPIC", "-I", include, "-o", tmp_path / library, source]
        subprocess.run(command, check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    environment.pop("NVTX_INJECTION64_PATH", None)
    program = RECORDED.format(tool=str(tmp_path / "tool.so"))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:3] == ["recording True", "heard", "over False"]
