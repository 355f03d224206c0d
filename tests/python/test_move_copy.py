"""tp.copy_'s result without a GPU: who waits for what, when it is asked, dropped, forked and left to the end."""

import gc
import os
import subprocess
import sys

import pytest

import turnpike as tp
from turnpike._move import engine as engine_module


class StandIn:
    """A transfer that notes what is asked of it, and is done when the host has waited for it."""

    def __init__(self):
        self.asked = []
        self.has_arrived = False

    def is_done(self):
        self.asked.append("is_done")
        return self.has_arrived

    def wait(self):
        self.asked.append("wait")
        self.has_arrived = True

    def wait_on(self, device, stream):
        self.asked.append(("wait_on", device, stream))


class Tensor:
    """What Work asks of a tensor."""

    def __init__(self, gpu=None, is_pinned=False):
        self._gpu = gpu
        self._is_pinned = is_pinned
        self.is_cuda = gpu is not None

    def get_device(self):
        return self._gpu

    def is_pinned(self):
        return self._is_pinned


@pytest.fixture
def streams(monkeypatch):
    monkeypatch.setattr(engine_module, "current_stream", lambda device: 100 + device)
    monkeypatch.setattr(engine_module, "is_capturing", lambda devices: False)


HOST, PINNED, GPU = Tensor(), Tensor(is_pinned=True), Tensor(0)


@pytest.mark.parametrize(("dst", "src"), [(HOST, GPU), (PINNED, GPU), (GPU, PINNED)])
@pytest.mark.parametrize("way", ["wait", "drop", "synchronize"])
def test_the_host_waits_before_it_may_touch_what_the_gpu_uses(streams, dst, src, way):
    transfer = StandIn()
    work = tp.Work(transfer, dst, src)
    if way != "drop":
        getattr(work, way)()
        assert work.done()
    del work
    gc.collect()
    assert transfer.has_arrived


@pytest.mark.parametrize(("dst", "src"), [(GPU, Tensor(1)), (GPU, HOST)])
@pytest.mark.parametrize("way", ["wait", "drop"])
def test_between_gpus_and_from_pageable_memory_only_streams_wait(streams, dst, src, way):
    transfer = StandIn()
    work = tp.Work(transfer, dst, src)
    if way == "wait":
        work.wait()
        assert not work.done()
    transfer.asked.clear()
    del work
    gc.collect()
    gpus = {tensor.get_device() for tensor in (dst, src) if tensor.is_cuda}
    assert set(transfer.asked) == {"is_done"} | {("wait_on", gpu, 100 + gpu) for gpu in gpus}


def test_during_a_capture_the_host_waits(streams, monkeypatch):
    monkeypatch.setattr(engine_module, "is_capturing", lambda devices: devices == {0, 1})
    transfer = StandIn()
    tp.Work(transfer, GPU, Tensor(1)).wait()
    assert transfer.asked[0] == "wait" and transfer.has_arrived


@pytest.mark.parametrize("dst", [HOST, GPU])
def test_when_it_is_over_a_dropped_copy_is_not_even_asked(streams, monkeypatch, dst):
    transfer = StandIn()
    work = tp.Work(transfer, dst, GPU)
    monkeypatch.setattr(engine_module, "_is_over", True)
    del work
    gc.collect()
    assert transfer.asked == []


def test_a_child_is_refused_what_its_parent_began(streams, monkeypatch):
    transfer = StandIn()
    work = tp.Work(transfer, HOST, GPU)
    monkeypatch.setattr(engine_module, "_is_over", True)
    monkeypatch.setattr(engine_module, "_is_child", True)
    for call in (work.wait, work.done, work.synchronize):
        with pytest.raises(tp.Error, match="began before the process was forked"):
            call()
    assert transfer.asked == []


KEPT = """
import sys
sys.path.insert(0, {folder!r})
from test_move_copy import GPU, HOST, StandIn
import turnpike as tp
class Noted(StandIn):
    def wait(self):
        super().wait()
        print("waited", flush=True)
work = tp.Work(Noted(), HOST, GPU)
"""


def test_at_the_end_of_the_program_the_bytes_are_there():
    program = KEPT.format(folder=os.path.dirname(__file__))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "waited\n"), done.stderr
