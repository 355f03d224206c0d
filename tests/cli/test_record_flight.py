"""`turnpike record --last`: the real recorder on fake CUDA, and what the other commands make of what was kept."""

import json
import os
import signal
import subprocess
import time

import pytest

REFUSED = [
    (["--last", "0"], "seconds"),
    (["--last", "-3"], "seconds"),
    (["--last", "nan"], "seconds"),
    (["--last", "0.5"], "--last keeps whole seconds of a program: give 1 or more"),
    (["--last", "60", "--trigger", "loss > 3"], "at 'loss > 3' (character 1) there should be the word step"),
    (["--last", "60", "--trigger", "step > 3 pt"], "at 'pt' (character 10) there should be 'x median', or a unit"),
    (["--trigger", "step > 3 ms"], "give --last, too, as in: turnpike record --last 60 --trigger ..."),
    (["--signal", "USR1"], "give --last, too, as in: turnpike record --last 60 --signal ..."),
    (["--last", "60", "--signal", "KILL"], "'KILL' is none of USR1, USR2, HUP and off"),
    (["--last", "60", "--keep", "2"], "--keep says how many runs --trigger keeps: give --trigger, too"),
    (["--last", "60", "--trigger", "step > 1 s", "--keep", "0"], "'0' is no number from 1 on"),
    (["--last", "60", "--duration", "5"], "--last and --duration exclude each other"),
    (["--last", "60", "--capture-range", "nvtx:step"], "--last and --capture-range exclude each other"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "said"), REFUSED)
def test_what_makes_no_sense_is_refused_with_what_to_do(record, options, said):
    result = record("echo", "ran", options=options)
    assert (result.returncode, result.stdout) == (2, b"")
    assert said in result.stderr
    assert record.runs() == []


@pytest.mark.parametrize(
    ("options", "given"),
    [
        (["--last", "60"], {"TURNPIKE_LAST_MS": "60000", "TURNPIKE_DETAIL": "transfers"}),
        (["--last", "1.5", "--detail", "full"], {"TURNPIKE_LAST_MS": "1500", "TURNPIKE_DETAIL": "full"}),
        (["--last", "9", "--delay", "2"], {"TURNPIKE_LAST_MS": "9000", "TURNPIKE_DELAY_MS": "2000"}),
        (["--last", "9", "--signal", "off"], {"TURNPIKE_SIGNAL": "off"}),
        (
            ["--last", "9", "--trigger", "step > 2 x median", "--keep", "7"],
            {"TURNPIKE_TRIGGER": "step > 2 x median", "TURNPIKE_KEEP": "7"},
        ),
    ],
)
def test_the_recorder_gets_what_was_given(record, options, given):
    lines = record("env", options=options).stdout.decode().splitlines()
    assert {f"{name}={value}" for name, value in given.items()} <= set(lines)


@pytest.fixture
def flight(record, record_library, fake_libraries):
    """`record`, with the real recorder, and the programs of its tests."""
    record.environment = {
        **record.environment,
        "TURNPIKE_RECORD_LIBRARY": str(record_library),
        "LD_LIBRARY_PATH": str(fake_libraries),
        "TURNPIKE_CUPTI": str(fake_libraries / "libfakecupti.so"),
    }
    return record


def command(record, *arguments):
    environment = {name: value for name, value in record.environment.items() if name != "LD_LIBRARY_PATH"}
    return subprocess.run(
        [str(record.turnpike), *map(str, arguments)],
        cwd=record.directory, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_every_command_reads_what_was_kept(flight, victim):
    result = flight(victim, "paced", "1300", "2", options=["--last", "1", "-o", "run.tpk"])
    assert (result.returncode, result.stdout) == (0, b"paced 1300\n"), result.stderr
    assert list((flight.directory / "run.tpk").glob("*.tps"))

    report = json.loads(command(flight, "report", "run.tpk", "--json").stdout)
    kept = report["source"]["kept"]
    assert kept["because"] == []
    assert 0.9e9 < kept["last_ns"] < 2e9 < kept["of_ns"]
    assert 0 < report["totals"]["h2d"]["count"] < 1300
    assert report["losses"] == {}
    assert report["source"]["processes"] == 1
    text = command(flight, "report", "run.tpk", "--all").stdout
    assert "kept      the last 1." in text and "what was before is not in the report" in text

    for words in (
        ["diff", "run.tpk", "run.tpk"],
        ["dump", "run.tpk"],
        ["report", "run.tpk", "--html", "run.html"],
        ["export", "run.tpk", "--to", "chrome", "-o", "run.json"],
        ["rollup", "run.tpk", "-o", "run.rollup"],
        ["check", "run.tpk", "--init"],
    ):
        done = command(flight, *words)
        assert done.returncode == 0, (words, done.stderr)
    copies = [line for line in command(flight, "dump", "run.tpk").stdout.splitlines() if line.startswith("memcpy ")]
    assert len(copies) == report["totals"]["h2d"]["count"]


def test_a_program_that_is_killed_leaves_its_last_seconds(flight, victim):
    process = flight.start(
        "sh", "-c", f"{victim} paced 100000 2 & echo $!; wait $!", options=["--last", "1", "-o", "run.tpk"]
    )
    child = int(process.stdout.readline())
    time.sleep(2)
    os.kill(child, signal.SIGKILL)
    process.communicate(timeout=30)
    report = json.loads(command(flight, "report", "run.tpk", "--json").stdout)
    # Of the work of the GPU the last 20 ms, as of any process that is killed.
    assert {"ended_early"} <= set(report["losses"]) <= {"ended_early", "missing_at_kill"}
    assert report["source"]["kept"]["of_ns"] > 1.5e9


def test_a_signal_to_the_command_keeps_a_copy_and_the_program_goes_on(flight, victim):
    process = flight.start(victim, "paced", "900", "2", options=["--last", "1", "-o", "run.tpk"])
    time.sleep(1.2)
    process.send_signal(signal.SIGUSR2)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b"paced 900\n")
    assert flight.runs() == ["run-1.tpk", "run.tpk"]
    assert "  kept run-1.tpk\n" in err.decode()
    first = json.loads(command(flight, "report", "run-1.tpk", "--json").stdout)
    assert first["losses"] == {}
    assert 0 < first["totals"]["h2d"]["count"] < 900


def test_without_last_the_signal_is_the_programs(flight, victim):
    process = flight.start(victim, "paced", "5000", "2", options=["-o", "run.tpk"])
    time.sleep(0.7)
    process.send_signal(signal.SIGUSR2)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGUSR2
    assert flight.runs() == ["run.tpk"]


def test_a_slow_step_is_kept_with_its_reason(flight, victim):
    result = flight(
        victim, "steps", "60", "5", "40", "90",
        options=["--last", "5", "--trigger", "step > 3 x median", "-o", "run.tpk"],
    )  # fmt: skip
    assert result.returncode == 0
    assert "  kept run-1.tpk: a step (train_step) took " in result.stderr
    kept = json.loads(command(flight, "report", "run-1.tpk", "--json").stdout)["source"]["kept"]
    (reason,) = kept["because"]
    assert reason.endswith("(step > 3 x median)")
    assert "because a step (train_step) took " in command(flight, "report", "run-1.tpk", "--all").stdout


def test_a_recording_of_the_last_seconds_is_replaced_by_force(flight, victim):
    for _ in range(2):
        result = flight(victim, "paced", "50", "2", options=["--last", "5", "-o", "run.tpk", "--force"])
        assert result.returncode == 0
        assert "stays as it was" not in result.stderr
    names = sorted(path.suffix for path in (flight.directory / "run.tpk").iterdir())
    assert names == [".tps", ".tpt"]
    assert [path.name for path in flight.directory.iterdir()] == ["run.tpk"]
