"""turnpike fleet: what all ranks would gain, against steps of which each one is known.

The roll-ups here are made from the own part of each step of each rank. So the truth is known: a step lasts as long as
the slowest rank's own part, and without a delay as long as the slowest one's without it.
"""

import collections
import json
import math
import pathlib
import random
import statistics
import sys

import pyarrow
import pyarrow.parquet
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from test_fleet import fleet, program, write_job  # noqa: E402, F401
from turnpike._fleet.comparison import compare  # noqa: E402
from turnpike._fleet.figures import Figures  # noqa: E402
from turnpike._fleet.retime import REMOVED, Meetings  # noqa: E402

pytestmark = pytest.mark.slow

MS = 1e6
MINUTE_NS = 60 * 10**9
MINUTES, STEPS, RANKS = 4, 500, 24
TRANSFER_NS = 3 * MS
TEXTS = ("run", "host", "node", "job", "gpu", "pci", "what", "loss", "site", "file", "direction", "host_memory")
NUMBERS = (
    "rank", "pid", "world_size", "gpu_node", "pcie_generation", "pcie_width", "minute_ns", "line", "count", "bytes",
    "timed_bytes", "device_time_ns", "host_blocked_ns", "exposed_ns", "node_bytes", "far_bytes", "step_ns",
    "collective_ns", "kernel_count", "collective_count", "peer_count",
)  # fmt: skip


def noise(seed, spread=0.03):
    """own[rank][minute][step] in ns: 90 ms, with noise."""
    draw = random.Random(seed)
    return [[[90 * MS * (1 + spread * draw.gauss(0, 1)) for _ in range(STEPS)] for _ in range(MINUTES)]
            for _ in range(RANKS)]  # fmt: skip


def mean_step(own):
    """What a step lasts in the mean, without the transfer."""
    steps = [max(of_step) for minute in zip(*own, strict=True) for of_step in zip(*minute, strict=True)]
    return statistics.fmean(steps)


def pairs_of(parts):
    counts = collections.Counter(math.floor(128 * math.log2(part)) for part in parts)
    return [number for pair in sorted(counts.items()) for number in pair]


def write_rollups(folder, own, *, has_parts=True, meets=True, jobs=lambda rank: "job17", extra=(), of_rank=None):
    """A roll-up of each rank whose own part of each step is given, and of which all others wait.

    of_rank(rank): what else the rows of a rank hold, e.g. its GPU, or how many kernels it runs.
    """
    folder.mkdir()
    for rank, minutes in enumerate(own):
        rows = []
        for minute, parts in enumerate(minutes):
            longest = [max(of_step) for of_step in zip(*(other[minute] for other in own), strict=True)]
            step_ns = sum(longest) + TRANSFER_NS * len(parts)
            rows.append({
                "what": "step", "minute_ns": minute * MINUTE_NS, "count": len(parts), "step_ns": round(step_ns),
                "collective_ns": round(step_ns - sum(parts)) if meets else None, "own_parts": pairs_of(parts),
            })  # fmt: skip
        rows += [row for number, row in extra if number == rank]
        who = {"run": f"run-{rank}", "host": f"host{rank // 8}", "rank": rank, "pid": 100 + rank, "world_size": RANKS,
               "job": jobs(rank), **(of_rank(rank) if of_rank else {})}  # fmt: skip
        fields = [(name, pyarrow.string()) for name in TEXTS] + [(name, pyarrow.int64()) for name in NUMBERS]
        if has_parts:
            fields.append(("own_parts", pyarrow.list_(pyarrow.int32())))
        table = pyarrow.Table.from_pylist([{**who, **row} for row in rows], pyarrow.schema(fields))
        pyarrow.parquet.write_table(table, folder / f"{rank:03}.parquet")
    return sorted(folder.iterdir())


def slowed(own, rank, delay):
    """delay(minute, step) in ns."""
    return [
        [[part + delay(minute, step) for step, part in enumerate(parts)] for minute, parts in enumerate(minutes)]
        if number == rank else minutes for number, minutes in enumerate(own)
    ]  # fmt: skip


def id_of(figures, rank):
    return next(id for id, one in figures.ranks.items() if one.rank == rank)


def gain_of_removal(files, ranks):
    figures = Figures(files)
    return Meetings(figures).gain_ns({id_of(figures, rank) for rank in ranks}, lambda _, __: REMOVED)


DELAYS = {
    "always": lambda minute, step: 18 * MS,
    "by a little": lambda minute, step: 6 * MS,
    "in one step of twenty": lambda minute, step: 90 * MS if step % 20 == 7 else 0,
    "in the last minute": lambda minute, step: 30 * MS if minute == MINUTES - 1 else 0,
    "never": lambda minute, step: 0,
}


@pytest.mark.parametrize("name", DELAYS)
def test_the_gain_is_what_all_steps_would_be_shorter_by(tmp_path, name):
    usual = noise(1)
    own = slowed(usual, 5, DELAYS[name])
    others = [minutes for rank, minutes in enumerate(own) if rank != 5]
    like_others = statistics.median(part for minutes in others for parts in minutes for part in parts)
    typical = [[[like_others] * STEPS] * MINUTES]
    truth = mean_step(own) - mean_step(others + typical)
    files = write_rollups(tmp_path / "rollups", own)
    assert gain_of_removal(files, [5]) == pytest.approx(truth, rel=0.04, abs=0.15 * MS)


def test_of_two_slow_ranks_one_alone_gains_only_the_difference(tmp_path):
    own = slowed(slowed(noise(2), 5, DELAYS["always"]), 9, lambda minute, step: 27 * MS)
    files = write_rollups(tmp_path / "rollups", own)
    without = {ranks: mean_step([minutes for rank, minutes in enumerate(own) if rank not in ranks])
               for ranks in ((5,), (9,), (5, 9))}  # fmt: skip
    for ranks, left in without.items():
        assert gain_of_removal(files, ranks) == pytest.approx(mean_step(own) - left, rel=0.04, abs=0.15 * MS)


def test_a_delay_that_is_hidden_behind_a_slower_rank_gains_nothing(tmp_path):
    own = slowed(slowed(noise(3), 5, DELAYS["always"]), 9, lambda minute, step: 9 * MS)
    figures = Figures(write_rollups(tmp_path / "rollups", own))
    nine, five = id_of(figures, 9), id_of(figures, 5)
    assert Meetings(figures).gain_ns({nine}, lambda _, __: 9 * MS) < 0.2 * MS
    # A part of the slowest one's delay is gained as a whole.
    truth = mean_step(own) - mean_step(slowed(own, 5, lambda minute, step: -4 * MS))
    assert Meetings(Figures(sorted((tmp_path / "rollups").iterdir()))).gain_ns(
        {five}, lambda _, __: 4 * MS
    ) == pytest.approx(truth, rel=0.05)


def test_without_distributions_the_means_of_the_minutes_count(tmp_path):
    own = slowed(noise(4, spread=0.001), 5, DELAYS["in the last minute"])
    files = write_rollups(tmp_path / "rollups", own, has_parts=False)
    assert gain_of_removal(files, [5]) == pytest.approx(30 * MS / MINUTES, rel=0.03)


def test_ranks_of_other_jobs_do_not_wait(tmp_path):
    own = slowed(slowed(noise(5), 5, DELAYS["always"]), 20, lambda minute, step: 60 * MS)
    files = write_rollups(tmp_path / "rollups", own, jobs=lambda rank: "a" if rank < 12 else "it's b")
    job = own[:12]
    truth = mean_step(job) - mean_step([minutes for rank, minutes in enumerate(job) if rank != 5])
    assert gain_of_removal(files, [5]) == pytest.approx(truth, rel=0.04)
    assert gain_of_removal(files, [20]) > 40 * MS


def test_ranks_that_are_not_seen_to_meet_have_no_gain(tmp_path):
    own = slowed(noise(6), 5, DELAYS["always"])
    files = write_rollups(tmp_path / "rollups", own, meets=False)
    assert gain_of_removal(files, [5]) is None
    assert all(one.all_saving_ns is None and not one.saves_all for one in compare(Figures(files)).findings)


def test_clocks_that_disagree_by_hours_have_no_gain(tmp_path):
    own = slowed(noise(7), 5, DELAYS["always"])
    files = write_rollups(tmp_path / "rollups", own)
    for number, file in enumerate(files):
        table = pyarrow.parquet.read_table(file)
        minutes = [at + number // 8 * 60 * MINUTE_NS for at in table.column("minute_ns").to_pylist()]
        at = table.schema.get_field_index("minute_ns")
        pyarrow.parquet.write_table(table.set_column(at, "minute_ns", pyarrow.array(minutes)), file)
    assert gain_of_removal(files, [5]) is None


def blocked_upload(rank, ms):
    return rank, {
        "what": "transfer", "minute_ns": 0, "site": "train.py:9", "file": "train.py", "line": 9, "direction": "h2d",
        "host_memory": "pageable" if ms > 1 else "pinned", "count": MINUTES * STEPS, "bytes": MINUTES * STEPS * 10**6,
        "host_blocked_ns": round(ms * MS * MINUTES * STEPS), "device_time_ns": 0, "timed_bytes": 0,
    }  # fmt: skip


@pytest.mark.parametrize(("is_slowest", "ms"), [(True, 12), (False, 5)])
def test_a_copy_gains_on_all_ranks_what_the_others_wait_for_it(tmp_path, is_slowest, ms):
    """The rank 5 loses 12 or 5 ms in a copy; rank 9 loses 8 ms in something else."""
    own = slowed(slowed(noise(8, spread=0.002), 5, lambda *_: ms * MS), 9, lambda *_: 8 * MS)
    uploads = [blocked_upload(rank, ms if rank == 5 else 0.1) for rank in range(RANKS)]
    files = write_rollups(tmp_path / "rollups", own, extra=uploads)
    (found,) = (one for one in compare(Figures(files)).findings if one.rule == "wrong_pinning")
    assert found.saving_ns == pytest.approx((ms - 0.1) * MS)
    truth = mean_step(own) - mean_step(slowed(own, 5, lambda *_: -ms * MS))
    assert found.all_saving_ns == pytest.approx(truth, abs=0.3 * MS)
    assert (truth > 3 * MS) == is_slowest
    said = fleet(*files).stdout
    assert ("on these ranks; up to " in said) == is_slowest
    assert ("; nothing on all ranks, which wait for others" in said) != is_slowest


def test_recordings_are_retimed_like_their_steps(program, tmp_path):  # noqa: F811
    """From traces: rank 3 is a fifth slower than the others, rank 8 by 15 %."""
    faults = {3: {"own": 1.2}, 8: {"own": 1.15}}
    job = write_job(program, tmp_path / "job", steps=1200, faults=faults, ranks=16)
    (slow,) = all_findings_of(job)
    assert {rank["rank"] for rank in slow["ranks"]} == set(faults)
    # 90 ms with noise of 0.4 %: of 14 ranks the slowest is 1.70 standard deviations above the mean, in the mean.
    truth = 90 * MS * (1.2 - (1 + 0.004 * 1.703))
    assert slow["all_ranks_saving_ns"] == pytest.approx(truth, rel=0.01)
    assert slow["saving_ns"] == slow["all_ranks_saving_ns"]


def all_findings_of(job):
    return json.loads(fleet(job, "--json").stdout)["findings"]
