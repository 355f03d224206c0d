"""Libraries outside PyTorch under the guard: seen while a recorder listens, reported, and never stopped.

The recorder runs beside the fake driver, runtime and CUPTI of tests/fake, and the fake PyTorch calls that runtime.
"""

import pytest

LIBRARY = """
import ctypes, logging
cudart = ctypes.CDLL("libcudart.so.13")  # as CuPy: its own way to the runtime
device, other, pinned = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert cudart.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(4096)) == 0
assert cudart.cudaMallocHost(ctypes.byref(pinned), ctypes.c_size_t(4096)) == 0
host = (ctypes.c_char * 4096)()
def download(bytes=100, to=host):
    assert cudart.cudaMemcpy(to, device, ctypes.c_size_t(bytes), 2) == 0  # line 10
def upload(source=host, kind=1):
    assert cudart.cudaMemcpyAsync(device, source, ctypes.c_size_t(64), kind, None) == 0
def wait():
    assert cudart.cudaDeviceSynchronize() == 0
def caught(function, *arguments, **rules):
    try:
        with tp.guard(**rules):
            function(*arguments)
    except tp.TransferError as error:
        return error
"""


@pytest.fixture
def beside(run, build, tmp_path):
    fakes = build / "tests/fake/lib"

    def beside(program, **variables):
        return run(
            LIBRARY + program,
            LD_PRELOAD=str(build / "tests/guard/libdevice_of_guard.so"),
            LD_LIBRARY_PATH=str(fakes),
            TURNPIKE_CUPTI=str(fakes / "libfakecupti.so"),
            **variables,
        )

    return beside


def test_a_copy_of_another_library_is_raised_at_the_end_of_the_block(beside):
    beside("""
def train():
    with tp.guard(d2h="disallow"):
        download()
        done.append("the block went on")
done = []
with tp.record("run.tpk"):
    try:
        train()
    except tp.TransferError as error:
        assert not error.exact
        assert (error.kind, error.bytes, error.host_memory, error.line) == ("d2h", 100, "pageable", 10), vars(error)
        assert [line.function for line in error.stack] == ["download", "train", "<module>"], error.stack
        assert "by cudaMemcpy at train.py:10 in download(): GPU -> pageable memory" in str(error), error
        assert "not stopped, because a library outside PyTorch made it" in str(error), error
    else:
        raise AssertionError
assert done
""")


def test_without_a_recorder_nothing_is_known_of_it_and_that_is_said_once(beside):
    done = beside("""
logging.basicConfig(level=logging.INFO)
for _ in range(2):
    assert caught(download, d2h="disallow") is None
""")
    assert done.stderr.count("of copies by libraries outside PyTorch nothing is known") == 1, done.stderr
    with_recorder = beside("""
logging.basicConfig(level=logging.INFO)
with tp.record("run.tpk"):
    assert caught(lambda: None, d2h="disallow") is None
""")
    assert "nothing is known" not in with_recorder.stderr


def test_a_recording_that_has_ended_tells_nothing(beside):
    beside("""
tp.start("run.tpk")
assert caught(download, d2h="disallow") is not None
tp.stop()
assert caught(download, d2h="disallow") is None
tp.start("run.tpk")
assert caught(download, d2h="disallow") is not None
""")


def test_a_recording_that_begins_in_the_block_is_heard(beside):
    beside("""
def late():
    tp.start("run.tpk")
    torch.synchronize()  # PyTorch's next call finds the recorder
    download()
assert caught(late, d2h="disallow").line == 10
""")


def test_each_kind_is_one(beside):
    beside("""
tp.start("run.tpk")
def kind_of(function, *arguments, **rules):
    error = caught(function, *arguments, **rules)
    return error and (error.kind, error.direction, error.host_memory, error.bytes)
assert kind_of(upload, h2d="disallow") == ("h2d", "h2d", "pageable", 64)
assert kind_of(upload, pageable="disallow") == ("pageable", "h2d", "pageable", 64)
assert kind_of(upload, pinned, h2d="disallow") == ("h2d", "h2d", "pinned", 64)
assert kind_of(upload, pinned, pageable="disallow") is None
assert kind_of(upload, pinned, 4, h2d="disallow") == ("h2d", "h2d", "pinned", 64)  # the call does not say: the memory
assert kind_of(upload, device, 4, d2d="disallow") == ("d2d", "d2d", None, 64)
assert kind_of(upload, sync="disallow") is None
assert kind_of(download, sync="disallow") == ("sync", "d2h", "pageable", 100)
assert kind_of(wait, sync="disallow") == ("sync", "sync", None, 0)
assert kind_of(wait, d2h="disallow", h2d="disallow", pageable="disallow", alloc="disallow") is None
assert kind_of(lambda: cudart.cudaMalloc(ctypes.byref(other), ctypes.c_size_t(512)), alloc="disallow") == (
    "alloc", "alloc", None, 512)
# What a stream orders makes nobody wait.
assert kind_of(lambda: cudart.cudaMallocAsync(ctypes.byref(other), ctypes.c_size_t(8), None), alloc="disallow") is None
""")


def test_what_pytorch_calls_is_judged_once(beside):
    beside("""
tp.start("run.tpk")
def both():
    torch.item()
    download()
assert caught(torch.item, d2h=1, sync=1) is None
assert caught(torch.blocking_copy, d2h=1, sync=1, pageable=1) is None
error = caught(torch.item, d2h="disallow")
assert error.exact and error.op == "aten::item", vars(error)
# A limit counts both.
assert caught(both, d2h=2) is None
error = caught(both, d2h=1)
assert (error.bytes, error.exact) == (100, False) and "more than the 1 permitted" in str(error), error
""")


def test_levels_sites_and_inner_blocks_hold_for_it(beside):
    done = beside("""
tp.start("run.tpk")
assert caught(download, d2h="allow") is None
assert caught(download, d2h="disallow", allow=["train.py:download"]) is None
assert caught(download, d2h="disallow", allow=["train.py:upload"]) is not None
def permitted():
    with tp.allow("d2h", reason="the loss"):
        download()
assert caught(permitted, d2h="disallow") is None
logging.basicConfig()
def logged():
    for _ in range(2):
        download()
assert caught(logged, d2h="log") is None
""")
    assert done.stderr.count("d2h of 100 B by cudaMemcpy at train.py:10 in download()") == 1, done.stderr
    assert "a library outside PyTorch made it (2 times, 200 bytes in all)" in done.stderr.replace(
        ". Keep it on the GPU, or tp.fetch it", ""
    ), done.stderr


def test_pytorchs_next_call_raises_it(beside):
    beside("""
tp.start("run.tpk")
def both():
    download()
    torch.item()  # line 25
try:
    with tp.guard(d2h="disallow"):
        both()
except tp.TransferError as error:
    assert not error.exact and error.line == 10 and error.kind == "d2h", vars(error)
    lines = []
    traceback = error.__traceback__
    while traceback:
        lines.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    assert 25 in lines, lines
else:
    raise AssertionError
""")


def test_another_thread_is_not_guarded(beside):
    beside("""
import threading
tp.start("run.tpk")
with tp.guard(d2h="disallow"):
    thread = threading.Thread(target=download)
    thread.start()
    thread.join()
""")


def test_turnpikes_own_moves_are_not_reported(beside, tmp_path):
    folder = tmp_path / "turnpike" / "_move"
    folder.mkdir(parents=True)
    (folder / "own_to.py").write_text("def to(copy):\n    copy()\n")
    beside("""
import functools, os
sys.path.append(os.path.join(os.path.dirname(__file__), "turnpike/_move"))
import own_to
copy = functools.partial(cudart.cudaMemcpy, host, device, ctypes.c_size_t(64), 2)
tp.start("run.tpk")
assert caught(own_to.to, copy, d2h="disallow") is None
assert caught(own_to.to, download, d2h="disallow") is not None
assert caught(copy, d2h="disallow") is not None
""")
