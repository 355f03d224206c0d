"""`turnpike top`: programs that the real recorder records on fake CUDA, watched while they copy."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

# It shows every process of this user that is being recorded.
pytestmark = pytest.mark.alone

FOOTER = "q quit  </> process  b blocked  c count  t bytes  p pause  h help"
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} ([0-9.]+)')


@pytest.fixture
def recording(record, record_library, fake_libraries):
    """`record`, with the real recorder."""
    record.environment = {
        **record.environment,
        "TURNPIKE_RECORD_LIBRARY": str(record_library),
        "LD_LIBRARY_PATH": str(fake_libraries),
        "TURNPIKE_CUPTI": str(fake_libraries / "libfakecupti.so"),
        "TERM": "xterm",
    }
    return record


def ours(record):
    return {name: value for name, value in record.environment.items() if name not in ("LD_LIBRARY_PATH", "NO_COLOR")}


def top(record, *arguments):
    return subprocess.run(
        [str(record.turnpike), "top", *map(str, arguments)],
        cwd=record.directory, env=ours(record), capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def snapshot(record, of):
    result = top(record, of, "--once", "--json")
    assert result.returncode == 0, result.stderr
    (line,) = result.stdout.splitlines()
    return json.loads(line)["processes"]


def wait_for(what, seconds=20):
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


@pytest.fixture
def copying(recording, victim):
    """Starts programs that copy a byte more each time, with a pause of 2 ms; returns the live process of a run."""
    started = []

    def start(name="run.tpk", options=(), rank=None, command=None):
        environment = {**recording.environment, **({"RANK": rank, "WORLD_SIZE": "2"} if rank else {})}
        started.append(
            recording.start(
                *(command or [victim, "paced", "100000", "2"]), options=["-o", name, *options], env=environment
            )
        )
        run = recording.directory / name
        wait_for(run.is_dir)
        return wait_for(lambda: [one for one in snapshot(recording, run) if one["totals"]["h2d"]["count"] > 50])[0]

    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_what_a_program_copies_is_seen_while_it_does(recording, copying):
    first = copying()
    assert first["state"] == "recording"
    assert "paced" in first["program"]
    time.sleep(1)
    second = snapshot(recording, first["pid"])[0]
    copies = second["totals"]["h2d"]["count"] - first["totals"]["h2d"]["count"]
    assert 100 < copies < 1500
    for one in (first, second):
        # paced copies 1, 2, 3 ... bytes from page-locked or pageable memory, and the page is of one moment
        count, moved = one["totals"]["h2d"]["count"], one["totals"]["h2d"]["bytes"]
        assert moved == count * (count + 1) // 2
        assert one["totals"]["h2d"]["pageable_count"] + one["totals"]["h2d"]["pinned_count"] == count
        assert one["losses"] == 0
    sites = {site["direction"]: site for site in second["sites"]}
    assert sites["h2d"]["count"] == second["totals"]["h2d"]["count"]
    # what the recorder's own thread spends on the page, of the time that passed
    assert second["page_update_ns"] < second["seconds"] * 0.2e9


def test_the_rates_of_a_stream_of_json_are_those_of_the_last_seconds(recording, copying):
    pid = copying()["pid"]
    command = [str(recording.turnpike), "top", str(pid), "--json", "--interval", "0.5", "--window", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ours(recording), text=True) as process:
        looks = [json.loads(process.stdout.readline())["processes"][0] for _ in range(4)]
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 0
    last = looks.pop()
    assert 0.5 < last["seconds"] < 2
    copied = [last["totals"]["h2d"]["count"] - look["totals"]["h2d"]["count"] for look in looks]
    assert round(last["transfers_per_second"] * last["seconds"]) in copied


def test_the_flight_recorder_is_watched_over_its_segments(recording, copying):
    first = copying(options=["--last", "1"])
    time.sleep(1.5)
    second = snapshot(recording, first["pid"])[0]
    count = second["totals"]["h2d"]["count"]
    assert count > first["totals"]["h2d"]["count"]
    assert sum(site["count"] for site in second["sites"] if site["direction"] == "h2d") == count


def test_each_rank_has_a_block(recording, copying):
    pids = [copying("a.tpk", rank="0")["pid"], copying("b.tpk", rank="1")["pid"]]
    shown = top(recording, "--once")
    assert shown.returncode == 0
    for rank, pid in enumerate(pids):
        assert f"process {pid}, rank {rank} (recording): " in shown.stdout
    assert [one["pid"] for one in snapshot(recording, "a.tpk")] == pids[:1]
    assert max(map(len, shown.stdout.splitlines())) <= 100
    assert "\033" not in shown.stdout


def test_no_program_and_no_such_program_say_what_to_do(recording):
    shown = top(recording, "--once").stdout
    if not shown.startswith("process "):  # another test's may run on this machine
        assert "Start one with `turnpike record -- python train.py`" in shown
    nobody = top(recording, os.getpid())
    assert (nobody.returncode, nobody.stdout) == (3, "")
    assert f"process {os.getpid()} is not there, is not yours or is not recorded" in nobody.stderr
    assert "`turnpike top` shows all" in nobody.stderr
    run = recording.directory / "done.tpk"
    run.mkdir()
    done = top(recording, run, "--once")
    assert (done.returncode, done.stdout) == (
        0,
        f"No process writes into {run} any more. `turnpike report` reads it.\n",
    )


def test_the_end_of_a_program_ends_top(recording, copying):
    pid = copying()["pid"]
    command = [str(recording.turnpike), "top", str(pid), "--interval", "0.2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ours(recording), text=True) as process:
        process.stdout.readline()
        os.kill(pid, signal.SIGKILL)
        rest, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert f"process {pid} (ended)" in rest
    assert rest.rstrip().endswith(f"Process {pid} has ended.")


@pytest.fixture
def scraped(recording):
    """Serves metrics and returns a function that scrapes them."""
    started = []

    def serve(*arguments):
        command = [str(recording.turnpike), "top", *map(str, arguments)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, env=ours(recording), text=True))
        address = started[-1].stdout.readline().strip()

        def scrape():
            with urllib.request.urlopen(address, timeout=20) as answer:
                assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
                lines = answer.read().decode().splitlines()
            samples = {}
            for line in lines:
                if not line.startswith("#"):
                    name, labels, value = SAMPLE.fullmatch(line).groups()
                    assert (name, labels) not in samples
                    samples[name, labels] = float(value)
            return samples

        return address, scrape

    yield serve
    for process in started:
        process.terminate()
        process.communicate(timeout=20)
        assert process.returncode == 0


def test_prometheus_scrapes_counters_that_only_rise(recording, copying, scraped):
    pid = copying(rank="1")["pid"]
    address, scrape = scraped(pid, "--prometheus", ":0", "--prometheus-sites", "5")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", address)
    first = scrape()
    time.sleep(1)
    second = scrape()
    assert first.keys() == second.keys()
    assert {name for name, _ in first} >= {
        "turnpike_info", "turnpike_transfers_total", "turnpike_transfer_bytes_total", "turnpike_transfer_seconds_total",
        "turnpike_blocked_seconds_total", "turnpike_syncs_total", "turnpike_site_blocked_seconds_total",
    }  # fmt: skip
    assert all(second[key] >= value for key, value in first.items())

    def copies(samples):
        start = f'pid="{pid}",rank="1",direction="h2d",memory='
        return sum(value for (name, labels), value in samples.items()
                   if name == "turnpike_transfers_total" and labels.startswith(start))  # fmt: skip

    assert copies(second) > copies(first) > 0
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address.replace("/metrics", "/"), timeout=20)
    # a page of the web cannot ask by a name of its own
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(urllib.request.Request(address, headers={"Host": "evil.example"}), timeout=20)


def test_prometheus_serves_where_it_is_told_or_says_why_not(recording, scraped):
    address, scrape = scraped("--prometheus", "0.0.0.0:0")
    port = int(address.rpartition(":")[2].partition("/")[0])
    address = f"http://127.0.0.1:{port}/metrics"
    with urllib.request.urlopen(urllib.request.Request(address, headers={"Host": "node7"}), timeout=20) as answer:
        assert answer.read().startswith(b"# HELP turnpike_info ")
    taken = top(recording, "--prometheus", f":{port}")
    assert taken.returncode == 4
    assert "Address already in use" in taken.stderr
    unnamed = top(recording, "--prometheus", "")
    assert (unnamed.returncode, unnamed.stdout) == (2, "")
    for wrong in (":port", ":", "127.0.0.1:99999", "127.0.0.1:-1"):
        refused = top(recording, "--prometheus", wrong)
        assert refused.returncode == 2, wrong
        assert f"--prometheus takes :PORT, ADDRESS:PORT or a file, and not {wrong}" in refused.stderr
    assert top(recording, "--prometheus", "no-address:9400").returncode == 4


def test_a_slow_client_keeps_no_scraper_waiting(recording, scraped):
    address, scrape = scraped("--prometheus", ":0")
    port = urllib.parse.urlsplit(address).port
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as slow,
        socket.create_connection(("127.0.0.1", port)),
    ):
        slow.sendall(b"GET /")
        start = time.monotonic()
        scrape()
        assert time.monotonic() - start < 1.5
        slow.settimeout(5)
        assert slow.recv(1) == b""


def test_prometheus_writes_a_file_for_a_collector_of_text_files(recording, copying):
    pid = copying()["pid"]
    assert top(recording, pid, "--once", "--prometheus", "turnpike.prom").returncode == 0
    text = (recording.directory / "turnpike.prom").read_text()
    assert f'turnpike_syncs_total{{pid="{pid}",rank=""}} ' in text
    assert [path.name for path in recording.directory.glob("*.prom*")] == ["turnpike.prom"]


class Screen:
    """`turnpike top` on a terminal: what it has written, and its last whole picture."""

    def __init__(self, record, *arguments, columns=100, rows=30, more=None):
        self.output = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.chdir(record.directory)
            command = [str(record.turnpike), "top", *map(str, arguments)]
            os.execve(command[0], command, {**ours(record), **(more or {})})
        self.before = termios.tcgetattr(self.master)

    def resize(self, columns, rows=30):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def pump(self):
        if not select.select([self.master], [], [], 0.05)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.output += data
        return bool(data)

    def picture(self):
        pictures = self.output.split(b"\033[H")
        last = pictures[-2] if len(pictures) > 2 else b""
        return re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", last.decode()).replace("\r\n", "\n")

    def wait_for(self, is_there):
        deadline = time.monotonic() + 20
        while not is_there(self.picture()):
            assert time.monotonic() < deadline, self.picture()
            assert self.pump(), self.output[-2000:]

    def type(self, keys):
        os.write(self.master, keys)

    def end(self):
        """The exit status; the terminal must be as it was."""
        while self.pump() and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            pass
        while select.select([self.master], [], [], 0.2)[0] and self.pump():
            pass
        after = termios.tcgetattr(self.master)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.master)
        assert after == self.before
        assert self.output.endswith(b"\033[?7h\033[?25h\033[?1049l")
        return os.waitstatus_to_exitcode(status)


def test_keys_change_the_screen_and_q_gives_the_terminal_back(recording, copying, victim):
    copying(command=["sh", "-c", f"{victim} paced 100000 2 & {victim} paced 100000 2"])
    run = recording.directory / "run.tpk"
    pids = wait_for(lambda: len(found := snapshot(recording, run)) == 2 and [one["pid"] for one in found])
    screen = Screen(recording, run, "--interval", "0.2")
    screen.wait_for(lambda text: all(f"process {pid} " in text for pid in pids))
    assert "q quit" in screen.picture()
    screen.type(b">")
    screen.wait_for(lambda text: text.count("process ") == 2 and f"process {pids[0]} " in text)  # and the footer's
    screen.type(b"\033[C")
    screen.wait_for(lambda text: f"process {pids[1]} " in text and f"process {pids[0]} " not in text)
    screen.type(b"h")
    screen.wait_for(lambda text: "Each block is a recorded process" in text)
    screen.type(b"hp")
    screen.wait_for(lambda text: "paused  q quit" in text and "Each block" not in text)
    screen.type(b"pcq")
    assert screen.end() == 0


def test_the_screen_follows_the_size_of_the_terminal(recording, copying):
    pid = copying()["pid"]
    screen = Screen(recording, pid)
    screen.wait_for(lambda text: f"process {pid} " in text and len(max(text.splitlines(), key=len)) > 60)
    for columns in (40, 20, 120):
        screen.resize(columns, 12)
        screen.wait_for(lambda text, columns=columns: text.splitlines()[-1] == FOOTER[:columns])
        assert len(screen.picture().splitlines()) <= 12
        assert max(map(len, screen.picture().splitlines())) <= max(columns, 40)  # narrower ones cut the rest themselves
    screen.type(b"\003")  # Ctrl-C
    assert screen.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_gives_the_terminal_back(recording, number):
    screen = Screen(recording)
    screen.wait_for(lambda text: "q quit" in text)
    os.kill(screen.pid, number)
    assert screen.end() == 0


def test_without_colour_the_screen_has_none_and_a_dumb_terminal_gets_lines(recording, copying):
    pid = copying()["pid"]
    screen = Screen(recording, pid, more={"NO_COLOR": "1"})
    screen.wait_for(lambda text: f"process {pid} " in text)
    assert not re.search(rb"\033\[[0-9;]*m", screen.output)
    screen.type(b"q")
    assert screen.end() == 0
    dumb = Screen(recording, pid, more={"TERM": "dumb"})
    while b"process" not in dumb.output:
        assert dumb.pump()
    os.kill(dumb.pid, signal.SIGINT)
    while dumb.pump() and os.waitid(os.P_PID, dumb.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        pass
    assert b"\033" not in dumb.output
    os.waitpid(dumb.pid, 0)
    os.close(dumb.master)
