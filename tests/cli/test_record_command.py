"""`turnpike record` runs a command as if it had been started directly, and tells how the recording went."""

import os
import pathlib
import resource
import signal
import stat
import subprocess
import sys
import time

import pytest
from terminal import Terminal

PYTHON = sys.executable


def python(program, *arguments):
    return (PYTHON, "-c", program, *arguments)


# Its way of ending


@pytest.mark.parametrize("code", [*range(0, 256, 15), 1, 2, 3, 126, 127, 128, 130])
def test_the_exit_code_is_the_commands(record, code):
    assert record("sh", "-c", f"exit {code}").returncode == code


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGABRT", "SIGTERM", "SIGINT", "SIGPIPE", "SIGUSR1", "SIGHUP"])
def test_dies_by_the_signal_that_the_command_died_by(record, name):
    result = record("sh", "-c", f"kill -{name.removeprefix('SIG')} $$")
    assert result.returncode == -getattr(signal, name)
    assert "nothing was recorded" in result.stderr


def test_leaves_no_core_file_of_its_own(record):
    # The command's own limit is 0; were turnpike to dump, it would do so here.
    result = record("sh", "-c", "ulimit -c 0; kill -SEGV $$", preexec_fn=unlimited_core)
    assert result.returncode == -signal.SIGSEGV
    assert list(record.directory.glob("core*")) == []


def unlimited_core():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def test_a_command_that_is_not_found_is_127(record):
    result = record("no-such-command-anywhere")
    assert result.returncode == 127
    assert "no-such-command-anywhere: command not found" in result.stderr
    assert record.runs() == []


def test_a_command_that_cannot_be_executed_is_126(record):
    program = record.directory / "program"
    program.write_text("echo no")
    program.chmod(0o644)
    result = record("./program")
    assert result.returncode == 126
    assert "./program: cannot be executed: Permission denied" in result.stderr
    assert record.runs() == []


def test_the_command_may_be_a_directory_and_is_then_126(record):
    assert record("/").returncode == 126


# Input, output, arguments, environment


def test_standard_input_and_output_pass_every_byte(record):
    data = bytes(range(256)) * 4096
    result = record("cat", input=data)
    assert result.stdout == data
    assert result.returncode == 0


def test_standard_error_of_the_command_comes_through(record):
    result = record("sh", "-c", "echo mine >&2", options=["--quiet"])
    assert result.stderr == "mine\n"


def test_arguments_arrive_as_they_were_given(record):
    words = ["", "-o", "--", "--quiet", "[1,2]", "a b", "report", "é", "*", "--detail=x", "{}", "%", "-"]
    program = "import sys; print('\\0'.join(sys.argv[1:]), end='')"
    result = record(*python(program, *words))
    assert result.stdout.decode().split("\0") == words


def test_a_command_named_like_a_subcommand_is_run(record):
    program = record.directory / "report"
    program.write_text("#!/bin/sh\necho I am $1\n")
    program.chmod(0o755)
    assert record("./report", "bench").stdout == b"I am bench\n"


def environment_of(record, options=()):
    result = record(*python("import os; print('\\n'.join(f'{k}={v}' for k, v in os.environ.items()))"), options=options)
    assert result.returncode == 0, result.stderr
    return dict(line.split("=", 1) for line in result.stdout.decode().splitlines() if "=" in line)


def test_the_environment_leads_the_driver_to_the_recorder(record, fake_recorder):
    seen = environment_of(record, ["-o", "here.tpk"])
    assert seen["CUDA_INJECTION64_PATH"] == str(fake_recorder)
    assert seen["NVTX_INJECTION64_PATH"] == str(fake_recorder)
    assert seen["TURNPIKE_RUN"] == str(record.directory / "here.tpk")
    assert seen["TURNPIKE_DETAIL"] == "full"
    assert seen["TURNPIKE_STACKS"] == "1"
    for unset in (
        "TURNPIKE_CAPTURE_RANGE",
        "TURNPIKE_DELAY_MS",
        "TURNPIKE_DURATION_MS",
        "TURNPIKE_QUIET",
        "TURNPIKE_VERIFY_CONTENT",
    ):
        assert unset not in seen


def test_the_options_reach_the_recorder(record):
    options = "--detail transfers --no-stacks --capture-range nvtx:step --delay 1.5 --duration 0.25 --quiet".split()
    options.append("--verify-content")
    seen = environment_of(record, options)
    assert seen["TURNPIKE_DETAIL"] == "transfers"
    assert seen["TURNPIKE_STACKS"] == "0"
    assert seen["TURNPIKE_CAPTURE_RANGE"] == "nvtx:step"
    assert seen["TURNPIKE_DELAY_MS"] == "1500"
    assert seen["TURNPIKE_DURATION_MS"] == "250"
    assert seen["TURNPIKE_QUIET"] == "1"
    assert seen["TURNPIKE_VERIFY_CONTENT"] == "1"


def test_options_of_an_outer_recording_do_not_leak_in(record, fake_recorder, environment, tmp_path):
    ours = tmp_path / "libturnpike_record.so"
    ours.write_bytes(fake_recorder.read_bytes())
    record.environment = {**environment, "TURNPIKE_DURATION_MS": "5", "CUDA_INJECTION64_PATH": str(ours)}
    seen = environment_of(record)
    assert "TURNPIKE_DURATION_MS" not in seen
    assert seen["CUDA_INJECTION64_PATH"] == str(fake_recorder)


def test_the_command_inherits_no_descriptor_and_no_signal_mask(record):
    program = (
        "import os, signal; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1],"
        " signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL)"
    )
    assert record(*python(program)).stdout.decode() == "[0, 1, 2] set() True\n"


def test_ignored_signals_stay_ignored_in_the_command(record):
    program = "import signal; print(*(signal.getsignal(s) == signal.SIG_IGN for s in (signal.SIGHUP, signal.SIGCHLD)))"

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    result = record(*python(program), preexec_fn=ignore)
    assert result.stdout == b"True True\n"
    assert result.returncode == 0


# Signals while it runs

WAITS = "import signal, sys, time\n{}\nprint('ready', flush=True)\ntime.sleep(30)\n"


def started(record, setup, **more):
    process = record.start(*python(WAITS.format(setup)), **more)
    assert process.stdout.readline() == b"ready\n"
    return process


def ending(process):
    output, errors = process.communicate(timeout=30)
    return process.returncode, output.decode(), errors.decode()


def ended_by_key(record, setup, key):
    words = record.arguments(*python(WAITS.format(setup)))
    terminal = Terminal(words, record.directory, {**record.environment, "TERM": "dumb"})
    terminal.wait_for(lambda screen: "ready" in screen.text())
    terminal.type(key)
    return terminal.end(), terminal.screen.text()


def test_ctrl_c_is_the_commands_to_handle(record):
    setup = "signal.signal(signal.SIGINT, lambda *_: (print('handled', flush=True), sys.exit(7)))"
    status, shown = ended_by_key(record, setup, b"\x03")
    assert (os.waitstatus_to_exitcode(status), shown.count("handled")) == (7, 1)
    assert "nothing was recorded" in shown


def test_ctrl_c_ends_in_pythons_own_traceback(record):
    status, shown = ended_by_key(record, "signal.signal(signal.SIGINT, signal.default_int_handler)", b"\x03")
    assert os.waitstatus_to_exitcode(status) == -signal.SIGINT
    assert shown.count("KeyboardInterrupt") == 1


def test_a_quit_key_is_the_commands_to_handle(record):
    status, _ = ended_by_key(record, "signal.signal(signal.SIGQUIT, lambda *_: sys.exit(8))", b"\x1c")
    assert os.waitstatus_to_exitcode(status) == 8


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGQUIT"])
def test_a_signal_sent_to_turnpike_is_passed_on(record, name):
    process = started(record, f"signal.signal(signal.{name}, lambda *_: (print('got it', flush=True), sys.exit(9)))")
    os.kill(process.pid, getattr(signal, name))
    code, output, _ = ending(process)
    assert (code, output) == (9, "got it\n")


COUNTS = """
import signal, sys
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
signal.signal(signal.SIGTERM, lambda *_: (print(len(got), flush=True), sys.exit(9)))
print("ready", flush=True)
while True: signal.pause()
"""


def test_a_signal_to_the_group_reaches_the_program_once(record):
    process = record.start(*python(COUNTS))
    assert process.stdout.readline() == b"ready\n"
    for number in range(10):  # to the group, and to Turnpike alone, in turn
        send = os.kill if number % 2 else os.killpg
        send(process.pid, signal.SIGUSR1)
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGTERM)
    code, output, _ = ending(process)
    assert (code, output) == (9, "10\n")


def test_terminated_without_a_handler_is_terminated(record):
    process = started(record, "")
    os.kill(process.pid, signal.SIGTERM)
    assert ending(process)[0] == -signal.SIGTERM


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_stops_and_goes_on_with_the_command(record):
    setup = "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(5)); import os; print(os.getpid(), flush=True)"
    # In the session of the tests, so that the group is no orphan: those do not stop.
    process = record.start(*python(WAITS.format(setup)))
    command = int(process.stdout.readline())
    assert process.stdout.readline() == b"ready\n"
    os.kill(process.pid, signal.SIGTSTP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    deadline = time.monotonic() + 10
    while state_of(command) != "T" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert state_of(command) == "T"
    os.kill(process.pid, signal.SIGCONT)
    os.kill(process.pid, signal.SIGUSR1)
    assert ending(process)[0] == 5


# The run


def test_the_run_is_named_after_the_script_and_never_overwritten(record, cuda_program):
    (record.directory / "train.py").write_text(f"import os; os.execv({str(cuda_program)!r}, ['x', 'process=1'])\n")
    for _ in range(3):
        assert record(PYTHON, "train.py").returncode == 0
    assert record.runs() == ["train-2.tpk", "train-3.tpk", "train.tpk"]
    for run in record.runs():
        assert len(list((record.directory / run).glob("*.tpt"))) == 1


def test_a_name_can_be_given_with_directories_to_make(record, cuda_program):
    result = record(cuda_program, "process=1", options=["-o", "runs/today/a.tpk"])
    assert result.returncode == 0, result.stderr
    assert len(list((record.directory / "runs/today/a.tpk").glob("*.tpt"))) == 1
    assert "turnpike report runs/today/a.tpk\n" in result.stderr


def test_a_run_that_is_there_is_refused(record, cuda_program):
    run = record.directory / "a.tpk"
    run.mkdir()
    (run / "1.tpt").write_text("old")
    result = record(cuda_program, "print=started", options=["-o", "a.tpk"])
    assert result.returncode == 2
    assert "--force" in result.stderr
    assert result.stdout == b""
    assert (run / "1.tpt").read_text() == "old"


def test_an_empty_directory_is_taken_and_kept(record, cuda_program):
    (record.directory / "a.tpk").mkdir()
    assert record("true", options=["-o", "a.tpk"]).returncode == 0
    assert record.runs() == ["a.tpk"]
    assert record(cuda_program, options=["-o", "a.tpk"]).returncode == 0


def test_nothing_is_left_of_a_run_without_cuda(record):
    result = record("true", options=["-o", "made/for/it.tpk"])
    assert result.returncode == 0
    assert "nothing was recorded, because no process initialised CUDA" in result.stderr
    assert list(record.directory.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "code"), [("file", 4), ("file/below.tpk", 4), ("/proc/turnpike.tpk", 4), ("full", 2), ("", 2)]
)
def test_a_run_that_cannot_be_made_is_said_before_anything_runs(record, name, code):
    (record.directory / "file").write_text("mine")
    (record.directory / "full" / "of").mkdir(parents=True)
    result = record("echo", "ran", options=["-o", name])
    assert result.returncode == code
    assert result.stdout == b""
    assert "turnpike record: " in result.stderr
    assert (record.directory / "file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_directory_is_said_before_anything_runs(record):
    record.directory.chmod(0o555)
    result = record("echo", "ran")
    record.directory.chmod(0o755)
    assert result.returncode == 4
    assert result.stdout == b""
    assert "cannot make the run directory echo.tpk: Permission denied" in result.stderr


# What it says


def test_the_summary_tells_what_was_recorded_and_what_comes_next(record, cuda_program):
    result = record(
        cuda_program, "process=1", "h2d=1000", "h2d=500", "d2h=4", "sync=3", "host_time_ns=61200000", "written=2048"
    )
    assert result.returncode == 0
    words = " ".join(result.stderr.split())
    assert "recorded 1 process into fake_cuda_program.tpk (2.05 kB)" in words
    assert "host to device 2 1.50 kB" in words
    assert "device to host 1 4 B" in words
    assert "synchronisations 3" in words
    assert "copies and waits 61.2 ms" in words
    assert "lost" not in words
    assert result.stderr.endswith("next: turnpike report fake_cuda_program.tpk\n")


def test_processes_are_counted_together(record, cuda_program):
    result = record(
        "sh", "-c", f"{cuda_program} process=1 h2d=1 & {cuda_program} process=1 h2d=2; wait", options=["-o", "a"]
    )
    words = " ".join(result.stderr.split())
    assert "recorded 2 processes" in words
    assert "host to device 2 3 B" in words
    assert len(list((record.directory / "a").glob("*.tpt"))) == 2


def test_losses_and_unrecorded_processes_are_told(record, cuda_program):
    result = record(cuda_program, "process=1", "loss=2", "unusable=1")
    assert "2 records were lost: the report says" in result.stderr
    assert "1 process uses CUDA but could not be recorded: the report says why" in result.stderr


def test_the_summary_comes_also_when_the_command_was_killed(record, cuda_program):
    process = record.start(cuda_program, "process=1", "h2d=8", "print=ready\n", "sleep_ms=30000")
    assert process.stdout.readline() == b"ready\n"
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    code, _, errors = ending(process)
    assert code == -signal.SIGKILL
    assert "recorded 1 process" in errors


def test_quiet_says_nothing(record, cuda_program):
    for command in [(cuda_program, "process=1", "loss=1"), ("true",)]:
        result = record(*command, options=["--quiet"])
        assert (result.returncode, result.stdout, result.stderr) == (0, b"", "")


# Wrong usage: nothing is run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "put the command to run behind --"),
        (["--"], "put the command to run behind --"),
        (["python", "train.py"], "turnpike record -- python train.py"),
        (["--no-such-option", "--", "echo", "ran"], "no option --no-such-option"),
        (["--detail", "everything", "--", "echo", "ran"], "everything"),
        (["--capture-range", "nvtx:", "--", "echo", "ran"], "neither cuda-profiler-api nor nvtx:NAME"),
        (["--duration", "0", "--", "echo", "ran"], "number of seconds"),
        (["--delay", "nan", "--", "echo", "ran"], "number of seconds"),
        (["--delay", "soon", "--", "echo", "ran"], "number of seconds"),
    ],
)
def test_wrong_usage_is_2_and_runs_nothing(turnpike, environment, tmp_path, arguments, said):
    result = subprocess.run(
        [turnpike, "record", *arguments], cwd=tmp_path, env=environment, capture_output=True, timeout=60
    )
    assert result.returncode == 2
    assert result.stdout == b""
    assert said in result.stderr.decode()
    assert list(tmp_path.glob("*.tpk")) == []


@pytest.mark.parametrize("variable", ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"])
def test_another_tools_injection_is_refused(record, environment, variable):
    record.environment = {**environment, variable: "/opt/other/libother.so"}
    result = record("echo", "ran")
    assert result.returncode == 2
    assert result.stdout == b""
    assert f"unset {variable}" in result.stderr


def test_a_missing_record_library_is_told(record, environment):
    record.environment = {**environment, "TURNPIKE_RECORD_LIBRARY": "/nowhere/libturnpike_record.so"}
    result = record("echo", "ran")
    assert (result.returncode, result.stdout) == (2, b"")
    assert "/nowhere/libturnpike_record.so" in result.stderr


def test_the_record_library_is_found_beside_the_executable_or_under_lib(record, turnpike, environment, tmp_path):
    home = tmp_path / "bin"
    home.mkdir()
    copy = home / "turnpike"
    copy.write_bytes(turnpike.read_bytes())
    copy.chmod(copy.stat().st_mode | stat.S_IXUSR)
    record.turnpike = copy
    record.environment = {name: value for name, value in environment.items() if name != "TURNPIKE_RECORD_LIBRARY"}
    result = record("true")
    assert result.returncode == 2
    assert str(home / "libturnpike_record.so") in result.stderr

    under_lib = tmp_path / "lib/turnpike/libturnpike_record.so"
    under_lib.parent.mkdir(parents=True)
    under_lib.touch()
    assert environment_of(record)["CUDA_INJECTION64_PATH"] == str(under_lib)
    (home / "libturnpike_record.so").touch()
    assert environment_of(record)["CUDA_INJECTION64_PATH"] == str(home / "libturnpike_record.so")


def test_the_help_teaches(turnpike):
    result = subprocess.run([turnpike, "record", "--help"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0
    for word in ("turnpike record -- python train.py", "torchrun", "--capture-range", "turnpike report", "Exit code"):
        assert word in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 120
