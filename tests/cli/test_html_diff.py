"""`turnpike diff BEFORE AFTER --html FILE`: one file with both runs, their comparison and its reasons."""

import json
import re

import pytest
from html_parts import Parts
from runs import write_run


@pytest.fixture
def page_of(run, tmp_path):
    def page_of(*arguments):
        result = run("diff", *arguments, "--html", "page.html")
        assert result.returncode == 0, result.stderr
        return Parts((tmp_path / "page.html").read_text())

    return page_of


@pytest.fixture
def before(tmp_path):
    return write_run(tmp_path / "before.tpk", copies=40)


@pytest.fixture
def after(tmp_path):
    return write_run(tmp_path / "after.tpk", pid=434, copies=20, start_ns=1_800_000_000_000_000_000, file="other.py")


def test_the_page_holds_the_same_comparison_as_json(run, page_of, before, after):
    page = page_of(before, after)
    assert json.loads(page.scripts["tp-report"]) == json.loads(run("diff", before, after, "--json").stdout)


def test_the_document_says_it_all_without_the_script(page_of, before, after):
    words = " ".join(page_of(before, after).words)
    for expected in (
        "A step takes",
        "Before: a median step",
        "After: a median step",
        "Places that changed, per step",
        "train.py:23",
        "other.py:23",
        "Verdict",
    ):
        assert expected in words, expected


def test_both_runs_are_on_the_timeline(page_of, before, after):
    contents = json.loads(page_of(before, after).scripts["tp-toc"])
    assert [group.split(":")[0] for group in contents["groups"]] == ["before", "after"]
    assert contents["after_group"] == 1
    copies = {
        lane["group"]: sum(block["count"] for block in lane["blocks"])
        for lane in contents["lanes"]
        if lane["kind"] == "copy_up"
    }
    assert copies == {0: 40, 1: 20}


def test_source_is_shown_as_each_run_recorded_it(page_of, tmp_path):
    old, new = ("".join(f"{name}_{number} = '<b>'\n" for number in range(1, 40)) for name in ("old", "new"))
    before = write_run(tmp_path / "before.tpk", file="old.py", source=old)
    after = write_run(tmp_path / "after.tpk", file="new.py", source=new)
    words = " ".join(page_of(before, after).words)
    assert "- old_23 = '<b>'" in words and "+ new_23 = '<b>'" in words
    without_old = write_run(tmp_path / "older.tpk", file="old.py")
    words = " ".join(page_of(without_old, after).words)
    assert "old_23" not in words and "+ new_23 = '<b>'" in words
    without = page_of(before, after, "--no-source")
    assert "new_23" not in " ".join([*without.words, *without.scripts.values()])


def test_redacted_pages_name_no_folder(page_of, tmp_path):
    before = write_run(tmp_path / "before.tpk", program="python\x1f/home/me/train.py")
    after = write_run(tmp_path / "after.tpk", program="python\x1f/home/me/train.py", copies=9)
    page = page_of(before, after, "--redact-paths")
    for text in (*page.words, *(text for name, text in page.scripts.items() if name != "program")):
        assert "/home" not in text and str(tmp_path) not in text


def test_losses_and_doubts_are_said(page_of, before, tmp_path):
    lossy = write_run(tmp_path / "lossy.tpk", losses={1: 7})
    words = " ".join(page_of(before, lossy).words)
    assert "Before you trust this:" in words
    assert re.search(r"after: \w+ \(7\): ", words)


def test_the_page_goes_to_standard_output(run, before, after):
    result = run("diff", before, after, "--html", "-")
    assert result.stdout.startswith("<!doctype html>") and result.stdout.endswith("</html>\n")
    assert result.stderr == ""


def test_the_file_replaces_no_input(run, before, after):
    for victim in (before / "433.tpt", after / "434.tpt"):
        content = victim.read_bytes()
        assert run("diff", before, after, "--html", victim).returncode == 2
        assert victim.read_bytes() == content


def test_the_same_runs_make_the_same_bytes(run, before, after):
    pages = [run("diff", before, after, "--html", "-").stdout for _ in range(2)]
    assert pages[0] == pages[1]
