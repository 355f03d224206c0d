"""`turnpike check` as a command: budgets, exit codes, annotations, SARIF."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from tracefile import COPY_CALL, DEVICE, HOST_TO_DEVICE, PINNED, PYTHON_FRAME, SYNC_CALL, TraceFile  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "mnist-h100.tpk"
KEPT = "[per_step]\nh2d_count = 2\n"
EXCEEDED = "[per_step]\nd2h_count = 0\n"


@pytest.fixture
def run(turnpike, tmp_path):
    unwanted = ("TURNPIKE", "XDG", "GITHUB", "NO_COLOR")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}

    def run(*arguments, environment_more=None, **more):
        return subprocess.run(
            [str(turnpike), "check", *map(str, arguments)],
            **{
                "cwd": tmp_path,
                "env": {**environment, "XDG_CACHE_HOME": str(tmp_path / "cache"), **(environment_more or {})},
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                "timeout": 60,
                **more,
            },
        )

    return run


@pytest.fixture
def budget(tmp_path):
    def budget(text):
        path = tmp_path / "turnpike.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return budget


@pytest.fixture
def repository(tmp_path):
    """The repository in which the example was recorded, as far as annotations look at it."""
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "mnist.py", tmp_path / "examples")
    return tmp_path


def test_a_run_within_its_budget_ends_with_0(run, budget):
    budget(KEPT)
    result = run(EXAMPLE)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith("PASSED: 2 of 2 limits kept.\n")


def test_a_breach_ends_with_1_and_names_its_line(run, budget):
    budget(EXCEEDED)
    result = run(EXAMPLE)
    assert (result.returncode, result.stderr) == (1, "")
    assert "1 at mnist.py:54 (GPU > CPU, aten::item in train)" in result.stdout
    assert result.stdout.endswith("FAILED: 1 of 2 limits exceeded.\n")
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_start_up_is_no_part_of_a_step(run, budget):
    """The model's 8 uploads at the start would make it 2.2 a step."""
    budget(KEPT)
    limit = json.loads(run(EXAMPLE, "--json").stdout)["limits"][0]
    assert limit["measured"] == 2


def test_allowed_lines_do_not_count(run, budget):
    budget(EXCEEDED + '[[allow]]\nsite = "mnist.py:train"\ndirection = "d2h"\nreason = "the loss"\n')
    assert run(EXAMPLE).returncode == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "[per_step\n",
        "[per_step]\nh2d_cuont = 1\n",
        '[per_step]\nblocked = "3 XB"\n',
        b"\0\xff\xfe\x01",
        b"[per_step]\ncount = 1 # \xff\n",
        b"#" * 10_000_000,
        "x = " + "[" * 100_000,
        "x = " + "{a=" * 50_000,
        "[" + "a." * 100_000 + "b]\n",
    ],
    ids=["empty", "comment", "torn", "typo", "unit", "binary", "utf8", "10MB", "nested", "tables", "dotted"],
)
def test_a_budget_that_is_none_ends_with_2(run, budget, text):
    budget(text)
    result = run(EXAMPLE)
    assert (result.returncode, result.stdout) == (2, "")
    assert "turnpike.toml" in result.stderr
    assert len(result.stderr) < 5000


def test_a_mistake_is_named_by_line_and_column(run, budget):
    budget('[per_step]\nh2d_count = 1\nd2h_bytes = "12 XB"\n')
    assert "turnpike.toml:3:13: " in run(EXAMPLE).stderr


@pytest.mark.parametrize("path", ["missing.toml", ".", "/dev/null"])
def test_what_is_no_budget_ends_with_2(run, path):
    assert run(EXAMPLE, "--budget", path).returncode == 2


def test_a_missing_budget_says_how_to_make_one(run):
    assert "--init" in run(EXAMPLE).stderr


def test_a_run_that_cannot_be_read_ends_with_3(run, budget):
    budget(KEPT)
    result = run("missing.tpk")
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("turnpike check: ")


def test_output_that_cannot_be_written_ends_with_4(run, budget):
    budget(EXCEEDED)
    with open("/dev/full", "w") as full:
        assert run(EXAMPLE, stdout=full).returncode == 4
    assert run(EXAMPLE, "--sarif", "no/such/folder/x.sarif").returncode == 4
    assert run(EXAMPLE, "--sarif", "/dev/full").returncode == 4


@pytest.mark.parametrize(
    "arguments", [["--json", "--github"], ["--github", "--no-github"], ["--init", "--json"], ["--top", "3"]]
)
def test_wrong_usage_ends_with_2(run, budget, arguments):
    budget(KEPT)
    assert run(EXAMPLE, *arguments).returncode == 2


def test_annotations_are_at_the_line_in_the_repository(run, budget, repository):
    budget(EXCEEDED)
    lines = run(EXAMPLE, "--github").stdout.splitlines()
    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == 1
    assert commands[0].startswith("::error file=examples/mnist.py,line=54,title=turnpike check%3A per_step.d2h_count::")
    assert "FAILED" in "\n".join(lines), "the text is there as well"


def test_annotations_come_by_themselves_in_github_actions(run, budget, repository):
    budget(EXCEEDED)
    there = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(repository)}
    away = repository / "away"
    away.mkdir()
    in_actions = run(EXAMPLE, "--budget", repository / "turnpike.toml", environment_more=there, cwd=away).stdout
    assert "::error file=examples/mnist.py,line=54," in in_actions
    assert "::error" not in run(EXAMPLE, "--no-github", environment_more=there).stdout
    assert "::error" not in run(EXAMPLE).stdout
    json.loads(run(EXAMPLE, "--json", environment_more=there).stdout)


def test_a_passed_check_has_no_annotation(run, budget):
    budget(KEPT)
    assert "::" not in run(EXAMPLE, "--github").stdout


def test_sarif_names_the_line(run, budget, repository):
    budget(EXCEEDED)
    result = run(EXAMPLE, "--sarif", "out.sarif")
    assert result.returncode == 1
    assert "FAILED" in result.stdout
    sarif = json.loads((repository / "out.sarif").read_text())
    assert (sarif["version"], len(sarif["runs"])) == ("2.1.0", 1)
    (found,) = sarif["runs"][0]["results"]
    assert (found["ruleId"], found["level"]) == ("per_step.d2h_count", "error")
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "examples/mnist.py"
    assert place["region"]["startLine"] == 54


def test_init_writes_a_budget_that_the_run_keeps(run, tmp_path):
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    assert run("--init", EXAMPLE).returncode == 0
    limits = tomllib.loads((tmp_path / "turnpike.toml").read_text())["per_step"]
    assert (limits["h2d_count"], limits["d2h_count"], limits["syncs"]) == (2, 1, 3)
    assert run(EXAMPLE).returncode == 0


def test_init_overwrites_nothing(run, budget):
    path = budget("mine")
    result = run("--init", EXAMPLE)
    assert result.returncode == 4
    assert "stays as it is" in result.stderr
    assert path.read_text() == "mine"
    assert run("--init", EXAMPLE, "--budget", "no/such/folder/b.toml").returncode == 4


def test_the_example_budget_is_kept_by_the_example_run(run):
    result = run(EXAMPLE, "--budget", ROOT / "examples" / "turnpike.toml")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "note:" not in result.stdout, "a place of the budget fits nothing"


def test_help_teaches(run):
    text = run("--help").stdout
    for part in ("turnpike check --init train.tpk", "[per_step]", "[[allow]]", "[[limit]]", "Exit code"):
        assert part in text


STEP_NS = 10_000_000


def write_training(path, steps, *, speed=1.0, uploads=6, wait_ns=0):
    """A loop whose loader fetches two batches ahead: the copies of its last steps are made in its first ones."""
    trace = TraceFile()
    trace.metadata = {"program": "python\x1ftrain.py", "detail": "full"}
    trace.device("NVIDIA H100 80GB HBM3")
    stack = trace.stack(trace.frame(PYTHON_FRAME, "train", "/home/me/train.py", 23))
    number = 0
    of_step = [uploads + 2] * 2 + [uploads] * (steps - 4) + [0] * 2
    length = round(STEP_NS / speed)
    for step, count in enumerate(of_step):
        start = step * length
        trace.range("step", start, start + length - 1000)
        for copy in range(count):
            number += 1
            at = start + 1000 + copy * 100_000
            trace.call("cudaMemcpyAsync", COPY_CALL, number, at, at + 3000, stack=stack, size_bytes=1000)
            trace.memcpy(HOST_TO_DEVICE, PINNED, DEVICE, 1000, number, at + 5000, at + 9000)
        if wait_ns:
            number += 1
            at = start + 2_000_000
            trace.call("cudaStreamSynchronize", SYNC_CALL, number, at, at + wait_ns, stack=stack)
    path.mkdir()
    trace.write(path / "100.tpt")
    return path


def test_a_first_budget_holds_for_the_same_program_at_any_length_and_speed(run, tmp_path):
    for made_from in (20, 60, 100):
        made = write_training(tmp_path / f"of{made_from}.tpk", made_from)
        budget = f"{made_from}.toml"
        assert run("--init", made, "--budget", budget).returncode == 0
        text = (tmp_path / budget).read_text()
        assert "h2d_count = 6 " in text and "blocked = 0" not in text
        for steps in (20, 60, 100):
            for speed in (0.7, 1.0, 1.3):
                same = write_training(tmp_path / f"{made_from}-{steps}-{speed}.tpk", steps, speed=speed)
                result = run(same, "--budget", budget)
                assert result.returncode == 0, f"{made_from} {steps} {speed}\n{result.stdout}"


@pytest.mark.parametrize("change", [{"uploads": 7}, {"wait_ns": 500_000}])
def test_a_first_budget_fails_a_real_regression(run, tmp_path, change):
    run("--init", write_training(tmp_path / "before.tpk", 60))
    for steps in (20, 100):
        assert run(write_training(tmp_path / f"after{steps}.tpk", steps, **change)).returncode == 1


def test_without_a_run_the_newest_is_checked(run, tmp_path, budget):
    budget(KEPT)
    shutil.copytree(EXAMPLE, tmp_path / "newest.tpk")
    result = run()
    assert result.returncode == 0 and "newest.tpk, the newest run in this folder" in result.stderr


@pytest.mark.parametrize("unusable", [None, "There is no CUPTI."])
def test_a_run_that_holds_nothing_of_a_gpu_fails(run, tmp_path, unusable):
    trace = TraceFile(pid=1)
    trace.metadata = {"program": "train.py", "detail": "full"} | ({"unusable": unusable} if unusable else {})
    (tmp_path / "empty.tpk").mkdir()
    trace.write(tmp_path / "empty.tpk" / "1.tpt")
    (tmp_path / "turnpike.toml").write_text("[per_run]\nd2h_count = 0\n[losses]\nallow = true\n")
    result = run("empty.tpk", "--json")
    assert result.returncode == 1
    limit = next(one for one in json.loads(result.stdout)["limits"] if one["limit"] == "recording")
    assert limit["outcome"] == "unknown"
    assert (unusable or "the run holds nothing of a GPU") in limit["why"]
