"""A command under `turnpike record` has the signals of a command that was started directly."""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from attaching import report, until
from terminal import Terminal

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


# Prints each signal that it gets, with its value.
LISTENER = """
import signal
every = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
signal.pthread_sigmask(signal.SIG_SETMASK, every)
print("ready", flush=True)
while True:
    print(int(signal.sigwaitinfo(every).si_signo), flush=True)
"""


@pytest.fixture(params=["record", "guard"])
def listener(request, record, guard_library):
    """A program under `turnpike record` or `turnpike guard` that prints the signals which it gets."""
    words = {"record": ["record"], "guard": ["guard", "--d2h", "log"]}[request.param]
    process = subprocess.Popen(
        [str(record.turnpike), *words, "--", sys.executable, "-c", LISTENER],
        cwd=record.directory, env={**record.environment, "TURNPIKE_GUARD_LIBRARY": str(guard_library)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=os.setpgrp,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_each_signal_that_another_process_sends_is_passed_on_once(listener):
    for number in sorted(set(ALL) - STOPPING):
        listener.send_signal(number)
        assert int(listener.stdout.readline()) == number
    listener.send_signal(signal.SIGUSR1)
    assert int(listener.stdout.readline()) == signal.SIGUSR1, "nothing came twice"


class Value(ctypes.Union):
    _fields_ = (("number", ctypes.c_int), ("pointer", ctypes.c_void_p))


def test_the_value_of_a_queued_signal_comes_with_it(record):
    program = """
import ctypes, signal
signals = (ctypes.c_uint64 * 16)((1 << 39))
libc = ctypes.CDLL(None)
libc.sigprocmask(signal.SIG_BLOCK, signals, None)
print("ready", flush=True)
found = (ctypes.c_int * 32)()
assert libc.sigwaitinfo(signals, found) == 40
print(found[6], flush=True)
"""
    process = record.start(sys.executable, "-c", program)
    assert process.stdout.readline() == b"ready\n"
    assert ctypes.CDLL(None).sigqueue(process.pid, 40, Value(number=1234)) == 0
    assert process.communicate(timeout=30)[0] == b"1234\n"


def test_an_alarm_that_was_set_before_ends_the_command(record):
    """As in `perl -e 'alarm 10; exec @ARGV' COMMAND`: the kernel keeps the alarm for the wrapper alone."""
    process = record.start("sleep", "60", preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 1.0))
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGALRM


def on_terminal(record, program):
    words = record.arguments(sys.executable, "-c", program, options=["--quiet"])
    terminal = Terminal(words, record.directory, {**record.environment, "TERM": "dumb"})
    terminal.wait_for(lambda screen: "ready" in screen.text())
    return terminal


def test_a_key_of_the_terminal_reaches_the_command_once(record):
    terminal = on_terminal(record, f"import termios\nterminal = termios.tcgetattr(0)\nterminal[3] &= ~termios.ECHO\n"
                           f"termios.tcsetattr(0, termios.TCSANOW, terminal)\n{LISTENER}")  # fmt: skip
    shown = ["ready"]
    for number, key in [(signal.SIGINT, b"\x03"), (signal.SIGQUIT, b"\x1c"), (signal.SIGINT, b"\x03")]:
        terminal.type(key)
        shown.append(str(int(number)))
        terminal.wait_for(lambda screen: screen.text().splitlines() == shown)
    os.kill(terminal.pid, signal.SIGUSR1)
    shown.append(str(int(signal.SIGUSR1)))
    terminal.wait_for(lambda screen: screen.text().splitlines() == shown)
    os.killpg(terminal.pid, signal.SIGKILL)
    terminal.end()


def test_the_command_ends_when_the_terminal_is_gone(record, tmp_path):
    """The kernel tells the leader of the session alone."""
    mark = tmp_path / "mark"
    terminal = on_terminal(
        record,
        "import os, pathlib, signal, time\n"
        f"signal.signal(signal.SIGHUP, lambda *_: (pathlib.Path({str(mark)!r}).touch(), os._exit(0)))\n"
        "print('ready', flush=True)\ntime.sleep(60)\n",
    )
    os.close(terminal.master)
    os.waitpid(terminal.pid, 0)
    assert mark.exists()


def test_a_wrapper_that_is_killed_leaves_the_program_and_its_recording(record, record_library, fake_libraries, victim):
    record.environment |= {
        "TURNPIKE_RECORD_LIBRARY": str(record_library),
        "LD_LIBRARY_PATH": str(fake_libraries),
        "TURNPIKE_CUPTI": str(fake_libraries / "libfakecupti.so"),
    }
    process = record.start(victim, "paced", "1000", "1", options=["-o", "run.tpk"])
    until(lambda: list(record.directory.glob("run.tpk/*.tpt")))
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    assert process.communicate(timeout=30)[0] == b"paced 1000\n"
    until(lambda: not pathlib.Path(f"/proc/{children[0]}").exists())
    read = report(record, "run.tpk")
    assert "not_closed" not in read["losses"], read["losses"]
    assert read["totals"]["h2d"]["count"] == 1000
