"""A small terminal for tests: runs a program on a pseudo-terminal and keeps the screen as a VT100 would show it."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(rb"\x1b(?:([78D])|\[([0-9;]*)([A-Za-z]))")


class Screen:
    """Rows of text, a cursor and a scroll region. Knows what Turnpike writes; anything else is a failure."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.top, self.bottom = 0, rows - 1
        self.saved = (0, 0)
        self.scrolled = []

    def feed(self, data):
        """Takes bytes, and returns those at the end that are no whole sequence yet."""
        at = 0
        while at < len(data):
            if data[at] == 0x1B:
                found = SEQUENCE.match(data, at)
                if not found:
                    assert len(data) - at < 12, data[at:]
                    return data[at:]
                self.obey(found)
                at = found.end()
            else:
                self.put(chr(data[at]))
                at += 1
        return b""

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.index()
        else:
            if self.column == self.columns:
                self.column = 0
                self.index()
            self.cells[self.row][self.column] = character
            self.column += 1

    def index(self):
        if self.row == self.bottom:
            self.scrolled.append("".join(self.cells[self.top]).rstrip())
            del self.cells[self.top]
            self.cells.insert(self.bottom, [" "] * self.columns)
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def obey(self, found):
        single, numbers, command = (part and part.decode() for part in found.groups())
        values = [int(number) for number in (numbers or "").split(";") if number]
        if single == "7":
            self.saved = (self.row, self.column)
        elif single == "8":
            self.row, self.column = self.saved
        elif single == "D":
            self.index()
        elif command == "A":
            self.row = max(self.row - 1, 0)
        elif command == "H":
            self.row, self.column = min(values[0], self.rows) - 1, values[1] - 1
        elif command == "K":
            assert values in ([], [2])
            first = 0 if values else self.column
            self.cells[self.row][first:] = [" "] * (self.columns - first)
        elif command == "r":
            self.top, self.bottom = (values[0] - 1, values[1] - 1) if values else (0, self.rows - 1)
            self.row = self.column = 0
        else:
            raise AssertionError(f"an unknown sequence: {found.group()!r}")

    def shrink(self, rows):
        del self.cells[rows:]
        self.rows = rows
        self.top, self.bottom = 0, rows - 1
        self.row = min(self.row, rows - 1)

    def line(self, row):
        return "".join(self.cells[row]).rstrip()

    def text(self):
        """All that was ever shown above the last row, and the screen."""
        return "\n".join([*self.scrolled, *(self.line(row) for row in range(self.rows))]).rstrip()


class Terminal:
    """A program with a terminal of its own."""

    def __init__(self, arguments, directory, environment, rows=24, columns=100):
        self.screen = Screen(rows, columns)
        self.output = b""
        self.rest = b""
        self.status = None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            # The size is there before the program looks.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.chdir(directory)
            os.execve(arguments[0], arguments, environment)

    def pump(self, seconds):
        """Takes what is written within this time. False at the end of the output."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.output += data
        self.rest = self.screen.feed(self.rest + data)
        return bool(data)

    def wait_for(self, is_there, seconds=20):
        deadline = time.monotonic() + seconds
        while not is_there(self.screen):
            assert time.monotonic() < deadline, self.screen.text()
            assert self.pump(0.05), self.screen.text()

    def resize(self, rows):
        """Fewer rows: what stood in those below is gone."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, self.screen.columns, 0, 0))
        self.screen.shrink(rows)

    def type(self, data):
        os.write(self.master, data)

    def end(self):
        """Waits for the end; the exit status as of waitpid."""
        while self.pump(20):
            pass
        _, self.status = os.waitpid(self.pid, 0)
        os.close(self.master)
        return self.status


def shown_on_terminal(command, environment, directory, columns=80, codes=(0,)):
    """What the command writes to a terminal of that width. It must end with one of the exit codes."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    # A read of a terminal that was closed a moment ago may fail before Linux has handed over the last lines. So the
    # terminal stays open until a mark, written after the command ended, has arrived.
    script = """"$@" 2>/dev/null; code=$?; printf '\\0'; exit $code"""
    command = ["sh", "-c", script, "sh", *(str(word) for word in command)]
    try:
        with subprocess.Popen(command, stdout=theirs, env=environment, cwd=directory) as process:
            shown = b""
            while not shown.endswith(b"\0"):
                shown += os.read(ours, 65536)
    finally:
        os.close(theirs)
        os.close(ours)
    assert process.returncode in codes
    return shown[:-1].decode().replace("\r\n", "\n")
