"""What all tests need."""

import gc
import signal

import pytest

DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGQUIT: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}


@pytest.fixture(autouse=True)
def default_signals():
    """A runner in the background has SIGINT ignored, which children would inherit."""
    before = {number: signal.signal(number, handler) for number, handler in DEFAULTS.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def pytest_collection_finish(session):
    """What the tests' modules have imported stays. PyTorch's objects and those of trainers take each collection of
    garbage 0.2 s, and hundreds of tests collect it: they need not be looked at again."""
    gc.collect()
    gc.freeze()
