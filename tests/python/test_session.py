"""turnpike.start, stop and record: against a library that only notes what it is told, and against the real one."""

import copy
import ctypes
import gc
import os
import pathlib
import pickle
import subprocess
import sys
import time

import pytest

import turnpike as tp
from turnpike import _native
from turnpike._move import label

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Speaks the C interface and records nothing: turnpike_file() tells what start was given.
FAKE_LIBRARY = r"""
#include "record/session.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
static int recording;
static char file[4096];
void record_already(int is_so) { recording = is_so; }
int turnpike_start(const TurnpikeOptions* options, char* error, uint64_t error_bytes) {
  if (recording) {
    snprintf(error, error_bytes, "this process is being recorded already, to %s", file);
    return -1;
  }
  if (strstr(options->run_directory, "refused")) {
    snprintf(error, error_bytes, "The fake refuses %s.", options->run_directory);
    return -1;
  }
  snprintf(file, sizeof file, "%s/%u-%u-%u-%u-%u-%llu", options->run_directory, options->struct_bytes, options->detail,
           options->stacks, options->source, options->verify_content, (unsigned long long)options->max_bytes);
  recording = 1;
  return 0;
}
int turnpike_keep(const char* reason, char* error, uint64_t error_bytes) {
  if (!recording) {
    snprintf(error, error_bytes, "Nothing is being recorded.");
    return -1;
  }
  snprintf(file, sizeof file, "kept: %s", reason);
  return 0;
}
int turnpike_stop(char* error, uint64_t error_bytes) {
  if (!recording) {
    snprintf(error, error_bytes, "Nothing is being recorded.");
    return -1;
  }
  recording = 0;
  if (!strstr(file, "unwritten")) {
    char* name = strrchr(file, '/');
    if (name) *name = 0, mkdir(file, 0777), *name = '/';
    FILE* written = fopen(file, "w");
    if (written) fclose(written);
  }
  return 0;
}
int turnpike_is_recording(void) { return recording; }
void turnpike_file(char* path, uint64_t path_bytes) { snprintf(path, path_bytes, "%s", file); }
"""
OPTIONS_BYTES = 40
MAX_BYTES = 16_000_000_000


@pytest.fixture(scope="module")
def fake_library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fake")
    (folder / "fake.c").write_text(FAKE_LIBRARY)
    library = folder / "libfake_record.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-I", ROOT / "src", "-o", library, folder / "fake.c"],
        check=True,
        capture_output=True,
    )
    return str(library)


@pytest.fixture
def fake(fake_library, monkeypatch):
    monkeypatch.setattr(_native, "RECORD_LIBRARY", fake_library)
    yield
    if tp.is_recording():
        tp.stop()


def test_start_hands_over_its_options_and_stop_names_the_file(fake, tmp_path):
    tp.start(tmp_path / "a.tpk")
    assert tp.is_recording()
    assert tp.stop() == tmp_path / "a.tpk" / f"{OPTIONS_BYTES}-2-1-1-0-{MAX_BYTES}"
    assert not tp.is_recording()
    tp.start(str(tmp_path / "b.tpk"), detail="transfers", stacks=False)
    assert tp.stop() == tmp_path / "b.tpk" / f"{OPTIONS_BYTES}-1-0-1-0-{MAX_BYTES}"


def test_stop_names_no_file_that_is_not_there(fake, tmp_path):
    tp.start(tmp_path / "unwritten.tpk")
    with pytest.warns(RuntimeWarning, match=r"recorded nothing: .*unwritten\.tpk/.* is not there") as warned:
        run = tp.stop()
    assert run == tmp_path / "unwritten.tpk" and warned[0].filename == __file__
    assert "is not there" in tp.report(run).source.unusable[0]


def test_keep_hands_over_its_reason(fake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tp.Error, match="Nothing is being recorded"):
        tp.keep("too early")
    tp.start(tmp_path / "a.tpk")
    tp.keep("loss is nan")
    assert tp.is_recording()
    assert tp.stop() == pathlib.Path("kept: loss is nan")


def test_record_hands_over_that_content_is_to_be_verified(fake, tmp_path):
    with tp.record(tmp_path / "a.tpk", verify_content=True):
        assert tp.stop().name == f"{OPTIONS_BYTES}-2-1-1-1-{MAX_BYTES}"


def test_record_hands_over_that_no_source_is_wanted(fake, tmp_path):
    with tp.record(tmp_path / "a.tpk", source=False):
        assert tp.stop().name == f"{OPTIONS_BYTES}-2-1-0-0-{MAX_BYTES}"


def test_record_hands_over_how_large_the_file_may_become(fake, tmp_path):
    with tp.record(tmp_path / "a.tpk", max_size="1.5 GB"):
        assert tp.stop().name == f"{OPTIONS_BYTES}-2-1-1-0-1500000000"


@pytest.mark.parametrize("size", ["", "12", "12 parsecs", "1 kB"])
def test_a_size_that_is_none_is_refused(fake, tmp_path, size):
    with pytest.raises(ValueError, match=f'max_size "{size}" '):
        tp.start(tmp_path / "a.tpk", max_size=size)
    assert not tp.is_recording()


def test_record_verifies_no_content_unless_asked(fake, tmp_path):
    with tp.record(tmp_path / "a.tpk"):
        assert tp.stop().name == f"{OPTIONS_BYTES}-2-1-1-0-{MAX_BYTES}"


def test_copies_carry_labels_exactly_while_a_recording_runs(fake, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(label, "listen", told.append)
    with pytest.raises(tp.Error):
        tp.start(tmp_path / "refused.tpk", required=True)
    assert told == []
    tp.start(tmp_path / "a.tpk")
    assert told == [True]
    tp.stop()
    assert told == [True, False]


def test_a_relative_path_is_made_absolute(fake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tp.start("run.tpk")
    monkeypatch.chdir("/")
    assert tp.stop().parent == tmp_path / "run.tpk"


def test_a_working_directory_that_is_gone_is_a_warning(fake, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    tp.start("run.tpk")
    with pytest.warns(RuntimeWarning, match="recorded nothing"):
        tp.stop()


def test_the_sentence_of_the_library_becomes_the_error(fake, tmp_path):
    with pytest.raises(tp.Error, match=r"^The fake refuses .*refused\.tpk\.$"):
        tp.start(tmp_path / "refused.tpk", required=True)
    with pytest.raises(tp.Error, match="Nothing is being recorded"):
        tp.stop()


def test_an_unknown_detail_is_refused_before_anything_starts(fake, tmp_path):
    with pytest.raises(ValueError, match="transfers"):
        tp.start(tmp_path, detail="everything")
    assert not tp.is_recording()


def test_record_stops_when_the_block_raises(fake, tmp_path):
    with pytest.raises(ZeroDivisionError):
        with tp.record(tmp_path / "run.tpk"):
            assert tp.is_recording()
            raise ZeroDivisionError
    assert not tp.is_recording()


def test_record_can_be_stopped_early_and_used_again(fake, tmp_path):
    for index in range(3):
        with tp.record(tmp_path / f"{index}.tpk") as run:
            assert run == tmp_path / f"{index}.tpk"
            if index == 1:
                tp.stop()
        assert not tp.is_recording()


def test_a_missing_library_is_an_error_that_names_it(monkeypatch):
    monkeypatch.setattr(_native, "RECORD_LIBRARY", "/nowhere/libturnpike_record.so")
    with pytest.raises(tp.Error, match="/nowhere/libturnpike_record.so"):
        tp.is_recording()


def test_a_library_of_another_version_is_refused(monkeypatch, tmp_path):
    (tmp_path / "old.c").write_text("int turnpike_start(void) { return 0; }\n")
    library = tmp_path / "libold.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "old.c"], check=True)
    monkeypatch.setattr(_native, "RECORD_LIBRARY", str(library))
    with pytest.raises(tp.Error, match="turnpike_stop.*another version"):
        tp.is_recording()


def in_fresh_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_the_real_library_is_not_recording_at_first():
    result = in_fresh_process("import turnpike as tp; print(tp.is_recording())")
    assert result.stdout == "False\n", result.stderr


def test_stopping_what_never_started_says_so():
    result = in_fresh_process(
        "import turnpike as tp\ntry: tp.stop()\nexcept tp.Error as error: print(len(str(error)) > 10, error)"
    )
    assert result.stdout.startswith("True "), result.stderr


def test_a_start_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNPIKE_CUPTI", "/nowhere/libcupti.so.13")
    run = tmp_path / "run.tpk"
    code = f"import turnpike as tp\ntry: tp.start({str(run)!r}, required=True)\nexcept tp.Error as error: print(error)"
    result = in_fresh_process(code)
    assert "/nowhere/libcupti.so.13" in result.stdout, result.stderr
    assert list(tmp_path.iterdir()) == []
    run.mkdir()
    in_fresh_process(code)
    assert list(run.iterdir()) == []


@pytest.mark.parametrize("name", [b"plain.tpk", b"caf\xe9.tpk", "text.tpk"])
def test_a_run_may_be_bytes_and_no_text(fake, tmp_path, name):
    path = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    with tp.record(path) as run:
        assert os.fsencode(run) == path
        written = tp.stop()
    assert os.fsencode(written).startswith(path + b"/")


def test_a_refusal_of_a_name_that_is_no_text_is_turnpikes_error(fake, tmp_path):
    with pytest.raises(tp.Error, match=r"refused-.xe9\.tpk"):
        tp.start(os.fsencode(tmp_path) + b"/refused-\xe9.tpk", required=True)


@pytest.fixture
def no_gpu(monkeypatch, tmp_path):
    """The real recorder, which finds no CUPTI."""
    monkeypatch.setenv("TURNPIKE_CUPTI", "/nowhere/libcupti.so.13")
    return tmp_path / "run.tpk"


NOTHING = r"Turnpike records nothing into .*run\.tpk: .*/nowhere/libcupti\.so\.13.* required=True raises instead"


def test_without_a_gpu_the_block_runs_with_one_warning_and_the_report_says_why(no_gpu):
    ran = False
    with pytest.warns(RuntimeWarning, match=NOTHING) as warned:
        with tp.record(no_gpu) as run:
            ran = True
            assert not tp.is_recording()
    assert ran and len(warned) == 1 and warned[0].filename == __file__
    report = tp.report(run)
    text = " ".join(str(report).split())
    assert "Nothing was recorded: " in text and "/nowhere/libcupti.so.13" in text
    assert "none was used" not in text and "never waited" not in text
    assert report.source.unusable and report.verdict.bound_by is None
    assert report.summary() == {} and "nothing was recorded" in repr(report)


@pytest.mark.parametrize("copied", [lambda one: one, copy.copy, lambda one: pickle.loads(pickle.dumps(one))])
def test_without_a_gpu_no_assertion_on_a_figure_passes(no_gpu, copied):
    with pytest.warns(RuntimeWarning, match=NOTHING), tp.record(no_gpu):
        pass
    report = copied(tp.report(no_gpu))
    with pytest.raises(tp.Error, match="nothing was recorded into .*so its totals are unknown: .*/nowhere/libcupti"):
        assert report.totals["d2h"].count < 100
    for name in ("syncs", "sites", "sync_sites", "lines", "paths", "idle", "ranges", "findings"):
        with pytest.raises(tp.Error, match=f"its {name} are unknown"):
            getattr(report, name)
    with pytest.raises(AttributeError):
        report.total  # noqa: B018


def test_without_a_gpu_start_and_stop_are_fine_and_stop_gives_the_run(no_gpu):
    with pytest.warns(RuntimeWarning, match=NOTHING):
        tp.start(no_gpu)
    run = tp.stop()
    assert run == no_gpu and tp.report(run).source.unusable
    with pytest.raises(tp.Error):
        tp.stop()


def test_where_a_recording_is_required_it_raises_and_the_block_does_not_run(no_gpu):
    with pytest.raises(tp.Error, match="/nowhere/libcupti"):
        with tp.record(no_gpu, required=True):
            pytest.fail("the block ran")


def test_what_a_run_held_before_is_not_the_report_of_one_that_recorded_nothing(no_gpu):
    no_gpu.mkdir()
    old = next((ROOT / "examples" / "mnist-h100.tpk").glob("*.tpt"))
    (no_gpu / "1.tpt").write_bytes(old.read_bytes())
    os.utime(no_gpu / "1.tpt", (1, 1))
    with pytest.warns(RuntimeWarning), tp.record(no_gpu):
        pass
    assert tp.report(no_gpu).source.unusable
    # Another rank has written by now. The clock of files lags behind time.time().
    just_before = time.time() - 1
    os.utime(no_gpu / "1.tpt", (just_before, just_before))
    assert not tp.report(no_gpu).source.unusable


def test_inside_of_another_recording_the_block_runs_and_that_one_goes_on(fake, fake_library, tmp_path):
    """As under `turnpike record`, which has started the library before."""
    library = ctypes.CDLL(fake_library)
    library.record_already(1)
    try:
        with pytest.warns(RuntimeWarning, match="is being recorded already"):
            with tp.record(tmp_path / "inner.tpk"):
                assert tp.is_recording()
        assert tp.is_recording()
        with pytest.warns(RuntimeWarning):
            tp.start(tmp_path / "inner.tpk")
        tp.stop()
        assert tp.is_recording()
    finally:
        library.record_already(0)


def test_a_second_start_of_the_program_itself_is_an_error(fake, tmp_path):
    tp.start(tmp_path / "a.tpk")
    with pytest.raises(tp.Error, match="recorded already, to .*a.tpk"):
        tp.start(tmp_path / "b.tpk")
    assert tp.is_recording()


def test_a_block_does_not_stop_what_another_start_began_in_it(fake, tmp_path):
    with tp.record(tmp_path / "a.tpk"):
        tp.stop()
        tp.start(tmp_path / "b.tpk")
    assert tp.is_recording()


def test_a_record_that_is_no_with_block_says_so(fake, tmp_path):
    with pytest.warns(RuntimeWarning, match="recorded nothing: write `with turnpike.record"):
        tp.record(tmp_path / "a.tpk")
        gc.collect()
    assert not tp.is_recording()


def test_record_decorates_a_function(fake, tmp_path):
    @tp.record(tmp_path / "a.tpk")
    def train():
        return tp.is_recording()

    assert train() and train() and not tp.is_recording()
