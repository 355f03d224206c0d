"""turnpike fleet: every planted fault is found, nothing else is, and what is missing is said."""

import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pyarrow.parquet
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import fleet as bench  # noqa: E402
import fleet_job  # noqa: E402
import fleet_noise  # noqa: E402

from turnpike._fleet import command, rollups, words  # noqa: E402

pytestmark = pytest.mark.slow

RANKS = 64
STEPS = 6000  # ten minutes: what changes over time needs some


@pytest.fixture(scope="session")
def program():
    """Writes traces. Built with the tests."""
    folder = os.environ.get("TURNPIKE_BUILD")
    if not folder:
        pytest.fail("TURNPIKE_BUILD is not set: name the folder in which Turnpike was built", pytrace=False)
    return pathlib.Path(folder).resolve() / "bench" / "fleet_traces"


def write_job(program, folder, *, seed=1, steps=STEPS, faults=None, ranks=RANKS):
    for rank in range(ranks):
        fleet_job.write_rank(program, folder, rank, fleet_job.arguments(rank, ranks, seed, steps, faults or {}))
    return folder


def fleet(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "turnpike", "fleet", *map(str, words)],
        capture_output=True, text=True, timeout=300, env={**os.environ, **environment},
    )  # fmt: skip


def found_by(result):
    """{rule: the ranks that it names}"""
    found = {}
    for one in json.loads(result.stdout)["findings"]:
        found.setdefault(one["rule"], set()).update(rank["rank"] for rank in one["ranks"])
    return found


def all_faults():
    faults = {}
    for of_rule in fleet_job.planted(RANKS).values():
        for rank, fault in of_rule.items():
            faults.setdefault(rank, {}).update(fault)
    return faults


@pytest.fixture(scope="session")
def faulty(program, tmp_path_factory):
    return write_job(program, tmp_path_factory.mktemp("fleet") / "job", faults=all_faults())


@pytest.fixture
def answer(faulty):
    return found_by(fleet(faulty, "--json"))


def copied(job, folder):
    """The same job, whose files may be changed."""
    shutil.copytree(job, folder, copy_function=os.link)
    return folder


def test_every_planted_fault_is_found_with_its_rank_and_line(faulty):
    result = fleet(faulty, "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert bench.found(report) == bench.expected(RANKS)
    assert [one["is_compared"] for one in report["compared"]] == [True]


@pytest.mark.parametrize("seed", range(1, 4))
def test_recordings_of_ranks_that_differ_by_chance_have_no_findings(program, tmp_path, seed):
    """With heavy tails, hosts in common, and a rank that stalls for a minute."""
    effects = fleet_noise.effects("t3 by host", 0.03, RANKS, seed)
    faults = {rank: {"own": effect} for rank, effect in enumerate(effects)}
    faults[20] |= {"stalled_minute": 1, "stall": 3}
    write_job(program, tmp_path / "job", seed=seed, steps=2400, faults=faults)
    result = fleet(tmp_path / "job", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["findings"] == []
    assert (report["missing_ranks"], report["losses"], report["fleet"]["ranks"]) == ({}, [], RANKS)


def test_figures_are_those_that_were_planted(faulty):
    report = json.loads(fleet(faulty, "--json").stdout)
    of_rule = {one["rule"]: one for one in report["findings"]}
    slow = of_rule["slow_rank"]
    assert slow["saves_all_ranks"]
    # A fifth of the 90 ms in which a rank is busy itself, less what all wait for the rank that drifts: its time grows
    # from 0 to 0.3 of 90 ms, so for two thirds of the time it hides a part, and then all.
    assert slow["saving_ns"] == pytest.approx((0.2 - 0.1) * 2 / 3 * 90e6, rel=0.1)
    link = of_rule["slow_link"]
    assert link["these"]["median"] == pytest.approx(26, rel=0.05)
    assert link["others"]["median"] == pytest.approx(52, rel=0.05)
    assert "x8" in link["evidence"]
    assert of_rule["wrong_pinning"]["hosts"] == [fleet_job.host_of(RANKS // 2)]
    assert of_rule["uneven_bytes"]["these"]["median"] == pytest.approx(
        1.5 * of_rule["uneven_bytes"]["others"]["median"]
    )
    assert of_rule["diverging_code"]["these"]["median"] == pytest.approx(1, rel=0.01)


def test_the_answer_stays_the_same_with_ranks_missing_and_files_cut(faulty, answer, tmp_path):
    job = copied(faulty, tmp_path / "job")
    for rank in (5, 40, 41):
        shutil.rmtree(job / f"run-{rank}.tpk")
    cut = job / "run-50.tpk" / "1050.tpt"
    data = cut.read_bytes()
    cut.unlink()
    cut.write_bytes(data[: len(data) * 2 // 3])
    result = fleet(job, "--json")
    report = json.loads(result.stdout)
    assert report["missing_ranks"] == {"job17": [5, 40, 41]}
    losses = {loss["loss"]: loss["processes"] for loss in report["losses"]}
    assert losses["not_closed"] == 1
    without = {rule: ranks - {5, 40, 41} for rule, ranks in answer.items()}
    assert found_by(result) == without
    text_of_it = fleet(job).stdout
    assert "MISSING   of job17: rank 5, 40-41." in text_of_it
    assert text_of_it.index("MISSING") < text_of_it.index("WHAT DIFFERS")


def killing(folder, times):
    """A turnpike whose first roll-ups are killed, as by the system for memory."""
    marks = folder / "marks"
    marks.mkdir()
    script = folder / "turnpike"
    script.write_text(f"""#!/bin/sh
case "$*" in *run-7.tpk*)
  if [ "$(ls {marks} | wc -l)" -lt {times} ]; then touch {marks}/$$; kill -9 $$; fi ;;
esac
exec {rollups.executable()} "$@"
""")
    script.chmod(0o755)
    return str(script)


def test_a_map_task_that_is_killed_once_is_done_again(faulty, answer, tmp_path):
    result = fleet(faulty, "--json", TURNPIKE=killing(tmp_path, 1))
    assert result.returncode == 0
    assert len(list((tmp_path / "marks").iterdir())) == 1
    assert found_by(result) == answer


def test_a_map_task_that_is_always_killed_is_named_and_the_others_compared(faulty, answer, tmp_path):
    result = fleet(faulty, "--json", TURNPIKE=killing(tmp_path, 99))
    assert result.returncode == 3
    report = json.loads(result.stdout)
    assert f"signal {signal.SIGKILL.value}" in report["unreadable"][0]
    assert "1007.tpt" in report["unreadable"][0]
    assert report["missing_ranks"] == {"job17": [7]}
    assert found_by(result) == answer


def test_roll_ups_made_before_give_the_same_answer(faulty, answer, tmp_path):
    for run in faulty.iterdir():
        subprocess.run([rollups.executable(), "rollup", run, "-o", tmp_path / "out"], check=True, capture_output=True)
    (tmp_path / "out" / "cut.parquet").write_bytes(b"PAR1 no more")
    result = fleet(tmp_path / "out", "--json")
    assert result.returncode == 3
    assert "cut.parquet" in json.loads(result.stdout)["unreadable"][0]
    assert found_by(result) == answer


PARTS = 3
PARTS_RANKS = 16
PARTS_FAULTS = {3: {"own": 1.2}, 5: {"rate": 0.5, "width": 8}, 8: {"pinned": 0}}


def figures_of(result):
    """What is found: {rule: ranks, line, these, others, gains}, and what the ranks were in all."""
    report = json.loads(result.stdout)
    found = {
        one["rule"]: (
            {rank["rank"] for rank in one["ranks"]}, one["site"],
            [one["these"]["median"], one["others"]["median"], one["saving_ns"], one["all_ranks_saving_ns"]],
        )
        for one in report["findings"]
    }  # fmt: skip
    return found, report["fleet"], report["losses"], report["missing_ranks"]


def test_recordings_in_parts_give_the_answer_of_whole_ones(program, tmp_path):
    """As of a rank that `turnpike attach` recorded three times in a row. Each part lacks the end of its last step."""
    whole = write_job(program, tmp_path / "whole", steps=3000, faults=PARTS_FAULTS, ranks=PARTS_RANKS)
    for part in range(PARTS):
        for rank in range(PARTS_RANKS):
            words = fleet_job.arguments(rank, PARTS_RANKS, 1, 3000, PARTS_FAULTS)
            words += [f"first={1000 * part}", f"last={1000 * (part + 1)}"]
            fleet_job.write_rank(program, tmp_path / "parts" / f"{part}", rank, words)
    found, ranks, losses, missing = figures_of(fleet(whole, "--json"))
    assert set(found) == {"slow_rank", "slow_link", "wrong_pinning"}
    in_parts, ranks_in_parts, *others = figures_of(fleet(tmp_path / "parts", "--json"))
    assert {rule: one[:2] for rule, one in in_parts.items()} == {rule: one[:2] for rule, one in found.items()}
    for rule, (_, _, figures) in found.items():
        assert in_parts[rule][2] == pytest.approx(figures, rel=0.01, abs=20_000)
    assert others == [losses, missing] == [[], {}]
    assert ranks_in_parts.pop("median_step_ns") == pytest.approx(ranks.pop("median_step_ns"), rel=0.001)
    assert ranks_in_parts == ranks


def test_processes_that_only_look_alike_are_not_parts_of_one(program, tmp_path):
    """Four containers whose hosts and processes are numbered alike, recorded at the same time."""
    for number in range(4):
        words = [*fleet_job.arguments(0, 1, number, 600, {})]
        fleet_job.write_rank(program, tmp_path / "job" / f"{number}", 0, words)
    assert json.loads(fleet(tmp_path / "job", "--json").stdout)["fleet"]["ranks"] == 4


def test_what_is_no_run_is_an_error_and_the_others_are_compared(program, tmp_path):
    job = write_job(program, tmp_path / "job", steps=50, ranks=4)
    (tmp_path / "empty").mkdir()
    assert fleet(tmp_path / "missing").returncode == 3
    assert fleet(tmp_path / "empty").returncode == 3
    result = fleet(job, tmp_path / "missing")
    assert result.returncode == 3
    assert "4 compared" in result.stdout
    assert "missing is not there" in result.stderr


def test_without_duckdb_it_says_what_to_install(program, tmp_path):
    job = write_job(program, tmp_path / "job", steps=50, ranks=1)
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "duckdb.py").write_text("raise ImportError('hidden')\n")
    path = os.pathsep.join([str(tmp_path / "hidden"), os.environ.get("PYTHONPATH", "")])
    result = fleet(job, PYTHONPATH=path)
    assert result.returncode == 4
    assert "pip install 'turnpike-gpu[fleet]'" in result.stderr


def test_names_from_a_recording_cannot_steer_the_terminal(program, tmp_path):
    faults = {rank: {"host": "\x1b[2Jevil", "rate": 0.5 if rank == 9 else 1} for rank in range(8, 16)}
    job = write_job(program, tmp_path / "job", faults=faults, ranks=16, steps=600)
    result = fleet(job)
    assert "evil" in result.stdout
    assert "\x1b" not in result.stdout


class OnTerminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_and_goes_with_the_last_recording(program, tmp_path, monkeypatch):
    job = write_job(program, tmp_path / "job", steps=50, ranks=2)
    monkeypatch.setattr(sys, "stderr", OnTerminal())
    assert command.main([str(job), "--json"]) == 0
    assert sys.stderr.getvalue() == "\r\033[Kturnpike fleet: 1 of 2 recordings rolled up\r\033[K"
    assert fleet(job).stderr == ""


def test_sends_and_receives_are_no_time_of_the_rank_itself(program, tmp_path):
    words = [*fleet_job.arguments(0, 4, 1, 100, {}), "clock_s=0", "receive=0.2", "kernels=5"]
    fleet_job.write_rank(program, tmp_path, 0, words)
    subprocess.run([rollups.executable(), "rollup", tmp_path / "run-0.tpk", "-o", tmp_path], check=True)
    (file,) = tmp_path.glob("*.parquet")
    (row,) = (row for row in pyarrow.parquet.read_table(file).to_pylist() if row["what"] == "step")
    steps = row["count"]
    assert row["collective_ns"] / steps == pytest.approx((0.2 + 0.03) * 100e6, rel=0.01)
    assert sum(row["own_parts"][1::2]) == steps
    of_step = [row[f"{kind}_count"] / steps for kind in ("kernel", "collective", "peer")]
    assert of_step == pytest.approx([5, 1, 1], rel=0.03)


def test_numbers_of_ranks_are_shortened():
    assert words.numbers([3, 7, 8, 9, 11]) == "3, 7-9, 11"
