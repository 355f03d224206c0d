"""What was not read, not counted or not found is said, and the exit code tells it too."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
from runs import EPOCH_NS, write_run

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "mnist-h100.tpk"
GOLDEN = ROOT / "tests" / "golden" / "whatif"
HOUR_NS = 3600 * 10**9


@pytest.fixture
def run(turnpike, environment, tmp_path):
    environment = {name: value for name, value in environment.items() if not name.startswith("GITHUB")}

    def run(*arguments, **more):
        return subprocess.run(
            [str(turnpike), *map(str, arguments)],
            **{
                "cwd": tmp_path, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                "text": True, "timeout": 60, **more,
            },
        )  # fmt: skip

    return run


@pytest.fixture
def recording(tmp_path):
    return write_run(tmp_path / "train.tpk")


def words(text):
    return " ".join(text.split())


def budget(tmp_path, text):
    (tmp_path / "turnpike.toml").write_text(text)


class TestRunsThatCannotBeRead:
    @pytest.mark.parametrize("command", [["report"], ["check"], ["whatif"]])
    def test_a_typo_beside_a_good_run_is_named_and_ends_with_3(self, run, recording, tmp_path, command):
        budget(tmp_path, "[per_run]\nh2d_count = 100\n[losses]\nallow = true\n")
        result = run(*command, recording, "typo.tpk")
        assert result.returncode == 3
        assert "typo.tpk" in result.stderr and "No such file" in result.stderr
        assert result.stdout != ""

    def test_the_losses_name_the_file(self, run, recording):
        assert "not read: Cannot read typo.tpk" in words(run("report", recording, "typo.tpk").stdout)
        report = json.loads(run("report", recording, "typo.tpk", "--json").stdout)
        assert report["losses"] == {"unreadable_file": 1}
        assert [sentence for sentence in report["source"]["unreadable"] if "typo.tpk" in sentence]

    def test_a_damaged_file_inside_a_run_is_named_too(self, run, recording):
        (recording / "7.tpt").write_text("This is not a trace.")
        for command in (["report", recording], ["diff", recording, recording], ["whatif", recording]):
            result = run(*command)
            assert "7.tpt is no run that Turnpike knows" in result.stderr, command
            assert result.returncode == 0

    @pytest.mark.parametrize("order", [0, 1])
    def test_diff_ends_with_3(self, run, recording, order):
        pair = [recording, "typo.tpk"] if order else ["typo.tpk", recording]
        result = run("diff", *pair)
        assert (result.returncode, result.stdout) == (3, "")
        assert "typo.tpk" in result.stderr


class TestRunsTogether:
    def count(self, result):
        return json.loads(result.stdout)["totals"]["h2d"]["count"]

    def test_the_same_run_counts_once_by_whatever_name(self, run, recording, tmp_path):
        (tmp_path / "link.tpk").symlink_to(recording)
        os.link(recording / "433.tpt", tmp_path / "hard.tpt")
        for other in (recording, "link.tpk", "./train.tpk/", "train.tpk/433.tpt", "hard.tpt"):
            result = run("report", recording, other, "--json")
            assert self.count(result) == 6, other
            assert f"{other} is given twice, and counted once." in result.stderr
            assert result.returncode == 0

    def test_runs_of_one_time_or_one_program_are_ranks(self, run, recording, tmp_path):
        write_run(tmp_path / "later.tpk", start_ns=EPOCH_NS + HOUR_NS)
        write_run(tmp_path / "beside.tpk", program="./server")
        for other in ("later.tpk", "beside.tpk"):
            result = run("report", recording, other, "--json")
            assert (self.count(result), result.stderr) == (12, "")

    def test_runs_that_share_neither_get_a_warning(self, run, recording, tmp_path):
        write_run(tmp_path / "other.tpk", program="./server", start_ns=EPOCH_NS + HOUR_NS)
        result = run("report", recording, "other.tpk")
        assert result.returncode == 0
        assert "other.tpk shares neither time nor program with" in result.stderr
        assert "other.tpk shares neither time nor program with" in words(result.stdout)
        notes = json.loads(run("report", recording, "other.tpk", "--json").stdout)["source"]["notes"]
        assert len(notes) == 1

    def test_diff_against_a_run_without_work_says_so_first(self, run, recording, tmp_path):
        write_run(tmp_path / "empty.tpk", copies=0)
        for pair, which in ((("train.tpk", "empty.tpk"), "after"), (("empty.tpk", "train.tpk"), "before")):
            comparison = json.loads(run("diff", *pair, "--json").stdout)
            assert comparison["summary"].startswith(f"The run {which} holds no work of CUDA"), comparison["summary"]
            assert "is gone" not in comparison["summary"] and "new upload" not in comparison["summary"]

    def test_our_own_export_is_recognised(self, run, recording, tmp_path):
        assert run("export", recording, "--to", "chrome").returncode == 0
        for name in ("train.chrome.json", "renamed.json"):
            result = run("report", name)
            assert (result.returncode, result.stdout) == (3, "")
            assert "was exported by Turnpike" in result.stderr
            shutil.copy(tmp_path / "train.chrome.json", tmp_path / "renamed.json")


class TestWhatIf:
    def test_an_unknown_link_counts_the_calls_all_the_same(self, run, recording):
        result = run("whatif", recording, "--edit", "pin@train.py:23")
        assert "pin@train.py:23: 5 calls" in result.stdout
        assert "the rate of the link is not known" in result.stdout
        answer = json.loads(run("whatif", recording, "--edit", "pin", "--json").stdout)
        assert (answer["edits"][0]["calls"], answer["predicted_step_ns"]) == (5, None)
        known = json.loads(run("whatif", recording, "--edit", "pin", "--json", "--link-gbps", "50").stdout)
        assert known["edits"] == answer["edits"] and known["predicted_step_ns"] > 0

    @pytest.mark.parametrize("site", ["train.py:99", "other.py:23", "train.py", "23:train.py"])
    def test_a_site_that_matches_nothing_is_an_error_that_says_what_would(self, run, recording, site):
        result = run("whatif", recording, "--edit", f"hoist_upload@{site}")
        assert (result.returncode, result.stdout) == (2, "")
        assert f"is at {site}" in result.stderr
        assert "hoist_upload fits train.py:23 (5 calls)" in result.stderr

    def test_a_site_that_the_change_does_not_fit_is_an_error_that_says_what_would(self, run, recording):
        result = run("whatif", recording, "--edit", "hoist_upload@train.py:30", "--json")
        assert (result.returncode, result.stdout) == (2, "")
        assert "At train.py:30 there is nothing that hoist_upload could change" in result.stderr
        assert "hoist_upload fits train.py:23 (5 calls)" in result.stderr
        nothing = run("whatif", recording, "--edit", "side_streams@train.py:23")
        assert nothing.returncode == 2
        assert "side_streams fits nothing in this run" in nothing.stderr

    def test_a_change_everywhere_that_fits_nowhere_is_an_answer(self, run, recording):
        result = run("whatif", recording, "--edit", "side_streams", "--json")
        assert result.returncode == 0
        assert json.loads(result.stdout)["edits"] == [{"edit": "side_streams", "calls": 0}]

    @pytest.mark.parametrize("rate", ["0", "-5", "nan", "inf", "-inf", "1e999", "fast", ""])
    def test_a_rate_that_is_none_is_wrong_usage(self, run, recording, rate):
        result = run("whatif", recording, f"--link-gbps={rate}", "--edit", "pin")
        assert (result.returncode, result.stdout) == (2, "")
        assert "no rate above 0" in result.stderr or "link-gbps" in result.stderr

    def test_the_docs_say_the_largest_error_that_the_recorded_programs_have(self, run):
        worst = 0.0
        for trace in sorted(GOLDEN.glob("*.tpk")):
            answer = json.loads(run("whatif", trace, "--json").stdout)
            worst = max(worst, abs(100 * (answer["typical_step_ns"] / answer["measured_step_ns"] - 1)))
        assert f"within {worst:.1f} %" in words((ROOT / "docs" / "whatif.md").read_text())


class TestFullDevices:
    COMMANDS = [
        ["report", "train.tpk"], ["report", "train.tpk", "--json"], ["diff", "train.tpk", "train.tpk"],
        ["check", "train.tpk"], ["whatif", "train.tpk"], ["whatif", "train.tpk", "--json"], ["dump", "train.tpk"],
        ["export", "train.tpk", "--to", "chrome", "-o", "-"], ["--help"], ["--version"], ["report", "--help"],
    ]  # fmt: skip

    @pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
    def test_output_that_cannot_be_written_ends_with_4(self, run, recording, tmp_path, command):
        budget(tmp_path, "[per_run]\nh2d_count = 100\n")
        with open("/dev/full", "w") as full:
            result = run(*command, stdout=full)
        assert result.returncode == 4
        assert "No space left" in result.stderr

    @pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
    def test_a_reader_that_has_left_is_no_failure(self, run, recording, tmp_path, command):
        budget(tmp_path, "[per_run]\nh2d_count = 100\n")
        reader, writer = os.pipe()
        os.close(reader)
        result = run(*command, stdout=writer)
        os.close(writer)
        assert result.returncode == 0
        assert "Broken pipe" not in result.stderr

    def test_a_check_that_fails_fails_without_a_reader_too(self, run, recording, tmp_path):
        budget(tmp_path, "[per_run]\nh2d_count = 0\n")
        reader, writer = os.pipe()
        os.close(reader)
        assert run("check", recording, stdout=writer).returncode == 1
        os.close(writer)


class TestBudgets:
    @pytest.mark.parametrize(
        "table",
        [
            '[[allow]]\nsite = "gone.py"\n{}',
            '[[limit]]\nsite = "gone.py:7"\ncount = 3\n{}',
            '[findings]\nforbid = ["implicit_snyc"]\n{}',
        ],
    )
    def test_what_matches_nothing_fails_unless_it_is_optional(self, run, recording, tmp_path, table):
        budget(tmp_path, "[per_run]\nh2d_count = 100\n" + table.format(""))
        result = run("check", recording)
        assert result.returncode == 1
        assert "optional = true" in words(result.stdout)
        budget(tmp_path, "[per_run]\nh2d_count = 100\n" + table.format("optional = true\n"))
        result = run("check", recording)
        assert result.returncode == 0, result.stdout

    def test_optional_is_true_or_false(self, run, recording, tmp_path):
        budget(tmp_path, '[[allow]]\nsite = "a.py"\noptional = "yes"\n[per_run]\nh2d_count = 100\n')
        result = run("check", recording)
        assert result.returncode == 2
        assert "turnpike.toml:3" in result.stderr

    def test_an_unknown_loss_is_a_mistake_of_the_budget(self, run, recording, tmp_path):
        budget(tmp_path, '[losses]\nallow = ["cupti_dropped", "stack_truncatde"]\n')
        result = run("check", recording)
        assert result.returncode == 2
        assert "stack_truncatde" in result.stderr and "stack_truncated" in result.stderr
        budget(tmp_path, '[losses]\nallow = ["cupti_dropped", "unreadable_file"]\n')
        assert run("check", recording).returncode == 0


class TestSavings:
    def test_the_text_says_what_each_saving_is_of(self, run):
        text = words(run("report", EXAMPLE).stdout)
        report = json.loads(run("report", EXAMPLE, "--json").stdout)
        together = (
            f"All of these together: up to {report['saving_pct_all']:.0f} % of a step. One can hide or help another"
        )
        assert report["saving_pct_all"] > 50 and together in text
        finding = report["findings"][0]
        step_ms = finding["saving_step_ns"] / finding["saving_pct"] / 1e4
        assert f"Percentages are of {step_ms:.2f} ms, the mean step" in words(
            run("report", EXAMPLE, "--explain").stdout
        )

    def test_whatif_says_that_its_step_is_a_mean(self, run, recording, tmp_path):
        assert "ms on average (of 5, once it had settled)" in run("whatif", recording).stdout


class TestTheNewestRun:
    def age(self, run, seconds):
        for path in [run, *run.iterdir()]:
            os.utime(path, (seconds, seconds))

    def test_report_without_a_run_takes_the_newest_here_and_says_which(self, run, tmp_path):
        for name, copies, seconds in (("train.tpk", 3, 1000), ("train-2.tpk", 4, 3000), ("old.tpk", 5, 2000)):
            self.age(write_run(tmp_path / name, copies=copies), seconds)
        (tmp_path / "empty.tpk").mkdir()
        (tmp_path / "file.tpk").write_text("no run")
        result = run("report", "--json")
        assert result.returncode == 0
        assert json.loads(result.stdout)["totals"]["h2d"]["count"] == 4
        assert result.stderr == "turnpike report: train-2.tpk, the newest run in this folder\n"

    def test_without_any_run_it_is_wrong_usage(self, run):
        result = run("report")
        assert (result.returncode, result.stdout) == (2, "")
        assert "no run" in result.stderr and "turnpike record" in result.stderr

    def test_the_readme_followed_twice_shows_the_second_run(self, record, cuda_program):
        readme = (ROOT / "README.md").read_text()
        assert "turnpike record -- python train.py\nturnpike report\n" in readme
        (record.directory / "train.py").write_text("")
        for name in ("train.tpk", "train-2.tpk"):
            (record.directory / "train.py").write_text(
                f"import os; os.execv({str(cuda_program)!r}, ['x', 'process=1'])\n"
            )
            result = record("python3", "train.py")
            assert result.stderr.splitlines()[-1] == f"  the run is {name}; next: turnpike report {name}"
