"""The status line of `turnpike record`: shown on a terminal, and never in the way of what the program prints."""

import os
import shutil
import sys

import pytest
from terminal import Terminal

TICKS = "sleep_ms=700"  # longer than the status line takes to follow


@pytest.fixture
def on_terminal(record):
    def start(*command, options=(), rows=24, columns=100, **variables):
        environment = {**record.environment, "TERM": "xterm-256color", **variables}
        return Terminal(record.arguments(*command, options=options), record.directory, environment, rows, columns)

    return start


def status_of(screen):
    return screen.line(screen.rows - 1)


def test_shows_the_counters_in_the_last_row(on_terminal, cuda_program):
    terminal = on_terminal(cuda_program, "process=1", "h2d=1000", "print=step 1\n", TICKS, "d2h=4", "loss=2", TICKS)
    terminal.wait_for(lambda screen: "to device 1, 1.00 kB" in status_of(screen))
    assert status_of(terminal.screen).startswith("turnpike 0:0")
    assert "lost" not in status_of(terminal.screen)
    assert terminal.screen.line(0) == "step 1"
    terminal.wait_for(lambda screen: "to host 1, 4 B" in status_of(screen) and "lost 2" in status_of(screen))
    assert terminal.end() == 0


def test_is_gone_at_the_end(on_terminal, cuda_program):
    terminal = on_terminal(cuda_program, "process=1", "h2d=1000", "print=only line\n", TICKS)
    terminal.wait_for(lambda screen: status_of(screen).startswith("turnpike 0:0"))
    assert terminal.end() == 0
    lines = terminal.screen.text().splitlines()
    assert lines[0] == "only line"
    assert lines[1] == ""
    assert lines[2].startswith("turnpike: recorded 1 process")
    assert "turnpike 0:0" not in terminal.screen.text()
    assert (terminal.screen.top, terminal.screen.bottom) == (0, 23)


def test_leaves_every_printed_line_whole(on_terminal, cuda_program):
    # Lines in two halves with pauses between them, over more rows than the window has.
    words = ["process=1"]
    for number in range(30):
        words += [f"print=first half {number},", "sleep_ms=40", f"print= second half {number}\n", f"h2d={number}"]
    terminal = on_terminal(cuda_program, *words, rows=10)
    assert terminal.end() == 0
    assert b"turnpike 0:0" in terminal.output
    expected = "".join(f"first half {number}, second half {number}\n" for number in range(30))
    assert terminal.screen.text().startswith(expected)


def test_keeps_a_line_that_has_no_end_yet_at_the_bottom_of_the_window(on_terminal, cuda_program):
    filler = "".join(f"line {number}\n" for number in range(20))
    terminal = on_terminal(cuda_program, f"print={filler}loss: ", "process=1", TICKS, "print=0.5\n", TICKS, rows=8)
    terminal.wait_for(lambda screen: status_of(screen).startswith("turnpike 0:0"))
    assert terminal.screen.line(6) == "loss:"
    terminal.wait_for(lambda screen: "loss: 0.5" in screen.text())
    assert terminal.end() == 0
    assert terminal.screen.text().startswith(filler + "loss: 0.5\n")


def test_starts_the_summary_on_a_line_of_its_own(on_terminal, cuda_program):
    terminal = on_terminal(cuda_program, "process=1", "print=no newline")
    assert terminal.end() == 0
    assert terminal.screen.line(0) == "no newline"
    assert terminal.screen.line(1).startswith("turnpike: recorded")


def test_writes_nothing_while_no_process_uses_cuda(on_terminal):
    terminal = on_terminal("sh", "-c", "echo hello; sleep 0.7")
    assert terminal.end() == 0
    assert b"\x1b" not in terminal.output
    assert terminal.screen.line(0) == "hello"


def test_writes_only_what_changed(on_terminal, cuda_program):
    terminal = on_terminal(cuda_program, "process=1", "sleep_ms=2400")
    assert terminal.end() == 0
    # Seconds 0, 1 and 2, not every tick.
    assert 2 <= terminal.output.count(b"turnpike 0:0") <= 3


@pytest.mark.parametrize(
    ("options", "more"), [(["--quiet"], {}), ([], {"TERM": "dumb"}), ([], {"rows": 5}), ([], {"columns": 39})]
)
def test_is_not_shown_where_it_is_not_wanted_or_has_no_room(on_terminal, cuda_program, options, more):
    terminal = on_terminal(cuda_program, "process=1", "print=hello\n", TICKS, options=options, **more)
    assert terminal.end() == 0
    assert b"hello" in terminal.output
    assert b"\x1b" not in terminal.output


@pytest.mark.parametrize(("rows", "columns"), [(6, 100), (24, 40), (24, 60)])
def test_the_smallest_window_shows_what_fits_but_for_the_last_column(on_terminal, cuda_program, rows, columns):
    terminal = on_terminal(cuda_program, "process=1", "h2d=1000", "print=hello\n", TICKS, rows=rows, columns=columns)
    assert terminal.end() == 0
    whole = b"turnpike 0:00 | to device 1, 1.00 kB | to host 0, 0 B | copies and waits 0 s"
    # Saves the cursor, takes all rows but the last as what scrolls, writes the last, and gives the cursor back.
    drawn = b"\x1b7\x1b[1;%dr\x1b[%d;1H\x1b[2K%s\x1b8" % (rows - 1, rows, whole[: columns - 1])
    assert drawn in terminal.output
    assert b"\x1b7\x1b[%d;1H\x1b[2K\x1b[r\x1b8" % rows in terminal.output


def test_goes_nowhere_but_to_a_terminal(record, cuda_program):
    result = record(cuda_program, "process=1", "sleep_ms=700", env={**record.environment, "TERM": "xterm"})
    assert "\x1b" not in result.stderr
    assert "turnpike 0:0" not in result.stderr


def test_ctrl_c_on_the_terminal_reaches_the_command_once(on_terminal):
    program = (
        "import signal, sys, time\n"
        "caught = []\n"
        "signal.signal(signal.SIGINT, lambda *_: caught.append(1))\n"
        "print('ready', flush=True)\n"
        "while not caught: time.sleep(0.01)\n"
        "time.sleep(0.3)\n"
        "sys.exit(40 + len(caught))\n"
    )
    terminal = on_terminal(sys.executable, "-c", program)
    terminal.wait_for(lambda screen: screen.line(0) == "ready")
    terminal.type(b"\x03")
    status = terminal.end()
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 41


def test_the_row_is_given_back_before_a_stop_and_taken_again_after_it(record, cuda_program):
    # A shell with job control in between, which stops and continues the job as a user's would.
    words = record.arguments(cuda_program, "process=1", "h2d=7", "sleep_ms=1500", "exit=3")
    script = '"$@"; echo stopped; read -r line; fg >/dev/null; echo ended with $?'
    bash = shutil.which("bash")
    environment = {**record.environment, "TERM": "xterm"}
    terminal = Terminal([bash, "-m", "-c", script, "sh", *words], record.directory, environment)
    terminal.wait_for(lambda screen: "to device 1, 7 B" in status_of(screen))
    terminal.type(b"\x1a")
    terminal.wait_for(lambda screen: "stopped" in screen.text())
    assert (terminal.screen.top, terminal.screen.bottom) == (0, 23)
    assert status_of(terminal.screen) == ""
    terminal.type(b"\n")
    terminal.wait_for(lambda screen: "to device 1, 7 B" in status_of(screen))
    assert terminal.end() == 0
    assert "ended with 3" in terminal.screen.text()
    assert (terminal.screen.top, terminal.screen.bottom) == (0, 23)


def test_follows_a_resized_window(on_terminal, cuda_program):
    terminal = on_terminal(cuda_program, "process=1", "h2d=7", "sleep_ms=2000")
    terminal.wait_for(lambda screen: "to device 1, 7 B" in status_of(screen))
    terminal.resize(12)
    terminal.wait_for(lambda screen: "to device 1, 7 B" in status_of(screen) and screen.bottom == 10)
    assert terminal.end() == 0
    assert (terminal.screen.top, terminal.screen.bottom) == (0, 11)
