"""`turnpike view`: one page, for browsers of this machine alone, until Ctrl-C."""

import contextlib
import http.client
import pathlib
import signal
import socket
import stat
import subprocess
import threading
import time
import urllib.parse

import pytest
from runs import write_run


@pytest.fixture
def server(turnpike, environment, tmp_path):
    """The address of a running `turnpike view`, and its process."""
    write_run(tmp_path / "train.tpk")
    process = subprocess.Popen(
        [str(turnpike), "view", "train.tpk", "--no-browser"],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield urllib.parse.urlsplit(process.stdout.readline().strip()), process
    process.kill()
    process.communicate()


def ask(address, *, method="GET", path=None, host=None):
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
    connection.request(method, path or address.path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    return answer, answer.read().decode()


def test_it_serves_the_page_as_report_writes_it(server, turnpike, environment, tmp_path):
    address, _ = server
    answer, text = ask(address)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    written = subprocess.run(
        [str(turnpike), "report", "train.tpk", "--html", "-"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
    ).stdout  # fmt: skip
    assert text == written


def test_it_listens_on_this_machine_alone_at_an_address_that_nobody_guesses(server):
    address, _ = server
    assert address.hostname == "127.0.0.1"
    assert len(address.path.strip("/")) == 32
    for path in ("/", "/index.html", address.path + "x", address.path[:-2] + "/", "/../etc/passwd"):
        assert ask(address, path=path)[0].status == 404, path


def test_a_request_of_two_hosts_is_none(server):
    address, _ = server
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
    connection.putrequest("GET", address.path, skip_host=True)
    for host in ("localhost", "evil.example"):
        connection.putheader("Host", host)
    connection.endheaders()
    assert connection.getresponse().status == 400


def test_it_refuses_other_hosts_and_methods(server):
    address, _ = server
    for host in (
        "evil.example",
        f"evil.example:{address.port}",
        f"127.0.0.1:{address.port}.evil.example",
        "localhost.evil.example",
        "localhost@evil.example",
        "127.0.0.1:",
        "127.0.0.1:80x",
    ):
        answer, text = ask(address, host=host)
        assert answer.status == 403, host
        assert "The request names another host" in text and "Open the address that was printed" in text
    assert ask(address, method="POST")[0].status == 405


def test_it_answers_at_any_port_of_this_machine(server):
    """`ssh -L 9000:127.0.0.1:8100` and editors forward another port than the server's."""
    address, _ = server
    for host in ("localhost", "127.0.0.1", "[::1]"):
        for port in ("", ":9000", f":{address.port}"):
            assert ask(address, host=host + port)[0].status == 200, host + port


def test_it_answers_a_head_without_a_body(server):
    address, _ = server
    answer, text = ask(address, method="HEAD")
    assert (answer.status, text) == (200, "")
    assert int(answer.headers["Content-Length"]) > 100_000


def test_it_lets_no_other_page_read_or_frame_it(server):
    address, _ = server
    headers = ask(address)[0].headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Access-Control-Allow-Origin"] is None


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_well(server, end):
    _, process = server
    process.send_signal(end)
    assert process.wait(timeout=20) == 0


def connected(address, text=b""):
    connection = socket.create_connection((address.hostname, address.port), timeout=20)
    connection.sendall(text)
    return connection


def seconds_of(function):
    start = time.monotonic()
    function()
    return time.monotonic() - start


def is_cut_within(connection, seconds):
    connection.settimeout(seconds)
    try:
        return connection.recv(1000) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_a_client_that_sends_slowly_keeps_no_other_waiting_and_is_cut_off(server):
    address, _ = server
    with connected(address, b"GET /") as slow:
        is_over = threading.Event()

        def drip():
            with contextlib.suppress(OSError):
                while not is_over.wait(0.3):
                    slow.sendall(b"x")

        dripping = threading.Thread(target=drip)
        dripping.start()
        time.sleep(0.3)
        assert seconds_of(lambda: ask(address)) < 1.5
        assert is_cut_within(slow, 4)
        is_over.set()
        dripping.join()


def test_many_idle_clients_keep_no_other_waiting_for_long(server):
    """More than are served at once: those that say nothing make room after two seconds."""
    address, _ = server
    with contextlib.ExitStack() as idle:
        for _ in range(80):
            idle.enter_context(connected(address))
        assert seconds_of(lambda: ask(address)) < 6


def test_slow_clients_that_come_again_keep_a_browser_waiting_for_no_long_time(server):
    """For five seconds, clients that send a byte now and then come anew when they are cut off."""
    address, process = server
    end = time.monotonic() + 5

    def be_slow():
        while time.monotonic() < end:
            with contextlib.suppress(OSError), connected(address) as slow:
                while time.monotonic() < end:
                    slow.sendall(b"G")
                    time.sleep(0.2)

    slow = [threading.Thread(target=be_slow) for _ in range(20)]
    for thread in slow:
        thread.start()
    times = []
    while time.monotonic() < end:
        times.append(seconds_of(lambda: ask(address)))
        time.sleep(0.05)
    for thread in slow:
        thread.join()
    assert len(times) > 10 and max(times) < 2, times
    assert process.poll() is None


def test_a_request_that_never_ends_is_cut_off(server):
    address, _ = server
    with connected(address) as endless, contextlib.suppress(OSError):
        for _ in range(100):
            endless.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 4000)
        assert is_cut_within(endless, 4)
    assert ask(address)[0].status == 200


def test_the_secret_of_the_address_is_in_no_command_line(turnpike, environment, tmp_path):
    """`ps` shows those to all users. The browser gets a file instead, which is private and goes with the server."""
    write_run(tmp_path / "train.tpk")
    (tmp_path / "bin").mkdir()
    (tmp_path / "temporary").mkdir()
    browser = tmp_path / "bin/xdg-open"
    browser.write_text('#!/bin/sh\nprintf "%s" "$*" > opened.new && mv opened.new opened\n')
    browser.chmod(0o755)
    process = subprocess.Popen(
        [str(turnpike), "view", "train.tpk"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**{name: value for name, value in environment.items() if name != "CI"}, "DISPLAY": ":0",
             "PATH": f"{browser.parent}:{environment['PATH']}", "TMPDIR": str(tmp_path / "temporary")},
    )  # fmt: skip
    try:
        address = process.stdout.readline().strip()
        opened = tmp_path / "opened"
        while not opened.exists():
            time.sleep(0.01)
        path = pathlib.Path(opened.read_text())
        assert urllib.parse.urlsplit(address).path.strip("/") not in str(path)
        assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
        assert f"url={address}" in path.read_text()
    finally:
        process.terminate()
        process.communicate(timeout=20)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_port_that_is_taken_is_told(server, turnpike, environment, tmp_path):
    address, _ = server
    result = subprocess.run(
        [str(turnpike), "view", "train.tpk", "--no-browser", "--port", str(address.port)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert result.returncode == 4
    assert str(address.port) in result.stderr
