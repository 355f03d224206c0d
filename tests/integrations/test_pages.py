"""What the pages about frameworks and launchers show runs as it stands there; without a GPU as far as it goes."""

import os
import pathlib
import sys

import pytest

from turnpike import _native

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu" / "pages"))

import run_pages  # noqa: E402


@pytest.fixture
def snippet_runner(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "turnpike").symlink_to(_native.EXECUTABLE)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("TURNPIKE_RECORD_LIBRARY", _native.RECORD_LIBRARY)
    return run_pages.outcome_of


@pytest.mark.parametrize("snippet", run_pages.all_snippets(), ids=lambda snippet: snippet.name)
def test_what_a_page_shows_runs(snippet_runner, snippet):
    result, reason = snippet_runner(snippet)
    assert result in ("ok", "skipped"), reason


def test_a_snippet_that_fails_is_told_from_one_that_is_skipped(snippet_runner):
    def outcome(text, kind="python"):
        return snippet_runner(run_pages.Snippet("clusters.md", 1, kind, text))

    assert outcome("1 / 0\n").result == "failed" and "ZeroDivisionError" in outcome("1 / 0\n").reason
    assert outcome("import no_such_module\n").result == "failed"
    assert outcome("import ray.no_such_module\n").reason in ("ray is not installed", "")
    assert outcome("turnpike record --no-such-option -- true", "shell").result == "failed"
    assert outcome("true", "shell") == ("ok", "")


def test_blocks_and_commands_are_found():
    page = """
text with `turnpike record -- python train.py`, `turnpike report run.tpk` and `python train.py`
```python
first = 1
second = 2
```
```yaml
turnpike: `turnpike record -- no`
```
| Kubernetes | `command: [python, train.py]` | `command: [turnpike, record, --, echo, $(POD_NAME)]` |
"""
    assert [(one.line, one.kind, one.text) for one in run_pages.snippets_of("a.md", page)] == [
        (2, "shell", "turnpike record -- python train.py"),
        (4, "python", "first = 1\nsecond = 2\n"),
        (10, "shell", '"turnpike" "record" "--" "echo" "${POD_NAME}"'),
    ]
