"""Pictures and outputs in the pages are what Turnpike prints today."""

import re

import pytest
from documentation import bench_svg, golden, pictures, shown, terminal_svg, timeline_svg


def test_every_picture_is_what_the_script_makes_now():
    assert pictures.stale() == []


def test_every_output_in_the_pages_is_what_the_program_prints_now():
    assert shown.stale() == []


@pytest.mark.parametrize("name", [one.name for one in pictures.PICTURES if isinstance(one, pictures.Terminal)])
def test_nothing_is_cut_off(name):
    text = (pictures.FOLDER / f"{name}.svg").read_text()
    width, height = map(int, re.search(r'viewBox="0 0 (\d+) (\d+)"', text).groups())
    places = re.findall(r'<text x="([\d.]+)" y="(\d+)" textLength="([\d.]+)"', text)
    assert len(places) > 10
    assert max(float(x) + float(length) for x, _, length in places) <= width - terminal_svg.MARGIN + 0.1
    assert max(int(y) for _, y, _ in places) < height - terminal_svg.MARGIN / 2
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_timeline_stays_in_its_lanes():
    svg = (pictures.FOLDER / "timeline.svg").read_text()
    bars = re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="18" fill="#(?!0d1117)', svg)
    assert len(bars) > 100
    assert min(float(x) for x, _ in bars) >= timeline_svg.LEFT
    right = timeline_svg.WIDTH - timeline_svg.RIGHT
    assert max(float(x) + float(width) for x, width in bars) <= right + 0.5


def test_a_timeline_shows_what_went_on_in_its_stretch():
    events = [{"cat": "copy", "ts": start, "dur": 10} for start in (0, 95, 150, 195, 300)]
    spans = timeline_svg.spans_of([*events, {"cat": "kernel", "ts": 120, "dur": 50}], "copy", 100, 100)
    assert spans == [(0, 5), (50, 60), (95, 100)]
    assert timeline_svg.merged([(50, 60), (0, 5), (6, 8), (7, 20)], 2) == [[0, 20], [50, 60]]


def test_a_changed_picture_and_one_that_no_script_makes_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    pictures.update()
    assert pictures.stale() == []
    (tmp_path / "check.svg").write_text("<svg/>")
    (tmp_path / "other.svg").write_text("<svg/>")
    assert [path.name for path in pictures.stale()] == ["check.svg", "other.svg"]


def test_styles_become_attributes_and_markup_is_escaped():
    svg = terminal_svg.draw("turnpike", ["\x1b[1ma < b\x1b[0m  \x1b[33mc\x1b[0m"], 20)
    assert re.findall(r"<text[^>]*?( font-weight[^>]*| fill[^>]*)?>([^<]*)</text>", svg)[-2:] == [
        (terminal_svg.STYLES["1"], "a\u00a0&lt;\u00a0b"),
        (terminal_svg.STYLES["33"], "c"),
    ]
    with pytest.raises(ValueError, match="style 45"):
        terminal_svg.draw("turnpike", ["\x1b[45mx"], 20)


def test_sections_are_cut_out_and_a_missing_one_is_an_error():
    text = "ONE\n  a\n\nTWO  more\n  b\n\nTHREE\n  c\n"
    assert golden.sections(text, ["ONE", "THREE"]) == ["ONE", "  a", "", "...", "", "THREE", "  c"]
    assert golden.sections(text, ["TWO"]) == ["TWO  more", "  b", "", "..."]
    with pytest.raises(ValueError, match="FOUR"):
        golden.sections(text, ["FOUR"])


def test_a_block_that_cannot_be_written_is_an_error():
    with pytest.raises(ValueError, match="exits 2"):
        shown.rewritten("<!-- shows: turnpike report --nothing -->\n```console\n```\n")
    with pytest.raises(ValueError, match="on the line before"):
        shown.rewritten("<!-- shows: turnpike report before.tpk -->\n\n```console\n```\n")
    with pytest.raises(ValueError, match="only commands of turnpike"):
        golden.run("rm -r /", None)


def test_an_excerpt_is_cut_from_the_file_without_its_indentation():
    comment = '<!-- lines: examples/train_before.py "def show" to "if step" -->\n'
    assert shown.rewritten(f"{comment}```python\nold\n```\nrest\n") == (
        comment + "```python\ndef show(step, loss, accuracy):\n    if step % 20 == 0:\n```\nrest\n"
    )


def measured(way, role, value, size_bytes=None, **more):
    row = {"experiment": "to", "case": "a", "series": "pageable", "metric": "rate", "target": None}
    return {**row, "way": way, "role": role, "value": value, "size_bytes": size_bytes, **more}


def test_a_curve_has_its_points_where_the_scale_says():
    rows = [
        measured("PyTorch .to", "pytorch", 0, 1 << 10),
        measured("PyTorch .to", "pytorch", 10, 1 << 20),
        measured("Turnpike", "turnpike", 40, 1 << 30),
        measured("Turnpike", "turnpike", 20, 1 << 10),
    ]
    svg = bench_svg.curves("rates", [("up", rows)])
    (plain,), (ours,) = (
        re.findall(f'<polyline points="([^"]*)"[^>]*"{colour}"', svg) for colour in ("#8b949e", "#3fb950")
    )
    left, right = 50, bench_svg.WIDTH - 50
    top, bottom = bench_svg.TOP, bench_svg.TOP + bench_svg.PLOT
    assert plain == f"{left:.1f},{bottom:.1f} {left + (right - left) / 2:.1f},{bottom - bench_svg.PLOT / 4:.1f}"
    assert ours == f"{left:.1f},{(top + bottom) / 2:.1f} {right:.1f},{top:.1f}"
    assert [size for size in ("1 KiB", "1 MiB", "1 GiB") if f">{size}<" in svg] == ["1 KiB", "1 MiB", "1 GiB"]


def test_bars_are_as_long_as_their_values():
    cases = [("a", [measured("x", "pytorch", 8.0), measured("y", "best", 2.0)]), ("b", [measured("z", "best", 4.0)])]
    svg = bench_svg.bars("times", "ms", cases)
    widths = [float(width) for width in re.findall(r'width="([\d.]+)" height="16"', svg)]
    assert [width / widths[1] for width in widths] == pytest.approx([4, 1, 2], rel=0.01)
    assert re.findall(r">([\d.]+ ms)<", svg) == ["8.0 ms", "2.0 ms", "4.0 ms"]


def test_what_a_result_lacks_is_an_error_and_targets_are_left_out():
    result = {"rows": [measured("x", "pytorch", 1.0), measured("x", "pytorch", 2.0, target=3)]}
    assert [row["value"] for row in bench_svg.chosen(result, "rate", way="x")] == [1.0]
    with pytest.raises(ValueError, match="no rate with {'way': 'y'}"):
        bench_svg.chosen(result, "rate", way="y")


@pytest.mark.parametrize(
    "name", [one.name for one in pictures.PICTURES if isinstance(one, (pictures.Curves, pictures.Bars))]
)
def test_a_plot_is_small_and_all_inside(name):
    text = (pictures.FOLDER / f"{name}.svg").read_text()
    assert len(text) < 10_000
    _, height = map(int, re.search(r'viewBox="0 0 (\d+) (\d+)"', text).groups())
    assert max(float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)"', text)) < height
    for points in re.findall(r'<polyline points="([^"]*)"', text):
        for x, y in (map(float, point.split(",")) for point in points.split()):
            assert 0 < x < bench_svg.WIDTH and bench_svg.TOP <= y <= bench_svg.TOP + bench_svg.PLOT
