"""turnpike fleet: which ranks are compared, from which difference on one is named, and how often one is by chance."""

import json
import pathlib
import random
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet_noise  # noqa: E402

from test_fleet import fleet, program, write_job  # noqa: E402, F401
from test_fleet_retime import write_rollups  # noqa: E402
from turnpike._fleet import outliers, splits, student, thresholds, times  # noqa: E402

pytestmark = pytest.mark.slow

OWN_NS = 90e6
MINUTES = 10


def own_parts(factors, minutes=MINUTES):
    """own[rank][minute][step]: two steps a minute; each rank is usual but for its factor and a ten-thousandth."""
    draw = random.Random(1)
    return [[[OWN_NS * factor * (1 + 1e-4 * draw.gauss(0, 1)) for _ in range(2)] for _ in range(minutes)]
            for factor in factors]  # fmt: skip


def compared(folder, factors, own=None, **more):
    """What `turnpike fleet --json` says of a fleet with these factors, and the text."""
    files = write_rollups(folder / "rollups", own or own_parts(factors), **more)
    result = fleet(*files, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout), fleet(*files).stdout


def named(report, rule="slow_rank"):
    return {rank["rank"] for one in report["findings"] if one["rule"] == rule for rank in one["ranks"]}


def with_slow(ranks, slow):
    return [slow.get(rank, 1.0) for rank in range(ranks)]


@pytest.mark.parametrize(("part", "is_named"), [(0.06, True), (0.04, False)])
def test_a_slow_rank_is_named_from_the_documented_part_on(tmp_path, part, is_named):
    report, _ = compared(tmp_path, with_slow(64, {5: 1 + part}))
    assert named(report) == ({5} if is_named else set())
    assert report["compared"][0]["least_slowness_pct"] == pytest.approx(100 * thresholds.LEAST["slow_rank"])


@pytest.mark.parametrize(("part", "is_named"), [(0.12, True), (0.08, False)])
def test_a_rank_that_drifts_is_named_from_the_documented_part_on(tmp_path, part, is_named):
    own = own_parts([1.0] * 64)
    for number, minute in enumerate(own[5]):
        # From the middle of the first quarter to that of the last one it grows by the part.
        minute[:] = [one * (1 + part * max(0.0, min(1.0, (number - 2) / 5))) for one in minute]
    report, _ = compared(tmp_path, None, own)
    assert (named(report, "drift"), named(report)) == ({5} if is_named else set(), set())


def test_a_stall_of_one_minute_makes_no_rank_slow(tmp_path):
    own = own_parts([1.0] * 16)
    own[3][4] = [4 * one for one in own[3][4]]
    report, _ = compared(tmp_path, None, own)
    assert report["findings"] == []


def test_a_rank_that_was_slow_only_at_first_is_not_always_slow(tmp_path):
    own = own_parts([1.0] * 16)
    for minute in own[3][: MINUTES // 2 + 1]:
        minute[:] = [1.3 * one for one in minute]
    report, _ = compared(tmp_path, None, own)
    assert named(report) == set()


def test_of_a_short_recording_it_is_said_that_it_may_not_last(tmp_path):
    report, _ = compared(tmp_path, None, own_parts(with_slow(16, {5: 1.3}), minutes=1))
    (finding,) = report["findings"]
    assert finding["evidence"].endswith("recorded for 1 minute only, so whether it lasts is not known")


def test_jobs_are_not_compared_with_each_other(tmp_path):
    factors = [1.0] * 24 + [1.4] * 16
    factors[30] = 1.4 * 1.2
    report, text = compared(tmp_path, factors, jobs=lambda rank: "a" if rank < 24 else "b")
    assert named(report) == {30}
    assert [(one["job"], one["ranks"]) for one in report["compared"]] == [("a", 24), ("b", 16)]
    assert "COMPARED  24 ranks (0-23) of a: their own part takes " in text


def test_gpus_of_different_models_are_not_compared_with_each_other(tmp_path):
    report, _ = compared(
        tmp_path, [1.0] * 24 + [1.4] * 8, of_rank=lambda rank: {"gpu": "H100" if rank < 24 else "A100"}
    )
    assert report["findings"] == []
    assert [one["gpu"] for one in report["compared"]] == ["H100", "A100"]


def one_role(rank):
    return {"kernel_count": 20 * 800, "collective_count": 20 * 8, "peer_count": 0}


def stages(rank):
    """Four stages of a pipeline with eight ranks each; the first and the last send and receive half as much."""
    stage = rank // 8
    return {"kernel_count": 20 * (800 + 40 * stage), "collective_count": 20 * 8,
            "peer_count": 20 * (16 if stage in (0, 3) else 32)}  # fmt: skip


OF_STAGES = [1 + 0.07 * (rank // 8) for rank in range(32)]


def test_stages_of_a_pipeline_are_not_compared_with_each_other(tmp_path):
    report, _ = compared(tmp_path, with_slow(32, {rank: 1.15 for rank in range(24, 32)}), of_rank=stages)
    assert report["findings"] == []
    assert [one["ranks"] for one in report["compared"]] == [8] * 4
    assert {tuple(one["numbers"][:1]) for one in report["compared"]} == {(0,), (8,), (16,), (24,)}
    assert not any(one["split"] for one in report["compared"])


def test_a_budget_and_the_page_compare_a_rank_with_those_that_do_the_same(tmp_path):
    files = write_rollups(tmp_path / "rollups", own_parts(OF_STAGES), of_rank=stages)
    limits = tmp_path / "turnpike.toml"
    limits.write_text("[fleet]\nmax_rank_spread_pct = 5\n")
    result = fleet(*files, "--html", tmp_path / "fleet.html", "--check", limits)
    assert result.returncode == 0, result.stdout
    drawn = re.findall(r"<path class=(\w+)", (tmp_path / "fleet.html").read_text())
    assert drawn == ["s0"]


def test_a_slow_rank_of_a_stage_is_named_within_it(tmp_path):
    factors = list(OF_STAGES)
    factors[12] *= 1.3
    report, _ = compared(tmp_path, factors, of_rank=stages)
    assert named(report) == {12}


def test_a_stage_of_few_ranks_is_said_not_to_be_compared(tmp_path):
    def of_rank(rank):
        return {"kernel_count": 20 * (800 if rank < 16 else 1000), "collective_count": 160, "peer_count": 0}

    report, text = compared(tmp_path, [1.0] * 16 + [1.5] * 2, of_rank=of_rank)
    assert report["findings"] == []
    assert [one["is_compared"] for one in report["compared"]] == [True, False]
    assert "16 compared, 2 not, on 3 hosts" in text
    assert "ALONE     2 ranks (16-17) with " in text and "; too few do the same" in text


def test_where_roles_are_not_known_several_slow_ranks_are_a_part_and_no_finding(tmp_path):
    report, text = compared(tmp_path, with_slow(32, {rank: 1.15 for rank in range(24, 32)}))
    assert report["findings"] == []
    (one,) = report["compared"]
    assert [rank["rank"] for rank in one["split"]["slower"]] == list(range(24, 32))
    assert "PARTED    two parts: rank 24-31 (on host3) take 15.0 % longer" in text
    assert "Whether these have another role, the recordings do not tell" in text


def test_where_roles_are_not_known_a_rank_beyond_a_spread_is_said(tmp_path):
    factors = list(OF_STAGES)
    factors[12] *= 1.3
    report, text = compared(tmp_path, factors, of_rank=lambda rank: {"host": f"host{rank % 4}"})
    assert report["findings"] == []
    assert "No rank differs by more than these ranks may by chance, see SPREAD." in text
    assert "SPREAD    rank 12 takes " in text and "longer for its own part of a step" in text
    (one,) = report["compared"]
    assert one["slowest"]["rank"] == 12 and one["least_slowness_pct"] > one["slowest_pct"] > 20


def test_half_of_the_ranks_slow_is_said(tmp_path):
    report, text = compared(tmp_path, with_slow(16, {rank: 1.3 for rank in range(0, 16, 2)}), of_rank=one_role)
    assert report["findings"] == []
    (one,) = report["compared"]
    assert [rank["rank"] for rank in one["split"]["slower"]] == list(range(0, 16, 2))
    assert one["split"]["slower_pct"] == pytest.approx(30, abs=0.1)
    assert "PARTED    two parts: rank 0, 2, 4" in text
    assert "No rank differs from the others." not in text


@pytest.mark.parametrize("kind", fleet_noise.EFFECTS)
def test_ranks_that_differ_by_chance_are_not_named(tmp_path, kind):
    """Of 1,024 ranks with heavy tails, several are more than six robust deviations from the median."""
    factors = fleet_noise.effects(kind, 0.03, 1024, seed=1)
    report, _ = compared(tmp_path, factors, own_parts(factors, minutes=1))
    assert report["findings"] == []


# Of so many fleets, more than this many with a false alarm come once in 3,000 times, if one in twenty has one.
FLEETS, MOST = 400, 37


@pytest.mark.parametrize("ranks", [4, 5, 8, 16, 64])
@pytest.mark.parametrize("kind", fleet_noise.EFFECTS)
def test_false_alarms_come_no_more_often_than_stated(kind, ranks):
    hosts = fleet_noise.hosts(ranks)
    alarms = parted = 0
    for seed in range(FLEETS):
        values = dict(zip(hosts, fleet_noise.effects(kind, 0.02, ranks, seed), strict=True))
        alarms += bool(outliers.find_by_host(values, hosts, 0.0, thresholds.FALSE_ALARMS, side=1))
        parted += splits.find(values, 0.0, thresholds.FALSE_ALARMS) is not None
    assert alarms <= MOST
    # Two hosts that differ are two parts.
    assert parted <= MOST or kind == "t3 by host"


def test_a_slow_host_is_found_among_hosts(tmp_path):
    report, _ = compared(tmp_path, with_slow(64, {rank: 1.2 for rank in range(8, 16)}), of_rank=one_role)
    assert named(report) == set(range(8, 16))
    assert report["findings"][0]["hosts"] == ["host1"]


def test_ranks_beside_their_hosts_have_no_heavier_tail_than_alone():
    """One of 1,024 that differ by normal noise of 0.5 % is named from some 13 robust deviations on, if at all."""
    hosts = fleet_noise.hosts(1024)
    for seed in range(5):
        values = dict(zip(hosts, fleet_noise.effects("normal", 0.005, 1024, seed), strict=True))
        values["1021"] += 0.12
        assert [one.key for one in outliers.find_by_host(values, hosts, 0.05, 0.007, side=1)] == ["1021"]


def test_the_tail_is_taken_for_lighter_only_if_the_ranks_show_it():
    draw = random.Random(3)
    normal = [abs(draw.gauss(0, 1)) / 0.6745 for _ in range(512)]
    heavy = [abs(fleet_noise.t3(draw)) / 0.765 for _ in range(512)]
    assert outliers.freedom_of(normal, 0.01) > thresholds.FREEDOM[0]
    assert outliers.freedom_of(heavy, 0.01) == thresholds.FREEDOM[0]
    assert outliers.freedom_of(normal[:8], 0.01) == thresholds.FREEDOM[0]


@pytest.mark.parametrize(("freedom", "distance", "part"), [(3, 2.353, 0.9), (4, 2.132, 0.9), (10, 1.812, 0.9),
                                                          (30, 1.697, 0.9), (3, 12.924, 0.999)])  # fmt: skip
def test_student_is_that_of_the_tables(freedom, distance, part):
    assert student.within(distance, freedom) == pytest.approx(part, abs=2e-4)
    assert student.beyond(distance, freedom) == pytest.approx((1 - part) / 2, abs=1e-4)
    assert student.quantile(part, freedom) == pytest.approx(distance, rel=2e-3)


def test_few_ranks_must_differ_more():
    farthest = [student.farthest(0.001, count, 3) for count in (4, 8, 64, 1024)]
    assert farthest == sorted(farthest, reverse=True)


def test_minutes_decide_and_not_the_mean():
    usual = {str(rank): [1.0] * 8 for rank in range(8)}
    hosts = fleet_noise.hosts(8)
    assert times.slow({**usual, "0": [1.0] * 7 + [9.0]}, hosts, 0.05) == []
    assert [one.key for one in times.slow({**usual, "0": [1.1] * 8}, hosts, 0.05)] == ["0"]


def test_the_page_says_what_the_program_does():
    page = (ROOT / "docs" / "howto" / "many_gpus.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .* \| (\d+) % \|$", page, re.MULTILINE)
    assert {rule: int(part) / 100 for rule, part in rows} == thresholds.LEAST
    text = " ".join(page.split())
    assert f"in at most {100 * thresholds.FALSE_ALARMS:.0f} of 100 fleets" in text
    assert f"Student's t with {thresholds.FREEDOM[0]} degrees of freedom" in text
    assert f"at least {thresholds.FEWEST} ranks" in text.replace("At least", "at least")
    assert f"less than {100 * thresholds.SAME_WORK:.0f} %" in text


def test_the_page_has_the_figures_of_the_result_file():
    page = (ROOT / "docs" / "howto" / "many_gpus.md").read_text()
    rows = json.loads((ROOT / "bench" / "results" / "fleet-curves-cpu.json").read_text())["rows"]
    said = re.findall(r"^\| ([\d,]+) \| (\w+), (\S+) % \| (\d+) of 100 \| (.+) \| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert len(said) == 12
    for ranks, kind, spread, alarms, *least in said:
        of_case = [row for row in rows if row["case"] == f"{ranks.replace(',', '')} ranks, {kind} of {spread} %"]
        healthy, *found = (row["value"] for row in of_case)
        assert int(alarms) == round(100 * healthy)
        assert least == ["not by 100 %" if one is None else f"{100 * one:.0f} %" for one in found]
    for row in rows:
        assert "found" not in row or row["found"][0] == 0, "the page says that 3 % is never found"
