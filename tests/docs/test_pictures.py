"""Pictures and outputs in the pages are what Turnpike prints today."""

import re

import pytest
from documentation import golden, pictures, shown, terminal_svg, timeline_svg


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
