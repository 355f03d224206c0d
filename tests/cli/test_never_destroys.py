"""Nothing goes by mistake: inputs named as outputs, recordings replaced by runs that fail, files not ours."""

import os
import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from tracefile import COPY_CALL, DEVICE, HOST_TO_DEVICE, PAGEABLE, PYTHON_FRAME, TraceFile  # noqa: E402

MAGIC = b"TPKTRACE"


@pytest.fixture
def recording(tmp_path):
    directory = tmp_path / "train.tpk"
    directory.mkdir()
    trace = TraceFile(pid=433)
    trace.metadata = {"program": "python\x1ftrain.py", "detail": "full"}
    trace.device("GPU")
    stack = trace.stack(trace.frame(PYTHON_FRAME, "train", "/home/me/train.py", 23))
    trace.call("cudaMemcpyAsync", COPY_CALL, 1, 1000, 9000, stack=stack, size_bytes=64)
    trace.memcpy(HOST_TO_DEVICE, PAGEABLE, DEVICE, 64, 1, 2000, 8000)
    trace.write(directory / "433.tpt")
    return directory


def contents(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


class TestOutputsAreNoInputs:
    def outputs(self, tmp_path, recording):
        file = recording / "433.tpt"
        (tmp_path / "link.tpt").symlink_to(file)
        os.link(file, tmp_path / "hard.tpt")
        (tmp_path / "folder").symlink_to(recording)
        return [file, "train.tpk/../train.tpk/433.tpt", "link.tpt", "hard.tpt", "folder/433.tpt"]

    @pytest.mark.parametrize("given", ["the run", "its file", "another name of its file"])
    def test_export_refuses_its_input_by_whatever_name(self, run, recording, tmp_path, given):
        before = contents(recording)
        for output in self.outputs(tmp_path, recording):
            names = {"the run": recording, "its file": recording / "433.tpt", "another name of its file": "hard.tpt"}
            result = run("export", names[given], "--to", "chrome", "-o", output)
            assert (result.returncode, contents(recording)) == (2, before), (given, output)
            assert "is an input" in result.stderr and str(output) in result.stderr

    def test_export_refuses_any_file_that_is_in_the_run(self, run, recording):
        (recording / "notes.txt").write_text("mine")
        result = run("export", recording, "--to", "chrome", "-o", recording / "notes.txt")
        assert result.returncode == 2
        assert (recording / "notes.txt").read_text() == "mine"
        # A trace file given alone stands in its run as well.
        result = run("export", recording / "433.tpt", "--to", "chrome", "-o", recording / "notes.txt")
        assert result.returncode == 0

    def test_export_refuses_a_trace_of_another_tool_as_its_output(self, run, tmp_path):
        trace = tmp_path / "trace.json"
        trace.write_text(
            '[{"ph":"X","pid":9,"tid":9,"ts":1,"dur":2,"cat":"cuda_runtime","name":"cudaMemcpy","args":{"correlation":1}}]'
        )
        before = trace.read_bytes()
        assert run("export", trace, "--to", "chrome", "-o", "trace.json").returncode == 2
        assert trace.read_bytes() == before
        assert run("export", trace, "--to", "chrome", "-o", "other.json").returncode == 0

    @pytest.mark.parametrize("output", ["train.tpk/433.tpt", "turnpike.toml"])
    def test_check_refuses_to_write_sarif_over_the_run_or_the_budget(self, run, recording, tmp_path, output):
        (tmp_path / "turnpike.toml").write_text("[per_run]\nh2d_count = 0\n")
        before = contents(tmp_path)
        result = run("check", recording, "--sarif", output)
        assert result.returncode == 2
        assert "is an input" in result.stderr
        assert contents(tmp_path) == before


def old_run(directory, name="a.tpk"):
    run = directory / name
    run.mkdir()
    (run / "1.tpt").write_bytes(MAGIC + b"old")
    return run


class TestForce:
    @pytest.mark.parametrize(
        ("command", "code"), [(["no-such-command-anywhere"], 127), (["/"], 126), (["true"], 0), (["false"], 1)]
    )
    def test_a_run_of_which_nothing_comes_leaves_the_old_one(self, record, command, code):
        old = old_run(record.directory)
        result = record(*command, options=["-o", "a.tpk", "--force"])
        assert result.returncode == code
        assert contents(record.directory) == {"a.tpk/1.tpt": MAGIC + b"old"}
        assert old.is_dir() and sorted(record.directory.iterdir()) == [old]
        if code < 126:
            assert "a.tpk stays as it was" in result.stderr

    def test_the_new_run_takes_the_place_of_the_old_one(self, record, cuda_program):
        old_run(record.directory)
        (record.directory / "a.tpk" / "2.tpt").write_bytes(b"")  # of a process that died before it wrote anything
        result = record(cuda_program, "process=1", options=["-o", "a.tpk", "--force"])
        assert result.returncode == 0, result.stderr
        (file,) = contents(record.directory).items()
        assert file[0].startswith("a.tpk/") and not file[0].endswith("/1.tpt")
        assert record.runs() == ["a.tpk"]
        assert [path.name for path in record.directory.iterdir()] == ["a.tpk"]
        assert "recorded 1 process into a.tpk" in result.stderr
        assert result.stderr.endswith("next: turnpike report a.tpk\n")

    def test_a_run_that_says_only_why_nothing_was_recorded_replaces_nothing(self, record, cuda_program):
        old_run(record.directory)
        result = record(cuda_program, "unusable=1", options=["-o", "a.tpk", "--force"])
        assert contents(record.directory)["a.tpk/1.tpt"] == MAGIC + b"old"
        assert "a.tpk stays as it was" in result.stderr
        assert "next: turnpike report a.tpk.new-" in result.stderr

    def test_the_old_run_is_whole_while_the_command_runs(self, record, cuda_program):
        old_run(record.directory)
        result = record(
            "sh", "-c", f"{cuda_program} process=1; cat a.tpk/1.tpt", options=["-o", "a.tpk", "--force"]
        )  # fmt: skip
        assert result.stdout == MAGIC + b"old"

    def test_a_killed_command_replaces_by_what_it_recorded(self, record, cuda_program):
        old_run(record.directory)
        result = record("sh", "-c", f"{cuda_program} process=1; kill -KILL $$", options=["-o", "a.tpk", "--force"])
        assert result.returncode == -9
        assert "a.tpk/1.tpt" not in contents(record.directory)
        assert record.runs() == ["a.tpk"]

    @pytest.mark.parametrize("what", ["notes.txt", "foreign.tpt", "link.tpt", "folder", "folder.tpt"])
    def test_a_directory_with_something_else_in_it_is_refused(self, record, cuda_program, tmp_path, what):
        old = old_run(record.directory)
        elsewhere = tmp_path / "elsewhere.tpt"
        elsewhere.write_bytes(MAGIC + b"of someone")
        if what == "link.tpt":
            (old / what).symlink_to(elsewhere)
        elif what.startswith("folder"):
            (old / what).mkdir()
        else:
            (old / what).write_text("mine")
        before = contents(record.directory)
        result = record(cuda_program, "print=ran", options=["-o", "a.tpk", "--force"])
        assert (result.returncode, result.stdout) == (2, b"")
        assert what in result.stderr
        assert contents(record.directory) == before
        assert os.path.lexists(old / what)
        assert elsewhere.read_bytes() == MAGIC + b"of someone"

    def test_a_link_to_a_directory_is_refused(self, record, cuda_program):
        old_run(record.directory, "real.tpk")
        (record.directory / "a.tpk").symlink_to("real.tpk")
        result = record(cuda_program, "print=ran", options=["-o", "a.tpk", "--force"])
        assert (result.returncode, result.stdout) == (2, b"")
        assert "symbolic link" in result.stderr
        assert contents(record.directory / "real.tpk") == {"1.tpt": MAGIC + b"old"}

    def test_what_appears_meanwhile_stays_and_the_new_run_is_kept_beside(self, record, cuda_program):
        old_run(record.directory)
        result = record(
            "sh", "-c", f"{cuda_program} process=1; echo mine > a.tpk/notes.txt", options=["-o", "a.tpk", "--force"]
        )
        assert result.returncode == 0
        files = contents(record.directory)
        assert files["a.tpk/notes.txt"] == b"mine\n"
        assert files["a.tpk/1.tpt"] == MAGIC + b"old"
        (kept,) = [name for name in files if not name.startswith("a.tpk/")]
        assert str(pathlib.Path(kept).parent) in result.stderr

    def test_without_a_name_it_replaces_the_run_of_the_default_name(self, record, cuda_program):
        (record.directory / "train.py").write_text(f"import os; os.execv({str(cuda_program)!r}, ['x', 'process=1'])\n")
        old_run(record.directory, "train.tpk")
        result = record(sys.executable, "train.py", options=["--force"])
        assert result.returncode == 0, result.stderr
        assert record.runs() == ["train.tpk"]
        assert "train.tpk/1.tpt" not in contents(record.directory)
        assert result.stderr.endswith("next: turnpike report train.tpk\n")

    def test_where_nothing_is_to_replace_it_only_records(self, record, cuda_program):
        assert record(cuda_program, "process=1", options=["-o", "new/a.tpk", "--force"]).returncode == 0
        assert len(contents(record.directory / "new" / "a.tpk")) == 1
        shutil.rmtree(record.directory / "new")
        (record.directory / "empty.tpk").mkdir()
        assert record(cuda_program, "process=1", options=["-o", "empty.tpk", "--force"]).returncode == 0
        assert len(contents(record.directory / "empty.tpk")) == 1


def test_the_new_file_has_the_mode_of_the_one_that_it_replaces(run, recording, tmp_path):
    (tmp_path / "turnpike.toml").write_text("[per_run]\nh2d_count = 100\n")
    outputs = {
        "page.html": ["report", recording, "--html"],
        "diff.html": ["diff", recording, recording, "--html"],
        "run.json": ["export", recording, "--to", "chrome", "-o"],
        "run.csv": ["export", recording, "--to", "csv", "--table", "transfers", "-o"],
        "run.sarif": ["check", recording, "--sarif"],
        "top.prom": ["top", "--once", "--prometheus"],
    }
    for name, command in outputs.items():
        for mode in (0o600, 0o664):
            (tmp_path / name).write_text("old")
            (tmp_path / name).chmod(mode)
            assert run(*command, name).returncode == 0, name
            assert (tmp_path / name).read_text() != "old", name
            assert (tmp_path / name).stat().st_mode & 0o7777 == mode, name


def test_a_link_of_ones_own_is_followed(run, recording, tmp_path):
    (tmp_path / "page.html").write_text("old")
    (tmp_path / "link.html").symlink_to("page.html")
    assert run("report", recording, "--html", "link.html").returncode == 0
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "page.html").read_text() != "old"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay a link for another user")
def test_a_link_of_another_user_in_a_folder_of_everybody_is_not_followed(run, recording, tmp_path):
    mine, everybodys = tmp_path / "mine.prom", tmp_path / "everybody"
    everybodys.mkdir()
    everybodys.chmod(0o1777)
    mine.write_text("mine")
    (everybodys / "link").symlink_to(mine)
    os.lchown(everybodys / "link", 65534, 65534)
    (tmp_path / "led.prom").symlink_to(everybodys / "link")  # and none that a link of ours leads to
    for output in (everybodys / "link", "led.prom"):
        for command in (["top", "--once", "--prometheus"], ["report", recording, "--html"]):
            result = run(*command, output)
            assert result.returncode == 4, command
            assert "is a link of another user" in result.stderr
            assert mine.read_text() == "mine"


class TestFoldersOfOutputs:
    @pytest.mark.parametrize("output", ["train.tpk", "train.tpk/inside", "folder"])
    def test_tables_are_never_written_into_the_run(self, run, recording, tmp_path, output):
        (tmp_path / "folder").symlink_to(recording)
        before = contents(recording)
        result = run("export", recording, "--to", "csv", "-o", output)
        assert (result.returncode, contents(recording)) == (2, before)
        assert "is a run that is read" in result.stderr
        assert sorted(path.name for path in recording.iterdir()) == ["433.tpt"]

    def test_no_file_is_written_into_a_run(self, run, recording, tmp_path):
        (tmp_path / "turnpike.toml").write_text("[per_run]\ncount = 0\n")
        into = f"{recording.name}/new"
        for command in (
            ["export", recording, "--to", "chrome", "-o", into],
            ["export", recording, "--to", "csv", "--table", "syncs", "-o", into],
            ["rollup", recording, "-o", into],
            ["report", recording, "--html", into],
            ["diff", recording, recording, "--html", into],
            ["check", recording, "--sarif", into],
            ["check", recording, "--init", "--budget", into],
        ):
            result = run(*command)
            assert result.returncode == 2 and "is a run that is read" in result.stderr, command
            assert [path.name for path in recording.iterdir()] == ["433.tpt"], command

    @pytest.mark.parametrize("command", [["export", "--to", "csv"], ["rollup"]], ids=lambda command: command[0])
    def test_a_command_that_fails_leaves_no_empty_folder(self, run, tmp_path, command):
        (tmp_path / "broken.tpk").mkdir()
        (tmp_path / "broken.tpk" / "1.tpt").write_bytes(b"no trace")
        before = sorted(tmp_path.iterdir())
        for more in ([], ["-o", "made/by/it"]):
            assert run(*command, "broken.tpk", *more).returncode == 3
            assert sorted(tmp_path.iterdir()) == before

    def test_an_empty_folder_that_was_there_stays(self, run, tmp_path):
        (tmp_path / "broken.tpk").mkdir()
        (tmp_path / "broken.tpk" / "1.tpt").write_bytes(b"no trace")
        (tmp_path / "mine").mkdir()
        assert run("rollup", "broken.tpk", "-o", "mine").returncode == 3
        assert (tmp_path / "mine").is_dir()
