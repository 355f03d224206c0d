"""Runs that are damaged or cut off: the first line says so, nothing that is not known is said, --strict fails."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from tracefile import TraceFile  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = next((ROOT / "examples" / "mnist-h100.tpk").glob("*.tpt"))
TRACE = sorted(ROOT.glob("tests/golden/*/*.json.gz"))[0]
REASON = re.compile(r"INCOMPLETE: .*; figures are too low")


@pytest.fixture
def run(turnpike, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TURNPIKE", "GITHUB"))}

    def run(*arguments):
        return subprocess.run(
            [str(turnpike), *map(str, arguments)],
            cwd=tmp_path,
            env={**environment, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


@pytest.fixture
def cut(tmp_path):
    """Cut before the first record of a device."""
    path = tmp_path / "cut.tpt"
    path.write_bytes(EXAMPLE.read_bytes()[:5000])
    return path


@pytest.fixture
def damaged(tmp_path):
    """One byte is another one, in the midst of the file."""
    content = bytearray(EXAMPLE.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path = tmp_path / "damaged.tpt"
    path.write_bytes(content)
    return path


@pytest.fixture
def cut_trace(tmp_path):
    path = tmp_path / "cut.json.gz"
    path.write_bytes(TRACE.read_bytes()[: TRACE.stat().st_size // 2])
    return path


def test_the_head_of_the_report_says_that_bytes_are_damaged(run, damaged):
    result = run("report", damaged)
    assert result.returncode == 0
    head = result.stdout.split("\n\n")[0]
    assert re.search(r"^INCOMPLETE: \d+ bytes are damaged or cut off, ", head, re.MULTILINE)
    assert REASON.search(" ".join(head.split()))
    assert REASON.search(result.stderr)


def test_of_a_file_cut_before_the_first_device_record_nothing_is_known(run, cut):
    assert REASON.search(" ".join(run("report", cut).stdout.split("\n\n")[0].split()))
    text = run("report", cut, "--all").stdout
    assert REASON.search(" ".join(text.splitlines()[1:4]))
    assert text.count("unknown: the recording is incomplete") >= 3, "device, transfers, synchronisations"
    for lie in ("none was used", "none was recorded", "never waited", "No GPU did anything"):
        assert lie not in text + run("report", cut).stdout
    assert "What the GPU did is unknown" in text


def test_a_cut_trace_of_torch_profiler_is_not_said_to_be_of_a_killed_process(run, cut_trace):
    text = " ".join(run("report", cut_trace, "--losses").stdout.split())
    assert "INCOMPLETE: " in text
    assert "turnpike record" not in text.split("LOSSES")[1] and "killed" not in text
    assert "export it again" in text


def test_json_has_the_reason_and_null_for_a_complete_run(run, damaged):
    found = json.loads(run("report", damaged, "--json").stdout)
    assert found["incomplete"]["reason"].endswith("figures are too low")
    assert found["incomplete"]["losses"]["damaged_bytes"] == found["losses"]["damaged_bytes"] > 0
    assert json.loads(run("report", EXAMPLE, "--json").stdout)["incomplete"] is None


def test_the_head_of_the_page_says_it(run, damaged, tmp_path):
    result = run("report", damaged, "--html", "page.html")
    page = (tmp_path / "page.html").read_text()
    head = re.search(r'<header class="verdict">.*?</header>', page, re.DOTALL)[0]
    assert REASON.search(head) and REASON.search(result.stderr)


def test_a_complete_run_says_nothing_of_it(run):
    result = run("report", EXAMPLE, "--strict")
    assert (result.returncode, result.stderr) == (0, "")
    assert "INCOMPLETE" not in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "RUN"],
        ["report", "RUN", "--html", "-"],
        ["whatif", "RUN"],
        ["diff", "RUN", str(EXAMPLE)],
        ["diff", str(EXAMPLE), "RUN"],
        ["check", "RUN", "--budget", "wide.toml"],
        ["export", "RUN", "--to", "perfetto"],
        ["export", "RUN", "--to", "csv", "--table", "transfers"],
        ["export", "RUN", "--to", "csv", "--table", "sites"],
        ["export", "RUN", "--to", "csv"],
        ["rollup", "RUN"],
        ["dump", "RUN"],
    ],
    ids=" ".join,
)
def test_strict_ends_with_3_after_what_is_known(run, damaged, tmp_path, arguments):
    (tmp_path / "wide.toml").write_text("[per_run]\nh2d_count = 100000\n[losses]\nallow = true\n")
    arguments = [str(damaged) if word == "RUN" else word for word in arguments]
    loose, strict = run(*arguments), run(*arguments, "--strict")
    assert (loose.returncode, strict.returncode) == (0, 3), loose.stderr + strict.stderr
    assert loose.stdout == strict.stdout
    assert REASON.search(loose.stderr) and REASON.search(strict.stderr)


def test_an_export_says_it_once_however_often_it_reads(run, damaged):
    alone = run("export", damaged, "--to", "csv", "--table", "transfers").stderr
    every = run("export", damaged, "--to", "csv").stderr
    assert every.count("INCOMPLETE") == 1
    assert REASON.search(every)[0] == REASON.search(alone)[0], "each file counts once, not once for each table"


def test_every_command_that_reads_a_run_says_it_and_can_fail_for_it(run, damaged, tmp_path):
    """A new command is in this test by its help."""
    (tmp_path / "wide.toml").write_text("[per_run]\nh2d_count = 100000\n[losses]\nallow = true\n")
    more = {"diff": [EXAMPLE], "check": ["--budget", "wide.toml"], "export": ["--to", "chrome"]}
    commands = re.findall(r"^  (\w+) {2,}", run("--help").stdout.split("Subcommands:")[1], re.MULTILINE)
    readers = [name for name in commands if re.search(r"^  (RUN|BEFORE)\b", run(name, "--help").stdout, re.MULTILINE)]
    assert {"report", "whatif", "diff", "check", "export", "rollup", "dump"} <= set(readers)
    for name in set(readers) - {"view", "fleet"}:  # a server; and Python's, which has a test of its own
        result = run(name, damaged, *more.get(name, []), "--strict")
        assert result.returncode == 3, (name, result.stderr)
        assert REASON.search(result.stderr), name


def test_files_are_opened_in_one_place():
    sources = (ROOT / "src" / "cli").glob("*.cpp")
    assert [path.name for path in sources if '"ingest/run_reader.h"' in path.read_text()] == ["open_run.cpp"]


@pytest.mark.parametrize("how", [["--tree"], ["--by", "line"]], ids=" ".join)
def test_the_first_line_of_other_views_says_it(run, damaged, how):
    assert run("report", damaged, *how).stdout.startswith("INCOMPLETE: ")
    assert "INCOMPLETE" not in run("report", EXAMPLE, *how).stdout


@pytest.mark.parametrize("command", [["check", "--budget", "wide.toml"], ["whatif"]], ids=lambda command: command[0])
def test_the_answers_of_check_and_whatif_say_it(run, damaged, tmp_path, command):
    (tmp_path / "wide.toml").write_text("[per_run]\nh2d_count = 100000\n[losses]\nallow = true\n")
    assert REASON.search(" ".join(run(*command, damaged).stdout.split()))
    found = json.loads(run(*command, damaged, "--json").stdout)["incomplete"]
    assert found["reason"].endswith("figures are too low") and found["losses"]["damaged_bytes"] > 0
    assert "INCOMPLETE" not in run(*command, EXAMPLE).stdout
    assert json.loads(run(*command, EXAMPLE, "--json").stdout)["incomplete"] is None


@pytest.mark.parametrize("strictly", [[], ["--strict"]])
def test_no_budget_is_made_from_a_part_of_a_run(run, damaged, cut, tmp_path, strictly):
    for part in (damaged, cut):
        result = run("check", part, "--init", *strictly)
        assert result.returncode == 3
        assert "no budget is written" in result.stderr and REASON.search(result.stderr)
        assert not (tmp_path / "turnpike.toml").exists()


def test_a_cut_trace_gets_no_advice_to_record_kernels(run, tmp_path):
    """The part that was cut off may have held them."""
    plain = json.loads(gzip.decompress(TRACE.read_bytes()))
    calls = [event for event in plain["traceEvents"] if event.get("cat") != "kernel"]
    path = tmp_path / "cut.json"
    path.write_text(json.dumps({**plain, "traceEvents": calls})[:-20])
    result = run("export", path, "--to", "csv")
    assert "INCOMPLETE" in result.stderr
    assert "recorded without kernels" not in result.stderr and "Profile with" not in result.stderr
    assert "left out the table kernels" in result.stderr
    (tmp_path / "strict.toml").write_text(
        "[per_run]\nexposed = 0\n[verdict]\nbound_by = ['gpu']\nmax_gpu_idle_pct = 1\n"
    )
    text = " ".join(run("check", path, "--budget", "strict.toml").stdout.split())
    assert "may hold the kernels" in text and "Profile with" not in text
    assert "Profile with" not in run("report", path).stdout


def test_a_file_that_cannot_be_read_beside_others_makes_the_run_incomplete(run, tmp_path):
    folder = tmp_path / "run.tpk"
    folder.mkdir()
    shutil.copy(EXAMPLE, folder / "1.tpt")
    (folder / "2.tpt").write_bytes(b"no trace")
    result = run("report", folder, "--strict")
    assert result.returncode == 3
    assert "INCOMPLETE: 1 file cannot be read" in result.stdout


def test_a_process_that_could_not_be_recorded_beside_others_makes_the_run_incomplete(run, tmp_path):
    folder = tmp_path / "run.tpk"
    folder.mkdir()
    shutil.copy(EXAMPLE, folder / "1.tpt")
    trace = TraceFile(pid=2)
    trace.metadata = {"unusable": "Another tool holds CUPTI."}
    trace.write(folder / "2.tpt")
    result = run("report", folder, "--strict")
    assert result.returncode == 3
    assert "INCOMPLETE: 1 process could not be recorded; figures are too low" in result.stdout.split("\n\n")[0]
    as_json = json.loads(run("report", folder, "--json").stdout)
    assert as_json["incomplete"]["losses"] == {"unrecorded_process": 1}


def test_a_trace_that_is_damaged_inside_of_its_gzip_is_incomplete(run, tmp_path):
    plain = gzip.decompress(TRACE.read_bytes())
    path = tmp_path / "cut.json"
    path.write_bytes(plain[: len(plain) // 2])
    assert REASON.search(run("report", path).stderr)
