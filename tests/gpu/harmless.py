"""Recording must not change a program, however it ends: run with pytest on a machine with a GPU.

    python -m pytest tests/gpu/harmless.py

Each test runs a small program plainly and under `turnpike record` and compares exit code and output; then what is left
must be readable, and what is missing in it must be said.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

TURNPIKE = shutil.which(os.environ.get("TURNPIKE", "turnpike"))
TIMEOUT_S = 120

TRAINING = """
    import hashlib, os, sys
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    import torch
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    images, labels = torch.randn(64, 64), torch.randint(10, (64,))

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images.to("cuda")), labels.to("cuda"))
        loss.backward()
        optimizer.step()
        return loss.item()

    def digest():
        bits = b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())
        return hashlib.sha256(bits).hexdigest()
"""


@pytest.fixture
def case(tmp_path):
    return Case(tmp_path)


class Case:
    """One program, and the ways to run it."""

    def __init__(self, folder):
        assert TURNPIKE, "no command turnpike on PATH: install Turnpike or set TURNPIKE"
        self.folder = folder
        self.program = folder / "program.py"
        self.trace = folder / "run.tpk"

    def write(self, *parts):
        self.program.write_text("\n".join(textwrap.dedent(part) for part in parts))

    def plain(self):
        return self._run([sys.executable, str(self.program)])

    def recorded(self, *options, env=None, trace=None):
        return self._run(self.command(*options, trace=trace), env)

    def command(self, *options, trace=None):
        trace = str(trace or self.trace)
        return [TURNPIKE, "record", "--no-link", "-o", trace, *options, "--", sys.executable, str(self.program)]

    def start(self, command):
        """In a process group of its own, as a shell starts it: Ctrl-C goes to the group."""
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=self.folder)

    def report(self, trace=None):
        done = self._run([TURNPIKE, "report", str(trace or self.trace), "--json"])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def _run(self, command, env=None):
        everything = {**os.environ, **(env or {})}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, env=everything, cwd=self.folder
        )


def assert_unchanged(plain, recorded):
    assert recorded.returncode == plain.returncode, recorded.stderr
    assert recorded.stdout == plain.stdout


def is_ended_by(returncode, number):
    """Whether a process, or a shell in its place, says that a signal ended it."""
    return returncode in (-number, 128 + number)


def assert_all_or_said(report, direction, count):
    """Everything is there, or the report says that something is not."""
    assert report["totals"][direction]["count"] == count or report["losses"], report["totals"]


@pytest.mark.parametrize("options", [[], ["--detail", "transfers"], ["--no-stacks"]])
def test_results_are_the_same_bit_for_bit(case, options):
    case.write(TRAINING, "print([step().hex() for _ in range(50)], digest())")
    plain = case.plain()
    assert plain.returncode == 0, plain.stderr
    assert_unchanged(plain, case.recorded("--quiet", *options))
    assert case.report()["totals"]["d2h"]["count"] == 54


def test_quiet_adds_nothing_to_stderr(case):
    case.write(TRAINING, 'step()\nprint("to stderr", file=sys.stderr)')
    assert case.recorded("--quiet").stderr == case.plain().stderr


@pytest.mark.parametrize("ending", ["sys.exit(7)", "raise ValueError('no')", "os._exit(3)", "os.abort()"])
def test_exit_codes_are_the_programs_own(case, ending):
    case.write(TRAINING, f"step()\nprint('here', flush=True)\n{ending}")
    plain, recorded = case.plain(), case.recorded("--quiet")
    assert recorded.stdout == plain.stdout
    if plain.returncode < 0:
        assert is_ended_by(recorded.returncode, -plain.returncode)
    else:
        assert recorded.returncode == plain.returncode
    assert_all_or_said(case.report(), "d2h", 1)


def test_segmentation_fault_stays_one(case):
    case.write(TRAINING, "for _ in range(20): step()\nimport ctypes\nctypes.string_at(8)")
    assert case.plain().returncode == -signal.SIGSEGV
    assert is_ended_by(case.recorded("--quiet").returncode, signal.SIGSEGV)
    assert_all_or_said(case.report(), "d2h", 20)


def interrupt(case, command):
    """The exit status of a program that gets Ctrl-C in the middle of its training."""
    process = case.start(command)
    assert process.stdout.readline() == "training\n"
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=TIMEOUT_S)
    return process.returncode


def test_ctrl_c_in_the_middle_of_training(case):
    case.write(TRAINING, "step()\nprint('training', flush=True)\nwhile True: step()")
    plain = interrupt(case, [sys.executable, str(case.program)])
    recorded = interrupt(case, case.command("--quiet"))
    # Python usually dies of the signal itself, but what runs at its end can turn that into an exit status.
    assert is_ended_by(recorded, -plain) if plain < 0 else recorded == plain, (plain, recorded)
    assert case.report()["totals"]["d2h"]["count"] > 100


def test_ctrl_c_that_the_program_handles(case):
    loop = """
        count = 0
        try:
            print('training', flush=True)
            while True:
                step()
                count += 1
        except KeyboardInterrupt:
            torch.cuda.synchronize()
            print(count)
            sys.exit(5)
    """
    case.write(TRAINING, loop)
    process = case.start(case.command("--quiet"))
    assert process.stdout.readline() == "training\n"
    time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 5
    report = case.report()
    assert report["losses"] == {}
    # The interrupted step may or may not have reached its read.
    assert report["totals"]["d2h"]["count"] - int(out) in (0, 1)


def test_kill_9_leaves_what_was_flushed(case):
    case.write(TRAINING, "for _ in range(200): step()\nprint(os.getpid(), flush=True)\nimport time\ntime.sleep(600)")
    process = case.start(case.command("--quiet"))
    pid = int(process.stdout.readline())
    time.sleep(5)
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=TIMEOUT_S)
    assert is_ended_by(process.returncode, signal.SIGKILL)
    report = case.report()
    assert report["totals"]["d2h"]["count"] == 200
    assert "ended_early" in report["losses"]


def test_kill_9_in_the_middle_leaves_a_readable_file(case):
    case.write(TRAINING, "print(os.getpid(), flush=True)\nwhile True: step()")
    process = case.start(case.command("--quiet"))
    pid = int(process.stdout.readline())
    time.sleep(4)
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=TIMEOUT_S)
    report = case.report()
    assert report["totals"]["d2h"]["count"] > 100
    assert "ended_early" in report["losses"]


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("may not mount a small file system here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_full_disk_stops_the_recording(case, small_disk):
    case.write(TRAINING, "print([step().hex() for _ in range(2000)][-1], digest())")
    trace = small_disk / "run.tpk"
    assert_unchanged(case.plain(), case.recorded("--quiet", trace=trace))
    assert "stopped_disk_low" in case.report(trace)["losses"]


def test_a_run_directory_that_is_gone_is_said_and_the_program_runs(case):
    """A file stands in its place by the time that CUDA comes up."""
    replaced = """
        import os
        if run := os.environ.get("TURNPIKE_RUN"):
            os.rmdir(run)
            open(run, "w").close()
    """
    case.write(replaced, TRAINING, "print(step().hex())")
    recorded = case.recorded()
    assert_unchanged(case.plain(), recorded)
    assert str(case.trace) in recorded.stderr


def test_torch_profiler_inside_the_program(case):
    profiled = """
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        for _ in range(10): step()
        with torch.profiler.profile(activities=activities):
            for _ in range(10): step()
        for _ in range(10): step()
        print(step().hex(), digest())
    """
    case.write(TRAINING, profiled)
    recorded = case.recorded()
    assert_unchanged(case.plain(), recorded)
    assert_all_or_said(case.report(), "d2h", 35)


PROFILED = """
    def profiled():
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profiler:
            for _ in range(10): step()
        names = [
            event.name()
            for event in profiler.profiler.kineto_results.events()
            if event.device_type() == torch.autograd.DeviceType.CUDA
        ]
        copies = sum(name.startswith("Memcpy") for name in names)
        print("on the device:", copies, "copies of", len(names), flush=True)
"""


def test_torch_profiler_sees_as_much_as_without_the_recorder(case):
    """At its first use and at its second, and the recorder has all that happened outside of them."""
    uses = """
        for _ in range(3): step()
        profiled()
        for _ in range(5): step()
        profiled()
        for _ in range(6): step()
    """
    case.write(TRAINING, PROFILED, uses)
    plain = case.plain()
    assert plain.stdout.count("on the device: 30 copies") == 2, plain.stdout + plain.stderr
    assert_unchanged(plain, case.recorded("--quiet"))
    report = case.report()
    assert report["totals"]["d2h"]["count"] == 14
    assert report["losses"]["other_cupti_user"] == 2


def test_recordings_and_profiles_in_one_process(case):
    rounds = """
        import turnpike
        def recorded(count, function=step):
            file = f"{sys.argv[0]}-{count}.tpk"  # into an old one, another session would be added
            with turnpike.record(file):
                for _ in range(count): function()
            return turnpike.report(file).totals["d2h"].count
        print(recorded(2))
        profiled()
        print(recorded(3))
        print(recorded(1, profiled))
        print(recorded(4))
        profiled()
    """
    case.write(TRAINING, PROFILED, rounds)
    plain = case.plain()
    assert plain.returncode == 0, plain.stderr
    lines = [line.split(" of ")[0] for line in plain.stdout.splitlines()]
    profile = "on the device: 30 copies"
    assert lines == ["2", profile, "3", profile, "0", "4", profile], plain.stdout


def test_missing_cupti_is_said_and_the_program_runs(case):
    case.write(TRAINING, "print(step().hex())")
    recorded = case.recorded(env={"TURNPIKE_CUPTI": "/nowhere/libcupti.so"})
    assert_unchanged(case.plain(), recorded)
    assert "cupti" in recorded.stderr.lower()


def test_a_program_without_cuda(case):
    case.write("import sys\nprint(sys.stdin.read())\nsys.exit(4)")
    recorded = subprocess.run(
        case.command("--quiet"), input="through", capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert (recorded.returncode, recorded.stdout) == (4, "through\n")


def test_children_of_multiprocessing_by_fork(case):
    """Such a child leaves by os._exit: what the recorder could not collect must be said."""
    forked = """
        import multiprocessing
        import torch

        def child():
            x = torch.ones(1000).to("cuda")
            print(x.sum().item(), flush=True)

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
        print(process.exitcode)
    """
    case.write(forked)
    assert_unchanged(case.plain(), case.recorded("--quiet"))
    report = case.report()
    assert_all_or_said(report, "h2d", 1)
    assert_all_or_said(report, "d2h", 1)


def test_several_recordings_in_one_process(case):
    session = """
        import turnpike
        counts = []
        for round in range(3):
            with turnpike.record(sys.argv[0] + f".{round}.tpk"):
                for _ in range(round + 1): step()
            counts.append(turnpike.report(sys.argv[0] + f".{round}.tpk").totals["d2h"].count)
            step()
        print(counts)
    """
    case.write(TRAINING, session)
    plain = case.plain()
    assert (plain.returncode, plain.stdout) == (0, "[1, 2, 3]\n"), plain.stderr
