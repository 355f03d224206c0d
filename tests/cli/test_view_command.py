"""`turnpike view`: one page, for browsers of this machine alone, until Ctrl-C."""

import http.client
import signal
import subprocess
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


def test_it_refuses_other_hosts_and_methods(server):
    address, _ = server
    for host in ("evil.example", f"evil.example:{address.port}", "127.0.0.1", f"127.0.0.1:{address.port}.evil.example"):
        assert ask(address, host=host)[0].status == 403, host
    assert ask(address, host=f"localhost:{address.port}")[0].status == 200
    assert ask(address, method="POST")[0].status == 405


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


def test_a_client_that_says_nothing_keeps_no_other_waiting_for_ever(server):
    address, _ = server
    silent = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
    silent.connect()
    assert ask(address)[0].status == 200
    silent.close()


def test_a_port_that_is_taken_is_told(server, turnpike, environment, tmp_path):
    address, _ = server
    result = subprocess.run(
        [str(turnpike), "view", "train.tpk", "--no-browser", "--port", str(address.port)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert result.returncode == 4
    assert str(address.port) in result.stderr
