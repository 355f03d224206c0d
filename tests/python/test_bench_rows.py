"""Rows, tables and files of `turnpike bench`, field by field."""

import datetime
import json
import math
import types

import pytest

from turnpike._bench import figures, result, table
from turnpike._bench.figures import Target
from turnpike._bench.timing import Case, Samples, Way


def way(name, role):
    return Way(name, role, lambda: None, lambda _: None)


def case_of(ways, unit="ms", **options):
    return Case("a case", unit, 1, [way(name, role) for name, role in ways.items()], next(iter(ways)), **options)


def rows(values, unit="ms", extra=None, **options):
    roles = dict(zip(values, ["pytorch", "turnpike", "bound"], strict=False))
    return result.rows_of("to", case_of(roles, unit, **options), Samples({"": values, **(extra or {})}))


VALUES = {"plain": [10.0, 20.0, 30.0], "ours": [5.0, 5.0, 10.0], "least": [4.0, 5.0, 5.0]}


def test_a_row_holds_every_figure():
    assert rows(VALUES, bound="least", size_bytes=4096, series="sizes")[1] == {
        "case": "a case",
        "metric": "time",
        "unit": "ms",
        "way": "ours",
        "value": 5.0,
        "spread": [5.0, 7.5],
        "samples": 3,
        "baseline": "plain",
        "baseline_value": 20.0,
        "ratio": pytest.approx(1 / 3),
        "ratio_spread": [pytest.approx((1 / 4 + 1 / 3) / 2), pytest.approx((1 / 3 + 1 / 2) / 2)],
        "target": None,
        "met": None,
        "bound": "least",
        "bound_value": 5.0,
        "of_bound": pytest.approx(1 / 1.25),
        "size_bytes": 4096,
        "series": "sizes",
        "experiment": "to",
        "role": "turnpike",
    }


def test_without_a_bound_nothing_is_told_against_one():
    row = rows(VALUES)[1]
    assert (row["bound"], row["bound_value"], row["of_bound"]) == (None, None, None)


@pytest.mark.parametrize(
    ("unit", "metric", "share"), [("GB/s", "rate", 0.5), ("ms", "time", 2), ("us", "time", 2), ("MiB", "memory", 2)]
)
def test_the_unit_decides_the_metric_and_what_is_better(unit, metric, share):
    row = rows({"plain": [1.0], "ours": [2.0], "least": [4.0]}, unit, bound="least")[1]
    assert (row["metric"], row["unit"], row["of_bound"]) == (metric, unit, share)
    assert (row["ratio"], row["ratio_spread"]) == (2, [2, 2])


def test_figures_that_are_derived_are_bounds():
    made = rows({**VALUES, "sum": [1.0, 1.0, 1.0]})
    assert [row["role"] for row in made] == ["pytorch", "turnpike", "bound", "bound"]


def test_a_metric_without_the_baseline_has_no_ratio():
    extra = {"overlap": {"ours": [50.0, 60.0, 70.0]}}
    row = rows(VALUES, extra=extra, extras={"overlap": "%"}, bound="least")[-1]
    assert (row["metric"], row["unit"], row["value"]) == ("overlap", "%", 60)
    assert (row["baseline"], row["baseline_value"], row["ratio"], row["ratio_spread"]) == (None,) * 4
    assert (row["bound"], row["bound_value"], row["of_bound"]) == (None,) * 3


def test_targets_stand_behind_their_own_way_and_metric():
    targets = [
        Target("ours", "ratio <=", 0.4, "quick", "plain"),
        Target("ours", "value >=", 60, "much", metric="overlap"),
        Target("plain", "value <=", 19, "slow"),
        Target("ours", "difference <=", -10, "less", "plain"),
    ]
    extra = {"overlap": {"ours": [50.0, 60.0, 70.0]}}
    made = rows(VALUES, extra=extra, extras={"overlap": "%"}, targets=targets)
    told = [(row["way"], row["metric"], row.get("target_text"), row["met"], row.get("reached")) for row in made]
    assert told == [
        ("plain", "time", None, None, None),
        ("plain", "time", "slow", False, 20.0),
        ("ours", "time", None, None, None),
        ("ours", "time", "quick", True, pytest.approx(1 / 3)),
        ("ours", "time", "less", True, -15.0),
        ("least", "time", None, None, None),
        ("ours", "overlap", None, None, None),
        ("ours", "overlap", "much", True, 60.0),
    ]
    judged = made[3]
    assert (judged["target"], judged["target_is"], judged["baseline"], judged["role"], judged["experiment"]) == (
        0.4,
        "ratio <=",
        "plain",
        "turnpike",
        "to",
    )
    assert (made[7]["baseline"], made[7]["ratio"]) == (None, None)


@pytest.mark.parametrize(("kind", "met"), [(kind, True) for kind in figures.KINDS])
def test_a_target_is_met_at_its_limit(kind, met):
    target = Target("ours", kind, 2.0, "text", "plain")
    assert target.is_met(2.0) is met
    assert target.is_met(math.nextafter(2.0, 3)) is kind.endswith(">=")
    assert target.is_met(math.nextafter(2.0, 1)) is kind.endswith("<=")


def test_what_is_compared_has_as_many_rounds():
    with pytest.raises(ValueError, match="argument 2"):
        figures.ratios([1, 2], [1])
    with pytest.raises(ValueError, match="argument 2"):
        Target("ours", "difference <=", 1, "text", "plain").reached([1, 2], [1])


def test_nothing_is_divided_by_zero():
    assert math.isnan(figures.ratios([1], [0])[0])
    assert math.isnan(figures.speedup("ms", 0))
    assert figures.speedup("%", 3) == figures.speedup("1/s", 3) == 3
    assert figures.speedup("us", 4) == figures.speedup("MiB", 4) == 0.25


def row_of(**changed):
    return {
        "experiment": "to",
        "case": "a case",
        "metric": "rate",
        "unit": "GB/s",
        "way": "ours",
        "role": "turnpike",
        "value": 2.0,
        "spread": [1.0, 3.0],
        "samples": 3,
        "baseline": "plain",
        "ratio": 2.0,
        "target": None,
        "met": None,
        "bound": None,
        "of_bound": None,
        **changed,
    }


def cells(**changed):
    """The figures of a row's line, cut where the columns are."""
    (line,) = table.lines([row_of(**changed)])[1:]
    line, found, at = line.ljust(103), [], 0
    for width in (48, 13, 18, 8, 8):
        found.append(line[at : at + width].strip())
        at += width + 2
    return found


def test_the_head_stands_above_the_columns():
    assert table.head() == " " * 50 + "       median           quartiles  speed-up  of bound"
    assert table.lines([row_of(of_bound=0.5)])[1].index("50 %") + 4 == len(table.head())


def test_a_line_shows_what_is_known():
    assert cells() == ["ours", "2.00 GB/s", "1.00 to 3.00", "2.00x", ""]
    assert cells(samples=1) == ["ours", "2.00 GB/s", "", "2.00x", ""]
    assert cells(samples=2)[2] == "1.00 to 3.00"
    assert cells(ratio=None)[3] == ""
    assert cells(role="bound", of_bound=1.0, bound="other")[3:] == ["", ""]
    assert cells(role="bound", bound="ours", of_bound=1.0)[3:] == ["", "bound"]
    assert cells(way="plain")[3] == "1"
    assert cells(unit="ms", metric="time", ratio=0.5)[3] == "2.00x"
    assert cells(unit="MiB", metric="memory", ratio=0.5)[3] == "2.00x"
    assert cells(metric="overlap")[3] == ""
    assert cells(ratio=math.nan)[3] == "?"
    assert cells(of_bound=0.925)[4] in ("92 %", "93 %")
    assert cells(of_bound=1.5)[4] == "150 %"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001234, "0.00123"),
        (0.0000001234, "0.000000"),
        (9.994, "9.99"),
        (10.0, "10.0"),
        (99.94, "99.9"),
        (100.4, "100"),
        (-0.5, "-0.500"),
        (-250.0, "-250"),
        (math.inf, "?"),
    ],
)
def test_numbers_of_every_size(value, text):
    assert table.number(value) == text


@pytest.mark.parametrize(
    ("kind", "limit", "reached", "shown"),
    [
        ("ratio >=", 0.9, 0.85, "(85.0 %)"),
        ("ratio <=", 1.99, 1.5, "(150.0 %)"),
        ("ratio >=", 2, 3.0, "(3.00)"),
        ("ratio >=", 0.5, 0.25, "(0.250)"),
        ("ratio >=", 10, 12.0, "(12.0)"),
        ("value >=", 0.9, 0.85, "(0.850 GB/s)"),
        ("difference <=", 1, 0.25, "(0.250 GB/s)"),
    ],
)
def test_a_verdict_tells_what_was_reached(kind, limit, reached, shown):
    made = row_of(target=limit, target_is=kind, target_text="a target", reached=reached, met=False)
    assert table.lines([made]) == ["a case", f"  MISSED: a target {shown}"]
    assert table.lines([{**made, "met": True}])[1] == f"  met: a target {shown}"


def test_lines_are_grouped_by_case_and_metric():
    judged = row_of(target=1, target_is="value >=", target_text="a target", reached=2.0, met=True)
    made = table.lines([judged, row_of(metric="overlap"), row_of(way="plain"), row_of(case="other", metric="memory")])
    assert [line.split("  ")[0] or line.split()[0] for line in made] == [
        "a case",
        "plain",
        "met:",
        "a case: overlap",
        "ours",
        "other",
        "ours",
    ]


def test_the_summary_counts_what_was_judged():
    met, missed = row_of(met=True, target_text="one"), row_of(met=False, target_text="two", experiment="pin")
    assert table.summary([row_of(), met, missed, met]) == (
        "2 of 3 targets met (they are those of an H100).\n  missed: pin, a case: two"
    )
    assert table.summary([row_of()]) == "0 of 0 targets met (they are those of an H100)."


def test_a_result_has_these_fields_in_this_order():
    made = result.document([{"way": "ours"}], ["to"], ["to", "--quick"], {"device": "GPU", "device_count": 1}, ["oh"])
    date = datetime.datetime.strptime(made.pop("date"), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
    assert abs(datetime.datetime.now(datetime.timezone.utc) - date) < datetime.timedelta(minutes=2)
    assert list(made.items()) == [
        ("schema", 1),
        ("name", "to"),
        ("device", "GPU"),
        ("device_count", 1),
        ("command", "turnpike bench to --quick"),
        ("spread_is", "quartiles"),
        ("experiments", ["to"]),
        ("problems", ["oh"]),
        ("rows", [{"way": "ours"}]),
    ]


def test_a_command_can_be_given_again():
    made = result.document([], ["to"], ["to", "--out", "a b/c.json", "--plot", "/x/d e.svg"], {}, [])
    assert made["command"] == "turnpike bench to --out 'a b/c.json' --plot 'd e.svg'"


def test_a_result_is_written_whole_into_a_folder_that_is_made(tmp_path, monkeypatch):
    path = tmp_path / "new" / "folder" / "to.json"
    for value in (1, 2):
        result.write(str(path), {"value": value})
        assert path.read_text() == f'{{\n "value": {value}\n}}\n'
        assert [one.name for one in path.parent.iterdir()] == ["to.json"]
    monkeypatch.chdir(tmp_path)
    result.write("here.json", {"rows": [{"value": math.nan, "ways": ("a", [math.inf])}], "text": "nan"})
    assert json.loads((tmp_path / "here.json").read_text()) == {
        "rows": [{"value": None, "ways": ["a", [None]]}],
        "text": "nan",
    }


def test_versions_that_are_not_known_are_none(monkeypatch):
    def version(name):
        if name == "torch":
            raise result.importlib.metadata.PackageNotFoundError(name)
        return f"of {name}"

    monkeypatch.setattr(result.importlib.metadata, "version", version)
    monkeypatch.setattr(result, "_driver", lambda: "595.71")
    known = result.versions()
    assert known.pop("python").count(".") == 2
    assert known.pop("kernel") == result.platform.release()
    assert known == {
        "turnpike": "of turnpike-gpu",
        "torch": None,
        "driver": "595.71",
        "cuda_runtime": "of nvidia-cuda-runtime",
    }


@pytest.mark.parametrize(
    ("returncode", "stdout", "wanted"),
    [(0, "595.71\n595.71\n", "595.71"), (0, "\n", None), (9, "NVIDIA-SMI has failed\n", None)],
)
def test_the_drivers_version_is_what_nvidia_smi_says_of_the_first_gpu(monkeypatch, returncode, stdout, wanted):
    asked = []

    def run(command, **options):
        asked.append((command, options))
        return types.SimpleNamespace(returncode=returncode, stdout=stdout)

    monkeypatch.setattr(result.subprocess, "run", run)
    assert result._driver() == wanted
    assert asked == [
        (
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            {"capture_output": True, "text": True, "timeout": 60},
        )
    ]


@pytest.mark.parametrize("error", [FileNotFoundError("nvidia-smi"), result.subprocess.TimeoutExpired("nvidia-smi", 60)])
def test_without_nvidia_smi_the_driver_is_not_known(monkeypatch, error):
    def run(*_, **__):
        raise error

    monkeypatch.setattr(result.subprocess, "run", run)
    assert result._driver() is None
