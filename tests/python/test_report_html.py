"""What a notebook shows of a report, and the page that to_html writes."""

import copy
import html.parser
import json
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import tracefile
import turnpike as tp
from turnpike import _native

# Of a notebook's output: JupyterLab, VS Code and GitHub cut off or refuse what is much larger.
MOST_BYTES = 300_000


class Elements(html.parser.HTMLParser):
    """The elements and attributes of a fragment, and whether each is closed."""

    def __init__(self, text):
        super().__init__()
        self.names, self.attributes, self.open, self.texts = set(), set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        # Elements without an end, as other documents have them, stand above it.
        while self.open.pop() != tag:
            pass

    def handle_data(self, data):
        self.texts.append(data)


def written_by_the_command(run, *options):
    command = [_native.EXECUTABLE, "report", str(run), "--html", "-", *options]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def hostile_run(folder, name):
    trace = tracefile.TraceFile()
    stack = trace.stack(trace.frame(tracefile.PYTHON_FRAME, name, f"{name}.py", 1))
    trace.call("cudaMemcpyAsync", tracefile.COPY_CALL, 1, 0, 1000, stack=stack, size_bytes=8)
    trace.memcpy(tracefile.HOST_TO_DEVICE, tracefile.PINNED, tracefile.DEVICE, 8, 1, 0, 1000)
    folder.mkdir()
    trace.write(folder / "1.tpt")
    return folder


def test_the_overview_tells_the_verdict_the_findings_and_the_tables(run):
    rep = tp.report(run)
    text = rep._repr_html_()
    shown = Elements(text)
    words = "".join(shown.texts)
    assert shown.open == []
    assert rep.findings and rep.findings[0].title in words
    assert "train.py:7" in words
    assert rep.loss_sentences["cupti_dropped"] in words
    assert words.index("Your GPU") < words.index(rep.findings[0].title) < words.index("Transfers by line")
    assert len(text.encode()) <= MOST_BYTES


def test_the_overview_needs_no_script_and_loads_nothing(run):
    shown = Elements(tp.report(run)._repr_html_())
    assert shown.names.isdisjoint({"script", "iframe", "img", "link", "object", "embed", "form", "input", "button"})
    assert shown.attributes.isdisjoint({"src", "href", "style"})
    assert not [name for name in shown.attributes if name.startswith("on")]


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</style></div><b>",
        "a\u2028b\u202ec",
        "x" * 10**6,
    ],
)
def test_names_of_the_run_stay_text(tmp_path, run, name):
    known = Elements(tp.report(run)._repr_html_())
    rep = tp.report(hostile_run(tmp_path / "odd.tpk", name))
    assert any(name in (site.file or "") for site in rep.sites)
    text = rep._repr_html_()
    shown = Elements(text)
    assert shown.open == [] and shown.names <= known.names and shown.attributes <= known.attributes
    assert "\u202e" not in text and len(text.encode()) <= MOST_BYTES


def test_a_notebook_shows_the_overview_and_keeps_it_small(run, tmp_path):
    source = f"import turnpike as tp\ntp.report({str(run)!r})"
    cell = {"id": "a", "cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "notebook.ipynb").write_text(json.dumps(notebook))
    folders = {name: str(tmp_path / "jupyter") for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--execute", "--to", "notebook", "--inplace", "notebook.ipynb"],
        cwd=tmp_path, env={**os.environ, **folders, "JUPYTER_RUNTIME_DIR": str(tmp_path / "jupyter")}, check=True,
    )  # fmt: skip
    (output,) = json.loads((tmp_path / "notebook.ipynb").read_text())["cells"][0]["outputs"]
    rep = tp.report(run)
    assert "".join(output["data"]["text/html"]) == rep._repr_html_()
    assert "".join(output["data"]["text/plain"]) == repr(rep)
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "notebook.ipynb"],
        cwd=tmp_path, env={**os.environ, **folders}, check=True,
    )  # fmt: skip
    exported = Elements((tmp_path / "notebook.html").read_text())
    assert set(Elements(rep._repr_html_()).texts) <= set(exported.texts)
    assert "svg" in exported.names


def test_the_page_has_the_mode_of_the_file_that_it_replaces(run, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("old")
    page.chmod(0o600)
    tp.report(run).to_html(page)
    assert page.read_text() != "old"
    assert page.stat().st_mode & 0o777 == 0o600


def test_to_html_writes_what_the_command_writes(run, tmp_path):
    rep = tp.report(run)
    page = tmp_path / "page.html"
    assert rep.to_html(page) == page
    assert page.read_bytes() == written_by_the_command(run)
    rep.to_html(os.fsencode(page), source=False, redact_paths=True, events=1)
    assert page.read_bytes() == written_by_the_command(run, "--no-source", "--redact-paths", "--events", "1")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["page.html", "run.tpk"]


def test_the_overview_says_how_to_write_the_page_and_links_it_then(run, tmp_path, monkeypatch):
    rep = tp.report(run)
    assert ".to_html(" in rep._repr_html_() and "href" not in rep._repr_html_()
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    rep.to_html("../a page #1.html")
    text = rep._repr_html_()
    assert 'href="../a%20page%20%231.html"' in text and ".to_html(" not in text
    assert str(tmp_path / "a page #1.html") in text.replace("notebooks/../", "")


def test_a_page_is_written_whole_or_not_at_all(run, tmp_path):
    rep = tp.report(run)
    page = tmp_path / "page.html"
    page.write_text("the one before")
    (run / "100.tpt").rename(tmp_path / "100.tpt")
    with pytest.raises(tp.Error, match=r"run\.tpk"):
        rep.to_html(page)
    assert page.read_text() == "the one before"
    with pytest.raises(FileNotFoundError):
        rep.to_html(tmp_path / "nowhere" / "page.html")
    (tmp_path / "100.tpt").rename(run / "100.tpt")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        rep.to_html(tmp_path / "folder")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder", "page.html", "run.tpk"]


def test_a_run_that_has_changed_is_an_error(run, tmp_path):
    rep = tp.report(run)
    trace = hostile_run(tmp_path / "other.tpk", "f") / "1.tpt"
    trace.rename(run / "100.tpt")
    with pytest.raises(tp.Error, match="has changed since this report was made"):
        rep.to_html(tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_it_never_writes_over_its_run(run, tmp_path):
    rep = tp.report(run)
    before = (run / "100.tpt").read_bytes()
    (tmp_path / "link").symlink_to(run / "100.tpt")
    for path in (run, run / "100.tpt", tmp_path / "link"):
        with pytest.raises(tp.Error, match="part of the run"):
            rep.to_html(path)
    assert (run / "100.tpt").read_bytes() == before


def test_copies_write_pages_and_pickles_say_why_not(run, tmp_path):
    rep = tp.report(run)
    kept = pickle.loads(pickle.dumps(rep))
    assert kept._repr_html_() == rep._repr_html_()
    with pytest.raises(tp.Error, match="pickled"):
        kept.to_html(tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
    copy.copy(rep).to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 100_000


def test_ctrl_c_leaves_the_page_before(run, tmp_path):
    class Interrupted:
        def write_page(self, inputs, write, *_):
            write(b"<!doctype html>")
            assert len(list(tmp_path.iterdir())) == 3
            raise KeyboardInterrupt

    rep = tp.report(run)
    page = rep.to_html(tmp_path / "page.html")
    before = page.read_bytes()
    rep._analysis = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        rep.to_html(page)
    assert page.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["page.html", "run.tpk"]


def test_the_file_is_readable_as_others_are(run, tmp_path):
    (tmp_path / "other").touch()
    page = tp.report(run).to_html(tmp_path / "page.html")
    assert page.stat().st_mode == pathlib.Path(tmp_path / "other").stat().st_mode
