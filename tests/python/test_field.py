"""bench/field without a GPU: programs that only count and wait, and a turnpike that only starts them."""

import collections
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench/field"), str(ROOT / "bench")]
pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")

import harness  # noqa: E402
import program as programs  # noqa: E402
from live import Died, Live  # noqa: E402

# A step of the program as it is takes 3 ms, of the fixed one 1 ms.
PROGRAM = textwrap.dedent(
    """
    import json, os, sys, time
    step_s = 0.001 if "faster" in sys.argv else 0.003
    if "--fails" in sys.argv or "broken" in sys.argv:
        sys.exit("it cannot work")
    if "--wait" in sys.argv:
        print("field: " + json.dumps({"ready": True}), flush=True)
        sys.stdin.readline()
        print("field: " + json.dumps({"step_us": 9000.0}), flush=True)
        sys.exit(0)
    print("chatter", flush=True)
    print("field: " + json.dumps({"ready": True, "loss": 0.5}), flush=True)
    for line in sys.stdin:
        lead, steps, *run = line.split()
        lead, steps = int(lead), int(steps)
        if run:
            os.mkdir(run[0])
            with open(run[0] + "/0", "w") as file:
                file.write("1234567")
        time.sleep(step_s * lead)
        started = time.perf_counter()
        time.sleep(step_s * steps)
        us = (time.perf_counter() - started) / steps * 1e6
        print("field: " + json.dumps({"step_us": us, "loss": 0.5}), flush=True)
    """
)
TABLE = """
steps = 4
lead = 0
[[fix]]
name = "faster"
does = "be faster"
answers = [{ rule = "late_loader", says = "num_workers" }]
[[fix]]
name = "broken"
does = "fail"
"""
TURNPIKE = """#!/bin/bash
case $1 in
  record) while [ "$1" != -o ]; do shift; done; run=$2; mkdir -p "$run"; echo 12345 > "$run/0"
    while [ "$1" != -- ]; do shift; done; shift; exec "$@" ;;
  report) if [ "$3" = --json ]; then cat "$REPORT"; else echo "the report, link in $XDG_CACHE_HOME"; fi ;;
  bench) mkdir -p "$XDG_CACHE_HOME/turnpike"; echo "{}" > "$XDG_CACHE_HOME/turnpike/link.json" ;;
esac
"""


def finding(**changes):
    values = {
        "rule": "late_loader",
        "site": "train.py:5",
        "saving_step_ns": 2_000_000,
        "superseded_by": None,
        "advice": "DataLoader(..., num_workers=6, pin_memory=True)",
    }
    return values | changes


@pytest.fixture
def field(tmp_path, monkeypatch):
    """A harness over two programs: one that works and one that fails at once."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "works.py").write_text(PROGRAM)
    (folder / "works.toml").write_text(TABLE)
    (folder / "fails.py").write_text(PROGRAM.replace("--fails", "--device"))
    (folder / "fails.toml").write_text(TABLE)
    turnpike = tmp_path / "turnpike"
    turnpike.write_text(TURNPIKE)
    turnpike.chmod(turnpike.stat().st_mode | stat.S_IXUSR)
    report = {
        "findings": [finding()],
        "losses": {},
        "steps": {"count": 4, "median_ns": 3_000_000},
        "verdict": {"bound_by": "input"},
    }
    (tmp_path / "report.json").write_text(json.dumps(report))
    monkeypatch.setenv("TURNPIKE", str(turnpike))
    monkeypatch.setenv("REPORT", str(tmp_path / "report.json"))
    monkeypatch.setattr(programs, "load", lambda name, load=programs.load: load(name, str(folder)))
    monkeypatch.setattr(harness, "BLOCK_S", 0.03)
    monkeypatch.setattr(harness, "START_S", 20)
    monkeypatch.setattr(harness, "APART_PCT", 1000)  # the machine may be busy

    def run(*names, **changes):
        options = {"device": "cpu", "out": str(tmp_path / "out"), "seconds_in_all": 100.0, "seconds": 5.0}
        options |= {"rounds": 3, "together": 2, "follow_only": False} | changes
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        harness.Field(harness.argparse.Namespace(**options), str(scratch)).run(list(names))
        [path] = (tmp_path / "out").glob("field-*.json")
        return json.loads(path.read_text())

    run.out = tmp_path / "out"
    return run


def test_a_fix_is_measured_against_the_program_as_it_is_and_its_finding(field):
    result = field("works")
    row, alike = result["rows"]
    assert (row["program"], row["fix"], row["rule"]) == ("works", "faster", "late_loader")
    assert 500 < row["value"] < 4000  # 2000 on a quiet machine
    assert row["baseline_value"] == 2000
    assert row["sign_right"] is True
    assert row["samples"] == 3
    assert (alike["fix"], alike["samples"], alike["met"], alike["sign_right"]) == ("as it is, again", 3, None, None)
    assert abs(alike["value"]) < 2000
    assert result["summary"]["claims"] == 1


def test_a_program_that_fails_is_named_and_the_rest_goes_on(field):
    result = field("fails", "works")
    assert {row["program"] for row in result["rows"]} == {"works"}
    assert any(problem.startswith("fails: recording: it ended: it cannot work") for problem in result["failures"])
    assert any(problem.startswith("works: broken: it ended: it cannot work") for problem in result["failures"])


def test_reports_logs_and_recordings_are_kept(field):
    field("works")
    for name in ("works-first", "works-1", "works-2"):
        assert "no-link" not in (field.out / f"reports/{name}.txt").read_text()
        assert json.loads((field.out / f"reports/{name}.json").read_text())["findings"]
    assert "no-link" in (field.out / "reports/works-first-no-link.txt").read_text()
    assert "chatter" in (field.out / "logs/works-as-it-is.log").read_text()
    assert (field.out / "recordings/works.tpk/0").read_text() == "1234567"
    assert (field.out / "recordings/works-first.tpk/0").read_text() == "12345\n"
    assert (field.out / "recordings/turnpike/link.json").exists()


def test_what_is_kept_beside_a_recording_judges_another_report_of_it(field):
    row, _ = field("works")["rows"]
    known = json.loads((field.out / "recordings/works.json").read_text())
    steps = {"count": 4, "median_ns": 3_000_000}
    again = harness.judged_again(known, {"findings": [finding(saving_step_ns=90_000_000)], "steps": steps})
    judged, _ = harness.rows_of(again)
    assert judged["value"] == row["value"]
    assert judged["met"] is False
    assert known["came_true"] == ([["faster", "late_loader", "train.py:5"]] if row["met"] else [])


def test_recordings_beyond_the_limit_are_named_and_first_ones_yield(field, monkeypatch):
    monkeypatch.setattr(harness, "KEPT_BYTES", 8)  # of three recordings: 7, 7 and 6
    field("works")
    assert (field.out / "recordings/works.tpk").exists()
    assert not (field.out / "recordings/works-first.tpk").exists()
    left_out = (field.out / "recordings/left_out.txt").read_text().splitlines()
    assert left_out[0] == "works-first.tpk: 6 bytes" and re.fullmatch("works-[12].tpk: 7 bytes", left_out[1])


def test_when_the_time_is_over_no_program_is_begun(field):
    result = field("works", seconds_in_all=-1.0)
    assert result["rows"] == []
    assert result["failures"] == ["works: not begun: the time was over"]


def test_only_what_a_finding_asks_for_is_measured_when_wanted(field):
    result = field("works", follow_only=True)
    assert result["failures"] == []
    assert not (field.out / "logs/works-broken.log").exists()


def test_a_fix_follows_the_rule_the_place_and_the_words_of_a_finding():
    fix = programs.Fix("workers", "", ({"rule": "late_loader", "site": "train.py", "says": "num_workers"},))
    assert fix.follows(finding())
    assert not fix.follows(finding(rule="launch_bound"))
    assert not fix.follows(finding(site="other.py:5"))
    assert not fix.follows(finding(advice="raise prefetch_factor"))


def test_a_fix_that_is_an_alternative_has_its_saving():
    fix = programs.Fix("malloc", "", ({"rule": "late_loader", "says": "MALLOC"},))
    other = {"advice": "set MALLOC_X", "saving_step_low_ns": 30, "saving_step_high_ns": 40}
    both = finding(saving_step_low_ns=50, saving_step_high_ns=60, alternatives=[other])
    claim = fix.claim(both)
    assert (claim["saving_step_low_ns"], claim["saving_step_high_ns"]) == (30, 40)
    first = programs.Fix("workers", "", ({"rule": "late_loader", "says": "num_workers"},)).claim(both)
    assert (first["saving_step_low_ns"], first["saving_step_high_ns"]) == (50, 60)
    assert fix.claim(finding()) is None


def test_the_ranges_of_claims_together_are_added_up():
    one = finding(saving_pct=5, saving_step_ns=50, saving_step_low_ns=44, saving_step_high_ns=56)
    two = finding(saving_pct=3, saving_step_ns=30, saving_step_low_ns=20, saving_step_high_ns=40, site="train.py:6")
    [joined] = harness.joined([one, two])
    assert (joined["saving_step_low_ns"], joined["saving_step_high_ns"]) == (64, 96)


def test_of_claims_together_one_that_may_come_to_nothing_makes_the_least_no_larger():
    one = finding(saving_pct=3, saving_step_ns=30, saving_step_low_ns=20, saving_step_high_ns=40)
    two = finding(saving_pct=1, saving_step_ns=5, saving_step_low_ns=0, saving_step_high_ns=15, site="train.py:6")
    [joined] = harness.joined([one, two])
    assert (joined["saving_step_low_ns"], joined["saving_step_high_ns"]) == (20, 55)
    [joined] = harness.joined([two, two | {"site": "train.py:7"}])
    assert joined["saving_step_low_ns"] == 0


def test_the_number_of_workers_is_the_advised_one():
    fix = programs.Fix("workers", "", ({"rule": "late_loader"},))
    assert fix.options([finding()]) == ["--fix", "workers", "--num-workers", "6"]
    assert fix.options([finding(advice="raise it")]) == ["--fix", "workers"]


def test_a_fix_by_the_environment_has_no_switch():
    assert programs.Fix("malloc", "", switch=False, environment={"A": "1"}).options([finding()]) == []


def taken(plain, fixed, **claim):
    fix = programs.Fix("faster", "", ({"rule": "late_loader"},))
    known = harness.Taken(programs.Program("p", "p.py", 4, 1, 3, 1, 1, (fix,)))
    report = {"findings": [finding(**claim)], "steps": {"count": 4, "median_ns": 1_000_000}, "losses": {}}
    known.beside = [harness.Recorded(report, 4, step_us=1000.0)]
    known.blocks = {harness.PLAIN: plain, "faster": fixed}
    return known


@pytest.mark.parametrize(
    ("claim", "met"),
    [
        ({"saving_step_ns": 400_000}, True),
        ({"saving_step_ns": 440_000}, True),  # within 5 % of the step
        ({"saving_step_ns": 460_000}, False),
        ({"saving_step_ns": 900_000, "saving_step_low_ns": 300_000, "saving_step_high_ns": 410_000}, True),
        ({"saving_step_ns": 400_000, "saving_step_low_ns": 410_000, "saving_step_high_ns": 500_000}, False),
        ({"saving_step_ns": None}, None),
    ],
)
def test_a_claim_comes_true_within_its_range_or_within_5_percent_of_a_step(claim, met):
    [row] = harness.rows_of(taken([1000.0, 1002, 998], [600.0, 602, 598], **claim))
    assert row["met"] is met
    assert row["value"] == 400


def test_a_fix_that_makes_it_slower_has_the_wrong_sign():
    [row] = harness.rows_of(taken([1000.0, 1002, 998], [1100.0, 1102, 1098], saving_step_ns=10_000))
    assert row["sign_right"] is False
    [row] = harness.rows_of(taken([1000.0, 1002, 998], [1000.0, 995, 1005], saving_step_ns=10_000))
    assert row["sign_right"] is True


def alike(known, again):
    known.blocks[harness.AGAIN] = again
    return known


def test_what_a_fix_saves_is_of_the_mean_of_both_processes_of_the_program_as_it_is():
    row, other = harness.rows_of(alike(taken([1000.0, 1002, 998], [600.0] * 3), [1100.0, 1102, 1098]))
    assert (row["measured_as_is"], row["value"]) == (1050, 450)
    assert (other["fix"], other["value"], other["met"], other["rule"]) == (harness.AGAIN, -100, None, None)
    # Without the second one, or where it ended, the first one stands alone.
    [row] = harness.rows_of(alike(taken([1000.0, 1002, 998], [600.0] * 3), []))
    assert row["value"] == 400
    row, _ = harness.rows_of(alike(taken([1000.0, 1002, 998], [600.0] * 3), [1100.0]))
    assert row["value"] == 400


def test_slower_by_less_than_alike_processes_lie_apart_is_no_wrong_sign():
    claim = {"saving_step_ns": 50_000, "saving_step_low_ns": 0, "saving_step_high_ns": 100_000}
    [row] = harness.rows_of(taken([1000.0] * 5, [1040.0] * 5, **claim))
    assert (row["met"], row["sign_right"]) == (False, False)
    row, _ = harness.rows_of(alike(taken([1000.0] * 5, [1050.0] * 5, **claim), [1040.0] * 5))
    assert (row["value"], row["met"], row["counted_as_none"], row["sign_right"]) == (-30, True, True, True)
    row, _ = harness.rows_of(alike(taken([1000.0] * 5, [1090.0] * 5, **claim), [1040.0] * 5))
    assert (row["value"], row["met"], row["sign_right"]) == (-70, False, False)
    # A second process that ended tells nothing.
    row, _ = harness.rows_of(alike(taken([1000.0] * 5, [1040.0] * 5, **claim), [1040.0] * 4))
    assert (row["value"], row["met"], row["sign_right"]) == (-40, False, False)
    # A range of its own is no wider for it.
    above = claim | {"saving_step_low_ns": 10_000}
    row, _ = harness.rows_of(alike(taken([1000.0] * 5, [1015.0] * 5, **above), [1040.0] * 5))
    assert (row["value"], row["met"]) == (5, False)


@pytest.mark.parametrize("fixed", [1400.0, 1100.0, 600.0])  # slower, as fast, and as fast as was claimed
def test_where_alike_processes_lie_too_far_apart_no_claim_is_judged(fixed):
    claim = {"saving_step_ns": 500_000, "saving_step_low_ns": 0, "saving_step_high_ns": 600_000}
    known = alike(taken([1000.0] * 5, [fixed] * 5, **claim), [1300.0] * 5)
    known.first = known.beside[0]
    rows = harness.rows_of(known)
    assert [rows[0][key] for key in ("met", "sign_right", "first_met", "too_noisy")] == [None, None, None, True]
    assert rows[0]["value"] == 1150 - fixed
    counts = harness.summary(rows)
    assert (counts["too_noisy"], counts["claims"], counts["in_range"], counts["findings_without_a_claim"]) == (
        1,
        0,
        0,
        0,
    )
    assert counts["claims_of_first_recordings"] == 0


def test_where_alike_processes_lie_near_enough_claims_are_judged():
    row, other = harness.rows_of(alike(taken([1000.0] * 5, [600.0] * 5, saving_step_ns=400_000), [1050.0] * 5))
    assert (row["met"], row["too_noisy"], other["too_noisy"]) == (True, False, False)


def test_a_fix_that_breaks_the_program_is_missed_however_far_alike_processes_lie_apart():
    known = alike(taken([1000.0] * 5, []), [1300.0] * 5)
    known.failed["faster"] = "it ended"
    row, _ = harness.rows_of(known)
    assert (row["met"], row["too_noisy"]) == (False, False)


def test_what_is_too_noisy_to_judge_is_shown(capsys):
    known = alike(taken([1000.0] * 5, [600.0] * 5), [1300.0] * 5)
    known.beside[0].report["verdict"] = {"bound_by": "input"}
    harness.show(known)
    [line] = [line for line in capsys.readouterr().out.splitlines() if "late_loader" in line]
    assert line.endswith("predicted  TOO NOISY TO JUDGE")


# Of five blocks the interval is from the least to the largest.
@pytest.mark.parametrize(
    ("fixed", "low_ns", "met", "as_none"),
    [
        ([1010.0, 1020, 1005, 990, 1010], 0, True, True),
        ([1010.0, 1020, 1005, 1002, 1010], 0, False, False),  # slower for sure
        ([1010.0, 1020, 1005, 990, 1010], 1000, False, False),  # a claim of something
        ([990.0, 980, 985, 1005, 990], 0, True, False),
        ([800.0, 780, 785, 1005, 790], 0, False, False),  # more than was claimed
    ],
)
def test_no_difference_is_in_a_range_that_begins_at_none(fixed, low_ns, met, as_none):
    claim = {"saving_step_ns": 50_000, "saving_step_low_ns": low_ns, "saving_step_high_ns": 100_000}
    [row] = harness.rows_of(taken([1000.0] * 5, fixed, **claim))
    assert (row["met"], row["counted_as_none"]) == (met, as_none)
    assert row["value"] == 1000 - sorted(fixed)[2]
    assert harness.summary([row])["counted_as_none"] == as_none


def test_a_claim_is_of_the_recording_whose_steps_were_as_long_and_the_first_one_is_judged_too():
    known = taken([1000.0] * 3, [600.0] * 3, saving_step_ns=390_000)
    report = known.beside[0].report | {"findings": [finding(saving_step_ns=100_000)]}
    known.beside.insert(0, harness.Recorded(report, 4, step_us=1300.0))
    known.first = harness.Recorded(report, 4, step_us=900.0)
    [row] = harness.rows_of(known)
    assert (row["baseline_value"], row["met"], row["claim_is_of_first_recording"]) == (390, True, False)
    assert (row["first_predicted_low"], row["first_met"]) == (100, False)
    counts = harness.summary([row])
    assert (counts["claims_of_first_recordings"], counts["in_range_of_first_recordings"]) == (1, 0)
    known.first.step_us = 1000.0  # as near: those between the blocks come first
    assert known.judged is known.beside[1]
    known.first.step_us, known.beside[1].step_us = 990.0, 980.0
    assert known.judged is known.first


def test_a_claim_that_only_the_first_recording_makes_counts():
    known = taken([1000.0] * 3, [600.0] * 3)
    known.first = harness.Recorded(known.beside[0].report | {"findings": [finding(saving_step_ns=100_000)]}, 4)
    known.beside[0].report["findings"] = []
    [row] = harness.rows_of(known)
    assert (row["baseline_value"], row["met"], row["claim_is_of_first_recording"]) == (100, False, True)


# Such a report's only step is the run.
def test_a_claim_of_a_run_without_steps_is_shared_among_the_program_s():
    known = taken([1200.0] * 3, [600.0] * 3, saving_step_ns=2_000_000, saving_pct=1)
    known.beside[0].report["steps"] = None
    known.beside[0].step_us = 1000.0
    [row] = harness.rows_of(known)
    assert row["predicted_low"] == 600


def test_the_summary_counts_claims():
    narrow = taken([1000.0] * 3, [600.0] * 3, saving_step_low_ns=390_000, saving_step_high_ns=410_000)
    wide = taken([1000.0] * 3, [600.0] * 3, saving_step_low_ns=500_000, saving_step_high_ns=900_000)
    wrong = taken([1000.0] * 3, [1200.0] * 3)
    unknown = taken([1000.0] * 3, [600.0] * 3, saving_step_ns=None)
    rows = [row for known in (narrow, wide, wrong, unknown) for row in harness.rows_of(known)]
    broken = taken([1000.0] * 3, [])
    broken.failed["faster"] = "it ended"
    rows += harness.rows_of(broken)
    expected = {"claims": 4, "in_range": 1, "narrow": 3, "wrong_sign": 1}
    expected |= {
        "too_noisy": 0,
        "counted_as_none": 0,
        "claims_of_first_recordings": 0,
        "in_range_of_first_recordings": 0,
    }
    expected |= {"broke_the_program": 1, "findings_without_a_claim": 1}
    assert harness.summary(rows) == expected


@pytest.mark.parametrize(("counted", "in_step"), [(4, 1), (3, 1), (12, 3), (11, 3), (2, 0.5), (0, 0.25)])
def test_a_claim_is_of_a_step_of_the_program(counted, in_step):
    known = taken([1000.0] * 3, [600.0] * 3)
    known.beside[0].report["steps"] = {"count": counted, "median_ns": 1_000_000}
    [row] = harness.rows_of(known)
    assert row["predicted_low"] == 2000 * in_step
    assert row["report_steps_in_step"] == in_step


def test_rounds_end_when_every_saving_is_known_well_enough():
    assert harness.settled(taken([1000.0] * 5, [600.0, 601, 602, 603, 604]))
    assert not harness.settled(taken([1000.0] * 5, [600.0, 700, 500, 800, 400]))


def test_the_time_of_the_processors_is_that_between_two_readings():
    spent = harness.CpuTime(300, 150, 30) - harness.CpuTime(100, 50, 10)
    assert spent.pct() == {"busy": 50.0, "stolen": 10.0}
    assert 0 <= (harness.CpuTime.now() - harness.CpuTime(0, 0, 0)).pct()["busy"] <= 100


def test_a_finding_without_a_fix_is_known():
    known = taken([1.0], [1.0])
    known.beside[0].report["findings"].append(finding(rule="slow_link"))
    assert [one["rule"] for one in harness.unfollowed(known)] == ["slow_link"]


def test_a_process_that_says_nothing_is_given_up(tmp_path):
    command = [sys.executable, "-c", "import time; print('hello', flush=True); time.sleep(60)"]
    live = Live(command, str(tmp_path / "log"), dict(os.environ), str(tmp_path))
    try:
        with pytest.raises(Died, match="it said nothing for"):
            live.answer(1)
    finally:
        live.end()
    assert live.wait(0) < 0


WAITS = """
import os, sys, threading
workers = [threading.Thread(target=threading.Event().wait, daemon=True) for _ in range(3)]
for worker in workers:
    worker.start()
child = os.fork()
if child == 0:
    threading.Event().wait()
print("field: " + str([child, *(one.native_id for one in [threading.main_thread(), *workers])]), flush=True)
for line in sys.stdin:
    print('field: {"step_us": 1.0}', flush=True)
"""


def test_each_thread_wakes_up_on_a_core_drawn_anew(tmp_path, monkeypatch):
    bound = []

    def bind(task, cores):
        bound.append((task, set(cores)))
        os_bind(task, cores)

    os_bind = os.sched_setaffinity
    monkeypatch.setattr(os, "sched_setaffinity", bind)
    everywhere = os.sched_getaffinity(0)
    live = Live([sys.executable, "-c", WAITS], str(tmp_path / "log"), dict(os.environ), str(tmp_path))
    try:
        tasks = set(live.answer(30))
        drawn = set()
        for _ in range(20):
            live.pause()
            bound.clear()
            live.resume()
            first, then = bound[: len(tasks)], bound[len(tasks) :]
            assert {task for task, _ in first} == {task for task, _ in then} == tasks
            assert all(len(one) == 1 and one <= everywhere for _, one in first)
            assert all(one == everywhere for _, one in then)
            on_each = collections.Counter(core for _, one in first for core in one)
            assert max(on_each.values()) <= -(-len(tasks) // len(everywhere)), "threads share a core beside an idle one"
            assert live.block(0, 1, 30) == 1.0
            drawn |= {(task, *one) for task, one in first}
        assert len(drawn) >= len(tasks) * min(len(everywhere), 2)
    finally:
        live.end()


CLOCK = """
import sys, types
seen = []
sys.modules["turnpike"] = types.SimpleNamespace(
    start=lambda run: seen.append("start " + run), stop=lambda: seen.append("stop")
)
import os
import _clock
os._exit = lambda code: (print(seen, file=sys.stderr), sys.exit(0))
args = _clock.arguments("A loop.", [])
clock = _clock.Clock(args)
while True:
    seen.append("step")
    clock.step(0.5)
"""


def test_a_block_is_recorded_where_the_harness_asks_for_it():
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", CLOCK, "--device", "cpu", "--warm-up", "1", "--turns"],
        input="1 2\n2 3 run.tpk\n1 1\n",
        env=os.environ | {"PYTHONPATH": str(ROOT / "bench/field/programs")},
        capture_output=True,
        text=True,
    )
    recorded = ["start run.tpk"] + ["step"] * 5 + ["stop"]
    assert done.stderr.splitlines()[-1] == str(["step"] * 4 + recorded + ["step"] * 2), done.stderr
    said = [json.loads(line.removeprefix("field: ")) for line in done.stdout.splitlines() if line]
    assert said[0] == {"ready": True, "loss": 0.5}
    assert [one["loss"] for one in said[1:]] == [0.5] * 3 and all(one["step_us"] > 0 for one in said[1:])


@pytest.mark.parametrize("name", programs.names())
def test_the_table_of_a_program_names_its_switches_and_rules_that_exist(name):
    known = programs.load(name)
    source = pathlib.Path(known.path).read_text()
    switches = re.findall(r'"([a-z-]+)"', re.search(r"^FIXES = \[(.*?)\]", source, re.M | re.S)[1])
    assert sorted(fix.name for fix in known.fixes if fix.switch) == sorted(switches)
    for fix in known.fixes:
        used = re.search(rf'"{fix.name}" (not )?in (args|self)\.fix', source)
        assert used or not fix.switch, f"{fix.name} changes nothing"
        for answer in fix.answers:
            assert (ROOT / "docs/rules" / f"{answer['rule']}.md").exists(), answer
