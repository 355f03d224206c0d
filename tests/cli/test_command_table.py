"""The table of docs/architecture.md: for each command what it reads, how it ends, and what it may write."""

import fnmatch
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from runs import write_run
from test_whatif_command import WRITERS

ROOT = pathlib.Path(__file__).resolve().parents[2]
FULL = "/dev/full"
OUTPUT = "made/by/the/command.out"
COMPARED = ["diff", "train.tpk", "train.tpk"]
CHECKED = ["check", "train.tpk", "--budget"]

# What makes each code happen. {} stands for COMMAND's own, which for this program is 7.
SCENARIOS = {
    "record": {
        "COMMAND's own": [["record", "--", "sh", "-c", "{program} process=1; exit 7"],
                          ["record", "-o", OUTPUT, "--", "sh", "-c", "{program} process=1; exit 7"]],
        "2": [["record", "no", "dashes"]],
        "4": [["record", "-o", "/dev/null", "--", "true"]],
        "126": [["record", "--", "/"]],
        "127": [["record", "--", "no-such-command-anywhere"]],
    },
    # {pid} waits for it.
    "attach": {"0": [["attach", "{pid}", "--duration", "0.1"],
                     ["attach", "{pid}", "--duration", "0.1", "-o", OUTPUT]],
               "2": [["attach"], ["attach", "{pid}", "--all"], ["attach", "{pid}", "-o", "train.tpk"]],
               "3": [["attach", "999999999"]],
               "4": [["attach", "{pid}", "-o", "/dev/null"]]},
    "guard": {
        "COMMAND's own": [["guard", "--d2h", "log", "--", "sh", "-c", "{program} process=1; exit 7"]],
        # As the library does in the program.
        "1": [["guard", "--d2h", "log", "--fail-on-log", "--", "sh", "-c", 'echo a line >> "$TURNPIKE_GUARD_LOG"'],
              ["guard", "--d2h", "disallow", "--", "sh", "-c", 'echo not stopped >> "$TURNPIKE_GUARD_LOG"'],
              ["guard", "--d2h", "log", "--require-gpu", "--", "true"]],
        "2": [["guard", "--d2h", "log", "no", "dashes"], ["guard", "--", "true"],
              ["guard", "--d2h", "no", "--", "true"], ["guard", "--config", "missing.toml", "--", "true"]],
        "126": [["guard", "--d2h", "log", "--", "/"]],
        "127": [["guard", "--d2h", "log", "--", "no-such-command-anywhere"]],
    },
    "report": {"0": [["report", "train.tpk"], ["report"], ["report", "train.tpk", "--html", OUTPUT]],
               "2": [["report", "--no-such-option"], ["report", "train.tpk", "--html", "train.tpk/433.tpt"],
                     ["report", "train.tpk", "--json", "--html", OUTPUT], ["report", "train.tpk", "--no-source"]],
               "3": [["report", "missing.tpk"], ["report", "missing.tpk", "--html", OUTPUT]],
               "4": [["report", "train.tpk", ">", FULL], ["report", "train.tpk", "--html", FULL]]},
    # It ends when it is interrupted.
    "view": {"0": [["view", "train.tpk"]], "2": [["view", "--no-such"]], "3": [["view", "missing.tpk"]],
             "4": [["view", "train.tpk", ">", FULL]]},
    "whatif": {"0": [["whatif", "train.tpk"]], "2": [["whatif", "--no-such"]], "3": [["whatif", "missing.tpk"]],
               "4": [["whatif", "train.tpk", ">", FULL]]},
    "diff": {"0": [["diff", "train.tpk", "train.tpk"], [*COMPARED, "--html", OUTPUT]],
             "2": [["diff", "train.tpk"], [*COMPARED, "--html", "train.tpk/433.tpt"],
                   [*COMPARED, "--json", "--html", OUTPUT], [*COMPARED, "--no-source"]],
             "3": [["diff", "train.tpk", "missing.tpk"], ["diff", "train.tpk", "missing.tpk", "--html", OUTPUT]],
             "4": [[*COMPARED, ">", FULL], [*COMPARED, "--html", FULL]]},
    "check": {"0": [[*CHECKED, "kept.toml", "--sarif", OUTPUT], ["check", "train.tpk", "--init"]],
              "1": [[*CHECKED, "exceeded.toml", "--sarif", OUTPUT]], "2": [[*CHECKED, "missing.toml"]],
              "3": [["check", "missing.tpk", "--budget", "kept.toml"]],
              "4": [[*CHECKED, "kept.toml", ">", FULL], [*CHECKED, "kept.toml", "--init"]]},
    "export": {"0": [["export", "train.tpk", "--to", "chrome"],
                     ["export", "train.tpk", "--to", "perfetto", "-o", OUTPUT]],
               "2": [["export", "train.tpk"], ["export", "train.tpk", "--to", "chrome", "-o", "train.tpk/433.tpt"]],
               "3": [["export", "missing.tpk", "--to", "chrome"]],
               "4": [["export", "train.tpk", "--to", "chrome", "-o", FULL]]},
    "rollup": {"0": [["rollup", "train.tpk"], ["rollup", "train.tpk", "-o", OUTPUT]],
               "2": [["rollup", "--no-such"], ["rollup", "train.tpk", "-o", "train.tpk"]],
               "3": [["rollup", "missing.tpk"]],
               "4": [["rollup", "train.tpk", "-o", FULL]]},
    # In Python, with the executable that was built.
    "fleet": {"0": [["fleet", "train.tpk"], ["fleet", "train.tpk", "--html", OUTPUT],
                    ["fleet", "train.tpk", "--parquet", OUTPUT]],
              "1": [["fleet", "train.tpk", "missing.tpk", "--check", "fleet.toml"]],
              "2": [["fleet"], ["fleet", "train.tpk", "--check", "missing.toml"]], "3": [["fleet", "missing.tpk"]],
              "4": [["fleet", "train.tpk", ">", FULL], ["fleet", "train.tpk", "--html", FULL]]},
    "dump": {"0": [["dump", "train.tpk"]], "2": [["dump", "--no-such"]], "3": [["dump", "missing.tpk"]],
             "4": [["dump", "train.tpk", ">", FULL]]},
    "top": {"0": [["top", "--once"], ["top", "--once", "--prometheus", OUTPUT]], "2": [["top", "--interval", "no"]],
            "3": [["top", "missing.tpk"]], "4": [["top", "--once", ">", FULL]]},
    "bench": {"0": [["bench"]], "2": [["bench", "no-such-experiment"]], "4": [["bench", "to"]]},
}  # fmt: skip


def rows():
    """{command: its cells by the title of the column}"""
    lines = (ROOT / "docs" / "architecture.md").read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| command |"))
    titles = [cell.strip() for cell in lines[start].strip("|").split("|")]
    table = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        cells = dict(zip(titles, (cell.strip() for cell in line.strip("|").split("|")), strict=True))
        table[cells["command"].strip("`")] = cells
    return table


def spans(text):
    return re.findall(r"`([^`]+)`", text)


def codes(cells):
    return [code.strip() for code in cells["exit codes"].split(",")]


TABLE = rows()
CASES = [
    (command, code, words) for command, by_code in SCENARIOS.items() for code in by_code for words in by_code[code]
]


@pytest.fixture
def place(tmp_path):
    directory = tmp_path / "work"
    (directory / OUTPUT).parent.mkdir(parents=True)
    write_run(directory / "train.tpk")
    (directory / "kept.toml").write_text("[per_run]\nh2d_count = 100\n")
    (directory / "fleet.toml").write_text("[fleet]\nmax_unreadable = 0\n")
    (directory / "exceeded.toml").write_text("[per_run]\nh2d_count = 0\n")
    return directory


def interrupted(words, **options):
    """Runs a command to the first line of its output, or to its end, and interrupts it then."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    line = process.stdout.readline()
    if line:
        process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(words, process.returncode, line + rest, errors)


@pytest.fixture
def waiting(turnpike, record_library, fake_libraries, victim, environment, tmp_path):
    """The id of a program that waits for `turnpike attach`, with the real recorder on fake CUDA."""
    real = {
        "TURNPIKE_RECORD_LIBRARY": str(record_library),
        "LD_LIBRARY_PATH": str(fake_libraries),
        "TURNPIKE_CUPTI": str(fake_libraries / "libfakecupti.so"),
    }
    process = subprocess.Popen(
        [turnpike, "record", "--dormant", "--", victim, "paced", "100000", "2"],
        cwd=tmp_path, env={**environment, **real}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    while f".{process.pid}\n" not in pathlib.Path("/proc/net/unix").read_text():
        assert process.poll() is None
        time.sleep(0.01)
    yield str(process.pid)
    process.kill()
    process.wait()


@pytest.fixture
def run(turnpike, guard_library, environment, place, request):
    environment = {name: value for name, value in environment.items() if not name.startswith("GITHUB")}
    environment["TURNPIKE_GUARD_LIBRARY"] = str(guard_library)

    def run(words):
        output = subprocess.PIPE
        if "{pid}" in words:
            words = [word.replace("{pid}", request.getfixturevalue("waiting")) for word in words]
        if ">" in words:
            words, output = words[:-2], open(words[-1], "w")
        elif words[0] == "view":
            return interrupted([str(turnpike), *words, "--no-browser"], cwd=place, env=environment)
        command, more = [str(turnpike)], {}
        if words[0] == "fleet":
            command, more = [sys.executable, "-m", "turnpike"], {"TURNPIKE": str(turnpike)}
        return subprocess.run(
            [*command, *words],
            cwd=place, env={**environment, **more}, stdout=output, stderr=subprocess.PIPE, text=True, timeout=60,
        )  # fmt: skip

    return run


def files_below(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_the_table_has_every_command_and_the_test_every_code(turnpike):
    text = subprocess.run([turnpike, "--help"], capture_output=True, text=True, timeout=60).stdout
    commands = re.findall(r"^  (\w+) {2,}", text.split("Subcommands:")[1].split("Examples:")[0], re.MULTILINE)
    assert sorted(TABLE) == sorted(commands) == sorted(SCENARIOS)
    assert {command: sorted(codes(cells)) for command, cells in TABLE.items()} == {
        command: sorted(by_code) for command, by_code in SCENARIOS.items()
    }


@pytest.mark.parametrize(("command", "code", "words"), CASES, ids=lambda one: one if isinstance(one, str) else None)
def test_every_exit_code_happens_and_only_what_the_table_says_is_written(
    run, place, cuda_program, command, code, words
):
    before = files_below(place.parent)
    result = run([word.replace("{program}", str(cuda_program)) for word in words])
    assert result.returncode == (7 if code == "COMMAND's own" else int(code)), result.stderr
    after = files_below(place.parent)
    assert before.items() <= after.items(), "something that was there has changed or is gone"
    allowed = [pattern.replace("FILE", OUTPUT) for pattern in spans(TABLE[command]["may write"])]
    for name in after.keys() - before.keys():
        assert [pattern for pattern in allowed if fnmatch.fnmatch(name, f"work/{pattern}")], name
    # What the table lets a command write, it does write in one of its scenarios: an entry that is stale shows.
    asks_for_file = {"--html", "--parquet", "--prometheus"} & set(words)
    is_silent = command == "bench" or (command in ("report", "diff", "fleet", "top") and not asks_for_file)
    if int(result.returncode) in (0, 7) and not is_silent and TABLE[command]["may write"] != "nothing":
        assert after.keys() - before.keys()


@pytest.mark.parametrize("command", [name for name, cells in TABLE.items() if spans(cells["reads"])])
def test_every_kind_of_run_that_the_table_names_is_read_and_no_other(run, place, command):
    more = {"diff": ["again.tpk"], "check": ["--budget", "kept.toml"], "export": ["--to", "chrome"]}
    write_run(place / "again.tpk")
    for name, write in WRITERS.items():
        write(place / name)
        result = run([command, name, *more.get(command, [])])
        kind = name.removeprefix("run")
        assert (result.returncode == 0) == (kind in spans(TABLE[command]["reads"])), (name, result.stderr)


@pytest.mark.parametrize("command", TABLE)
def test_the_help_of_each_command_tells_its_codes(turnpike, command):
    text = subprocess.run([turnpike, command, "--help"], capture_output=True, text=True, timeout=60).stdout
    told = text[text.index("Exit code") :]
    for code in codes(TABLE[command]):
        assert re.search(rf"\b{code}\b", told), code


@pytest.mark.parametrize("command", [name for name in TABLE if name not in ("record", "guard", "bench")])
def test_what_prints_nothing_on_standard_output_prints_nothing(run, command):
    result = run(SCENARIOS[command]["0"][0])
    assert (result.stdout == "") == TABLE[command]["standard output"].startswith("nothing")
