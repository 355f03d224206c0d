"""The table "same as PyTorch?" of docs/move.md."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "same_as_pytorch"


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True)


def test_the_page_says_what_the_results_say():
    done = run("--check")
    assert done.returncode == 0, done.stderr


def test_the_table_is_made_of_the_results(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- same-as-pytorch: begin -->\nold\n<!-- same-as-pytorch: end -->\nafter\n")
    cell = {"aspect": "storages", "call": "tp.to", "value": 3, "samples": 1204}
    result = {
        "rows": [cell, {"case": "to_nest: storage"}], "seconds": 60, "jobs": 8, "same": 1200, "programs": 1204,
        "device": "GPU", "versions": {"torch": "2.11.0"}, "seed": 5,
    }  # fmt: skip
    (tmp_path / "move-differential-h100.json").write_text(json.dumps(result))
    options = ["--results", tmp_path, "--page", page]
    assert run("--check", *options).returncode == 1
    assert run(*options).returncode == 0
    assert run("--check", *options).returncode == 0
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| storages | 3 of 1,204 |  |  |  |  |  |" in text
    assert "No result of the libraries is kept yet." in text


def test_an_aspect_without_a_row_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- same-as-pytorch: begin -->\n<!-- same-as-pytorch: end -->\n")
    (tmp_path / "move-differential-h100.json").write_text(
        json.dumps({"rows": [{"aspect": "new", "call": "tp.to", "value": 1, "samples": 1}]})
    )
    done = run("--results", tmp_path, "--page", page)
    assert done.returncode != 0 and "new" in done.stderr
