"""`%%turnpike` in IPython, beside the fake GPU: the report of a cell, with its lines as the notebook numbers them."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import turnpike

pytestmark = pytest.mark.slow

HEAD = """
import sys, json
sys.path.insert(0, FOLDER)
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext turnpike", store_history=True)
shell.run_cell("import ctypes, gpu\\ndef early():\\n    gpu._cudart.cudaMemcpy(gpu._memory(), gpu._host, ctypes.c_size_t(8), 1)", store_history=True)
"""  # noqa: E501
TELL = """
tp = shell.user_ns.get("_turnpike")
print(json.dumps(tp and {"sites": sorted(site.site for site in tp.sites) if tp.used_gpu else [],
                         "text": tp.text(show="transfers"), "html": tp._repr_html_(), "x": shell.user_ns.get("x")}))
"""


@pytest.fixture
def notebook(fakes, gpu_calls, tmp_path):
    (tmp_path / "gpu.py").write_text(gpu_calls)

    def run(*cells, cupti=fakes / "libfakecupti.so"):
        script = HEAD.replace("FOLDER", repr(str(tmp_path)))
        script += "".join(f"shell.run_cell({cell!r}, store_history=True)\n" for cell in cells) + TELL
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": str(fakes),
            "TURNPIKE_CUPTI": str(cupti),
            "PYTHONPATH": str(pathlib.Path(turnpike.__file__).parents[1]),
            "IPYTHONDIR": str(tmp_path / "ipython"),
        }
        result = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100
        )
        assert result.returncode == 0, result.stderr
        return result.stdout, json.loads(result.stdout.splitlines()[-1])

    return run


COPY = "gpu._cudart.cudaMemcpy(gpu._memory(), gpu._host, ctypes.c_size_t(8), 1)"


def test_a_cell_has_a_report_with_lines_as_the_notebook_numbers_them(notebook):
    shown, told = notebook(f"%%turnpike --detail transfers\nx = 5\n{COPY}\nearly()")
    assert told["sites"] == ["In[2]:3", "In[3]:3"]
    assert "In[3]:3" in told["text"] and "In[3]:3" in told["html"] and "ipython-input" not in told["text"]
    assert told["x"] == 5  # the cell ran in the kernel's names
    assert "turnpike.Report" in shown


def test_a_line_is_recorded_too(notebook):
    assert notebook("%turnpike early()")[1]["sites"] == ["In[2]:3"]


def test_without_a_gpu_the_cell_runs_and_its_report_says_that_nothing_was_recorded(notebook):
    shown, told = notebook("%%turnpike\nx = 6", "print(x)", cupti="/nowhere/libcupti.so.13")
    assert told["x"] == 6 and told["sites"] == [] and "/nowhere/libcupti.so.13" in " ".join(told["text"].split())
    assert "turnpike.Report" in shown


def test_a_recording_is_kept_where_asked(notebook, tmp_path):
    notebook(f"%%turnpike -o {tmp_path / 'kept.tpk'}\nearly()")
    assert len(list((tmp_path / "kept.tpk").glob("*.tpt"))) == 1


def test_a_report_has_its_tables_for_as_long_as_it_is_there(notebook, tmp_path, monkeypatch):
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    count = "len(os.listdir(os.environ['TMPDIR']))"
    look = f"import pyarrow, os, gc; print(pyarrow.table(rows)['bytes'].to_pylist(), {count})"
    shown, _ = notebook(
        "%%turnpike\nearly()", "rows = _turnpike.table('transfers'); del _turnpike", look,
        "from IPython import get_ipython; get_ipython().displayhook.flush()", "del rows; gc.collect()",
        f"print('left', {count})",
    )  # fmt: skip
    assert "[8] 1" in shown and "left 0" in shown
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_cell_that_raises_shows_its_exception_and_ends_the_recording(notebook):
    shown, told = notebook("%%turnpike\n1 / 0", "import turnpike; print(turnpike.is_recording(), 'recording')")
    assert "ZeroDivisionError" in shown and "False recording" in shown and told is None


def test_a_wrong_option_is_an_error_that_names_it(notebook):
    assert "--no-such-option" in notebook("%%turnpike --no-such-option\n1")[0]
