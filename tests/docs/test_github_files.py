"""The files of .github parse, pin what they run, and call scripts that exist."""

import pathlib
import re

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


def steps_of(path):
    return [step for job in yaml.safe_load(path.read_text())["jobs"].values() for step in job["steps"]]


def named(path):
    return path.stem


def test_there_are_workflows_and_forms():
    assert {path.stem for path in WORKFLOWS} >= {"docs", "test"}
    assert [path.stem for path in FORMS] == ["bug", "feature", "wrong_advice"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_a_workflow_asks_for_no_more_than_it_needs(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert "runs-on" in job, name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            if "actions/checkout@" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_actions_are_pinned_by_commit_with_their_version_beside_it(path):
    uses = re.findall(r"uses: (.*)", path.read_text())
    assert len(uses) == sum("uses" in step for step in steps_of(path)) > 0
    for use in uses:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", use), use


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_a_workflow_calls_scripts_that_exist(path):
    text = "\n".join(step.get("run", "") for step in steps_of(path))
    named = re.findall(r"(?<![\w/])(?:scripts|\.ci)/[\w.-]+", text)
    called = [path for path in named if not path.endswith(".txt")]
    assert called
    for script in called:
        assert (ROOT / script).stat().st_mode & 0o100, script
    assert all((ROOT / path).exists() for path in named)


@pytest.mark.parametrize("path", FORMS, ids=named)
def test_a_form_is_one_that_github_takes(path):
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "body"} <= set(form) <= {"name", "description", "body", "labels"}
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert any(field.get("validations", {}).get("required") for field in fields)
    assert len({field["id"] for field in fields}) == len(fields)
    for field in form["body"]:
        assert field["type"] in ("textarea", "input", "dropdown", "checkboxes", "markdown")
        assert set(field["attributes"]) <= {"label", "description", "render", "options", "value"}
        assert "label" in field["attributes"] or field["type"] == "markdown"


def test_configuration_files_parse():
    assert yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/config.yml").read_text()) == {"blank_issues_enabled": True}
