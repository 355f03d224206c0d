"""The extension's engine, call by call: arguments, results and errors. Its GPU is the host, without PyTorch."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent


@pytest.fixture
def run(driver_folder):
    """run(program): fails unless the program ends well. Its driver copies at once and says what `driver` is told."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver_folder)}

    def run(program):
        done = subprocess.run(
            [sys.executable, "-c", f"import sys\nsys.path.insert(0, {str(HERE)!r})\n" + COMMON + program],
            capture_output=True, text=True, timeout=120, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    return run


COMMON = """
import ctypes, os, sys
from turnpike import _core
from exchanged_tensor import Tensor, Slow, UINT
SETTINGS = (2, 1 << 20, 8 << 20)
library = ctypes.CDLL("libcuda.so.1")
engine = _core.MoveEngine.open(SETTINGS)

def driver(**values):
    for name, value in values.items():
        kind = ctypes.c_ulonglong if name.endswith(("_begin", "_end")) else ctypes.c_int
        kind.in_dll(library, name).value = value

def block(values):
    return (ctypes.c_uint8 * len(values))(*values)

def raised(kind, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        assert type(error) is kind, type(error)
        return str(error)
    raise SystemExit(f"no {kind.__name__}")

at = ctypes.addressof
"""


def test_pieces_are_copied_as_they_lie(run):
    run("""
host, device = block(range(24)), block([0] * 24)
pieces = _core.MovePieces()
assert len(pieces) == 0 and not pieces.has_pinned
pieces.add_strided(at(host), at(device), 2, [3, 2], [8, 4])
pieces.add_strided(at(host), at(device), 2, [0, 2], [8, 4])
assert len(pieces) == 2 and not pieces.has_pinned
engine.upload(0, pieces, 0)
assert list(device) == [0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21] + [0] * 12, list(device)
assert engine.stats()["h2d"]["bytes"] == 12
pieces.add(at(host) + 20, at(device) + 20, 3)
assert not pieces.has_pinned
pieces.add(at(host) + 23, at(device) + 23, 1, True)
assert len(pieces) == 4 and pieces.has_pinned
engine.upload(device=0, pieces=pieces, stream=0, owner=None, label="")
assert list(device)[12:] == [0] * 8 + [20, 21, 22, 23], list(device)

back = block([0] * 24)
pieces = _core.MovePieces()
pieces.add(at(back), at(device), 23)
engine.download(device=0, pieces=pieces, stream=0, is_fresh=False, label="")
assert list(back) == [*list(device)[:23], 0]
assert "one stride" in raised(ValueError, pieces.add_strided, 1, 2, 4, [2], [1, 1])
assert "negative" in raised(ValueError, pieces.add_strided, 1, 2, 4, [2, -1], [1, 1])
assert len(pieces) == 1
""")


SMALL = """
def tensor(memory, items, **more):
    return Tensor([items], bits=8, code=UINT, data=at(memory), **more)

first, second = block(range(1, 31)), block(range(101, 117))
room = (ctypes.c_uint8 * 8192)()
target = (at(room) + 4095) // 4096 * 4096
def there(offset, count):
    return list((ctypes.c_uint8 * count).from_address(target + offset))

sources = [tensor(first, 10, byte_offset=20), 7, tensor(second, 16)]
plan = _core.MovePlan(sources, (Tensor,), False)
assert (plan.small, plan.others) == ([0, 2], [1])
def targets(*offsets):
    return [Tensor([16], bits=8, code=UINT, data=target, byte_offset=offset) for offset in offsets]
"""


def test_small_tensors_go_to_their_targets(run):
    run(
        SMALL
        + """
pieces = _core.MovePieces()
assert "one target" in raised(ValueError, plan.add_to, pieces, targets(0))
assert "one target" in raised(ValueError, plan.add_to, pieces, targets(0, 32, 64))
plan.add_to(pieces=pieces, targets=targets(512, 64))
assert len(pieces) == 2
engine.upload(0, pieces, 0)
assert there(512, 11) == [*range(21, 31), 0] and there(64, 17) == [*range(101, 117), 0]

# What has no interface is asked for its address.
slow = _core.MovePlan([Slow(data_ptr=at(first), shape=(5,), itemsize=1)], (Slow,), False)
pieces = _core.MovePieces()
slow.add_to(pieces, [Slow(data_ptr=target + 2048)])
engine.upload(0, pieces, 0)
assert there(2048, 6) == [1, 2, 3, 4, 5, 0]
"""
    )


def test_small_neighbours_are_joined_and_pinned_ones_are_told(run):
    run(
        SMALL
        + """
def added(at_once=(0, 64), **state):
    driver(stream_state=0, capture_state=0, locked_begin=0, locked_end=0, block_begin=target, block_end=target + 4096)
    driver(**state)
    pieces = _core.MovePieces()
    pinned = engine.add_small(plan=plan, pieces=pieces, targets=targets(*at_once), device=0, stream=0, block_bytes=64)
    return pinned, len(pieces), pieces.has_pinned

assert added() == ([], 3, False), added()  # with the padding in between
assert added(block_end=target + 64) == ([], 2, False)  # of two allocations
assert added(at_once=(0, 128)) == ([], 2, False)
second_is_locked = dict(locked_begin=at(second), locked_end=at(second) + 16)
assert added(**second_is_locked) == ([], 3, False)  # behind an idle stream nobody asks
assert added(stream_state=600) == ([], 3, False)
assert added(stream_state=600, **second_is_locked) == ([2], 2, True)
assert added(capture_state=1, **second_is_locked) == ([2], 2, True)
assert added(stream_state=600, locked_begin=at(first), locked_end=at(first) + 30) == ([0], 2, True)
assert added(stream_state=600, locked_begin=1, locked_end=1 << 62) == ([0, 2], 2, True)
assert "at least one byte" in raised(ValueError, engine.add_small, plan, _core.MovePieces(), targets(0, 64), 0, 0, 0)
engine.add_small(plan, _core.MovePieces(), targets(0, 64), 0, 0, 1)
assert "one target" in raised(ValueError, engine.add_small, plan, _core.MovePieces(), targets(0), 0, 0, 64)

# The bytes arrive, too.
driver(stream_state=0, locked_begin=0, locked_end=0)
pieces = _core.MovePieces()
engine.add_small(plan, pieces, targets(0, 64), 0, 0, 64)
engine.upload(0, pieces, 0)
assert there(0, 10) == [*range(21, 31)] and there(64, 17) == [*range(101, 117), 0]
assert engine.stats()["h2d"]["packed_pieces"] > 0
assert raised(_core.Error, engine.add_small, plan, pieces, targets(0, 64), 5, 0, 64)
"""
    )


def test_questions_are_answered(run):
    run("""
assert engine.is_idle(0, 0) is True and engine.is_capturing(0, 0) is False
driver(stream_state=600)
assert engine.is_idle(device=0, stream=0) is False
driver(stream_state=0, capture_state=1)
assert engine.is_capturing(device=0, stream=0) is True
assert raised(_core.Error, engine.is_idle, 0, 0)
driver(capture_state=0, locked_begin=1000, locked_end=2000)
assert [engine.is_page_locked(0, address) for address in (999, 1000, 1999, 2000)] == [False, True, True, False]
for ask in (engine.is_idle, engine.is_capturing, engine.is_page_locked):
    assert raised(_core.Error, ask, 7, 0)
assert engine.settings()[:3] == SETTINGS
""")


def test_what_fails_is_an_error_of_the_call(run):
    run("""
memory = block([1] * 64)
pieces = _core.MovePieces()
pieces.add(at(memory), at(memory), 64, True)
driver(copy_result=1)
up = raised(_core.Error, engine.upload, 0, pieces, 0)
down = raised(_core.Error, engine.download, 0, pieces, 0)
assert "an error" in up and "an error" in down, (up, down)
for begin in (engine.upload_ahead, engine.download_behind):
    assert raised(_core.Error, lambda: begin(0, pieces, 0, None).wait())
assert raised(_core.Error, engine.upload, 3, pieces, 0)
driver(copy_result=0, register_result=2)
assert "an error" in raised(_core.Error, engine.pin, at(memory), 64)
assert raised(_core.Error, engine.unpin, at(memory))
assert raised(_core.Error, engine.configure, (0, 1, 2))
""")


def test_an_error_met_by_waiting_is_raised_by_the_wait(run):
    run("""
host, device = bytearray(32 << 20), bytearray(32 << 20)
pieces = _core.MovePieces()
pieces.add(*(ctypes.addressof(ctypes.c_char.from_buffer(one)) for one in (host, device)), 32 << 20)
def ends(wait):
    driver(copy_result=0)
    engine = _core.MoveEngine.open(SETTINGS)
    driver(copy_result=1)
    try:
        transfer = engine.upload_ahead(0, pieces, 0, None)
        wait(transfer)
    except _core.Error:
        return
    raise SystemExit("no error")
ends(lambda transfer: transfer.wait())
ends(lambda transfer: transfer.wait_on(0, 0))
""")


def test_transfers_beside_the_stream(run):
    run("""
host, device = bytearray([3]) * (4 << 20), bytearray(4 << 20)
addresses = [ctypes.addressof(ctypes.c_char.from_buffer(one)) for one in (host, device)]
staged, direct = _core.MovePieces(), _core.MovePieces()
staged.add(*addresses, 4 << 20)
direct.add(*addresses, 4 << 20, True)
transfer = engine.upload_ahead(device=0, pieces=staged, stream=0, owner=None, label="")
transfer.wait()
assert transfer.is_staged() is True and transfer.is_done() is True and host == device
transfer = engine.upload_ahead(0, direct, 0, None)
transfer.wait_on(device=0, stream=0)
host[:] = bytes(4 << 20)
transfer = engine.download_behind(device=0, pieces=staged, stream=0, owner=None, is_fresh=False, label="")
transfer.wait()
assert transfer.is_staged() is True and host == device
stats = engine.stats()
assert {way: stats[way]["staged_bytes"] for way in ("h2d", "d2h", "p2p")} == {"h2d": 4 << 20, "d2h": 4 << 20, "p2p": 0}
assert stats["h2d"]["transfers"] == 2 and stats["h2d"]["bytes"] == 8 << 20
assert set(stats["h2d"]) == {
    "transfers", "bytes", "staged_bytes", "packed_pieces", "timed_bytes", "timed_ns"
}, stats
assert set(stats) == {"h2d", "d2h", "p2p", "pinned_bytes", "pending"}
assert stats["pinned_bytes"] == engine.release_pinned() > 0 and engine.stats()["pinned_bytes"] == 0
""")


@pytest.mark.parametrize(("can_access_peer", "route"), [(1, "direct"), (0, "staged")])
def test_copies_between_gpus(run, can_access_peer, route):
    run(f"""
driver(device_count=2, can_access_peer={can_access_peer})
engine = _core.MoveEngine.open((2, 1 << 20, 32 << 20))
assert engine.peer_route(from_device=0, to_device=1) == {route!r}
assert engine.peer_route(1, 1) == "direct"
source, target = block([5] * 100), block([0] * 100)
transfer = engine.copy_peer(
    to_device=1, to=at(target) + 1, to_stream=0, from_device=0, from_address=at(source), from_stream=0, size_bytes=98,
    owner=None, label="",
)
transfer.wait()
assert list(target) == [0] + [5] * 98 + [0]
assert engine.stats()["p2p"]["bytes"] == 98 and engine.stats()["p2p"]["transfers"] == 1
assert raised(_core.Error, engine.peer_route, 0, 2)
assert raised(_core.Error, engine.copy_peer, 2, at(target), 0, 0, at(source), 0, 98, None)
""")


def test_memory_is_locked_for_every_device_unless_one_is_named(run):
    run("""
memory = bytearray(1 << 20)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
for more in ((), (0,), (-1,)):
    engine.pin(address, 1 << 20, *more)
    engine.unpin(address)
    assert raised(_core.Error, engine.unpin, address)
assert raised(_core.Error, engine.pin, address, 1 << 20, 1)  # there is no such device
unlock = engine.unlocker(memory=address)
engine.pin(address, 1 << 20)
assert unlock("a weak reference") is None
assert "page-locked" in raised(_core.Error, unlock, weak_reference="another")
""")


def test_settings_are_three_to_five(run):
    run("""
whole = engine.settings()
assert len(whole) == 5 and whole[4] in ("plain", "streaming", "string")
assert len(_core.move_default_settings()) == 5
for wrong in ((), (2, 4096), (2, 4096, 8192, 1, "plain", 6)):
    assert "3 to 5" in raised(ValueError, engine.configure, wrong)
    assert "3 to 5" in raised(ValueError, _core.MoveEngine.open, wrong)
assert "a store is" in raised(ValueError, engine.configure, (2, 4096, 16384, 1, "fancy"))
assert engine.settings() == whole
engine.configure((3, 8192, 65536))
assert engine.settings() == (3, 8192, 65536, *whole[3:])
engine.configure(settings=(4, 4096, 32768, 2))
assert engine.settings() == (4, 4096, 32768, 2, whole[4])
for store in ("plain", "streaming", "string"):
    engine.configure((5, 8192, 81920, 3, store))
    assert engine.settings() == (5, 8192, 81920, 3, store)
engine.configure((2, 4096, 16384))
assert engine.settings() == (2, 4096, 16384, 3, "string")
assert _core.MoveEngine.open(settings=(5, 8192, 81920, 3, "plain")).settings() == (5, 8192, 81920, 3, "plain")
""")
