"""A command under `turnpike record` has the signals of a command that was started directly."""

import signal
import subprocess

import pytest

NEVER_CHANGED = {signal.SIGKILL, signal.SIGSTOP}
STOPPING = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
ALL = sorted(set(signal.valid_signals()) - NEVER_CHANGED)


def signal_lines(status):
    """What /proc/self/status says of signals: those ignored, blocked, caught, pending. Not SigQ, which counts those of
    the user's other processes, too."""
    lines = status.decode().splitlines()
    return [line for line in lines if line.startswith(("Sig", "Shd")) and not line.startswith("SigQ")]


def ignore_all():
    for number in ALL:
        signal.signal(number, signal.SIG_IGN)


def ignore_pipe():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def block_some():
    signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR2, signal.SIGCHLD, signal.SIGPIPE, 40})


@pytest.mark.parametrize("prepare", [None, ignore_all, ignore_pipe, block_some], ids=lambda one: one and one.__name__)
def test_dispositions_and_mask_are_those_of_the_plain_program(record, prepare):
    plain = subprocess.run(["cat", "/proc/self/status"], capture_output=True, preexec_fn=prepare, timeout=60)
    recorded = record("cat", "/proc/self/status", preexec_fn=prepare)
    assert signal_lines(recorded.stdout) == signal_lines(plain.stdout)


@pytest.mark.parametrize("number", sorted(set(ALL) - STOPPING | {signal.SIGKILL}), ids=lambda one: f"{int(one)}")
def test_ends_by_each_signal_as_the_plain_program_does(record, number):
    command = ["sh", "-c", f"ulimit -c 0; kill -{int(number)} $$; exit 3"]
    plain = subprocess.run(command, timeout=60, cwd=record.directory)
    assert record(*command, options=["--quiet"]).returncode == plain.returncode


def test_a_reader_that_leaves_ends_the_command_in_silence(record):
    first_line = subprocess.run(
        ["sh", "-c", '"$@" | head -1', "sh", *record.arguments("yes", options=["--quiet"])],
        cwd=record.directory, env=record.environment, capture_output=True, timeout=60,
    )  # fmt: skip
    assert (first_line.stdout, first_line.stderr) == (b"y\n", b"")
