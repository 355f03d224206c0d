"""bench/cost without a GPU: a program that only waits, and a turnpike that makes it wait longer."""

import importlib.util
import json
import math
import os
import pathlib
import random
import stat
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("cost_harness", ROOT / "bench" / "cost" / "harness.py")
harness = sys.modules["cost_harness"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(harness)

# A step takes 1 ms; recorded half as long again, more with kernels. It also says who else runs at the same time.
PROGRAM = textwrap.dedent(
    """
    import glob, json, os, sys, time
    if "--fails" in os.environ.get("PROGRAM", ""):
        sys.exit("it cannot work")
    mine = os.path.join(os.environ["PIDS"], str(os.getpid()))
    open(mine, "w").close()
    step_s = 0.001 * float(os.environ.get("SLOWER", 1))
    if os.environ.get("RECORDED_FIRST", "").endswith("/run.tpk"):
        step_s *= 1.25
    time.sleep(0.2 if "SLOWER" in os.environ else 0)
    print("field: " + json.dumps({"ready": True}), flush=True)
    done = 0
    for line in sys.stdin:
        if not line.strip():
            break
        done += sum(map(int, line.split()))
        with open(os.path.join(os.environ["TMPDIR"], "spent"), "w") as file:
            print(os.environ.get("TURNPIKE_SELF_TIME"), done, file=file)
        lead, steps = map(int, line.split())
        for other in glob.glob(os.path.join(os.environ["PIDS"], "*")):
            try:
                with open("/proc/%s/stat" % os.path.basename(other)) as file:
                    state = file.read().rpartition(")")[2].split()[0]
            except FileNotFoundError:
                continue  # it was ended
            if other != mine and state != "T":
                open(os.environ["PIDS"] + ".running", "w").close()
        time.sleep(step_s * (lead + steps))
        print("field: " + json.dumps({"step_us": step_s * 1e6}), flush=True)
    """
)
# In the recorder: 1 ms at the start, and 3 times 2 us in each step.
TURNPIKE = """#!/bin/bash
if [ "$1" = report ]; then
  read IS_COUNTED STEPS < "$(dirname "$3")/spent"
  SPENT='{"count": '$((STEPS * 3 + 7))', "ns": '$((STEPS * 6000 + 1000000))'}'
  if [ "$IS_COUNTED" != 1 ]; then SPENT=null; fi
  echo '{"source": {"identities": [{"self_time": null}, {"self_time": '"$SPENT"'}]}}'
  exit
fi
SLOWER=1.5
for word in "$@"; do if [ "$word" = transfers ]; then SLOWER=1.005; fi; done
while [ "$1" != -- ]; do shift; done
shift
SLOWER=$SLOWER exec "$@"
"""


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """Runs the harness with these options; gives its exit code and result."""
    program = tmp_path / "waits.py"
    program.write_text(PROGRAM)
    turnpike = tmp_path / "turnpike"
    turnpike.write_text(TURNPIKE)
    turnpike.chmod(turnpike.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "pids").mkdir()
    monkeypatch.setenv("TURNPIKE", str(turnpike))
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    monkeypatch.setattr(harness, "programs", lambda: {"waits": harness.Program("waits", str(program))})

    def run(*options):
        argv = ["harness.py", "--device", "cpu", "--out", str(tmp_path / "out"), "--seconds", "0.5", *options]
        monkeypatch.setattr(sys, "argv", argv)
        code = harness.main()
        (result,) = (tmp_path / "out").glob("cost-*.json")
        return code, json.loads(result.read_text())

    run.others_ran = tmp_path / "pids.running"
    return run


def test_a_variant_is_compared_with_the_process_that_is_not_recorded(measure):
    code, result = measure("--variants", "transfers;full", "--start-programs", ";")
    rows = {row["case"]: row for row in result["rows"]}
    assert rows["waits, full"]["value"] == pytest.approx(1.5, rel=0.03)
    assert rows["waits, full"]["met"] is False
    assert rows["waits, transfers"]["value"] == pytest.approx(1.005)
    assert rows["waits, transfers"]["met"] is True
    assert rows["waits, full"]["is_decided"] is True
    assert rows["waits, full"]["pairs"] == pytest.approx([1.5] * 6, rel=0.05)
    assert len(result["blocks"]["waits"]["not recorded"]) == 6
    assert code == 1, "a target was missed"


def test_the_others_stand_still(measure):
    code, _ = measure("--variants", "transfers", "--start-programs", ";")
    assert code == 0
    assert not measure.others_ran.exists()


def test_the_start_of_a_process_is_compared(measure):
    _, result = measure("--programs", ";", "--start-programs", "waits", "--start-seconds", "0")
    rows = {row["case"]: row for row in result["rows"]}
    assert set(rows) == {"waits, transfers", "waits, full"}
    assert 0.1 < rows["waits, full"]["value"] < 2
    assert rows["waits, full"]["samples"] == 3


def test_the_recorders_own_time_is_that_of_the_steps_alone(measure):
    options = ("--variants", "transfers;dormant", "--start-programs", ";", "--self-time-seconds", "0.1")
    _, result = measure(*options)
    (row,) = (row for row in result["rows"] if row["metric"] == harness.SELF_TIME)
    assert row["case"] == "waits, transfers"
    assert row["value"] == pytest.approx(0.006)
    assert (row["self_ns_per_step"], row["callbacks_per_step"]) == (6000, 3)


def test_after_stop_is_compared_with_never_recorded(measure):
    _, result = measure("--variants", "after stop", "--start-programs", ";")
    (row,) = result["rows"]
    assert row["metric"] == harness.AFTER_STOP
    assert row["value"] == pytest.approx(1.25)
    assert row["met"] is False


def test_another_build_of_the_recorder_is_a_variant(measure):
    _, result = measure("--variants", "transfers", "--start-programs", ";", "--library", "new=/nowhere/lib.so")
    assert [row["case"] for row in result["rows"]] == ["waits, transfers", "waits, new"]


def test_a_program_that_ends_is_named_and_fails_the_run(measure, monkeypatch):
    monkeypatch.setenv("PROGRAM", "--fails")
    code, result = measure("--variants", "full", "--start-programs", ";")
    assert code == 1
    assert result["failures"] == ["waits: it ended: it cannot work"]
    assert result["rows"] == []


def test_an_unknown_variant_is_refused(measure, capsys):
    with pytest.raises(SystemExit):
        measure("--variants", "fuller", "--start-programs", ";")
    assert "unknown: fuller. There are: not recorded; transfers; full" in capsys.readouterr().err


def test_too_few_processes_give_no_interval(measure):
    _, result = measure("--variants", "full", "--start-programs", ";", "--processes", "2")
    (row,) = result["rows"]
    assert (row["spread"], row["met"], row["is_decided"]) == (None, False, False)


def test_a_process_counts_with_the_median_of_its_blocks():
    assert harness.pair_ratios([[3.0, 3.0, 30.0]], [[1.0, 2.0, 2.0]]) == [1.5]
    assert harness.level([[1.0, 2.0, 9.0], [4.0], [5.0]]) == 4
    assert harness.spread_of_processes([[1.0, 1.0, 7.0], [1.1] * 4]) == pytest.approx(0.1)


def test_a_target_is_decided_by_an_interval_beside_it():
    assert harness.is_decided([0.99, 1.04], 1.05)
    assert harness.is_decided([1.06, 1.2], 1.05)
    assert not harness.is_decided([1.04, 1.06], 1.05)
    assert not harness.is_decided(None, 1.05)


def test_the_interval_holds_the_median_of_all_processes_in_95_of_100_cases():
    draw = random.Random(3)
    # Processes lie 5 % apart with a long tail, which is no normal distribution.
    for count in (6, 9, 12):
        held = 0
        for _ in range(4000):
            low, high = harness.interval_of_median([math.exp(draw.expovariate(20)) for _ in range(count)])
            held += low <= math.exp(math.log(2) / 20) <= high
        assert 0.945 < held / 4000 < 0.99
    assert harness.interval_of_median([1.0] * 5) is None


CLOCK = """
import sys, types
made = []
sys.modules["turnpike"] = types.SimpleNamespace(
    start=lambda path: made.append("start " + path), stop=lambda: made.append("stop")
)
import _clock
clock = _clock.Clock(_clock.arguments("A program.", [], steps=6))
for _ in range(6):
    made.append("step")
    clock.step()
sys.exit(0 if made == WANTED else str(made))
"""


@pytest.mark.parametrize("path", ["a.tpk", ""])
def test_a_program_that_is_to_be_recorded_first_is_so_until_it_is_warm(path):
    pytest.importorskip("torch")
    wanted = ["step"] * 6
    if path:
        wanted = ["start " + path, "step", "step", "stop", *wanted[2:]]
    done = subprocess.run(
        [sys.executable, "-c", CLOCK.replace("WANTED", repr(wanted)), "--device", "cpu", "--warm-up", "2"],
        env=os.environ | {"RECORDED_FIRST": path, "PYTHONPATH": str(ROOT / "bench/field/programs")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
