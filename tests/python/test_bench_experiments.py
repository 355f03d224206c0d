"""The command `turnpike bench` where the experiments meet what is not there: no name, no PyTorch, no GPU."""

import ast
import builtins
import pathlib
import re
import subprocess
import sys

import pytest

from turnpike import _bench, _native
from turnpike._bench import command

PACKAGE = pathlib.Path(_bench.__file__).parent


def turnpike(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "turnpike", *arguments], capture_output=True, text=True, timeout=120, **options
    )


def test_the_native_list_names_every_experiment_with_the_same_words():
    listed = turnpike("bench")
    assert listed.returncode == 0
    lines = dict(re.findall(r"^turnpike bench (\S+) +(.*)$", listed.stdout, re.MULTILINE))
    assert list(lines) == [*_bench.NATIVE, *_bench.EXPERIMENTS, "all"]
    assert {name: lines[name] for name in _bench.EXPERIMENTS} == _bench.EXPERIMENTS


def test_every_experiment_is_a_file_that_says_what_it_measures():
    for name in _bench.EXPERIMENTS:
        tree = ast.parse((PACKAGE / f"{name}.py").read_text())
        assert (ast.get_docstring(tree) or "").startswith(f"bench {name}: ")
        assert "plan" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", _bench.EXPERIMENTS)
def test_without_python_the_native_program_says_which_command_to_run(name):
    said = subprocess.run([_native.EXECUTABLE, "bench", name, "--quick"], capture_output=True, text=True)
    assert said.returncode == 4
    assert said.stdout == ""
    assert "this program has no Python" in said.stderr
    assert f"python -m turnpike bench {name}" in said.stderr


@pytest.mark.parametrize(
    ("arguments", "is_ours"),
    [
        ([], False),
        (["report", "to"], False),
        (["bench"], False),
        (["bench", "--help"], False),
        (["bench", "link"], False),
        (["bench", "link", "--device", "0"], False),
        (["bench", "warp-drive"], False),
        (["bench", "to"], True),
        (["bench", "all"], True),
        (["bench", "--quick", "d2h"], True),
        (["bench", "--device", "1", "d2h"], True),
        (["bench", "--quick"], True),
    ],
)
def test_only_the_experiments_run_in_python(arguments, is_ours):
    assert _bench.is_ours(arguments) is is_ours


def test_help_teaches():
    shown = turnpike("bench", "to", "--help")
    assert shown.returncode == 0
    for word in ("--quick", "--json", "--out", "--plot", "--device", "--seconds", "Exit code", *_bench.EXPERIMENTS):
        assert word in shown.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["to", "warp-drive"],
        ["--quick"],
        ["to", "--seconds", "0"],
        ["to", "--seconds", "soon"],
        ["to", "--device", "first"],
        ["to", "--device", "-1"],
        ["to", "--no-such-option"],
        ["to", "--plot", "picture.pdf"],
        ["to", "--plot", "/nowhere/at/all.svg"],
    ],
)
def test_wrong_usage_is_the_exit_code_2(arguments):
    said = turnpike("bench", *arguments)
    assert said.returncode == 2
    assert said.stdout == ""
    assert "turnpike bench: error: " in said.stderr


def test_without_pytorch_it_says_what_is_needed(monkeypatch, capsys):
    real = builtins.__import__

    def without_torch(name, *arguments, **options):
        if name == "torch":
            raise ImportError("No module named 'torch'")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_torch)
    assert command.main(["to", "--quick"]) == 4
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("turnpike bench to: this needs PyTorch")
    assert sys.executable in shown.err


def test_plotting_without_matplotlib_says_how_to_get_it(monkeypatch, capsys):
    from turnpike._bench import plot

    monkeypatch.setattr(plot.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as left:
        command.main(["to", "--plot", "to.svg"])
    assert left.value.code == 2
    assert "pip install 'turnpike-gpu[plot]'" in capsys.readouterr().err


def test_interrupted_it_says_so_and_ends_as_a_shell_expects(monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_main", interrupt)
    assert command.main(["to"]) == 130
    assert capsys.readouterr().err == "\nturnpike bench: interrupted\n"


def test_listing_does_not_import_pytorch():
    code = "import sys; from turnpike._bench import command, run, table, plot; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_the_progress_is_for_terminals_only(monkeypatch, capsys):
    command.Progress()("to, pageable: round 1")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    command.Progress()("to, pageable: round 1")
    assert "to, pageable: round 1" in capsys.readouterr().err


def test_the_page_describes_every_experiment_and_every_option():
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "bench.md").read_text()
    for name in _bench.EXPERIMENTS:
        assert f"| `{name}` |" in page
    options = {action.option_strings[0] for action in command.parser()._actions if action.option_strings}
    for option in options - {"-h"}:
        assert f"| `{option}" in page
