"""Files that Python writes: whole or not at all, through links, with the mode of what they replace, outside of runs."""

import os
import pathlib

import pytest

import turnpike as tp
from pytest_turnpike._record import Recording
from turnpike import _output_file
from turnpike._fleet import command
from turnpike._printable import printable

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "mnist-h100.tpk"


def test_a_link_stays_and_the_file_behind_it_keeps_its_mode(tmp_path):
    (tmp_path / "page").write_text("old")
    (tmp_path / "page").chmod(0o600)
    (tmp_path / "link").symlink_to("page")
    with _output_file.whole(tmp_path / "link") as unfinished:
        pathlib.Path(unfinished).write_text("new")
        assert (tmp_path / "page").read_text() == "old"
    assert (tmp_path / "link").is_symlink() and (tmp_path / "page").read_text() == "new"
    assert (tmp_path / "page").stat().st_mode & 0o777 == 0o600
    assert len(list(tmp_path.iterdir())) == 2


def test_a_failure_leaves_what_was_there(tmp_path):
    (tmp_path / "page").write_text("old")
    with pytest.raises(KeyboardInterrupt), _output_file.whole(tmp_path / "page") as unfinished:
        pathlib.Path(unfinished).write_text("half")
        raise KeyboardInterrupt
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_link_of_another_user_in_a_folder_of_all_is_refused(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "all").mkdir()
    (tmp_path / "all").chmod(0o777)
    (tmp_path / "all" / "page").symlink_to(tmp_path / "mine")
    os.lchown(tmp_path / "all" / "page", 12345, 12345)
    with pytest.raises(PermissionError, match="a link of another user"):
        with _output_file.whole(tmp_path / "all" / "page"):
            pytest.fail("it was opened")
    assert (tmp_path / "mine").read_text() == "mine"


def test_what_is_no_file_is_written_to_as_it_is():
    with _output_file.whole("/dev/null") as unfinished:
        assert unfinished == "/dev/null"


def test_nothing_is_written_into_a_run(tmp_path):
    run = tmp_path / "run.tpk"
    run.mkdir()
    (run / "1.tpt").write_bytes(next(EXAMPLE.glob("*.tpt")).read_bytes())
    report = tp.report(run)
    with pytest.raises(tp.Error, match="a part of the run"):
        report.to_html(run / "page.html")
    with pytest.raises(tp.Error, match="a part of the run"):
        report.table("syncs").to_parquet(run / "syncs.parquet")
    for option in ("--html", "--parquet"):
        assert command.main([str(run), option, str(run / "new")]) == 2
    assert [file.name for file in run.iterdir()] == ["1.tpt"]


def test_a_test_of_which_nothing_is_recorded_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNPIKE_CUPTI", "/nowhere/libcupti.so.13")
    assert Recording(tmp_path / "a" / "b" / "test.tpk").reason
    (tmp_path / "kept").mkdir()
    assert Recording(tmp_path / "kept" / "test.tpk").reason
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]


def test_a_table_knows_whether_it_lacks_kernels():
    assert not tp.report(EXAMPLE).table("kernels").lacks_kernels()


def test_names_command_neither_a_terminal_nor_a_runner():
    assert printable("a\x1b ::error::b ##[group]c std::d") == "a\\x1b \\x3a:error::b \\x23#[group]c std::d"
