"""What all tests need."""

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
