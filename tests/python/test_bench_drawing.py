"""The picture of `turnpike bench --plot`, line by line: by a matplotlib that only writes down what it is told."""

import sys
import types

import pytest
from turnpike._bench import plot


class Axis:
    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def call(*arguments, **options):
            self.calls.append((name, arguments, options))

        return call

    def of(self, name):
        return [(arguments, options) for called, arguments, options in self.calls if called == name]

    def one(self, name):
        (only,) = self.of(name)
        return only


class Axes:
    def __init__(self, count):
        self.flat = [Axis() for _ in range(count)]


@pytest.fixture
def pyplot(monkeypatch):
    log = []

    def subplots(lines, columns, **options):
        made.lines, made.columns, made.options = lines, columns, options
        made.axes = Axes(lines * columns)
        return made.figure, made.axes

    figure = types.SimpleNamespace(
        suptitle=lambda text: log.append(("title", text)),
        savefig=lambda path, **options: log.append(("save", path, options)),
    )
    made = types.ModuleType("matplotlib.pyplot")
    made.rcParams, made.subplots, made.figure, made.log = {}, subplots, figure, log
    made.close = lambda which: log.append(("close", which))
    matplotlib = types.ModuleType("matplotlib")
    matplotlib.use = lambda backend: log.append(("use", backend))
    matplotlib.pyplot = made
    monkeypatch.setitem(sys.modules, "matplotlib", matplotlib)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", made)
    return made


def row(case, way, role, value, **more):
    return {
        "experiment": "to",
        "case": case,
        "metric": "rate",
        "unit": "GB/s",
        "way": way,
        "role": role,
        "value": value,
        "spread": [value - 1, value + 2],
        "target": None,
        "series": None,
        "size_bytes": None,
        **more,
    }


def draw(pyplot, rows):
    plot.draw({"rows": rows, "device": "GPU", "versions": {"torch": "2.99"}, "date": "2026-01-02T03:04:05Z"}, "to.svg")
    return pyplot.axes.flat


def test_the_picture_is_written_and_closed(pyplot):
    draw(pyplot, [row("a", "ours", "turnpike", 5)])
    assert pyplot.log == [
        ("use", "Agg"),
        ("title", "GPU, PyTorch 2.99, 2026-01-02"),
        ("save", "to.svg", {"dpi": 130}),
        ("close", pyplot.figure),
    ]
    assert pyplot.rcParams == {"svg.fonttype": "none"}


@pytest.mark.parametrize(
    ("panels", "lines", "columns"), [(1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 2, 3), (6, 2, 3), (7, 3, 3)]
)
def test_panels_stand_in_lines_of_three(pyplot, panels, lines, columns):
    axes = draw(pyplot, [row(str(number), "ours", "turnpike", 5) for number in range(panels)])
    assert (pyplot.lines, pyplot.columns) == (lines, columns)
    assert pyplot.options == {"figsize": (6 * columns, 3.4 * lines), "squeeze": False, "layout": "constrained"}
    shown = [axis.of("set_title") for axis in axes]
    assert [title[0] for title in shown[:panels]] == [((f"to: {n}",), {"fontsize": 10}) for n in range(panels)]
    assert [axis.calls for axis in axes[panels:]] == [[("set_visible", (False,), {})]] * (lines * columns - panels)


def test_bars_stand_with_the_first_way_on_top(pyplot):
    (axis,) = draw(pyplot, [row("a", "plain", "pytorch", 5.0), row("a", "ours", "turnpike", 50.0)])
    arguments, options = axis.one("barh")
    assert arguments == (range(2), [50.0, 5.0])
    assert options == {"xerr": [[1.0, 1.0], [2.0, 2.0]], "color": ["#e4572e", "#9a9a9a"], "capsize": 2}
    assert axis.one("set_yticks")[0] == (range(2),)
    assert axis.one("set_yticklabels") == ((["ours", "plain"],), {"fontsize": 8})
    assert axis.one("set_xlabel") == (("GB/s (more is better)",), {"fontsize": 8})


def test_the_error_of_a_bar_is_never_negative(pyplot):
    (axis,) = draw(pyplot, [row("a", "ours", "turnpike", 5.0, spread=[6.0, 4.0], unit="ms", metric="time")])
    assert axis.one("barh")[1]["xerr"] == [[0.0], [0.0]]
    assert axis.one("set_xlabel")[0] == ("ms (less is better)",)


def test_a_curve_goes_from_small_to_large(pyplot):
    ways = [("plain", "pytorch"), ("by hand", "best"), ("other", "best"), ("third", "best"), ("fourth", "best")]
    rows = [
        row("a", way, role, number + size, series="pageable", size_bytes=size)
        for number, (way, role) in enumerate([*ways, ("pinned", "bound")])
        for size in (64 << 20, 512, 1 << 30, 2 << 10)
    ]
    (axis,) = draw(pyplot, rows)
    sizes = [512, 2 << 10, 64 << 20, 1 << 30]
    drawn = axis.of("plot")
    assert [arguments[0] for arguments, _ in drawn] == [sizes] * 6
    assert [arguments[1] for arguments, _ in drawn] == [[number + size for size in sizes] for number in range(6)]
    assert [arguments[2] for arguments, _ in drawn] == ["-", "-", "-.", ":", "-", "--"]
    colours = ["#9a9a9a", *["#4c78a8"] * 4, "#222222"]
    assert [options for _, options in drawn] == [
        {"marker": ".", "color": colour, "label": way}
        for (way, _), colour in zip([*ways, ("pinned", "bound")], colours, strict=True)
    ]
    filled = axis.of("fill_between")
    assert filled[1] == (
        (sizes, [size for size in sizes], [size + 3 for size in sizes]),
        {"color": "#4c78a8", "alpha": 0.15},
    )
    assert axis.one("set_xscale") == (("log",), {"base": 2})
    assert axis.one("set_xticks")[0] == (sizes,)
    assert axis.one("set_xticklabels") == ((["512 B", "2 KiB", "64 MiB", "1 GiB"],), {"fontsize": 7})
    assert axis.one("minorticks_off") == ((), {})
    assert axis.one("set_ylim") == ((), {"bottom": 0})
    assert axis.one("set_ylabel")[0] == ("GB/s",)
    assert axis.one("legend") == ((), {"fontsize": 8})


def test_curves_come_before_bars_and_repetitions_are_left_out():
    rows = [
        row("bar", "ours", "turnpike", 5.0, metric="time"),
        row("a", "ours", "turnpike", 5.0, series="pageable", size_bytes=1),
        row("b", "ours", "turnpike", 5.0, series="pageable", size_bytes=2),
        row("b", "ours", "turnpike", 5.0, series="pageable", size_bytes=2, target=0.9),
        row("bar", "ours", "turnpike", 5.0, metric="memory"),
    ]
    assert [(kind, title, len(group)) for kind, title, group in plot.panels(rows)] == [
        ("curve", "to: pageable", 2),
        ("bars", "to: bar", 1),
    ]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        ((1 << 20) - 1, "1023 KiB"),
        (1 << 20, "1 MiB"),
        (1 << 30, "1 GiB"),
    ],
)
def test_sizes_have_the_largest_unit_that_fits(size, text):
    assert plot._size(size) == text


def test_where_a_picture_may_go(monkeypatch, tmp_path):
    monkeypatch.setattr(plot.importlib.util, "find_spec", lambda name: name)
    monkeypatch.chdir(tmp_path)
    assert plot.problem_with("to.svg") is None
    assert plot.problem_with("to.png") is None
    assert plot.problem_with("to.jpg") == "--plot to.jpg: the file must end in .svg or .png"
    assert plot.problem_with("no/to.png") == f"--plot no/to.png: there is no folder {tmp_path}/no"
    (tmp_path / "file").write_text("")
    assert "there is no folder" in plot.problem_with("file/to.png")
