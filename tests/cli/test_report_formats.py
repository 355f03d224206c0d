"""Other forms of `turnpike report` and `turnpike diff`: Markdown, SARIF, annotations."""

import json
import pathlib
import re
import subprocess

import pytest
from runs import write_run

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
BEFORE, AFTER = EXAMPLES / "train-before-h100.tpk", EXAMPLES / "train-after-h100.tpk"


@pytest.fixture
def run(turnpike, tmp_path):
    def call(*arguments, cwd=tmp_path, code=0, **variables):
        done = subprocess.run(
            [turnpike, *map(str, arguments)],
            cwd=cwd,
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin"} | variables,
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return call


@pytest.fixture
def checkout(tmp_path):
    """A repository that holds the recorded program."""
    folder = tmp_path / "checkout"
    (folder / "examples").mkdir(parents=True)
    (folder / "examples/train_before.py").write_text((EXAMPLES / "train_before.py").read_text())
    return folder


@pytest.fixture
def uploaded(checkout):
    """A run whose line 23 uploads from pageable memory, with its source, in the repository of its program."""
    lines = ["    x = x.to(device)" if number == 23 else "    pass" for number in range(1, 40)]
    source = "".join(f"{line}\n" for line in lines)
    write_run(checkout / "train.tpk", op="aten::to", source=source)
    (checkout / "train.py").write_text(source)
    return checkout / "train.tpk"


def leading(report):
    return [finding for finding in report["findings"] if finding["superseded_by"] is None]


def test_json_is_that_of_the_flag(run):
    assert run("report", BEFORE, "--format", "json") == run("report", BEFORE, "--json")
    assert run("report", BEFORE, "--format", "text") == run("report", BEFORE)
    assert run("diff", BEFORE, AFTER, "--format", "json") == run("diff", BEFORE, AFTER, "--json")
    assert run("diff", BEFORE, AFTER, "--format", "text") == run("diff", BEFORE, AFTER)


def test_markdown_has_the_verdict_and_each_finding(run):
    report = json.loads(run("report", BEFORE, "--json"))
    text = run("report", BEFORE, "--format", "markdown")
    assert text.startswith(f"**Turnpike: {report['verdict']['bound_by']}-bound.**")
    assert len(re.findall(r"^\| \d+ \|", text, re.M)) == len(leading(report)) > 1
    assert text.count("<details>") == text.count("</details>") == len(leading(report))


def test_markdown_has_a_sure_change_as_a_diff(run, uploaded):
    text = run("report", uploaded, "--format", "markdown")
    diff = "```diff\n+import turnpike as tp\n-    x = x.to(device)\n+    x = tp.to(x, device)\n```\n"
    assert diff in text


def test_sarif_has_a_result_with_place_and_fix_for_each_finding(run, checkout):
    report = json.loads(run("report", BEFORE, "--json", cwd=checkout))
    (result,) = json.loads(run("report", BEFORE, "--format", "sarif", cwd=checkout))["runs"]
    findings = leading(report)
    assert [one["partialFingerprints"]["turnpike/v1"] for one in result["results"]] == [one["id"] for one in findings]
    assert len({one["id"] for one in report["findings"]}) == len(report["findings"])
    for one, finding in zip(result["results"], findings, strict=True):
        assert result["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"] == finding["rule"]
        if finding["relative_file"]:
            (place,) = (location["physicalLocation"] for location in one["locations"])
            assert place["artifactLocation"]["uri"] == finding["relative_file"]
            assert place["region"]["startLine"] == finding["line"]
        assert ("fixes" in one) == bool(finding["change"] and finding["relative_file"])
    assert any(finding["relative_file"] == "examples/train_before.py" for finding in findings)


def test_a_fix_of_sarif_replaces_the_whole_line(run, uploaded):
    (result,) = json.loads(run("report", uploaded, "--format", "sarif", cwd=uploaded.parent))["runs"]
    (fix,) = (fix for one in result["results"] for fix in one.get("fixes", []))
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "train.py"
    assert change["replacements"] == [
        {"deletedRegion": {"startLine": 23}, "insertedContent": {"text": "    x = tp.to(x, device)"}}
    ]
    assert "import turnpike as tp" in fix["description"]["text"]


def test_github_has_one_command_for_each_finding(run, checkout):
    report = json.loads(run("report", BEFORE, "--json", cwd=checkout))
    lines = run("report", BEFORE, "--format", "github", cwd=checkout).splitlines()
    assert len(lines) == len(leading(report))
    assert all(re.match(r"::(error|warning|notice) ", line) for line in lines)
    assert any("file=examples/train_before.py,line=" in line for line in lines)


def test_in_github_actions_paths_start_from_the_checkout(run, checkout):
    variables = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(checkout)}
    lines = run("report", BEFORE, "--format", "github", **variables)
    assert "file=examples/train_before.py,line=" in lines


def test_the_diff_as_markdown_has_its_sentences(run):
    summary = json.loads(run("diff", BEFORE, AFTER, "--json"))["summary"]
    text = run("diff", BEFORE, AFTER, "--format", "markdown", "--top", "3")
    assert text.startswith("**Turnpike: ")
    assert summary.split(" instead of ")[0] in text
    assert "`--top " in text


@pytest.mark.parametrize("other", [("--json",), ("--html", "a.html"), ("--tree",), ("--by", "library")])
def test_two_forms_at_once_are_refused(run, other):
    assert "excludes" in run("report", BEFORE, "--format", "markdown", *other, code=2)


def test_an_unknown_form_names_those_that_there_are(run):
    assert "markdown" in run("report", BEFORE, "--format", "md", code=2)
