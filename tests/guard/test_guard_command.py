"""`turnpike guard -- COMMAND`: the rules around a whole process. The program loads the library as the driver does."""

import subprocess
import sys

import pytest

DRIVER = """\
import ctypes, os
import faketorch as torch
assert ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection() == 1
"""


@pytest.fixture
def guard(build, environment, tmp_path):
    """Runs a program of Python under `turnpike guard`; line 4 is its first."""

    def guard(program, *options, code=0):
        (tmp_path / "train.py").write_text(DRIVER + program)
        done = subprocess.run(
            [build / "src/cli/turnpike", "guard", *options, "--", sys.executable, "train.py"],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return guard


def test_a_download_raises_in_the_program(guard):
    done = guard("torch.item()\n", "--d2h", "disallow", code=1)
    assert "line 4, in <module>" in done.stderr
    assert "RuntimeError: turnpike.guard: d2h of 4 B by aten::item at train.py:4 in <module>()" in done.stderr


def test_rules_that_are_there_are_not_replaced_unseen(build, environment):
    nested = [build / "src/cli/turnpike", "guard", "--d2h", "allow", "--", "true"]
    inside = subprocess.run(
        nested, env={**environment, "TURNPIKE_GUARD": "d2h=disallow"}, capture_output=True, text=True, timeout=60
    )
    assert inside.returncode == 2
    assert "TURNPIKE_GUARD is set" in inside.stderr
    assert "unset TURNPIKE_GUARD" in inside.stderr


def test_all_threads_are_guarded_but_not_those_that_pin(guard):
    program = """\
import ctypes, threading
libc = ctypes.CDLL(None)
def work(name, log):
    libc.prctl(15, name.encode())  # PR_SET_NAME
    try:
        torch.item()
    except RuntimeError:
        log.append(name)
log = []
for name in ("worker", "pt_data_pin"):
    thread = threading.Thread(target=work, args=(name, log))
    thread.start()
    thread.join()
assert log == ["worker"], log
"""
    guard(program, "--d2h", "disallow")


def test_of_threads_the_main_one_alone_can_be_guarded(guard, tmp_path):
    program = """\
import threading
log = []
def work():
    try:
        torch.item()
    except RuntimeError:
        log.append(threading.current_thread().name)
work()
thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()
print(*log)
"""
    assert guard(program, "--d2h", "disallow").stdout == "MainThread worker\n"
    assert guard(program, "--d2h", "disallow", "--threads", "all").stdout == "MainThread worker\n"
    assert guard(program, "--d2h", "disallow", "--threads", "own").stdout == "MainThread\n"
    config = tmp_path / "turnpike.toml"
    config.write_text('[guard]\nd2h = "disallow"\nthreads = "own"\n')
    assert guard(program, "--config", str(config)).stdout == "MainThread\n"
    assert guard(program, "--config", str(config), "--threads", "all").stdout == "MainThread worker\n"


def test_repeats_are_logged(guard):
    program = "for _ in range(3):\n    torch.upload(1000, 0)\n"
    done = guard(program, "--repeat", "log")
    assert done.stderr.splitlines() == [
        "turnpike.guard: repeated h2d of 1.00 kB by aten::to at train.py:5 in <module>()",
        "turnpike.guard: 2 x repeated h2d of 1.00 kB by aten::to at train.py:5 in <module>(), 2.00 kB in all",
    ]
    guard(program, "--repeat", "log", "--fail-on-log", code=1)
    guard("torch.upload(1000, 0)\n", "--repeat", "log", "--fail-on-log")


MOVES = """\
from turnpike._guard import moves
def step():
    moves.ask("h2d", 1000)
try:
    step()
    print("moved")
except RuntimeError as error:
    print(error)
"""


def test_turnpikes_own_moves_are_guarded_where_it_is_told(guard):
    assert guard(MOVES, "--h2d", "disallow").stdout == "moved\n"
    said = guard(MOVES, "--h2d", "disallow", "--moves", "disallow").stdout
    assert said.startswith("turnpike.guard: h2d of 1.00 kB by turnpike at train.py:6 in step()"), said
    assert guard(MOVES, "--d2h", "disallow", "--moves", "disallow").stdout == "moved\n"


def test_a_log_names_each_line_once_and_counts(guard):
    program = "for _ in range(3):\n    torch.upload(1000, 0)\ntorch.upload(8, 0)\n"
    done = guard(program, "--h2d", "log")
    assert done.stderr.splitlines() == [
        "turnpike.guard: h2d of 1.00 kB by aten::to at train.py:5 in <module>()",
        "turnpike.guard: h2d of 8 B by aten::to at train.py:6 in <module>()",
        "turnpike.guard: 3 x h2d of 1.00 kB by aten::to at train.py:5 in <module>(), 3.00 kB in all",
    ]
    guard(program, "--h2d", "log", "--fail-on-log", code=1)
    guard(program, "--d2h", "log", "--fail-on-log")
    guard(program + "raise SystemExit(5)\n", "--h2d", "log", "--fail-on-log", code=5)


def test_sites_and_the_first_crossings_are_let_through(guard):
    program = "def save():\n    torch.item()\nsave()\nsave()\n"
    guard(program, "--d2h", "disallow", "--allow", "train.py:save")
    guard(program, "--d2h", "disallow", "--allow", "train.py:load", code=1)
    guard(program, "--d2h", "disallow", "--skip", "1")  # the two lines that call it are two places
    guard("for _ in range(3):\n    torch.item()\n", "--d2h", "disallow", "--skip", "2", code=1)
    guard("for _ in range(3):\n    torch.item()\n", "--d2h", "2", code=1)
    guard("for _ in range(3):\n    torch.item()\n", "--d2h", "3")


def test_rules_come_from_the_file_and_options_replace_them(guard, tmp_path):
    config = tmp_path / "turnpike.toml"
    config.write_text('[guard]\nd2h = "disallow"\n\n[[allow]]\nsite = "train.py:save"\nreason = "rare"\n')
    guard("torch.item()\n", "--config", str(config), code=1)
    guard("def save():\n    torch.item()\nsave()\n", "--config", str(config))
    guard("torch.item()\n", "--config", str(config), "--d2h", "allow")


def test_sites_by_which_no_process_was_allowed_anything_are_named(guard, tmp_path):
    config = tmp_path / "turnpike.toml"
    config.write_text(
        '[guard]\nd2h = "disallow"\n'
        '[[allow]]\nsite = "train.py:save"\ndirection = "d2h"\n'
        '[[allow]]\nsite = "train.py:load"\n'
        '[[allow]]\nsite = "rare.py:1"\noptional = true\n'
        '[[allow]]\nsite = "train.py:in_child"\n'
    )
    program = """\
def save():
    torch.item()
def in_child():
    torch.item()
child = os.fork()
if child == 0:
    in_child()
    os.kill(os.getpid(), 9)
os.waitpid(child, 0)
save()
save()
"""
    said = (
        "turnpike guard: nothing was allowed by '{}': correct the site or remove it; "
        "optional = true in turnpike.toml says that it is fine"
    )
    done = guard(program, "--config", str(config), "--allow", "d2h gone.py:7", "--fail-on-log")
    assert done.stderr.splitlines() == [said.format(site) for site in ("train.py:load", "d2h gone.py:7")]
    assert guard("torch.item()\n", "--d2h", "log", "--allow", "train.py:4").stderr == ""


def test_a_block_in_the_program_decides_inside_of_it(guard):
    program = """\
import turnpike as tp
with tp.allow("d2h", reason="a test"):
    torch.item()
try:
    torch.item()
except RuntimeError:
    print("raised")
"""
    assert guard(program, "--d2h", "disallow").stdout == "raised\n"


NOTHING_USED_CUDA = "turnpike guard: nothing was checked, because no process used CUDA\n"


def test_without_cuda_it_says_that_nothing_was_checked(build, environment):
    def said(*options, code=0, command=("true",)):
        command = [
            build / "src/cli/turnpike",
            "guard",
            "--d2h",
            "disallow",
            "--allow",
            "train.py:3",
            *options,
            "--",
            *command,
        ]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stderr
        return done.stderr

    assert said() == NOTHING_USED_CUDA
    assert said("--require-gpu", code=1) == NOTHING_USED_CUDA
    assert said("--require-gpu", code=5, command=("sh", "-c", "exit 5")) == NOTHING_USED_CUDA


def test_with_cuda_and_no_pytorch_it_says_so(guard, tmp_path):
    (tmp_path / "faketorch.py").write_text("")
    text = "turnpike guard: nothing was checked, because no process that used CUDA had loaded PyTorch\n"
    assert guard("", "--d2h", "disallow").stderr == text
    assert guard("", "--d2h", "disallow", "--require-gpu", code=1).stderr == text


def test_with_cuda_a_gpu_may_be_required(guard):
    assert guard("torch.upload(8, 1)\n", "--d2h", "disallow", "--require-gpu").stderr == ""


def test_what_could_not_be_stopped_fails_the_command(guard):
    done = guard("torch.allocate()\n", "--alloc", "disallow", code=1)
    assert "alloc of 4.10 kB by cudaMalloc at train.py:4 in <module>() (not stopped: no exception may" in done.stderr
    guard("torch.allocate()\nraise SystemExit(5)\n", "--alloc", "disallow", code=5)
    guard("torch.allocate()\n", "--alloc", "1")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--config", "nosuch.toml"],
            "nosuch.toml cannot be read. Name a file that has a table [guard] with --config.",
        ),
        ([], "say what to guard"),
        (["--d2h", "forbid"], 'd2h: "forbid" is neither allow, log, disallow'),
        (["--config", "none.toml"], "there is no table [guard]"),
        (["--config", "typo.toml"], 'unknown key "d2x" in [guard]'),
        (["--d2h", "log", "--threads", "some"], 'threads: "some" is neither all nor own'),
        (["--d2h", "log", "--moves", "log"], 'moves: "log" is neither disallow nor allow'),
        (["--repeat", "disallow"], "repeats are only logged"),
        (["--threads", "all"], "say what to guard"),
        (["--d2h", "log", "--skip", "-1"], "'-1' is no whole number from 0 to 999999999"),
        (["--d2h", "log", "--skip", "some"], "'some' is no whole number from 0 to 999999999"),
    ],
)
def test_mistakes_are_said_and_nothing_runs(guard, tmp_path, options, said):
    (tmp_path / "none.toml").write_text("[per_run]\nh2d_count = 1\n")
    (tmp_path / "typo.toml").write_text('[guard]\nd2x = "log"\n')
    done = guard("print('ran')\n", *options, code=2)
    assert said in done.stderr and "ran" not in done.stdout and "--budget" not in done.stderr


def test_another_tools_injection_is_in_the_way(build, environment):
    other = {**environment, "CUDA_INJECTION64_PATH": "/opt/nsys/libToolsInjection64.so"}
    command = [build / "src/cli/turnpike", "guard", "--d2h", "log", "--", "true"]
    done = subprocess.run(command, env=other, capture_output=True, text=True)
    assert done.returncode == 2 and "unset CUDA_INJECTION64_PATH" in done.stderr
