"""The engine at the end of a process: threads inside calls, forked children, interrupts. Its GPU is the host."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def run(driver_folder):
    """run(program): its result, with a CUDA driver that copies at once."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver_folder)}

    def run(program):
        command = [sys.executable, "-c", COMMON + program]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)

    return run


COMMON = """
import ctypes, os, signal, sys, threading, time
from turnpike import _core
SIZE = 32 << 20
engine = _core.MoveEngine.open((2, 1 << 20, 8 << 20))

def memory(value=0):
    return bytearray([value]) * SIZE

def address(block):
    return ctypes.addressof(ctypes.c_char.from_buffer(block))

def fill(block, value):
    ctypes.memset(address(block), value, SIZE)

def pieces(host, device):
    found = _core.MovePieces()
    found.add(address(host), address(device), SIZE)
    return found

def upload(host, device):
    engine.upload(0, pieces(host, device), 0)

def ahead(host, device):
    transfer = engine.upload_ahead(0, pieces(host, device), 0, (host, device))
    transfer.wait_on(0, 0)

def download(host, device):
    engine.download(0, pieces(host, device), 0)

def behind(host, device):
    engine.download_behind(0, pieces(host, device), 0, (host, device)).wait()
"""

CALLS = ["upload", "ahead", "download", "behind"]


@pytest.mark.parametrize("call", CALLS)
def test_the_calls_copy(run, call):
    done = run(f"""
host, device = memory(1), memory(2)
{call}(host, device)
assert host == device and host[5] == {1 if call in ("upload", "ahead") else 2}
""")
    assert done.returncode == 0, done.stderr


def test_the_engine_counts_each_way(run):
    done = run("""
host, device = memory(1), memory(2)
upload(host, device)
upload(host, device)
download(host, device)
stats = engine.stats()
counted = {way: (stats[way]["transfers"], stats[way]["bytes"]) for way in ("h2d", "d2h", "p2p")}
assert counted == {"h2d": (2, 2 * SIZE), "d2h": (1, SIZE), "p2p": (0, 0)}, counted
assert stats["h2d"]["staged_bytes"] == 2 * SIZE and stats["d2h"]["staged_bytes"] == SIZE, stats
assert stats["pinned_bytes"] > 0 and stats["pending"] == 0, stats
""")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("call", CALLS)
def test_a_daemon_thread_inside_a_call_does_not_disturb_the_end(run, call):
    program = f"""
def work():
    host, device = memory(1), memory(2)
    while True:
        {call}(host, device)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""
    for _ in range(5):
        done = run(program)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_inside_a_call_leaves_the_engine_as_it_was(run, call):
    done = run(f"""
class Interrupt(BaseException):
    pass

is_armed = False  # only inside the try below: a late signal must not end the program

def interrupt(*_):
    global is_armed
    if is_armed:
        is_armed = False
        raise Interrupt

signal.signal(signal.SIGALRM, interrupt)
host, device = memory(), memory()
interrupted = 0
for value in range(1, 60):
    fill(host, {"value" if call in ("upload", "ahead") else 0})
    fill(device, {0 if call in ("upload", "ahead") else "value"})
    try:
        is_armed = True
        signal.setitimer(signal.ITIMER_REAL, 0.0005 * (value % 7 + 1))
        {call}(host, device)
        is_armed = False
    except Interrupt:
        interrupted += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    {call}(host, device)
    assert host == device and host[-1] == value, value
    assert engine.stats()["pending"] == 0
assert interrupted > 10, interrupted
""")
    assert done.returncode == 0, done.stderr


def test_a_forked_child_leaves_what_its_parent_has_under_way(run):
    done = run("""
host, device = memory(1), memory(2)
transfer = engine.upload_ahead(0, pieces(host, device), 0, (host, device))
child = os.fork()
if child == 0:
    del transfer, engine, host, device
    os._exit(0)
transfer.wait()
assert host == device
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""")
    assert done.returncode == 0, done.stderr


def test_what_unlocks_a_storage_outlives_neither_engine_nor_fork(run):
    done = run("""
import weakref
block = memory()
class Storage: pass
storage = Storage()
engine.pin(address(block), SIZE, 0)
watch = weakref.ref(storage, engine.unlocker(address(block)))
child = os.fork()
if child == 0:
    del storage  # nothing is unlocked here
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
del storage
try:
    engine.unpin(address(block))
except _core.Error as error:
    assert "was not page-locked" in str(error)
else:
    raise SystemExit("it was still locked")
storage = Storage()
watch = weakref.ref(storage, engine.unlocker(address(block)))
del engine
del storage
""")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("meanwhile", ["engine.reap()", "pass"])
@pytest.mark.parametrize("call", ["upload", "upload_ahead", "download_behind"])
def test_what_a_transfer_keeps_alive_is_let_go_of_when_it_is_over(run, call, meanwhile):
    done = run(f"""
import weakref
class Owner: pass
host, device = memory(1), memory(2)
owners = [Owner() for _ in range(3)]
gone = [weakref.ref(owner) for owner in owners]
for owner in owners:
    transfer = engine.{call}(0, pieces(host, device), 0, owner)
    if transfer is not None:
        transfer.wait()
del owner, owners, transfer
deadline = time.monotonic() + 30
while any(one() is not None for one in gone):
    assert time.monotonic() < deadline, [one() for one in gone]
    time.sleep(0.001)
    {meanwhile}
assert host == device
""")
    assert done.returncode == 0, done.stderr


def test_a_calibration_tells_and_keeps_what_it_measured(run, tmp_path):
    done = run(f"""
os.environ["XDG_CACHE_HOME"] = {str(tmp_path)!r}
engine.configure((2, 1 << 20, 64 << 20))
told = []
found = engine.calibrate(0, lambda done, all: told.append((done, all)))
assert told == [(number, len(told)) for number in range(1, len(told) + 1)], told
assert (found["device"], found["device_name"]) == (0, "Host") and len(found["points"]) > 1
threads, chunk_bytes, pinned_bytes, gatherers, store = found["settings"]
best = [one for one in found["points"] if (one["threads"], one["chunk_bytes"]) == (threads, chunk_bytes)]
assert any(one["h2d_gbps"] == found["h2d_gbps"] and one["d2h_gbps"] == found["d2h_gbps"] for one in best), found
assert found["h2d_pinned_gbps"] > 0 and found["d2h_pinned_gbps"] > 0 and store in ("plain", "streaming", "string")
assert all(set(one) == {{"threads", "chunk_bytes", "h2d_gbps", "d2h_gbps", "store"}} for one in found["points"])
assert {{one["store"] for one in found["points"]}} <= {{"plain", "streaming", "string"}}
assert engine.settings() == found["settings"] == _core.move_kept_settings(device_name="Host")
assert _core.move_kept_settings("Another") is None
""")
    assert done.returncode == 0, done.stderr


def test_what_unlocks_a_storage_tells_that_it_was_not_locked(run):
    done = run("""
import weakref
block = memory()
class Storage: pass
storage = Storage()
watch = weakref.ref(storage, engine.unlocker(address(block)))
del storage
print("it goes on")
""")
    assert (done.returncode, done.stdout) == (0, "it goes on\n")
    assert "was not page-locked" in done.stderr
