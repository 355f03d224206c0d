"""`turnpike record --open` writes the page of a run beside it, and opens it where somebody can look at it."""

import pathlib
import re
import sys
import time

import pytest

TRACE = next((pathlib.Path(__file__).parents[1] / "golden" / "whatif" / "item_each_step.tpk").glob("*.tpt"))
# Stands for a program of which a recording was made.
RECORDED = ("sh", "-c", f"cp {TRACE} $TURNPIKE_RUN")


@pytest.fixture
def desktop(record):
    """A display, and a browser that notes what it is asked to open."""
    folder = record.directory.parent / "bin"
    folder.mkdir()
    browser = folder / "xdg-open"
    browser.write_text(f'#!/bin/sh\necho "$@" >> {folder}/opened\n')
    browser.chmod(0o755)
    record.environment.update({"PATH": f"{folder}:{record.environment['PATH']}", "DISPLAY": ":9"})
    record.environment.pop("CI", None)
    return folder / "opened"


def opened(desktop, seconds=5):
    """What was opened within this time: the browser is started and left alone."""
    for _ in range(seconds * 20):
        if desktop.exists() and desktop.read_text().endswith("\n"):
            return desktop.read_text().splitlines()
        time.sleep(0.05)
    return []


def pages(record):
    return sorted(path.name for path in record.directory.glob("*.html"))


def test_it_writes_the_page_says_its_path_and_opens_it(record, desktop):
    result = record(*RECORDED, options=["--open", "-o", "train.tpk"])
    assert result.returncode == 0, result.stderr
    assert result.stderr.endswith("  the page is train.html\n")
    assert "<h1>Your GPU is idle" in (record.directory / "train.html").read_text()
    assert opened(desktop) == [str(record.directory / "train.html")]


def test_no_signal_is_blocked_in_the_browser(record, desktop):
    program = f"import signal\nprint(signal.pthread_sigmask(signal.SIG_BLOCK, []), file=open({str(desktop)!r}, 'w'))\n"
    (desktop.parent / "xdg-open").write_text(f"#!{sys.executable}\n{program}")
    assert record(*RECORDED, options=["--open", "-o", "train.tpk"]).returncode == 0
    assert opened(desktop) == ["set()"]


@pytest.mark.parametrize("missing", ["display", "person"])
def test_without_a_display_and_in_ci_it_only_says_the_path(record, desktop, missing):
    if missing == "display":
        del record.environment["DISPLAY"]
        record.environment.pop("WAYLAND_DISPLAY", None)
    else:
        record.environment["CI"] = "true"
    result = record(*RECORDED, options=["--open", "-o", "train.tpk"])
    assert "the page is train.html" in result.stderr and pages(record) == ["train.html"]
    assert opened(desktop, seconds=1) == []


def test_without_the_option_there_is_no_page(record, desktop):
    assert record(*RECORDED, options=["-o", "train.tpk"]).returncode == 0
    assert pages(record) == [] and opened(desktop, seconds=1) == []


def test_it_replaces_no_file_unless_forced(record):
    (record.directory / "train.html").write_text("mine")
    (record.directory / "train-2.html").symlink_to("nowhere")
    result = record(*RECORDED, options=["--open", "-o", "train.tpk"])
    assert "the page is train-3.html" in result.stderr
    assert (record.directory / "train.html").read_text() == "mine"
    assert not (record.directory / "nowhere").exists()


def test_forced_it_replaces_a_page_of_ours_and_nothing_else(record):
    page = record.directory / "train.html"
    own = '<!doctype html>\n<html><head><meta name="generator" content="pandoc"></head>mine</html>'
    (record.directory / "elsewhere.html").write_text(own)
    for place in (lambda: page.write_text(own), lambda: page.write_text(""), lambda: page.symlink_to("elsewhere.html")):
        page.unlink(missing_ok=True)
        place()
        before = page.read_text()
        result = record(*RECORDED, options=["--open", "--force", "-o", "train.tpk"])
        assert result.returncode == 0
        assert "cannot replace train.html: it is no page that Turnpike wrote" in result.stderr
        assert "the page is" not in result.stderr
        assert page.read_text() == before and record.runs() == ["train.tpk"] and len(pages(record)) == 2
    page.unlink()
    record(*RECORDED, options=["--open", "--force", "-o", "train.tpk"])
    page.write_text(page.read_text().replace("<h1>", "<h1>old "))
    result = record(*RECORDED, options=["--open", "--force", "-o", "train.tpk"])
    assert result.stderr.endswith("  the page is train.html\n")
    assert "<h1>old " not in page.read_text() and "<h1>" in page.read_text()


def test_names_of_runs_become_names_of_pages(record):
    for name, page in (("a.b.tpk", "a.b.html"), ("plain", "plain.html"), ("folder/", "folder.html")):
        assert f"the page is {page}" in record(*RECORDED, options=["--open", "-o", name]).stderr


def test_quiet_says_nothing_and_writes_it(record, desktop):
    result = record(*RECORDED, options=["--open", "--quiet", "-o", "train.tpk"])
    assert (result.stderr, pages(record)) == ("", ["train.html"])
    assert len(opened(desktop)) == 1


def test_the_exit_code_stays_the_commands(record):
    command = ("sh", "-c", f"{RECORDED[2]}; exit 7")
    result = record(*command, options=["--open", "-o", "train.tpk"])
    assert (result.returncode, pages(record)) == (7, ["train.html"])
    command = ("sh", "-c", f"{RECORDED[2]}; kill -TERM $$")
    result = record(*command, options=["--open", "--force", "-o", "train.tpk"])
    assert (result.returncode, pages(record)) == (-15, ["train.html"])


def test_a_page_that_cannot_be_written_is_said_and_the_run_stays(record):
    (record.directory / "train.html").mkdir()
    result = record(*RECORDED, options=["--open", "--force", "-o", "train.tpk"])
    assert result.returncode == 0
    assert re.search(r"turnpike record: --open: .*train\.html", result.stderr)
    assert record.runs() == ["train.tpk"]


def test_a_program_without_cuda_has_no_page(record, desktop):
    result = record("true", options=["--open", "-o", "train.tpk"])
    assert "nothing was recorded" in result.stderr and "the page" not in result.stderr
    assert pages(record) == [] and opened(desktop, seconds=1) == []
