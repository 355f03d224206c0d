"""What the options of `turnpike record` give to the recorder, one by one, and where their values end."""

import os
import stat
import subprocess

import pytest


def environment_of(record, options=()):
    result = record("env", options=options)
    assert result.returncode == 0, result.stderr
    return dict(line.split("=", 1) for line in result.stdout.decode().splitlines() if "=" in line)


PLAIN = {
    "TURNPIKE_DETAIL": "full",
    "TURNPIKE_STACKS": "1",
    "TURNPIKE_SOURCE": "1",
    "TURNPIKE_LINK_TRAFFIC": "1",
}


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ([], {}),
        (["--detail", "full"], {}),
        (["--detail", "transfers"], {"TURNPIKE_DETAIL": "transfers"}),
        (["--no-stacks"], {"TURNPIKE_STACKS": "0"}),
        (["--no-source"], {"TURNPIKE_SOURCE": "0"}),
        (["--verify-content"], {"TURNPIKE_VERIFY_CONTENT": "1"}),
        (["--quiet"], {"TURNPIKE_QUIET": "1"}),
        (["--capture-range", "cuda-profiler-api"], {"TURNPIKE_CAPTURE_RANGE": "cuda-profiler-api"}),
        (["--capture-range", "nvtx:a"], {"TURNPIKE_CAPTURE_RANGE": "nvtx:a"}),
        (["--delay", "0.001"], {"TURNPIKE_DELAY_MS": "1"}),
        (["--delay", "0.0015"], {"TURNPIKE_DELAY_MS": "2"}),
        (["--delay", "1e9"], {"TURNPIKE_DELAY_MS": "1000000000000"}),
        (["--duration", "0.0024"], {"TURNPIKE_DURATION_MS": "2"}),
        (["--duration", "12"], {"TURNPIKE_DURATION_MS": "12000"}),
        (["--max-size", "500 MB"], {"TURNPIKE_MAX_BYTES": "500000000"}),
        (["--max-size", "16GB"], {}),
        (["--no-link-traffic"], {"TURNPIKE_LINK_TRAFFIC": "0"}),
        (["--last", "60", "--detail", "full"], {"TURNPIKE_LAST_MS": "60000"}),
        (["--last", "60"], {"TURNPIKE_LAST_MS": "60000", "TURNPIKE_DETAIL": "transfers"}),
    ],
)
def test_each_option_changes_its_variable_alone(record, options, given):
    seen = environment_of(record, options)
    ours = {name: value for name, value in seen.items() if name.startswith("TURNPIKE")}
    for name in ("TURNPIKE_RUN", "TURNPIKE_STATUS", "TURNPIKE_ESTATES", "TURNPIKE_RECORD_LIBRARY"):
        del ours[name]
    assert ours == {**PLAIN, **given}


@pytest.mark.parametrize("option", ["--delay", "--duration", "--last"])
@pytest.mark.parametrize("seconds", ["0", "0.0009", "-1", "1.1e9", "nan", "inf", "", "1s"])
def test_seconds_are_from_a_millisecond_on(record, option, seconds):
    result = record("echo", "ran", options=[f"{option}={seconds}"])
    assert (result.returncode, result.stdout) == (2, b"")
    assert "seconds" in result.stderr or not seconds
    assert record.runs() == []


@pytest.mark.parametrize("size", ["", "0", "12", "999 kB", "-1 GB", "nan GB", "inf GB", "1 parsec", "2e6 TB"])
def test_a_size_has_a_unit_and_is_from_a_megabyte_on(record, size):
    result = record("echo", "ran", options=["--max-size", size])
    assert (result.returncode, result.stdout) == (2, b"")
    assert f"'{size}' " in result.stderr
    assert record.runs() == []


@pytest.mark.parametrize("name", ["", "nvtx", "nvtx:", "cuda-profiler", "Nvtx:a", "cuda-profiler-api "])
def test_a_range_is_the_profilers_or_has_a_name(record, name):
    result = record("echo", "ran", options=["--capture-range", name])
    assert (result.returncode, result.stdout) == (2, b"")
    assert f"'{name}' is neither cuda-profiler-api nor nvtx:NAME" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["record"], "put the command to run behind --, as in: turnpike record -- python train.py\n"),
        (["record", "--"], "put the command to run behind --, as in: turnpike record -- python train.py\n"),
        (["record", "a", "b"], "put the command to run behind --, as in: turnpike record -- a b\n"),
        (["record", "a", "--", "b"], "put the command to run behind --, as in: turnpike record -- a\n"),
        (
            ["record", "--epochs", "3", "--", "b"],
            "there is no option --epochs (turnpike record --help lists them; COMMAND's go behind --)\n",
        ),
    ],
)
def test_the_command_stands_behind_the_dashes(record, words, said):
    result = subprocess.run(
        [str(record.turnpike), *words], cwd=record.directory, env=record.environment, capture_output=True, text=True
    )
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"turnpike record: {said}")


def test_dashes_of_the_command_are_its_own(record):
    result = record("echo", "--", "a", "--quiet")
    assert (result.returncode, result.stdout) == (0, b"-- a --quiet\n")


def test_the_names_count_on_where_they_are_taken(record, cuda_program):
    program = record.directory / "train.py"
    program.write_text("import os, sys; os.execv(sys.argv[1], sys.argv[1:])")
    for expected in ("train.tpk", "train-2.tpk", "train-3.tpk"):
        result = record("python3", program, cuda_program, "process=1")
        assert f"recorded 1 process into {expected} (" in result.stderr
    assert record.runs() == ["train-2.tpk", "train-3.tpk", "train.tpk"]


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        ("CUDA_INJECTION64_PATH", "", 0),
        ("CUDA_INJECTION64_PATH", "/opt/libother.so", 2),
        ("CUDA_INJECTION64_PATH", "/opt/libturnpike_record.so", 0),
        ("NVTX_INJECTION64_PATH", "/opt/libturnpike_record.so.1", 2),
        ("NVTX_INJECTION64_PATH", "", 0),
    ],
)
def test_only_another_tools_library_is_in_the_way(record, variable, value, code):
    record.environment = {**record.environment, variable: value}
    result = record("true")
    assert result.returncode == code
    assert (f"({variable}={value}), and the CUDA driver loads only one" in result.stderr) == (code == 2)


def test_an_empty_name_of_the_library_is_none(record):
    record.environment = {**record.environment, "TURNPIKE_RECORD_LIBRARY": ""}
    result = record("true")
    assert "TURNPIKE_RECORD_LIBRARY names" not in result.stderr


def test_an_unreadable_library_is_told(record, tmp_path):
    library = tmp_path / "library.so"
    library.write_text("")
    library.chmod(0)
    if os.access(library, os.R_OK):
        pytest.skip("this user may read everything")
    record.environment = {**record.environment, "TURNPIKE_RECORD_LIBRARY": str(library)}
    result = record("true")
    assert result.returncode == 2
    assert f"TURNPIKE_RECORD_LIBRARY names {library}, which cannot be read." in result.stderr


def test_what_cannot_be_started_says_why_and_leaves_nothing(record, tmp_path):
    text = tmp_path / "text"
    text.write_text("no program")
    for command, code, why in (
        (text, 126, f"{text}: cannot be executed: Permission denied\n"),
        (tmp_path / "nothing", 127, f"{tmp_path / 'nothing'}: command not found\n"),
        ("", 127, ": command not found\n"),
    ):
        result = record(command)
        assert (result.returncode, result.stderr) == (code, f"turnpike record: {why}")
        assert record.runs() == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["size=1"], ", recording of 1 process stopped at --max-size"),
        (["disk=2"], ", recording of 2 processes stopped because the disk is nearly full"),
        ([], ""),
    ],
)
def test_the_last_line_says_what_stopped_early(record, cuda_program, words, said):
    result = record(cuda_program, "process=2", *words, options=["-o", "run.tpk"])
    assert result.stderr.splitlines()[-1] == f"  the run is run.tpk{said}; next: turnpike report run.tpk"


def test_a_run_directory_has_the_mode_of_the_user(record, cuda_program):
    record(cuda_program, "process=1", options=["-o", "a/b.tpk"], umask=0o027)
    for path in ("a", "a/b.tpk"):
        assert stat.S_IMODE((record.directory / path).stat().st_mode) == 0o750


def test_an_existing_folder_of_the_name_is_kept_when_nothing_was_recorded(record):
    (record.directory / "mine").mkdir()
    record("true", options=["-o", "mine/deep/run.tpk"])
    assert list((record.directory / "mine").iterdir()) == []


def test_quiet_says_nothing_of_a_recording_but_keeps_it(record, cuda_program):
    result = record(cuda_program, "process=1", options=["--quiet", "-o", "run.tpk"])
    assert (result.returncode, result.stderr) == (0, "")
    assert list((record.directory / "run.tpk").glob("*.tpt"))


def test_nothing_recorded_says_so_unless_quiet(record):
    assert "nothing was recorded, because no process initialised CUDA" in record("true").stderr
    assert record("true", options=["--quiet"]).stderr == ""


def test_a_gpu_can_be_required(record, cuda_program):
    required = ["-o", "run.tpk", "--require-gpu", "--quiet"]
    assert record("true", options=required).returncode == 1
    result = record(cuda_program, "unusable=1", options=[*required[:2], "--force", *required[2:]])
    assert (result.returncode, result.stderr) == (
        1, "turnpike record: nothing was recorded, and --require-gpu is given\n"
    )  # fmt: skip
    assert record("sh", "-c", "exit 7", options=[*required, "--force"]).returncode == 7
    assert record(cuda_program, "process=1", options=[*required, "--force"]).returncode == 0


def test_quiet_still_says_that_an_old_recording_stays(record, cuda_program):
    record(cuda_program, "process=1", options=["-o", "run.tpk"])
    result = record("true", options=["-o", "run.tpk", "--force", "--quiet"])
    assert result.stderr == "turnpike: run.tpk stays as it was: it holds an earlier recording.\n"


def test_a_recording_is_replaced_by_force_alone(record, cuda_program):
    first = record(cuda_program, "process=1", options=["-o", "run.tpk"])
    again = record(cuda_program, "process=1", options=["-o", "run.tpk"])
    assert (first.returncode, again.returncode) == (0, 2)
    assert again.stderr == (
        "turnpike record: run.tpk exists and is not empty. Name another run with -o, or replace the recording in it "
        "with --force.\n"
    )
    (old,) = (record.directory / "run.tpk").iterdir()
    for name in ("run.tpk", "run.tpk/"):
        forced = record(cuda_program, "process=1", options=["-o", name, "--force"])
        assert forced.returncode == 0
        assert "stays as it was" not in forced.stderr
        (new,) = (record.directory / "run.tpk").iterdir()
        assert new != old
        assert [path.name for path in record.directory.iterdir()] == ["run.tpk"], "nothing is left beside it"
        old = new


@pytest.mark.parametrize("name", ["run.tpk", "run.tpk/"])
def test_the_new_recording_is_made_beside_the_old_one(record, cuda_program, name):
    record(cuda_program, "process=1", options=["-o", "run.tpk"])
    result = record("sh", "-c", "ls; echo $TURNPIKE_RUN", options=["-o", name, "--force"])
    *folders, path = result.stdout.decode().split()
    (beside,) = [folder for folder in folders if folder != "run.tpk"]
    assert beside.startswith("run.tpk.new-")
    assert path == str(record.directory / beside)
    assert "run.tpk" in result.stderr and "stays as it was: it holds an earlier recording." in result.stderr
    assert [path.name for path in record.directory.iterdir()] == ["run.tpk"]


@pytest.mark.parametrize(("options", "words", "looks"), [
    ([], ["process=1", "h2d=1000"], True),
    ([], ["process=1", "d2h=1000"], True),
    (["--no-link"], ["process=1", "h2d=1000"], False),
    ([], ["process=1", "sync=3"], False),
    ([], ["process=1", "h2d=1000", "exit=3"], True),
])  # fmt: skip
def test_no_link_forbids_to_measure_it_and_so_does_a_program_without_copies(
    record, cuda_program, options, words, looks
):
    """Without a GPU nothing is measured and nothing said: what shows is the lock under which it looked for one."""
    result = record(cuda_program, *words, options=options)
    assert "the link" not in result.stderr
    cache = record.directory.parent / "cache" / "turnpike"
    assert (cache / "link.json.lock").exists() == looks
    assert not (cache / "link.json").exists()


def test_the_link_is_not_measured_after_a_program_that_was_killed(record, cuda_program):
    record("sh", "-c", f"{cuda_program} process=1 h2d=1000; kill -INT $$")
    assert not (record.directory.parent / "cache").exists()
