"""What each option does to the output, and where its values end: of every command that reads runs."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from runs import EPOCH_NS, MS, US, write_run
from terminal import shown_on_terminal

ROOT = pathlib.Path(__file__).resolve().parents[2]
MB = 1 << 20
COPIES = 6
EXAMPLE = ROOT / "examples" / "mnist-h100.tpk"


@pytest.fixture
def run(turnpike, environment, tmp_path):
    unwanted = ("NO_COLOR", "GITHUB")
    clean = {name: value for name, value in environment.items() if not name.startswith(unwanted)}

    def run(*arguments, environment_more=None, **more):
        return subprocess.run(
            [str(turnpike), *map(str, arguments)],
            **{
                "cwd": tmp_path,
                "env": {**clean, "TERM": "xterm", **(environment_more or {})},
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                "timeout": 60,
                **more,
            },
        )

    return run


@pytest.fixture
def recording(tmp_path):
    return write_run(tmp_path / "train.tpk")


def keep_link(tmp_path, gbps=10.0):
    """As `turnpike bench link` keeps it, for the device and the machine of write_run()."""
    folder = tmp_path / "cache" / "turnpike"
    folder.mkdir(parents=True)
    link = {"device_name": "GPU", "host": "box", "h2d_pinned_gbps": gbps, "d2h_pinned_gbps": gbps / 2, "date": ""}
    (folder / "link.json").write_text(json.dumps({"schema": 1, "links": [link]}))


class TestMain:
    @pytest.mark.parametrize(
        ("word", "meant"),
        [
            ("reprot", "report"), ("eport", "report"), ("reeport", "report"), ("zzport", "report"), ("expor", "export"),
            ("xport", "export"), ("recrod", "record"), ("dif", "diff"), ("dimp", "dump"), ("chek", "check"),
            ("checkk", "check"), ("whatf", "whatif"), ("what-if", "whatif"), ("bnch", "bench"), ("benches", "bench"),
        ],
    )  # fmt: skip
    def test_a_word_close_to_a_command_is_understood(self, run, word, meant):
        result = run(word)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == f'turnpike: there is no command "{word}". Did you mean `turnpike {meant}`?\n'

    @pytest.mark.parametrize("word", ["", "xxxxrt", "rep", "benchmark", "recordings", "frobnicate"])
    def test_a_word_close_to_none_is_not(self, run, word):
        result = run(word)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == f'turnpike: there is no command "{word}". `turnpike --help` lists the commands.\n'

    def test_escapes_in_a_word_reach_no_terminal(self, run):
        assert run("\x1b[2J\nx").stderr.startswith('turnpike: there is no command "\\x1b[2J\nx". ')

    @pytest.mark.parametrize(
        ("arguments", "name", "said"),
        [
            (["--no-such"], "turnpike", "--no-such"),
            (["report", "--no-such"], "turnpike report", "--no-such"),
            (["diff", "one.tpk"], "turnpike diff", "AFTER is required"),
            (["bench", "link", "--device", "x"], "turnpike bench", "x"),
        ],
    )
    def test_wrong_usage_names_the_command_and_its_help(self, run, arguments, name, said):
        result = run(*arguments)
        assert (result.returncode, result.stdout) == (2, "")
        first, second = result.stderr.splitlines()
        assert first.startswith(f"{name}: ") and said in first
        assert second == f"See `{name} --help`."

    @pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["bench"], ["report", "--help"]])
    def test_help_that_cannot_be_written_ends_with_4(self, run, arguments):
        with open("/dev/full", "w") as full:
            result = run(*arguments, stdout=full)
        assert result.returncode == 4
        assert result.stderr == "turnpike: cannot write standard output: No space left on device\n"

    def test_wrong_usage_stays_wrong_usage_on_a_full_disk(self, run):
        with open("/dev/full", "w") as full:
            assert run("frobnicate", stdout=full).returncode == 2

    @pytest.mark.parametrize("arguments", [["--help"], ["bench"]])
    def test_a_reader_that_has_left_is_no_failure(self, run, arguments):
        ours, theirs = os.pipe()
        os.close(ours)
        result = run(*arguments, stdout=theirs)
        os.close(theirs)
        assert (result.returncode, result.stderr) == (0, "")

    def test_the_commands_stand_in_one_column(self, run):
        lines = run("--help").stdout.splitlines()
        first = lines.index("Subcommands:") + 1
        rows = lines[first : lines.index("", first)]
        assert [len(re.match(r"  \w+ +", row).group()) for row in rows] == [24] * 14

    def test_help_goes_to_standard_output_and_without_a_command_to_standard_error(self, run):
        asked, given = run("--help"), run()
        assert (asked.returncode, asked.stderr) == (0, "")
        assert (given.returncode, given.stdout, given.stderr) == (2, "", asked.stdout)


COUNTS = {"0": 0, "1": 0, "999999999": 0, "007": 0, "1000000000": 2, "-1": 2, "1.5": 2, "x": 2, "": 2, " 1": 2, "1 ": 2}


class TestTop:
    @pytest.mark.parametrize("command", ["report", "diff"])
    @pytest.mark.parametrize("count", COUNTS)
    def test_is_a_whole_number_of_nine_digits(self, run, recording, command, count):
        runs = [recording] * (2 if command == "diff" else 1)
        result = run(command, *runs, "--top", count)
        assert result.returncode == COUNTS[count]
        if result.returncode:
            assert f"'{count}' is no whole number from 0 to 999999999" in result.stderr

    def lines(self, tmp_path, count):
        from tracefile import COPY_CALL, DEVICE, HOST_TO_DEVICE, PAGEABLE, PYTHON_FRAME, TraceFile

        trace = TraceFile(pid=7, start_ns=EPOCH_NS)
        trace.metadata = {"detail": "full"}
        for number in range(1, count + 1):
            stack = trace.stack(trace.frame(PYTHON_FRAME, f"f{number}", f"/home/me/file{number}.py", number))
            at = number * MS
            trace.call("cudaMemcpy", COPY_CALL, number, at, at + number * US, stack=stack, size_bytes=64)
            trace.memcpy(HOST_TO_DEVICE, PAGEABLE, DEVICE, 64, number, at, at + 900)
        folder = tmp_path / "lines.tpk"
        folder.mkdir()
        trace.write(folder / "7.tpt")
        return folder

    def test_of_a_report_is_15_where_nothing_else_is_asked_for(self, run, tmp_path):
        folder = self.lines(tmp_path, 20)
        for options, shown in (
            (["--transfers", "--syncs"], 15),
            (["--all"], 15),
            (["--top", "15"], 15),
            (["--top", "3"], 3),
            (["--top", "0"], 0),
            (["--top", "20"], 20),
        ):
            text = run("report", folder, *options).stdout
            table = text[text.index("TRANSFERS BY LINE") : text.index("SYNCHRONISATIONS")]
            assert len(re.findall(r"^ {0,2}\d+  file", table, re.MULTILINE)) == shown
            assert (f"{20 - shown} more: --top 20 shows them all" in table) == (shown < 20)

    def test_of_a_comparison_is_15_where_nothing_else_is_asked_for(self, run, recording, tmp_path):
        folder = self.lines(tmp_path, 20)
        for options, shown in ([], 15), (["--top", "3"], 3), (["--top", "0"], 0):
            text = run("diff", recording, folder, *options).stdout
            assert len(re.findall(r"^  (?:gained|lost) ", text, re.MULTILINE)) == shown
            assert f"{21 - shown} more: --top 21 shows them all" in text


COMMANDS = {
    "report": ["report", "train.tpk"],
    "diff": ["diff", "train.tpk", "again.tpk"],
    "check": ["check", "train.tpk"],
    "whatif": ["whatif", "train.tpk"],
}


class TestTerminal:
    @pytest.fixture
    def shown(self, turnpike, environment, tmp_path, recording):
        write_run(tmp_path / "again.tpk", copies=9, file="other.py")
        (tmp_path / "turnpike.toml").write_text("[per_run]\nh2d_count = 1\nh2d_blocked = '1 ns'\n")
        plain = {name: value for name, value in environment.items() if name != "NO_COLOR"}

        def shown(command, columns, *options, **more):
            variables = {**plain, "TERM": "xterm", **more}
            return shown_on_terminal([turnpike, *COMMANDS[command], *options], variables, tmp_path, columns, (0, 1))

        return shown

    @pytest.mark.parametrize("command", ["report", "diff", "check"])
    def test_colour_is_for_terminals_that_want_it(self, shown, command):
        assert "\x1b[1m" in shown(command, 100)
        assert "\x1b[1m" in shown(command, 100, NO_COLOR="")
        for option in ("--no-colour", "--no-color"):
            assert "\x1b" not in shown(command, 100, option)
        assert "\x1b" not in shown(command, 100, NO_COLOR="1")
        assert "\x1b" not in shown(command, 100, TERM="dumb")
        assert "\x1b" not in shown(command, 100, "--json")

    @pytest.mark.parametrize("command", COMMANDS)
    def test_the_text_is_as_wide_as_the_terminal_up_to_100_columns(self, shown, command):
        texts = {columns: shown(command, columns, NO_COLOR="1") for columns in (0, 60, 100, 101, 200)}
        for columns in (0, 101, 200):
            assert texts[columns] == texts[100], columns
        assert 60 < max(map(len, texts[100].splitlines())) <= 100
        assert max(map(len, texts[60].splitlines())) <= 60

    @pytest.mark.parametrize("command", COMMANDS)
    def test_narrower_than_40_columns_is_not_tried(self, shown, command):
        text = shown(command, 40, NO_COLOR="1")
        assert shown(command, 39, NO_COLOR="1") == shown(command, 1, NO_COLOR="1") == text
        assert 30 < max(map(len, text.splitlines())) <= 40


class TestReport:
    def test_json_has_what_the_text_leaves_out(self, run, recording):
        assert len(json.loads(run("report", recording, "--top", "0", "--json").stdout)["sites"]) == 1

    def test_the_newest_of_equals_is_the_first_by_name(self, run, tmp_path):
        for name, when in ("a.tpk", 2_000), ("b.tpk", 3_000), ("c.tpk", 3_000), ("d.tpk", 1_000):
            write_run(tmp_path / name)
            for file in (tmp_path / name).iterdir():
                os.utime(file, (when, when))
            # The time of the folder tells nothing.
            os.utime(tmp_path / name, (9_000 - when, 9_000 - when))
        write_run(tmp_path / "later.other")
        (tmp_path / "empty.tpk").mkdir()
        (tmp_path / "file.tpk").write_text("no folder")
        assert run("report").stderr == "turnpike report: b.tpk, the newest run in this folder\n"

    def test_of_many_equals_the_order_of_the_folder_does_not_tell(self, run, tmp_path):
        for name in "hbfdgace":
            write_run(tmp_path / f"{name}.tpk")
            os.utime(tmp_path / f"{name}.tpk" / "433.tpt", (3_000, 3_000))
        for name in "abcdefgh":
            assert run("report").stderr == f"turnpike report: {name}.tpk, the newest run in this folder\n"
            os.utime(tmp_path / f"{name}.tpk" / "433.tpt", (2_000, 2_000))

    def test_a_run_is_as_new_as_its_newest_file(self, run, tmp_path):
        for name, times in ("a.tpk", (2_000, 3_000)), ("b.tpk", (2_500, 2_600)):
            write_run(tmp_path / name)
            for number, when in enumerate(times):
                file = tmp_path / name / f"{433 + number}.tpt"
                file.write_bytes((tmp_path / name / "433.tpt").read_bytes())
                os.utime(file, (when, when))
        assert "a.tpk, the newest" in run("report").stderr


class TestWhatif:
    """Steps of 1 ms: an upload that blocks for 500 us and copies 400, a kernel of 100 us behind it."""

    def test_tells_what_was_measured_and_what_the_model_says(self, run, recording):
        answer = json.loads(run("whatif", recording, "--json").stdout)
        assert list(answer) == sorted(answer)
        assert answer == {
            "collectives": 0, "collectives_lost": False, "contradicted": 0, "edits": [], "has_steps": True,
            "incomplete": None, "measured_step_ns": MS, "predicted_step_ns": MS, "ranks": 1, "reliable": True,
            "retimed_step_ns": MS, "steps": COPIES - 1, "typical_step_ns": MS,
        }  # fmt: skip

    @pytest.mark.parametrize("program", [None, EXAMPLE], ids=["made", "recorded"])
    def test_the_text_has_the_figures_of_the_json(self, run, recording, program):
        for edits in ([], ["pin"], ["hoist_upload", "remove_allocation"]):
            options = ["--link-gbps", "50", *[word for edit in edits for word in ("--edit", edit)]]
            answer = json.loads(run("whatif", program or recording, *options, "--json").stdout)
            text = " ".join(run("whatif", program or recording, *options).stdout.split())
            model = 100 * (answer["typical_step_ns"] / answer["measured_step_ns"] - 1)
            assert text.startswith(
                f"A step takes {answer['measured_step_ns'] / 1e6:.3f} ms on average (of {answer['steps']}, once it had "
                f"settled); the dependencies alone miss it by {model:+.1f} %."
            )
            for edit in answer["edits"]:
                assert f" {edit['edit']}: {edit['calls']} calls" in text
            assert [edit["edit"] for edit in answer["edits"]] == edits
            change = 100 * (answer["predicted_step_ns"] / answer["measured_step_ns"] - 1)
            said = f"With {'that' if len(edits) == 1 else 'all of that'} it would take " + (
                f"{answer['predicted_step_ns'] / 1e6:.3f} ms ({change:+.1f} %)."
            )
            assert text.endswith(said) == bool(edits)
            assert ("would take" in text) == bool(edits)

    def test_a_recorded_program_tells_the_mean_and_the_typical_step_apart(self, run):
        report = json.loads(run("report", EXAMPLE, "--json").stdout)
        answer = json.loads(run("whatif", EXAMPLE, "--edit", "pin", "--link-gbps", "50", "--json").stdout)
        assert (answer["steps"], answer["edits"]) == (38, [{"edit": "pin", "calls": 3 * 38}])
        assert answer["measured_step_ns"] == pytest.approx(report["steps"]["median_ns"], rel=0.1)
        assert answer["retimed_step_ns"] == answer["measured_step_ns"] != answer["typical_step_ns"]
        assert answer["typical_step_ns"] == pytest.approx(answer["measured_step_ns"], rel=0.01)
        assert 0.95 < answer["predicted_step_ns"] / answer["measured_step_ns"] < 0.99

    def test_an_unknown_link_is_said(self, run, recording):
        result = run("whatif", recording, "--edit", "full_link_speed")
        assert result.returncode == 0
        assert " ".join(result.stdout.split()).endswith(
            "It cannot be said what that gives: the rate of the link is not known. Measure it: turnpike bench link"
        )
        assert (
            json.loads(run("whatif", recording, "--edit", "full_link_speed", "--json").stdout)["predicted_step_ns"]
            is None
        )

    def predicted(self, run, recording, *options):
        result = run("whatif", recording, "--edit", "full_link_speed", "--json", *options)
        return json.loads(result.stdout)["predicted_step_ns"]

    def test_the_rate_that_is_given_counts_and_not_the_measured_one(self, run, recording, tmp_path):
        """A MiB at 10 GB/s takes 105 us and not 400; at 20 GB/s 52."""
        at_10 = self.predicted(run, recording, "--link-gbps", "10")
        at_20 = self.predicted(run, recording, "--link-gbps", "20")
        assert at_10 - at_20 == pytest.approx(MB / 10 - MB / 20, rel=0.01)
        keep_link(tmp_path)
        assert self.predicted(run, recording) == at_10
        assert self.predicted(run, recording, "--link-gbps", "20") == at_20

    def test_a_damaged_measurement_is_said_once(self, run, recording, tmp_path):
        keep_link(tmp_path)
        (tmp_path / "cache" / "turnpike" / "link.json").write_text("{")
        for command in ["whatif"], ["report"], ["diff", recording]:
            result = run(*command, recording)
            assert result.returncode == 0
            assert result.stderr.count("link.json is damaged") == (2 if command[0] == "diff" else 1)
            assert result.stderr.startswith(f"turnpike {command[0]}: ")
        assert "damaged" not in run("whatif", recording, "--link-gbps", "20").stderr

    @pytest.mark.parametrize("edit", ["pinn", "", "@train.py:23", "pin2@train.py:23"])
    def test_there_is_no_such_change(self, run, recording, edit):
        result = run("whatif", recording, "--edit", edit)
        assert (result.returncode, result.stdout) == (2, "")
        name = edit.split("@")[0]
        assert f'There is no change "{name}". `turnpike whatif --help` lists them.' in result.stderr or not edit

    def test_every_change_of_the_help_is_one(self, run, recording):
        listed = run("whatif", "--help").stdout.split("Changes:\n")[1].split("\n\n")[0]
        names = re.findall(r"^  (\w+) ", listed, re.MULTILINE)
        assert len(names) == 21
        for name in names:
            assert run("whatif", recording, "--edit", name, "--link-gbps", "0.5").returncode == 0, name


class TestExport:
    @pytest.mark.parametrize(
        ("given", "made"),
        [("train.tpk", "train.chrome.json"), ("train.tpk/", "train.chrome.json"),
         ("train.tpk/433.tpt", "433.chrome.json"), ("below/a.b.tpk", "a.b.chrome.json")],
    )  # fmt: skip
    def test_the_file_is_named_after_the_first_run_and_stands_here(self, run, recording, tmp_path, given, made):
        write_run(tmp_path / "below" / "a.b.tpk")
        result = run("export", given, recording, "--to", "chrome")
        path = tmp_path / made
        assert (result.returncode, result.stdout) == (0, "")
        size = path.stat().st_size / 1e6
        assert result.stderr == (
            f"Wrote {made} ({size:.1f} MB). Open it at https://ui.perfetto.dev or chrome://tracing.\n"
        )

    def test_every_run_that_is_given_is_in_the_file(self, run, recording, tmp_path):
        other = write_run(tmp_path / "other.tpk", pid=434, program="", copies=2)
        result = run("export", recording, other, "--to", "perfetto", "-o", "-")
        assert (result.returncode, result.stderr) == (0, "")
        trace = json.loads(result.stdout)
        copies = [event for event in trace["traceEvents"] if event.get("cat") == "copy" and event["ph"] == "X"]
        assert len(copies) == COPIES + 2
        names = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"}
        assert names == {
            "python train.py (process 433)", "434 (process 434)", "GPU 0: GPU, used by python train.py (process 433)",
            "GPU 0: GPU, used by 434 (process 434)",
        }  # fmt: skip
        assert copies[0]["dur"] == 400.0

    @pytest.mark.parametrize("tool", ["Chrome", "excel", ""])
    def test_another_tool_is_wrong_usage(self, run, recording, tmp_path, tool):
        before = sorted(tmp_path.rglob("*"))
        assert run("export", recording, "--to", tool).returncode == 2
        assert sorted(tmp_path.rglob("*")) == before

    def test_one_run_of_two_that_cannot_be_read_ends_with_3_and_makes_nothing(self, run, recording, tmp_path):
        (tmp_path / "broken.tpk").mkdir()
        (tmp_path / "broken.tpk" / "1.tpt").write_text("no trace")
        for runs in ((recording, "missing.tpk"), (recording, "broken.tpk")):
            result = run("export", *runs, "--to", "chrome", "-o", "out.json")
            assert (result.returncode, result.stdout) == (3, "")
            assert result.stderr.startswith("turnpike export: ")
            assert not (tmp_path / "out.json").exists()

    def test_a_link_to_the_output_is_followed(self, run, recording, tmp_path):
        (tmp_path / "folder").mkdir()
        target = tmp_path / "folder" / "target.json"
        target.write_text("old")
        (tmp_path / "link.json").symlink_to(target)
        assert run("export", recording, "--to", "chrome", "-o", "link.json").returncode == 0
        assert (tmp_path / "link.json").is_symlink()
        assert json.loads(target.read_text())["traceEvents"]
        assert [path.name for path in (tmp_path / "folder").iterdir()] == ["target.json"]

    def under_way(self, turnpike, environment, tmp_path, **more):
        """An export of which a part is written, and which has more to write."""
        large = write_run(tmp_path / "large.tpk", copies=15_000)
        command = [str(turnpike), "export", str(large), "--to", "chrome"]
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL, **more)
        deadline = time.monotonic() + 30
        while process.poll() is None and not list(tmp_path.glob("*.part")) and time.monotonic() < deadline:
            time.sleep(0.001)
        (part,) = tmp_path.glob("*.part")
        assert part.name == f"large.chrome.json.{process.pid}.part"
        return process

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_a_signal_leaves_no_half_file(self, turnpike, environment, tmp_path, number):
        process = self.under_way(turnpike, environment, tmp_path)
        process.send_signal(number)
        assert process.wait(60) == -number
        assert [path.name for path in tmp_path.iterdir()] == ["large.tpk"]

    def test_a_signal_that_is_ignored_stays_so(self, turnpike, environment, tmp_path):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        process = self.under_way(turnpike, environment, tmp_path, preexec_fn=ignore)
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == 0
        assert sorted(path.name for path in tmp_path.iterdir()) == ["large.chrome.json", "large.tpk"]

    @pytest.mark.parametrize(
        ("output", "why"),
        [("folder", "it is a directory"), ("no/such/x.json", "No such file or directory"),
         ("file/x.json", "Not a directory"), ("/dev/full", "No space left on device")],
    )  # fmt: skip
    def test_what_cannot_be_written_is_said_by_its_name(self, run, recording, tmp_path, output, why):
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").write_text("mine")
        before = sorted(tmp_path.rglob("*"))
        result = run("export", recording, "--to", "chrome", "-o", output)
        assert (result.returncode, result.stdout) == (4, "")
        assert result.stderr == f"turnpike export: cannot write {output}: {why}\n"
        assert sorted(tmp_path.rglob("*")) == before
        assert (tmp_path / "file").read_text() == "mine"


class TestDump:
    def test_one_file_of_a_run_is_a_run(self, run, recording):
        assert run("dump", recording / "433.tpt").stdout == run("dump", recording).stdout != ""

    def test_the_lines_are_those_of_the_kinds(self, run, recording):
        lines = run("dump", recording).stdout.splitlines()
        kinds = {line.split()[0] for line in lines}
        assert {"process", "metadata", "string", "frame", "stack", "end", "call", "memcpy", "kernel", "device"} <= kinds
        for asked in ("memcpy", "call,memcpy", "kernel"):
            wanted = [line for line in lines if line.split()[0] in asked.split(",")]
            assert run("dump", recording, "--kind", asked).stdout.splitlines() == wanted
        twice = run("dump", recording, "--kind", "call", "--kind", "memcpy").stdout
        assert twice == run("dump", recording, "--kind", "call,memcpy").stdout

    def test_an_unknown_kind_is_wrong_usage(self, run, recording):
        for kind in ("", "calls", "call,calls"):
            result = run("dump", recording, "--kind", kind)
            assert (result.returncode, result.stdout) == (2, ""), kind

    def test_the_files_come_in_the_order_of_their_names(self, run, recording):
        write_run(recording / "more", pid=12)
        (recording / "more" / "12.tpt").rename(recording / "12.tpt")
        pids = re.findall(r"^process .*pid=(\d+)", run("dump", recording, "--kind", "process").stdout, re.MULTILINE)
        assert sorted(pids) == ["12", "433"]

    def test_a_file_that_cannot_be_read_ends_with_3_and_the_others_are_dumped(self, run, recording):
        (recording / "1.tpt").write_text("no trace")
        (recording / "999.tpt").write_text("no trace")
        result = run("dump", recording, "--kind", "memcpy")
        assert result.returncode == 3
        assert len(result.stdout.splitlines()) == COPIES
        assert result.stderr.count("turnpike dump: ") == 2
        assert "1.tpt" in result.stderr and "999.tpt" in result.stderr

    def test_a_full_disk_is_said_once(self, run, recording):
        (recording / "999.tpt").write_bytes((recording / "433.tpt").read_bytes())
        with open("/dev/full", "w") as full:
            result = run("dump", recording, stdout=full)
        assert result.returncode == 4
        assert result.stderr.count("\n") == 1
        assert "No space left on device" in result.stderr

    def test_a_reader_that_has_left_is_no_failure(self, run, recording):
        ours, theirs = os.pipe()
        os.close(ours)
        result = run("dump", recording, stdout=theirs)
        os.close(theirs)
        assert (result.returncode, result.stderr) == (0, "")


class TestCheck:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--json", "--github"], "--json and --github: standard output holds one of them."),
            (["--github", "--no-github"], "--github and --no-github: which?"),
            (["--init", "--json"], "--init writes a budget and checks nothing"),
            (["--init", "--github"], "--init writes a budget and checks nothing"),
            (["--init", "--sarif", "x.sarif"], "--init writes a budget and checks nothing"),
        ],
    )
    def test_options_that_exclude_each_other(self, run, recording, tmp_path, options, said):
        (tmp_path / "kept.toml").write_text("[per_run]\nh2d_count = 100\n")
        result = run("check", recording, "--budget", "kept.toml", *options)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith(f"turnpike check: {said}")
        assert not (tmp_path / "x.sarif").exists()

    @pytest.mark.parametrize(("limit", "code"), [(COPIES, 0), (COPIES - 1, 1)])
    @pytest.mark.parametrize("options", [[], ["--json"], ["--github"], ["--sarif", "x.sarif"], ["--no-github"]])
    def test_the_code_is_that_of_the_limits_whatever_the_output(self, run, recording, tmp_path, limit, code, options):
        (tmp_path / "turnpike.toml").write_text(f"[per_run]\nh2d_count = {limit}\n")
        result = run("check", recording, *options)
        assert (result.returncode, result.stderr) == (code, "")
        if options == ["--json"]:
            answer = json.loads(result.stdout)
            assert (answer["passed"], answer["limits"][0]["measured"]) == (code == 0, COPIES)
        else:
            assert ("PASSED" in result.stdout, "FAILED" in result.stdout) == (code == 0, code == 1)
        assert ("::error" in result.stdout) == (code == 1 and options == ["--github"])
        if "--sarif" in options:
            assert len(json.loads((tmp_path / "x.sarif").read_text())["runs"][0]["results"]) == code

    def test_a_missing_run_beside_a_good_one_is_3_and_not_1(self, run, recording, tmp_path):
        (tmp_path / "turnpike.toml").write_text("[per_run]\nh2d_count = 0\n")
        result = run("check", recording, "missing.tpk", "--sarif", "x.sarif")
        assert result.returncode == 3
        assert "FAILED" in result.stdout
        assert (tmp_path / "x.sarif").exists()

    @pytest.mark.parametrize(
        ("variables", "is_there"),
        [({}, False), ({"GITHUB_ACTIONS": "false"}, False), ({"GITHUB_ACTIONS": "true"}, True),
         ({"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": ""}, True), ({"GITHUB_ACTIONS": "1"}, False)],
    )  # fmt: skip
    def test_annotations_come_where_github_says_that_it_is_github(self, run, recording, tmp_path, variables, is_there):
        (tmp_path / "turnpike.toml").write_text("[per_run]\nh2d_count = 0\n")
        (tmp_path / "train.py").write_text("x\n")
        text = run("check", recording, environment_more=variables).stdout
        assert ("::error file=train.py,line=23," in text) == is_there
        assert "::error" not in run("check", recording, "--no-github", environment_more=variables).stdout

    def test_the_workspace_counts_in_github_alone(self, run, recording, tmp_path):
        (tmp_path / "turnpike.toml").write_text("[per_run]\nh2d_count = 0\n")
        (tmp_path / "train.py").write_text("x\n")
        (tmp_path / "away").mkdir()
        outside = {"GITHUB_WORKSPACE": str(tmp_path / "away")}
        assert "::error file=train.py,line=23," in run("check", recording, "--github", environment_more=outside).stdout
        inside = {**outside, "GITHUB_ACTIONS": "true"}
        assert "::error title=" in run("check", recording, "--github", environment_more=inside).stdout

    def test_init_names_its_runs_and_says_what_to_do(self, run, recording, tmp_path):
        other = write_run(tmp_path / "other.tpk", pid=434)
        result = run("check", "--init", "train.tpk", other.name, "--budget", "own.toml")
        assert (result.returncode, result.stdout) == (0, "")
        assert result.stderr.endswith(
            "turnpike check: wrote own.toml. Read it, tighten it, and run `turnpike check RUN` wherever you record.\n"
        )
        text = (tmp_path / "own.toml").read_text()
        assert "Made from train.tpk, other.tpk:" in text
        again = run("check", "--init", "train.tpk", "--budget", "own.toml")
        assert again.returncode == 4
        assert again.stderr == (
            "turnpike check: own.toml is there already and stays as it is. Remove it, or name another with --budget.\n"
        )
        (tmp_path / "dangling.toml").symlink_to(tmp_path / "nowhere")
        assert run("check", "--init", "train.tpk", "--budget", "dangling.toml").returncode == 4
        assert not (tmp_path / "nowhere").exists()
        assert run("check", "--init", "missing.tpk", "--budget", "new.toml").returncode == 3


class TestBench:
    def test_lists_what_can_be_measured(self, run):
        result = run("bench")
        names = [line.split()[2] for line in result.stdout.splitlines()]
        assert names == [
            "link",
            "to",
            "small",
            "d2h",
            "prefetch",
            "loader",
            "fetch",
            "pin",
            "pipeline",
            "peer",
            "both",
            "all",
        ]
        assert result.stdout.startswith("turnpike bench link      The link between host and GPU")

    @pytest.mark.parametrize("name", ["to", "small", "all"])
    def test_what_moves_tensors_says_that_it_needs_python(self, run, name):
        for options in [], ["--json", "--whatever", "x"]:
            result = run("bench", name, *options)
            assert (result.returncode, result.stdout) == (4, "")
            assert result.stderr.startswith(f"turnpike bench {name}: this program has no Python")
            assert result.stderr.endswith(f"python -m turnpike bench {name}\n")

    @pytest.mark.parametrize("name", ["to", "all"])
    def test_the_help_of_what_moves_tensors_names_pythons(self, run, name):
        text = run("bench", name, "--help").stdout
        assert f"Requires a Python with PyTorch: `python -m turnpike bench {name} --help` shows its options." in text

    def test_two_names_are_wrong_usage(self, run):
        assert run("bench", "link", "to").returncode == 2
