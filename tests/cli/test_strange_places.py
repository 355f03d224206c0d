"""Narrow terminals, names that are no text, pipes where files belong, little memory, files larger than they look."""

import gzip
import json
import os
import pathlib
import resource
import subprocess
import time

import pytest
from runs import write_run
from terminal import shown_on_terminal
from test_whatif_command import write_rank

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "mnist-h100.tpk"
AFTER = ROOT / "examples" / "train-after-h100.tpk"
BUDGET = ROOT / "examples" / "turnpike.toml"
ESCAPE = "\x1b[31mred"


@pytest.fixture
def run(turnpike, environment, tmp_path):
    environment = {name: value for name, value in environment.items() if not name.startswith("GITHUB")}

    def run(*arguments, **more):
        return subprocess.run(
            [turnpike, *arguments],
            **{"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "timeout": 60, **more},
        )

    return run


COMMANDS = {
    "report": ["report", EXAMPLE, "--no-color"],
    "diff": ["diff", EXAMPLE, AFTER, "--no-color"],
    "check": ["check", EXAMPLE, "--budget", BUDGET, "--no-color"],
    "whatif": ["whatif", EXAMPLE, "--edit", "pin", "--edit", "remove_sync@mnist.py:54"],
}


class TestNarrowTerminals:
    @pytest.mark.parametrize("columns", [200, 100, 80, 60, 40])
    @pytest.mark.parametrize("command", COMMANDS)
    def test_nothing_is_wider_than_the_terminal(self, turnpike, environment, tmp_path, command, columns):
        lines = shown_on_terminal([turnpike, *COMMANDS[command]], environment, tmp_path, columns, (0, 1)).splitlines()
        assert lines
        assert max(map(len, lines)) <= min(columns, 100)

    @pytest.mark.parametrize("columns", [80, 60, 40])
    def test_what_the_tables_are_ranked_by_stays(self, turnpike, environment, tmp_path, columns):
        lines = shown_on_terminal(
            [turnpike, *COMMANDS["report"], "--all"], environment, tmp_path, columns, (0, 1)
        ).splitlines()
        transfers = next(line for line in lines if line.startswith("  #") and "where" in line)
        assert transfers.split()[-1] in ("blocked", "overlap") and "blocked" in transfers
        waits = [line for line in lines if line.startswith("  #") and "where" in line][1]
        assert "CPU blocked" in waits
        totals = next(line for line in lines if line.startswith("  direction"))
        assert totals.endswith("CPU blocked")

    def test_the_least_needed_columns_go_first_and_the_table_says_so(self, turnpike, environment, tmp_path):
        gone = []
        for columns in (100, 80, 60, 40):
            lines = shown_on_terminal(
                [turnpike, *COMMANDS["report"], "--all"], environment, tmp_path, columns, (0, 1)
            ).splitlines()
            start = next(number for number, line in enumerate(lines) if line.startswith("TRANSFERS BY LINE"))
            end = next(number for number, line in enumerate(lines) if line.startswith("SYNCHRONISATIONS"))
            text = " ".join(" ".join(lines[start:end]).split())
            named = text.split("no room for: ")[1].split(" overlap:")[0] if "no room for" in text else ""
            gone.append({name for name in ("each", "speed", "total", "count", "overlap", "device") if name in named})
        assert gone[0] == set()
        assert all(some <= more for some, more in zip(gone, gone[1:], strict=False))
        assert "each" in gone[2] and "blocked" not in str(gone)

    def test_without_a_terminal_there_are_100_columns(self, run):
        for arguments in COMMANDS.values():
            lines = run(*arguments).stdout.splitlines()
            assert max(map(len, lines)) <= 100
        assert max(map(len, run("report", EXAMPLE).stdout.splitlines())) > 90


class TestNames:
    def test_escapes_of_paths_reach_no_terminal(self, run, tmp_path, record, cuda_program):
        (tmp_path / f"{ESCAPE}.toml").write_text("[per_run]\n")
        good = write_run(tmp_path / f"{ESCAPE}.tpk")
        (good / "7.tpt").write_text("no trace")
        results = [
            run("report", f"missing-{ESCAPE}"),
            run("report", good),
            run("report", good, good),
            run("diff", f"missing-{ESCAPE}", good),
            run("whatif", good, "--edit", f"{ESCAPE}@{ESCAPE}"),
            run("whatif", good, "--edit", f"pin@{ESCAPE}"),
            run("check", good, "--budget", f"{ESCAPE}.toml"),
            run("check", good, "--budget", f"missing-{ESCAPE}.toml"),
            run("check", good, "--init", "--budget", f"new-{ESCAPE}.toml"),
            run("export", f"missing-{ESCAPE}", "--to", "chrome"),
            run("export", write_run(tmp_path / f"whole-{ESCAPE}.tpk"), "--to", "chrome", "-o", f"{ESCAPE}.json"),
            run("export", good, "--to", ESCAPE),
            run("dump", f"missing-{ESCAPE}"),
            run(ESCAPE),
            run("report", f"--{ESCAPE}"),
            run("report", good, "--top", ESCAPE),
            record(f"no-such-{ESCAPE}"),
            record(cuda_program, "process=1", options=["-o", f"{ESCAPE}/a.tpk"]),
            record("true", options=[f"--{ESCAPE}"]),
            run("record", ESCAPE),
        ]
        for result in results:
            assert "\x1b" not in result.stderr, result.args
            assert "\\x1b" in result.stderr, result.args

    def test_escapes_of_budgets_reach_no_terminal(self, run, tmp_path):
        text = '[per_run]\n"\\u001b[31m\\nturnpike: fine" = 3\nh2d_count = "\\u001b"\n'
        (tmp_path / "turnpike.toml").write_text(text)
        result = run("check", EXAMPLE)
        assert result.returncode == 2
        assert "\x1b" not in result.stderr
        assert "\nturnpike: fine" not in result.stderr

    @pytest.mark.parametrize(
        "arguments",
        [
            ["report", EXAMPLE, "--top", "-1"], ["report", EXAMPLE, "--top=-1"], ["report", EXAMPLE, "--top", ""],
            ["diff", EXAMPLE, EXAMPLE, "--top=-1"], ["report", EXAMPLE, "--top", "1e3"], ["report", ""],
            ["diff", "", EXAMPLE],
            ["export", EXAMPLE, "--to", "chrome", "-o", ""], ["export", "", "--to", "chrome"],
            ["check", EXAMPLE, "--budget", ""], ["check", EXAMPLE, "--sarif", ""], ["whatif", ""],
        ],
    )  # fmt: skip
    def test_arguments_that_name_nothing_are_wrong_usage(self, run, tmp_path, arguments):
        result = run(*arguments)
        assert (result.returncode, result.stdout) == (2, "")
        assert list(tmp_path.glob("*.json")) == []

    def test_a_pipe_in_the_place_of_a_budget_does_not_hang(self, run, tmp_path):
        os.mkfifo(tmp_path / "pipe.toml")
        result = run("check", EXAMPLE, "--budget", "pipe.toml", timeout=20)
        assert result.returncode == 2
        assert "pipe.toml is not a regular file" in result.stderr

    def test_a_limit_of_file_sizes_is_a_sentence_and_no_signal(self, run, tmp_path):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))  # noqa: E731
        result = run("export", EXAMPLE, "--to", "chrome", "-o", "out.json", preexec_fn=limit)
        assert result.returncode == 4
        assert "File too large" in result.stderr
        assert list(tmp_path.glob("out*")) == []


def write_gzip(path, head, piece, repetitions, tail=b"]}"):
    with gzip.open(path, "wb", compresslevel=6) as file:
        file.write(head)
        block = piece * 1000
        for _ in range(repetitions // 1000):
            file.write(block)
        file.write(tail)


def with_memory(size_bytes):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size_bytes, size_bytes))


class TestMemory:
    KERNEL = b'{"ph":"X","ts":1,"dur":2,"cat":"kernel","name":"k","args":{"device":0,"context":1,"stream":7}},'
    OPERATOR = b'{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"cat":"cpu_op","name":"aten::to"},'

    @pytest.mark.alone
    @pytest.mark.parametrize(
        "piece", [KERNEL, OPERATOR, b" ", b"{},", b'"a":1,'], ids=["kernel", "operator", "space", "{}", "key"]
    )
    def test_a_small_file_that_unpacks_to_much_is_refused_in_bounded_time_and_memory(self, run, tmp_path, piece):
        trace = tmp_path / "bomb.json.gz"
        head = b'{"traceEvents":[' if piece[:1] == b"{" else b"{"
        write_gzip(trace, head, piece, 1000 * (300_000_000 // len(piece) // 1000))
        start = time.monotonic()
        result = run("report", trace, preexec_fn=with_memory(700 << 20))
        assert (result.returncode, result.stdout) == (3, "")
        assert "unpacks to more than 100 times its size" in result.stderr
        assert time.monotonic() - start < 20

    @pytest.mark.alone
    def test_long_json_without_events_stops(self, run, tmp_path):
        trace = tmp_path / "long.json"
        with open(trace, "wb") as file:
            file.write(b'{"traceEvents": [')
            file.truncate(10 << 30)  # no blocks: zeros to whoever reads
        start = time.monotonic()
        result = run("report", trace)
        assert result.returncode == 3
        assert "hold no event" in result.stderr
        assert time.monotonic() - start < 20

    def test_too_little_memory_is_said_with_what_to_do(self, run, tmp_path):
        trace = tmp_path / "trace.json"
        trace.write_bytes(b'{"traceEvents":[' + self.KERNEL * 1_000_000 + b"{}]}")
        result = run("report", trace, preexec_fn=with_memory(80 << 20))
        assert result.returncode == 4
        assert "out of memory" in result.stderr and "--duration" in result.stderr

    def test_the_memory_of_whatif_grows_with_the_ranks_and_not_with_their_square(self, run, tmp_path):
        for rank in range(1500):
            write_rank(tmp_path / f"{rank}.tpk", rank)
            os.rename(tmp_path / f"{rank}.tpk" / f"{rank}.tpt", tmp_path / f"{rank}.tpt")
        many = tmp_path / "many.tpk"
        many.mkdir()
        for rank in range(1500):
            os.rename(tmp_path / f"{rank}.tpt", many / f"{rank}.tpt")
        result = run("whatif", many, "--json", preexec_fn=with_memory(400 << 20))
        assert result.returncode == 0, result.stderr
        answer = json.loads(result.stdout)
        assert (answer["ranks"], answer["collectives"]) == (1500, 10)
        assert answer["retimed_step_ns"] == pytest.approx(answer["measured_step_ns"], rel=0.01)
