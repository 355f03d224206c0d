"""`turnpike record --dormant` and `turnpike attach`: the real recorder on fake CUDA."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest
from attaching import SERVER, attached_to, end, files, recording, report, starting_programs, until, waits
from terminal import Terminal

# `--all` attaches to every process of this user that waits.
pytestmark = pytest.mark.alone


@pytest.fixture
def dormant(record, record_library, fake_libraries):
    """Starts programs that wait; kills those that are left."""
    record.environment = {
        **record.environment,
        "TURNPIKE_RECORD_LIBRARY": str(record_library),
        "LD_LIBRARY_PATH": str(fake_libraries),
        "TURNPIKE_CUPTI": str(fake_libraries / "libfakecupti.so"),
    }
    started = []

    def start(*command, options=(), **more):
        process = record.start(*command, options=["--dormant", *options], **more)
        started.append(process)
        return process

    def serve(**more):
        process = start(sys.executable, "-c", SERVER, stdin=subprocess.PIPE, **more)
        assert process.stdout.readline() == b"ready\n", process.stderr.read()
        until(lambda: waits(process.pid))
        return process

    start.serve = serve
    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_alone_it_writes_no_file_and_starts_no_thread_but_one(dormant, record):
    server = dormant.serve()
    names = {
        pathlib.Path(f"/proc/{server.pid}/task/{task}/comm").read_text()
        for task in os.listdir(f"/proc/{server.pid}/task")
    }
    assert "turnpike-attach\n" in names and "turnpike\n" not in names
    maps = pathlib.Path(f"/proc/{server.pid}/maps").read_text()
    assert "libturnpike_record" in maps and "libfakecupti" not in maps
    assert end(server) == (5, b"served\n", b"")
    assert files(record.directory) == []


@pytest.mark.parametrize("command", ["exit 7", "exit 0", "kill -TERM $$", "kill -KILL $$"])
def test_it_ends_as_the_plain_program(dormant, command):
    process = dormant("sh", "-c", f"echo $$; {command}")
    out, err = process.communicate(timeout=30)
    plain = subprocess.run(["sh", "-c", f"echo $$; {command}"], capture_output=True, timeout=30)
    assert (process.returncode, err) == (plain.returncode, b"")
    assert int(out) == process.pid, "it has the id of the command that was started"


def test_a_program_that_uses_cuda_ends_by_itself_with_its_code(dormant, record, victim):
    process = dormant(victim, "paced", "20", "1")
    assert process.communicate(timeout=30) == (b"paced 20\n", b"")
    assert process.returncode == 0
    assert files(record.directory) == []


@pytest.mark.parametrize(
    ("options", "command", "code", "said"),
    [
        (["-o", "run.tpk"], ["true"], 2, "--dormant records nothing yet: leave --output out"),
        (["--duration", "3"], ["true"], 2, "leave --duration out, and say what to record with `turnpike attach PID`"),
        (["--no-stacks"], ["true"], 2, "leave --no-stacks out"),
        ([], ["no-such-command-anywhere"], 127, "command not found"),
        ([], ["/"], 126, "cannot be executed"),
    ],
)
def test_what_makes_no_sense_is_refused(record, options, command, code, said):
    result = record(*command, options=["--dormant", *options])
    assert (result.returncode, result.stdout) == (code, b"")
    assert said in result.stderr
    assert record.runs() == []


def test_a_while_of_a_server_is_recorded(dormant, attach, record):
    server = dormant.serve()
    result = attach(server.pid, "--duration", "0.6", "-o", "run.tpk")
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    assert "turnpike: recorded 1 process into run.tpk (" in result.stderr
    assert result.stderr.endswith("  the run is run.tpk; next: turnpike report run.tpk\n")
    read = report(record, "run.tpk")
    assert read["losses"] == {}
    said = int(re.search(r"host to device +(\d+) ", result.stderr)[1])
    assert said == read["totals"]["h2d"]["count"]
    assert 20 < said < 400  # one each 2 ms at most
    assert end(server) == (5, b"served\n", b"")


def test_the_run_is_named_after_the_program(dormant, attach, record, victim):
    process = dormant(victim, "paced", "100000", "2")
    until(lambda: waits(process.pid))
    for _ in range(2):
        assert attach(process.pid, "--duration", "0.1").returncode == 0
    assert record.runs() == ["record_victim-2.tpk", "record_victim.tpk"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_recording_and_not_the_program(dormant, attach, record, number):
    server = dormant.serve()
    attached = attached_to(server, attach, record)
    time.sleep(0.3)
    attached.send_signal(number)
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 0
    assert "turnpike: recorded 1 process into run.tpk" in err
    assert report(record, "run.tpk")["losses"] == {}
    assert end(server) == (5, b"served\n", b"")


def test_a_terminal_shows_how_it_goes_and_ctrl_c_ends_it(dormant, record):
    server = dormant.serve()
    environment = {name: value for name, value in record.environment.items() if name != "LD_LIBRARY_PATH"}
    terminal = Terminal(
        [str(record.turnpike), "attach", str(server.pid), "--duration", "60", "-o", "run.tpk"],
        record.directory, {**environment, "TERM": "xterm-256color"}, 24, 100,
    )  # fmt: skip
    terminal.wait_for(lambda screen: re.match(r"turnpike 0:0\d \| to device \d+, ", screen.line(23)))
    terminal.type(b"\x03")
    assert terminal.end() == 0
    assert "turnpike 0:0" not in terminal.screen.text()
    assert "turnpike: recorded 1 process into run.tpk" in terminal.screen.text()
    assert end(server) == (5, b"served\n", b"")


def test_a_process_that_ends_meanwhile_leaves_a_whole_file(dormant, attach, record):
    server = dormant.serve()
    attached = attached_to(server, attach, record)
    time.sleep(0.3)
    assert end(server) == (5, b"served\n", b"")
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 0
    assert f"turnpike attach: process {server.pid} has ended meanwhile" in err
    read = report(record, "run.tpk")
    assert read["losses"] == {} and read["totals"]["h2d"]["count"] > 20


def test_a_process_that_is_killed_meanwhile_leaves_what_was_written(dormant, attach, record):
    server = dormant.serve()
    attached = attached_to(server, attach, record)
    time.sleep(0.5)
    server.kill()
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 0
    assert "has ended meanwhile" in err
    read = report(record, "run.tpk")
    assert "not_closed" in read["losses"] and read["totals"]["h2d"]["count"] > 20


def test_who_comes_second_is_refused_and_the_first_goes_on(dormant, attach, record):
    server = dormant.serve()
    attached = attached_to(server, attach, record)
    second = attach(server.pid, "-o", "second.tpk")
    assert second.returncode == 3
    assert f"process {server.pid}: this process is being recorded already, to " in second.stderr
    attached.send_signal(signal.SIGINT)
    attached.communicate(timeout=30)
    assert attached.returncode == 0
    assert record.runs() == ["run.tpk"]
    assert report(record, "run.tpk")["losses"] == {}


def test_when_attach_is_killed_the_file_is_closed(dormant, attach, record):
    server = dormant.serve()
    attached = attached_to(server, attach, record)
    time.sleep(0.3)
    attached.kill()
    attached.communicate()
    until(lambda: "not_closed" not in report(record, "run.tpk")["losses"])
    count = report(record, "run.tpk")["totals"]["h2d"]["count"]
    time.sleep(0.3)
    assert report(record, "run.tpk")["totals"]["h2d"]["count"] == count > 20
    assert attach(server.pid, "--duration", "0.1", "-o", "again.tpk").returncode == 0
    assert end(server) == (5, b"served\n", b"")


def test_twenty_times_leave_no_descriptor_and_no_thread(dormant, attach, record):
    server = dormant.serve()

    def held():
        folder = pathlib.Path(f"/proc/{server.pid}")
        threads = sorted((task / "comm").read_text() for task in (folder / "task").iterdir())
        return sorted(entry.name for entry in (folder / "fd").iterdir()), threads

    for number in range(21):
        result = attach(server.pid, "--duration", "0.05", "-o", f"{number}.tpk")
        assert result.returncode == 0, result.stderr
        if number == 0:
            time.sleep(0.5)
            before = held()  # what CUPTI opens stays
    time.sleep(0.5)
    assert held() == before
    assert end(server) == (5, b"served\n", b"")


def test_all_that_wait_go_into_one_run(dormant, attach, record):
    servers = [dormant.serve() for _ in range(2)]
    result = attach("--all", "--duration", "0.4", "-o", "run.tpk")
    assert result.returncode == 0, result.stderr
    assert "turnpike: recorded 2 processes into run.tpk" in result.stderr
    names = sorted(path.name for path in recording(record))
    assert names == sorted(f"{server.pid}.tpt" for server in servers)
    assert report(record, "run.tpk")["source"]["processes"] == 2


def test_one_that_cannot_does_not_keep_the_others(dormant, attach, record):
    servers = [dormant.serve() for _ in range(2)]
    first = attach.start(servers[0].pid, "--duration", "60", "-o", "first.tpk")
    until(lambda: recording(record, "first.tpk"))
    result = attach("--all", "--duration", "0.2", "-o", "run.tpk")
    assert result.returncode == 0
    assert f"process {servers[0].pid}: this process is being recorded already" in result.stderr
    assert [path.name for path in recording(record)] == [f"{servers[1].pid}.tpt"]
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)


def test_at_starts_at_a_multiple_of_the_clock(dormant, attach, record):
    server = dormant.serve()
    result = attach(server.pid, "--at", "/2s", "--duration", "0.1", "-o", "run.tpk")
    assert result.returncode == 0, result.stderr
    (path,) = recording(record)
    header = path.read_bytes()[:64]
    started = max(value for value in struct.unpack("8q", header) if 1e18 < value < 4e18) / 1e9
    assert started % 2 < 0.5, started


def test_a_process_that_does_not_wait_is_told_how_to(attach, record):
    process = subprocess.Popen(["sleep", "60"])
    try:
        result = attach(process.pid)
    finally:
        process.kill()
        process.wait()
    assert result.returncode == 3
    assert f"process {process.pid} was not started to be attached to" in result.stderr
    assert "`turnpike record --dormant -- COMMAND`" in result.stderr
    assert record.runs() == []


def test_a_launcher_is_told_apart(dormant, attach):
    process = dormant("sh", "-c", "sleep 60; true")
    until(lambda: b"TURNPIKE_CONTROL=1" in pathlib.Path(f"/proc/{process.pid}/environ").read_bytes())
    result = attach(process.pid)
    assert result.returncode == 3
    assert "it has not initialised CUDA yet" in result.stderr
    os.killpg(process.pid, signal.SIGKILL)


def test_a_process_of_turnpike_record_says_where_it_is_recorded(record, attach):
    process = record.start("sleep", "60", options=["-o", "run.tpk"])
    try:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        until(lambda: children.read_text().split())
        child = int(children.read_text().split()[0])
        until(lambda: b"TURNPIKE_RUN" in pathlib.Path(f"/proc/{child}/environ").read_bytes())
        result = attach(child)
    finally:
        process.terminate()
        process.communicate()
    assert result.returncode == 3
    assert "was started by `turnpike record`, which records it into" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["999999999"], 3, "there is no process 999999999"),
        (["nonsense"], 2, "PID: 'nonsense' is not the id of a process, a number above 0\n"),
        (["0"], 2, "'0' is not the id of a process"),
        (["99999999999"], 2, "'99999999999' is not the id of a process"),
        (["-5"], 2, ""),
        (["1", "--all"], 2, "either the id of a process or --all"),
        (["1", "--at", "10s"], 2, "'10s' is no pitch as /10s"),
        (["1", "--at", "/0s"], 2, "is no pitch"),
        (["1", "--at", "/25h"], 2, "is no pitch"),
        (["1", "--last", "5"], 2, "--last"),
        (["1", "--duration", "0"], 2, "seconds"),
        (["1", "-o", ""], 2, "a run needs a name"),
    ],
)
def test_wrong_words_are_refused(attach, record, arguments, code, said):
    result = attach(*arguments)
    assert result.returncode == code
    assert said in result.stderr
    assert files(record.directory) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_another_users_process_is_refused_on_both_sides(dormant, attach, record):
    server = dormant.serve()
    nobody = 65534
    done = subprocess.run(
        [str(record.turnpike), "attach", str(server.pid)],
        capture_output=True,
        text=True,
        timeout=60,
        user=nobody,
        cwd="/",
    )
    if "Permission denied" not in done.stderr:
        assert done.returncode == 3
        assert "is another user's (user id 0)" in done.stderr
    # Who asks without `turnpike` is hung up on.
    code = (
        "import socket; s = socket.socket(socket.AF_UNIX); "
        f"s.connect('\\0turnpike.0.{server.pid}'); s.settimeout(10); "
        "print(s.recv(100))"
    )
    asked = subprocess.run(
        ["/usr/bin/python3", "-c", code], capture_output=True, text=True, timeout=30, user=nobody, cwd="/"
    )
    assert asked.stdout == "b''\n" or "ConnectionResetError" in asked.stderr, asked.stderr


def test_without_a_process_those_that_wait_are_listed(dormant, attach):
    server = dormant.serve()
    result = attach()
    assert result.returncode == 2
    assert re.search(rf"^  {server.pid}  .*python", result.stderr, re.M)


def talk(pid, text):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"\0turnpike.{os.geteuid()}.{pid}")
        connection.settimeout(20)
        connection.sendall(text)
        received = b""
        while not received.endswith(b"\n\n"):
            more = connection.recv(4096)
            if not more:
                break
            received += more
        return received.decode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"turnpike/1 status\n\n", "state=dormant"),
        (b"turnpike/1 stop\n\n", "error=only the `turnpike attach` that has started"),
        (b"turnpike/1 start\n\n", "error=the run is not named by an absolute path"),
        (b"turnpike/1 start\nTURNPIKE_RUN=run.tpk\n\n", "error=the run is not named by an absolute path"),
        (b"turnpike/1 start\nTURNPIKE_RUN=/proc/none/run.tpk\n\n", "cannot be made"),
        (b"turnpike/1 dance\n\n", "error=the process knows no command 'dance'"),
        (b"turnpike/1\n\n", "another version"),
        (b"turnpike/12 status\n\n", "another version"),
        (b"GET / HTTP/1.1\n\n", "another version"),
        (b"turnpike/1 start\nnonsense\n\n", "is not NAME=VALUE"),
        (b"x" * 100_000, "longer than 64 KiB"),
    ],
)
def test_strange_words_at_the_socket_do_no_harm(dormant, record, text, said):
    server = dormant.serve()
    try:
        assert said in talk(server.pid, text)
    except (BrokenPipeError, ConnectionResetError):
        assert len(text) > 65_536
    assert "state=dormant" in talk(server.pid, b"turnpike/1 status\n\n")
    assert end(server) == (5, b"served\n", b"")
    assert files(record.directory) == []


def tell(server, line):
    server.stdin.write(line.encode() + b"\n")
    server.stdin.flush()


def test_descriptors_that_the_program_closes_only_end_reachability(dormant, attach, record):
    server = dormant.serve()
    tell(server, "os.closerange(3, 4096); print('closed', flush=True)")
    assert server.stdout.readline() == b"closed\n"
    # The thread still sleeps at the socket, and serves one more.
    codes = [attach(server.pid, "-o", f"{n}.tpk", "--duration", "0.1").returncode for n in range(3)]
    assert codes == [0, 3, 3]
    assert record.runs() == ["0.tpk"]
    assert end(server) == (5, b"served\n", b"")


def test_a_socket_whose_number_is_the_programs_now_is_left_alone(dormant, attach, record):
    server = dormant.serve()
    tell(
        server,
        "import socket; mine = socket.socketpair(); [os.dup2(mine[0].fileno(), n) for n in range(500, 520)]; "
        "print('taken', flush=True)",
    )
    assert server.stdout.readline() == b"taken\n"
    # The thread still sleeps at the socket, and serves one more.
    assert attach(server.pid, "-o", "run.tpk", "--duration", "0.1").returncode == 0
    assert attach(server.pid, "-o", "again.tpk", "--duration", "0.1").returncode == 3
    tell(server, "mine[1].send(b'x'); print(os.read(519, 1), flush=True)")
    assert server.stdout.readline() == b"b'x'\n"
    assert end(server) == (5, b"served\n", b"")


def test_descriptors_that_are_the_programs_now_are_left_alone(dormant, attach, record):
    server = dormant.serve()
    attached = attached_to(server, attach, record)
    time.sleep(0.5)  # while it starts, the recorder opens and closes many files, each for a moment
    tell(
        server,
        "import socket; os.closerange(3, 4096); mine = socket.socketpair(); "
        "[os.dup2(mine[0].fileno(), n) for n in range(500, 520)]; print('taken', flush=True)",
    )
    assert server.stdout.readline() == b"taken\n"
    _, err = attached.communicate(timeout=30)
    assert "has ended meanwhile, or left the recording" in err
    tell(
        server,
        "mine[1].send(b'x'); inodes = {os.fstat(n).st_ino for n in range(500, 520)}; "
        "print(os.read(519, 1), len(inodes), flush=True)",
    )
    assert server.stdout.readline() == b"b'x' 1\n"
    assert end(server) == (5, b"served\n", b"")
    assert "not_closed" not in report(record, "run.tpk")["losses"]


def links_of(pid):
    """What its descriptors name, as far as they are still there."""
    links = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(entry))
    return links


def test_a_forked_child_does_not_wait_for_anybody(dormant, attach, record):
    server = dormant.serve()
    tell(server, "child = os.fork()")
    tell(server, "child or (time.sleep(60), os._exit(0))")
    tell(server, "print(child, flush=True)")
    child = int(server.stdout.readline())
    try:
        until(lambda: not any(link.startswith("socket:") for link in links_of(child)))
        assert attach(child).returncode == 3
        result = attach(server.pid, "--duration", "0.2", "-o", "run.tpk")
        assert result.returncode == 0, result.stderr
        server.kill()
        server.wait()
        until(lambda: not waits(server.pid))
    finally:
        os.kill(child, signal.SIGKILL)


def test_exec_and_exit_do_not_hang_while_somebody_is_attached(dormant, attach, record):
    server = dormant.serve()
    attached = attached_to(server, attach, record)
    tell(server, "os.execvp('sh', ['sh', '-c', 'exit 9'])")
    assert server.wait(20) == 9
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 0
    assert "has ended meanwhile, or left the recording" in err


def test_a_program_that_exits_at_once_when_attached_does_not_hang(dormant, attach, record):
    for number in range(10):
        server = dormant.serve()
        attached = attach.start(server.pid, "--duration", "60", "-o", f"{number}.tpk")
        time.sleep(0.01 * number)
        assert end(server)[0] == 5
        attached.communicate(timeout=30)
        assert attached.returncode in (0, 3)


def is_stopped(pid):
    return "\nState:\tT" in pathlib.Path(f"/proc/{pid}/status").read_text()


def test_one_that_is_stopped_is_named_at_once(dormant, attach, record):
    server, stopped = dormant.serve(), dormant.serve()
    os.kill(stopped.pid, signal.SIGSTOP)
    until(lambda: is_stopped(stopped.pid))
    start = time.monotonic()
    result = attach(stopped.pid, "-o", "run.tpk")
    assert result.returncode == 3
    assert f"process {stopped.pid} is stopped (Ctrl-Z, a debugger): let it go on first" in result.stderr
    assert record.runs() == []
    result = attach(stopped.pid, server.pid, "--duration", "0.2", "-o", "run.tpk")
    assert time.monotonic() - start < 20
    assert result.returncode == 0
    assert f"process {stopped.pid} is stopped" in result.stderr
    assert [path.name for path in recording(record)] == [f"{server.pid}.tpt"]
    os.kill(stopped.pid, signal.SIGCONT)
    assert end(stopped) == (5, b"served\n", b"")


# Waits as a dormant program does, and answers each word by a file elsewhere, or never.
IMPOSTOR = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(f"\\0turnpike.{os.geteuid()}.{os.getpid()}")
listener.listen()
print("ready", flush=True)
connection, _ = listener.accept()
received = b""
while data := connection.recv(4096):
    received += data
    while b"\\n\\n" in received and sys.argv[1] == "answers":
        text, _, received = received.partition(b"\\n\\n")
        word = text.split()[1].decode()
        state = "dormant" if word == "stop" else "recording"
        connection.sendall(f"turnpike/1 ok\\nto={word}\\nstate={state}\\nfile=/elsewhere/77.tpt\\n\\n".encode())
print("left", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def impostor(record):
    with starting_programs(record.directory) as started:
        yield lambda how: started([sys.executable, "-c", IMPOSTOR, how], record.environment)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_wait_for_one_that_never_answers(impostor, attach, record, number):
    silent = impostor("never")
    attached = attach.start(silent.pid, "-o", "run.tpk")
    until(record.runs)
    time.sleep(0.2)
    attached.send_signal(number)
    _, err = attached.communicate(timeout=10)
    assert attached.returncode == -number
    assert f"process {silent.pid} has not answered yet" in err
    assert err.endswith("turnpike attach: interrupted: nothing was recorded\n")
    assert record.runs() == []
    assert silent.stdout.readline() == b"left\n"


def test_a_signal_keeps_what_others_have_recorded(dormant, impostor, attach, record):
    first, silent, last = dormant.serve(), impostor("never"), dormant.serve()
    attached = attach.start(first.pid, silent.pid, last.pid, "--duration", "60", "-o", "run.tpk")
    until(lambda: len(recording(record)) == 2)
    time.sleep(0.5)
    attached.send_signal(signal.SIGINT)
    _, err = attached.communicate(timeout=10)
    assert attached.returncode == 0
    assert f"process {silent.pid} has not answered yet" in err
    assert "turnpike: recorded 2 processes into run.tpk" in err
    assert report(record, "run.tpk")["losses"] == {}
    for server in (first, last):
        assert end(server) == (5, b"served\n", b"")


def test_a_second_signal_ends_the_wait_for_the_end_of_a_recording(dormant, attach, record):
    server = dormant.serve()
    attached = attached_to(server, attach, record)
    time.sleep(0.5)
    os.kill(server.pid, signal.SIGSTOP)
    attached.send_signal(signal.SIGINT)
    time.sleep(1)
    assert attached.poll() is None
    attached.send_signal(signal.SIGINT)
    _, err = attached.communicate(timeout=10)
    assert attached.returncode == -signal.SIGINT
    assert f"process {server.pid} has not answered yet" in err
    assert "turnpike: recorded 1 process into run.tpk" in err
    os.kill(server.pid, signal.SIGCONT)
    until(lambda: "not_closed" not in report(record, "run.tpk")["losses"])
    assert end(server) == (5, b"served\n", b"")


def test_a_file_that_cannot_be_seen_from_here_is_a_failure(impostor, attach, record):
    elsewhere = impostor("answers")
    result = attach(elsewhere.pid, "--duration", "0.3", "-o", "run.tpk")
    assert result.returncode == 4
    assert f"the recording of process {elsewhere.pid} cannot be seen from here" in result.stderr
    assert result.stderr.endswith("There it is /elsewhere/77.tpt\n")
    assert "turnpike report" not in result.stderr
    assert record.runs() == []


@pytest.mark.parametrize("run", ["file", "file/below.tpk", "/proc/turnpike.tpk"])
def test_a_run_that_cannot_be_written_is_a_failure(dormant, attach, record, run):
    server = dormant.serve()
    (record.directory / "file").write_text("mine")
    result = attach(server.pid, "-o", run)
    assert result.returncode == 4
    assert result.stderr.startswith("turnpike attach: cannot make the run directory ")
    assert end(server) == (5, b"served\n", b"")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_another_user_can_take_the_name_of_the_socket_first(dormant, attach, record):
    """He sees the id of a program before it opens its socket. The program says so, and is not attached to."""
    server = dormant(sys.executable, "-c", f"input(print('waits', flush=True) or '')\n{SERVER}", stdin=subprocess.PIPE)
    assert server.stdout.readline() == b"waits\n"
    code = (
        "import socket; s = socket.socket(socket.AF_UNIX); "
        f"s.bind('\\0turnpike.0.{server.pid}'); s.listen(); print('bound', flush=True); input()"
    )
    other = subprocess.Popen(
        ["/usr/bin/python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=65534, cwd="/"
    )
    assert other.stdout.readline() == b"bound\n"
    tell(server, "")
    assert server.stdout.readline() == b"ready\n"
    assert re.search(rf"^  {server.pid}  .*python", attach().stderr, re.M)
    result = attach(server.pid)
    assert result.returncode == 3
    assert f"process {server.pid} is not the one that waits under its id" in result.stderr
    code, out, err = end(server)
    assert (code, out) == (5, b"served\n")
    assert f"its socket @turnpike.0.{server.pid} cannot be made: Address already in use".encode() in err
    other.communicate(b"\n")
