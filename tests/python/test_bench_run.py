"""Running experiments of `turnpike bench`: time, order, what is said, and the exit code. Without PyTorch."""

import json
import sys
import types

import pytest

from turnpike import _bench
from turnpike._bench import command, machine, run, timing
from turnpike._bench.machine import Nothing
from turnpike._bench.timing import Case, Planned, Rounds, Way, WrongResult, take_turns

FACTS = {
    "device": "Test GPU",
    "device_count": 1,
    "versions": {"torch": "2.99"},
    "settings": {"threads": 8, "chunk_bytes": 4 << 20, "pinned_limit_bytes": 64 << 20},
}


class Machine:
    """What run.py and command.py ask of a machine."""

    def __init__(self):
        self.log = []

    def facts(self):
        return FACTS

    def synchronize(self):
        self.log.append("synchronize")

    def release_device_memory(self):
        self.log.append("release device")

    def release_pinned_memory(self):
        self.log.append("release pinned")


def case_of(name, seen=None, **options):
    def go():
        if seen is not None:
            seen.append(name)

    ways = [Way("plain", "pytorch", go, lambda _: None), Way("ours", "turnpike", go, lambda _: None)]
    return Case(name, "ms", 1, ways, "plain", **options)


@pytest.fixture(autouse=True)
def no_rest(monkeypatch):
    monkeypatch.setattr(timing, "REST_S", 0)


@pytest.fixture
def planned(monkeypatch):
    """The cases of the experiment "to" in this test, and how it was asked for them."""
    cases, asked = [], []
    module = types.ModuleType("turnpike._bench.to")

    def plan(**options):
        asked.append(options)
        return cases

    module.plan = plan
    monkeypatch.setitem(sys.modules, "turnpike._bench.to", module)
    cases_and_asked = types.SimpleNamespace(cases=cases, asked=asked)
    return cases_and_asked


def outcome_of(gpu=None, options=None):
    outcome, shown, said = run.Outcome(), [], []
    run.run_experiment(
        "to", gpu or Machine(), options or run.Options(seconds=0.001), outcome, shown.append, said.append
    )
    return outcome, shown, said


def test_options_have_these_defaults():
    options = run.Options()
    assert (options.quick, options.seconds, options.trace, options.least_rounds) == (False, 40.0, None, 3)
    assert run.Options(quick=True).least_rounds == 2


def test_an_experiment_is_asked_for_its_cases(planned):
    run.plan_of("to", run.Options(quick=True, trace="to.json"))
    run.plan_of("to", run.Options())
    assert planned.asked == [{"quick": True, "trace": "to.json"}, {"quick": False, "trace": None}]


def test_time_is_shared_by_weight_and_what_is_left_goes_to_the_others(planned, monkeypatch):
    clock, given = [1000.0], []
    monkeypatch.setattr(run.time, "monotonic", lambda: clock[0])

    def run_case(experiment, one, gpu, rounds, said):
        given.append((experiment, one.name, rounds))
        clock[0] += {"first": 4, "second": 30, "third": 1}[one.name]
        return [{}], []

    monkeypatch.setattr(run, "_run_case", run_case)
    monkeypatch.setattr(run.table, "lines", lambda rows: ["a line"])
    planned.cases += [Planned("first", None, 2), Planned("second", None), Planned("third", None)]
    outcome, _, _ = outcome_of(options=run.Options(seconds=24))
    # 24 s for weights of 4; of 20 s left a half; and of less than nothing, nothing.
    assert given == [
        ("to", "first", Rounds(12, 3)),
        ("to", "second", Rounds(10, 3)),
        ("to", "third", Rounds(0, 3)),
    ]
    assert len(outcome.rows) == 3


def test_rounds_and_plans_have_these_defaults():
    assert (Rounds(1).least, Rounds(1).most) == (3, 31)
    assert Planned("case", None).weight == 1
    case = case_of("case")
    assert (case.warm_rounds, case.most_rounds, case.bound, case.targets, case.notes) == (1, None, None, [], [])
    assert timing.REST_S == 0  # by this file
    assert case.afterwards() is None
    assert case.close() is None


def test_each_case_is_built_measured_closed_and_released(planned):
    gpu, log = Machine(), []
    gpu.log = log

    def build(given):
        assert given is gpu
        log.append("build")
        return case_of(
            "one",
            log,
            warm_rounds=0,
            most_rounds=1,
            afterwards=lambda: log.append("afterwards"),
            close=lambda: log.append("close"),
            notes=["a note"],
        )

    planned.cases += [Planned("one", build)]
    outcome, shown, said = outcome_of(gpu)
    turn = ["synchronize", "one", "synchronize"]
    assert log == ["build", *turn, *turn, "afterwards", "close", "release device", "release pinned"]
    assert [(row["way"], row["samples"], row["experiment"]) for row in outcome.rows] == [
        ("plain", 1, "to"),
        ("ours", 1, "to"),
    ]
    assert shown[0] == f"to: {_bench.EXPERIMENTS['to']}\n{run.table.head()}"
    assert shown[1].splitlines()[0] == "one"
    assert shown[1].splitlines()[3] == "  a note"
    assert len(shown) == 2
    assert said == ["to, one: preparing", "", "to, one: round 1, plain", "to, one: round 1, ours", ""]
    assert outcome.problems() == []


def test_what_goes_wrong_in_one_case_is_said_and_the_next_one_runs(planned):
    closed = []

    def wrong():
        raise WrongResult("other bytes")

    def fails(error):
        def build(_):
            raise error

        return build

    def build_wrong(_):
        return case_of("two", afterwards=wrong, close=lambda: closed.append("two"))

    planned.cases += [
        Planned("one", fails(MemoryError("out of memory\nand more"))),
        Planned("two", build_wrong),
        Planned("three", fails(Nothing("there is no second GPU"))),
        Planned("four", fails(Nothing("there is no second GPU"))),
        Planned("five", fails(KeyError())),
        Planned("six", lambda _: case_of("six")),
    ]
    gpu = Machine()
    outcome, shown, said = outcome_of(gpu)
    assert outcome.failed == ["to, one: MemoryError: out of memory", "to, five: KeyError: (it said nothing)"]
    assert outcome.wrong == ["to: WRONG RESULT: other bytes"]
    assert outcome.nothing == ["to: there is no second GPU"]
    assert outcome.problems() == outcome.wrong + outcome.failed + outcome.nothing
    assert {row["case"] for row in outcome.rows} == {"six"}
    assert closed == ["two"]
    assert shown[1:5] == [
        "  one FAILED: MemoryError: out of memory",
        "  WRONG RESULT: other bytes",
        "  there is no second GPU",
        "  five FAILED: KeyError: (it said nothing)",
    ]
    assert len(shown) == 6
    assert gpu.log.count("release device") == gpu.log.count("release pinned") == 6
    assert said[:2] == ["to, one: preparing", ""]
    assert said[-1] == ""


def test_an_interrupt_is_not_kept_from_the_user(planned):
    def interrupted(_):
        raise KeyboardInterrupt

    planned.cases += [Planned("one", interrupted)]
    with pytest.raises(KeyboardInterrupt):
        outcome_of()


def test_progress_counts_the_rounds_from_one():
    said = []
    take_turns(case_of("one", most_rounds=2), Rounds(0, 1), lambda: None, iter(range(100)).__next__, said.append)
    assert said == ["one: plain", "one: ours", "one: round 1, plain", "one: round 1, ours"]


@pytest.mark.parametrize(("most_rounds", "rounds"), [(None, 3), (2, 2), (3, 3), (4, 3)])
def test_a_case_may_ask_for_fewer_rounds(most_rounds, rounds):
    samples = take_turns(case_of("one", most_rounds=most_rounds), Rounds(1e6, 1, 3), lambda: None, lambda: 0.0)
    assert samples.rounds() == rounds


def test_rounds_end_when_the_time_is_over_to_the_tick():
    now = [0.0]

    def go():
        now[0] += 1

    case = Case("one", "ms", 1, [Way("plain", "pytorch", go, lambda _: None)], "plain", warm_rounds=0)
    assert take_turns(case, Rounds(5, 1), lambda: None, lambda: now[0]).rounds() == 5
    assert take_turns(case, Rounds(5.5, 1), lambda: None, lambda: now[0]).rounds() == 6
    assert take_turns(case, Rounds(0, 4, 9), lambda: None, lambda: now[0]).rounds() == 4


def test_further_figures_are_kept_of_the_rounds_that_count():
    count = iter(range(100))
    case = case_of(
        "one",
        most_rounds=2,
        extras={"peak": "MiB", "sum": "ms"},
        derived={"both": lambda values: 7.0},
        derived_extras={"sum": {"ours": lambda values: values["both"] + 1}},
    )
    case.ways[0].extra = lambda _: {"peak": next(count)}
    samples = take_turns(case, Rounds(0, 2), lambda: None, lambda: 0.0)
    assert samples.by_metric["peak"] == {"plain": [1, 2]}
    assert samples.by_metric["sum"] == {"ours": [8.0, 8.0]}
    assert samples.by_metric[""]["both"] == [7.0, 7.0]
    assert list(samples.by_metric[""]) == ["plain", "ours", "both"]


def test_nothing_was_measured_in_no_rounds():
    assert timing.Samples({"": {}}).rounds() == 0
    assert timing.Samples({"": {"a": [1.0], "b": [1.0, 2.0]}}).rounds() == 2


def test_garbage_is_collected_before_and_stays_off_where_it_was_off(monkeypatch):
    done = []
    monkeypatch.setattr(timing.gc, "collect", lambda: done.append("collect"))
    timing.gc.disable()
    try:
        with timing.no_garbage_collection():
            pass
        assert not timing.gc.isenabled()
    finally:
        timing.gc.enable()
    with pytest.raises(ZeroDivisionError):
        with timing.no_garbage_collection():
            raise ZeroDivisionError
    assert timing.gc.isenabled()
    assert done == ["collect", "collect"]


# The command


def measured(monkeypatch, names, outcome, *arguments):
    """The exit code of measuring, when the experiments come to `outcome`; and with what they were run."""
    asked = []

    def run_experiment(name, gpu, options, kept, show, said, keep):
        asked.append((name, gpu, options))
        show(f"{name} runs")
        for field in ("rows", "wrong", "failed", "nothing"):
            getattr(kept, field).extend(getattr(outcome, field))
        keep()

    monkeypatch.setattr(command.run, "run_experiment", run_experiment)
    options = command.parser().parse_args([*names, *arguments])
    return command.measure(names, Machine(), options, [*names, *arguments]), asked


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"rows": [{"met": None}]}, 0),
        ({}, 4),
        ({"rows": [{"met": None}], "nothing": ["no second GPU"]}, 0),
        ({"nothing": ["no second GPU"]}, 4),
        ({"rows": [{"met": None}], "failed": ["out of memory"]}, 4),
        ({"rows": [{"met": None}], "failed": ["out of memory"], "wrong": ["other bytes"]}, 1),
        ({"wrong": ["other bytes"]}, 1),
    ],
)
def test_the_exit_code_tells_the_worst(monkeypatch, capsys, fields, code):
    ended, _ = measured(monkeypatch, ["to"], run.Outcome(**fields))
    assert ended == code
    problems = [*fields.get("wrong", []), *fields.get("failed", []), *fields.get("nothing", [])]
    assert capsys.readouterr().err == "".join(f"turnpike bench: {problem}\n" for problem in problems)


@pytest.mark.parametrize(
    ("arguments", "seconds", "quick", "trace"),
    [
        ([], 40.0, False, None),
        (["--quick"], 8.0, True, None),
        (["--quick", "--seconds", "3"], 3.0, True, None),
        (["--seconds", "0.5", "--trace", "t.json"], 0.5, False, "t.json"),
    ],
)
def test_the_options_reach_the_experiments(monkeypatch, arguments, seconds, quick, trace):
    _, asked = measured(monkeypatch, ["to", "pin"], run.Outcome(), *arguments)
    assert [name for name, _, _ in asked] == ["to", "pin"]
    assert {options for _, _, options in asked} == {run.Options(quick, seconds, trace)}


def test_the_head_names_the_machine_and_the_end_the_targets(monkeypatch, capsys):
    measured(monkeypatch, ["to", "pin"], run.Outcome(rows=[{"met": True}]))
    assert capsys.readouterr().out.splitlines() == [
        "Test GPU, PyTorch 2.99",
        "Turnpike: 8 threads, chunks of 4 MiB",
        "",
        "to runs",
        "",
        "pin runs",
        "",
        "2 of 2 targets met (they are those of an H100).",
    ]


def test_as_json_the_document_is_all_that_is_printed(monkeypatch, capsys):
    measured(monkeypatch, ["to", "pin"], run.Outcome(rows=[{"met": True}], nothing=["none"]), "--json")
    printed = json.loads(capsys.readouterr().out)
    assert (printed["name"], printed["experiments"], len(printed["rows"])) == ("move", ["to", "pin"], 2)
    assert printed["problems"] == ["none", "none"]
    assert printed["command"] == "turnpike bench to pin --json"


def test_what_was_measured_is_kept_after_each_case(planned):
    outcome, kept = run.Outcome(), []

    def fails(gpu):
        raise MemoryError("too little")

    planned.cases += [
        Planned("first", lambda gpu: case_of("first")),
        Planned("second", fails),
        Planned("third", lambda gpu: case_of("third")),
    ]

    def keep():
        kept.append((len({row["case"] for row in outcome.rows}), len(outcome.failed)))

    run.run_experiment("to", Machine(), run.Options(seconds=0.001), outcome, print, print, keep)
    assert kept == [(1, 0), (1, 1), (2, 1)]


def test_what_was_measured_is_written_whenever_it_is_kept_and_at_the_end(monkeypatch, tmp_path):
    written = []
    monkeypatch.setattr(command.result, "write", lambda path, document: written.append((path, len(document["rows"]))))
    measured(monkeypatch, ["to", "pin"], run.Outcome(rows=[{"met": True}]), "--out", "x.json")
    assert written == [("x.json", 1), ("x.json", 2), ("x.json", 2)]
    written.clear()
    measured(monkeypatch, ["to"], run.Outcome(rows=[{"met": True}]))
    assert written == []


def test_a_picture_is_drawn_of_rows_only(monkeypatch):
    from turnpike._bench import plot

    drawn = []
    monkeypatch.setattr(plot, "draw", lambda document, path: drawn.append((len(document["rows"]), path)))
    measured(monkeypatch, ["to"], run.Outcome(), "--plot", "to.svg")
    assert drawn == []
    measured(monkeypatch, ["to"], run.Outcome(rows=[{"met": True}]), "--plot", "to.svg")
    assert drawn == [(1, "to.svg")]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["to"], ["to"]),
        (["pin", "to", "pin"], ["pin", "to"]),
        (["pin", "all"], list(_bench.EXPERIMENTS)),
    ],
)
def test_each_named_experiment_runs_once(monkeypatch, arguments, names):
    opened, asked = [], []
    monkeypatch.setattr(command, "open_machine", lambda index: opened.append(index) or "machine")
    monkeypatch.setattr(command, "measure", lambda *given: asked.append(given) or 7)
    assert command.main([*arguments, "--device", "3"]) == 7
    assert opened == [3]
    ((given_names, given_machine, options, given_arguments),) = asked
    assert (given_names, given_machine, given_arguments) == (names, "machine", [*arguments, "--device", "3"])
    assert options.device == 3


def test_where_nothing_can_be_measured_it_says_why(monkeypatch, capsys):
    def nothing(index):
        assert index is None
        raise machine.Nothing("there is no GPU")

    monkeypatch.setattr(command, "open_machine", nothing)
    assert command.main(["to", "pin", "to"]) == 4
    assert capsys.readouterr().err == "turnpike bench to pin to: there is no GPU.\n"


def test_a_reader_that_left_is_a_failure_without_words(monkeypatch):
    closed = []

    def broken(_):
        raise BrokenPipeError

    monkeypatch.setattr(command, "_main", broken)
    monkeypatch.setattr(command.sys, "stderr", types.SimpleNamespace(close=lambda: closed.append(True)))
    assert command.main(["to"]) == 4
    assert closed == [True]


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--seconds", "0.001"], "seconds", 0.001),
        (["--seconds", "999999"], "seconds", 999999.0),
        (["--device", "0"], "device", 0),
        (["--device", "7"], "device", 7),
        ([], "seconds", None),
        ([], "device", None),
        ([], "trace", None),
        (["--json"], "json", True),
    ],
)
def test_arguments_at_their_limits_are_taken(arguments, field, value):
    assert getattr(command.parser().parse_args(["to", *arguments]), field) == value


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seconds", "1000000"], "1000000 is no number of seconds"),
        (["--seconds", "-1"], "-1 is no number of seconds"),
        (["--device", "-1"], "GPUs are counted from 0"),
    ],
)
def test_arguments_beyond_their_limits_are_refused(capsys, arguments, said):
    with pytest.raises(SystemExit) as left:
        command.parser().parse_args(["to", *arguments])
    assert left.value.code == 2
    assert said in capsys.readouterr().err


def test_the_progress_is_one_line_that_is_written_over(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = command.Progress()
    progress("x" * 150)
    progress("")
    assert capsys.readouterr().err == "\r\033[K" + "x" * 100 + "\r\033[K"


def test_experiments_are_found_among_options():
    assert _bench.is_ours(["bench", "-h"]) is False
    assert _bench.is_ours(["bench", "link", "to"]) is False
    assert _bench.is_ours(["bench", "warp-drive", "to"]) is True
    assert _bench.is_ours(["report", "bench", "to"]) is False
