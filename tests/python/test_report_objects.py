"""Reports as Python objects beside what Python does with objects: copies, pickles, odd paths, Ctrl-C."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

import turnpike as tp


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_is_the_same_and_stands_alone(run, copied):
    rep = tp.report(run)
    other = copied(rep)
    assert (other.to_dict(), str(other), repr(other)) == (rep.to_dict(), str(rep), repr(rep))
    assert other.sites == rep.sites and other.sites is not rep.sites
    other.sites.clear()
    assert rep.sites


def test_a_pickle_says_which_text_it_keeps(run):
    rep = tp.report(run)
    kept = pickle.loads(pickle.dumps(rep))
    assert kept.text(width=100, top=15) == rep.text()
    with pytest.raises(tp.Error, match="100 columns and 15 rows"):
        kept.text(width=80)
    again = pickle.loads(pickle.dumps(kept))
    assert again.to_dict() == rep.to_dict()
    assert copy.copy(rep).text(width=60) == rep.text(width=60)


def test_paths_of_bytes_and_of_names_that_are_no_text(run):
    odd = os.fsencode(run.parent) + b"/caf\xe9-\x1b[31m.tpk"
    os.rename(run, odd)
    for path in (odd, os.fsdecode(odd), [odd], [os.fsdecode(odd)]):
        rep = tp.report(path)
        assert rep.totals["h2d"].count == 3
        assert "\x1b" not in str(rep) and "\\xe9" in str(rep)
    with pytest.raises(tp.Error, match=r"nowhere-.xe9\.tpk"):
        tp.report(b"nowhere-\xe9.tpk")


def test_a_path_that_gives_nothing_is_an_error_beside_one_that_does(run):
    with pytest.raises(tp.Error, match=r"typo\.tpk"):
        tp.report([run, "typo.tpk"])


def test_a_damaged_file_in_a_run_is_a_warning_that_names_it(run):
    (run / "7.tpt").write_text("This is not a trace.")
    with pytest.warns(RuntimeWarning, match=r"7\.tpt is no run that Turnpike knows"):
        rep = tp.report(run)
    assert rep.losses["unreadable_file"] == 1
    assert "7.tpt" in rep.source.unreadable[0]


def test_a_run_that_is_given_twice_counts_once_with_a_warning(run):
    with pytest.warns(RuntimeWarning, match="given twice"):
        rep = tp.report([run, run])
    assert rep.totals["h2d"].count == 3
    assert "given twice" in rep.source.notes[0]


@pytest.mark.alone
def test_ctrl_c_ends_a_report_in_the_making(run):
    (file,) = run.iterdir()
    data = file.read_bytes()
    for number in range(15_000):
        (run / f"{number}.tpt").write_bytes(data)
    code = "import sys, turnpike as tp; print('go', flush=True); tp.report(sys.argv[1])"
    process = subprocess.Popen([sys.executable, "-c", code, run], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"go\n"
    time.sleep(0.3)
    assert process.poll() is None, "the run is too small to be interrupted"
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in errors
    assert time.monotonic() - start < 2
