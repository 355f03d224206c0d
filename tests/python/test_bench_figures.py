"""What `turnpike bench` makes of measured values: the order of turns, medians, ratios, verdicts, rows and tables."""

import gc
import json

import pytest

from turnpike._bench import figures, numa, result, table
from turnpike._bench.figures import Target
from turnpike._bench.peer import overlap_pct
from turnpike._bench.pipeline import bound
from turnpike._bench.timing import Case, Rounds, Samples, Way, WrongResult, no_garbage_collection, take_turns


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s


def case_of(log, clock, seconds, **options):
    """Ways that take a given time each and write down what is done with them."""

    def way(name, role):
        def run():
            log.append(name)
            clock.now_s += seconds[name]
            return name

        return Way(
            name,
            role,
            run,
            check=lambda result: log.append(f"check {result}"),
            prepare=lambda: log.append(f"prepare {name}"),
            finish=lambda result: log.append(f"finish {result}"),
        )

    roles = dict(zip(seconds, ["pytorch", "best", "turnpike", "bound"], strict=False))
    ways = [way(name, role) for name, role in roles.items()]
    return Case("copy", "GB/s", 1e9, ways, next(iter(seconds)), **options)


def test_ways_take_turns_in_their_order():
    log, clock = [], Clock()
    case = case_of(log, clock, {"A": 1, "B": 1, "C": 1})
    samples = take_turns(case, Rounds(1000, least=2, most=3), lambda: None, clock)
    assert [entry for entry in log if len(entry) == 1] == list("ABC") * 4  # one round warms up
    assert samples.rounds() == 3


def test_each_turn_is_prepared_run_checked_and_finished_in_this_order():
    log, clock = [], Clock()
    case = case_of(log, clock, {"A": 1}, warm_rounds=0)
    take_turns(case, Rounds(0, least=1, most=1), lambda: log.append("synchronize"), clock)
    assert log == ["prepare A", "synchronize", "A", "synchronize", "check A", "finish A"]


def test_preparing_and_checking_are_not_timed():
    clock = Clock()

    def pass_time(*_):
        clock.now_s += 50

    way = Way("A", "pytorch", lambda: setattr(clock, "now_s", clock.now_s + 2), pass_time, prepare=pass_time)
    case = Case("copy", "GB/s", 4e9, [way], "A")
    samples = take_turns(case, Rounds(0, least=1, most=1), lambda: None, clock)
    assert samples.by_metric[""]["A"] == [pytest.approx(2.0)]


def test_rounds_end_with_the_time_but_not_before_the_least():
    log, clock = [], Clock()
    case = case_of(log, clock, {"A": 10}, warm_rounds=0)
    assert take_turns(case, Rounds(1, least=3), lambda: None, clock).rounds() == 3
    assert take_turns(case, Rounds(75, least=3), lambda: None, clock).rounds() == 8
    assert take_turns(case, Rounds(1e6, least=3, most=5), lambda: None, clock).rounds() == 5


def test_a_wrong_result_names_case_and_way_and_still_finishes_the_turn():
    log, clock = [], Clock()
    case = case_of(log, clock, {"A": 1})

    def wrong(_):
        raise WrongResult("the copy has other bytes than its source")

    case.ways[0].check = wrong
    with pytest.raises(WrongResult, match="copy, A: the copy has other bytes"):
        take_turns(case, Rounds(1), lambda: None, clock)
    assert log[-1] == "finish A"


def test_the_warm_up_is_checked_though_not_counted():
    log, clock = [], Clock()
    case = case_of(log, clock, {"A": 1})
    take_turns(case, Rounds(0, least=1, most=1), lambda: None, clock)
    assert log.count("check A") == 2


def test_derived_figures_are_made_of_those_of_one_round():
    log, clock = [], Clock()
    case = case_of(log, clock, {"A": 1, "B": 4}, derived={"slowest": lambda values: min(values.values())})
    samples = take_turns(case, Rounds(0, least=2, most=2), lambda: None, clock)
    assert samples.by_metric[""]["slowest"] == [0.25, 0.25]


def test_no_garbage_is_collected_between_the_turns():
    assert gc.isenabled()
    with no_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_units_are_made_of_seconds():
    def value(unit, quantity, seconds, result=None):
        return Case("", unit, quantity, [], "", returns_figure=result is not None).value(seconds, result)

    assert value("GB/s", 55e9, 2.0) == 27.5
    assert value("ms", 10, 2.0) == 200
    assert value("us", 100, 1e-3) == pytest.approx(10)
    assert value("MiB", 1, 3.0, result=512) == 512
    assert value("us", 100, 3.0, result=7.5) == 7.5


def test_spread_is_the_median_with_inclusive_quartiles():
    assert figures.spread([4.0]) == figures.Spread(4.0, 4.0, 4.0, 1)
    assert figures.spread([5, 1, 3, 2, 4]) == figures.Spread(3, 2, 4, 5)
    assert figures.spread([1.0, 2.0]) == figures.Spread(1.5, 1.25, 1.75, 2)


def test_a_ratio_is_made_round_by_round():
    # A disturbance that halves both sides of a round leaves the ratio as it is.
    assert figures.spread(figures.ratios([50, 25, 50], [55, 27.5, 55])).median == pytest.approx(50 / 55)


def test_speedups_are_above_one_when_better():
    assert figures.speedup("GB/s", 6.5) == 6.5
    assert figures.speedup("ms", 0.25) == 4


@pytest.mark.parametrize(
    ("kind", "limit", "values", "met"),
    [
        ("ratio >=", 0.9, [91, 92, 93], True),
        ("ratio >=", 0.95, [91, 92, 93], False),
        ("ratio <=", 1.03, [103, 102, 101], True),
        ("ratio <=", 1.01, [103, 102, 101], False),
        ("difference <=", 2, [101, 102, 103], True),
        ("difference <=", 1, [101, 102, 103], False),
        ("value >=", 20, [19, 20, 21], True),
        ("value >=", 21, [19, 20, 21], False),
        ("value <=", 70, [69, 70, 71], True),
        ("value <=", 69, [69, 70, 71], False),
    ],
)
def test_targets_are_judged_by_the_median(kind, limit, values, met):
    assert kind in figures.KINDS
    target = Target("way", kind, limit, "text", against="other")
    assert target.is_met(target.reached(values, [100, 100, 100])) is met


def test_a_target_without_its_other_side_is_a_mistake():
    with pytest.raises(ValueError, match="nothing to compare"):
        Target("way", "ratio >=", 1, "text").reached([1], None)


def samples_and_case():
    target = Target("Turnpike", "ratio >=", 0.9, "at least 90 % of the rate of pinned memory", "pinned")
    missed = Target("Turnpike", "value >=", 60, "at least 60 GB/s")
    case = Case(
        "pageable, 1 GiB",
        "GB/s",
        1 << 30,
        [
            Way("PyTorch .to", "pytorch", lambda: None, lambda _: None),
            Way("Turnpike", "turnpike", lambda: None, lambda _: None),
            Way("pinned", "bound", lambda: None, lambda _: None),
        ],
        "PyTorch .to",
        bound="pinned",
        targets=[target, missed],
        extras={"memory at its peak": "MiB"},
    )
    values = {"PyTorch .to": [8.0, 7.0, 9.0], "Turnpike": [51.0, 50.0, 52.0], "pinned": [55.0, 54.0, 56.0]}
    return case, Samples({"": values, "memory at its peak": {"Turnpike": [64.0, 64.0, 64.0]}})


def test_rows_have_the_form_of_the_result_files():
    case, samples = samples_and_case()
    rows = result.rows_of("to", case, samples)
    assert [row["way"] for row in rows] == ["PyTorch .to", "Turnpike", "Turnpike", "Turnpike", "pinned", "Turnpike"]
    needed = "case metric unit value spread samples baseline baseline_value ratio target met".split()
    assert all(set(needed) <= set(row) for row in rows)
    first = rows[1]
    assert (first["value"], first["spread"], first["samples"]) == (51.0, [50.5, 51.5], 3)
    assert (first["baseline"], first["baseline_value"], first["target"], first["met"]) == (
        "PyTorch .to",
        8.0,
        None,
        None,
    )
    assert first["of_bound"] == pytest.approx(51 / 55)


def test_a_target_is_a_row_against_what_it_is_about():
    case, samples = samples_and_case()
    judged = [row for row in result.rows_of("to", case, samples) if row["met"] is not None]
    assert [(row["target"], row["met"]) for row in judged] == [(0.9, True), (60, False)]
    assert judged[0]["baseline"] == "pinned"
    assert judged[0]["ratio"] == pytest.approx(51 / 55)


def test_the_table_shows_medians_ratios_bound_and_verdicts():
    case, samples = samples_and_case()
    lines = table.lines(result.rows_of("to", case, samples))
    assert lines[0] == "pageable, 1 GiB"
    assert lines[1].split() == "PyTorch .to 8.00 GB/s 7.50 to 8.50 1 15 %".split()
    assert lines[2].split() == "Turnpike 51.0 GB/s 50.5 to 51.5 6.38x 93 %".split()
    assert lines[3].split() == "pinned 55.0 GB/s 54.5 to 55.5 bound".split()
    assert lines[4] == "  met: at least 90 % of the rate of pinned memory (92.7 %)"
    assert lines[5] == "  MISSED: at least 60 GB/s (51.0 GB/s)"
    assert lines[6] == "pageable, 1 GiB: memory at its peak"
    assert len({len(line.rstrip()) for line in lines[1:3]}) == 1


def test_the_summary_names_what_was_missed():
    case, samples = samples_and_case()
    text = table.summary(result.rows_of("to", case, samples))
    assert text.splitlines()[0].startswith("1 of 2 targets met")
    assert "missed: to, pageable, 1 GiB: at least 60 GB/s" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.01234, "0.0123"), (1.0, "1.00"), (51.24, "51.2"), (1234.5, "1234"), (0, "0"), (None, "?"), (float("nan"), "?")],
)
def test_numbers_have_three_digits_that_count(value, text):
    assert table.number(value) == text


def test_what_is_not_known_is_null_in_json():
    assert json.loads(result.text({"value": float("nan"), "spread": (1.0, float("inf"))})) == {
        "value": None,
        "spread": [1.0, None],
    }


def test_a_result_names_how_to_get_it_again_without_folders():
    document = result.document([], ["to", "d2h"], ["to", "d2h", "--out", "/somewhere/move.json"], {}, [])
    assert document["command"] == "turnpike bench to d2h --out move.json"
    assert document["name"] == "move"


def test_the_pipelines_bound_counts_the_first_copy_in_and_the_last_out():
    # 16 items: 1 ms in, 3 ms of work, 1 ms out each.
    assert bound(16, 48, 16, 16) == 48 + 2
    # Transfer-bound: the inputs follow one another; the last one is still to be worked on and copied out.
    assert bound(64, 16, 32, 16) == 64 + 3


def test_overlap_is_the_hidden_part_of_the_shorter_one():
    assert overlap_pct(together=10, copy=4, compute=6) == 0
    assert overlap_pct(together=6, copy=4, compute=6) == 100
    assert overlap_pct(together=8, copy=4, compute=6) == 50
    assert overlap_pct(together=12, copy=4, compute=6) == 0


def test_numa_lists_are_read_as_the_kernel_writes_them():
    assert numa.parse_list("0-1,4\n") == [0, 1, 4]
    assert numa.parse_list("0\n") == [0]
    assert numa.parse_list("\n") == []


def test_the_gpus_node_is_unknown_where_the_kernel_says_so(tmp_path):
    device = tmp_path / "0000:17:00.0"
    device.mkdir()
    (device / "numa_node").write_text("-1\n")
    assert numa.node_of_gpu("0000:17:00.0", str(tmp_path)) is None
    (device / "numa_node").write_text("1\n")
    assert numa.node_of_gpu("0000:17:00.0", str(tmp_path)) == 1
    assert numa.node_of_gpu("0000:99:00.0", str(tmp_path)) is None
    assert numa.node_of_gpu(None, str(tmp_path)) is None


def test_memory_that_was_touched_has_a_node_or_is_said_to_be_unknown():
    import ctypes

    memory = ctypes.create_string_buffer(b"touched", 1 << 16)
    node = numa.node_of_memory(ctypes.addressof(memory))
    assert node is None or node in (numa.nodes() or [node])


def test_memory_of_a_chosen_node_is_there_or_refused_with_a_sentence():
    known = numa.nodes()
    if not known:
        pytest.skip("this system does not tell its NUMA nodes")
    import ctypes

    try:
        memory = numa.memory_on(known[0], 1 << 20)
    except OSError as refused:
        assert "NUMA node" in str(refused)
        return
    memory[:4] = b"abcd"
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert numa.node_of_memory(address) in (known[0], None)
