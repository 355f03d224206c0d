"""For the tests of the move calls on a GPU: memory and streams are as they were when a test ends."""

import gc
import importlib.util
import time

import pytest

# Not even collected where there is no PyTorch: their parameters are made of it.
collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(autouse=True)
def gpu():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return torch.device("cuda", torch.cuda.current_device())


@pytest.fixture
def no_memory_kept(gpu):
    """The GPU memory in use soon after the test is what it was before, though no other call is made."""
    import torch

    import turnpike as tp

    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    yield
    gc.collect()
    torch.cuda.synchronize()
    deadline_s = time.monotonic() + 0.5
    while time.monotonic() < deadline_s and torch.cuda.memory_allocated() != before:
        time.sleep(0.005)
    assert tp.move_stats().pending == 0
    assert torch.cuda.memory_allocated() == before


@pytest.fixture
def busy(gpu):
    """busy(): keeps the current stream working for some milliseconds, so that the host runs far ahead."""
    import torch

    return lambda cycles=20_000_000: torch.cuda._sleep(cycles)
