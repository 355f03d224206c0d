"""The picture of `turnpike bench --plot`: drawn from rows, without a GPU."""

import xml.etree.ElementTree

import pytest

from turnpike._bench import plot

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'turnpike-gpu[plot]'")


def row(case, way, role, value, **more):
    return {
        "experiment": "to",
        "case": case,
        "metric": "rate",
        "unit": "GB/s",
        "way": way,
        "role": role,
        "value": value,
        "spread": [value * 0.9, value * 1.1],
        "target": None,
        "series": None,
        "size_bytes": None,
        **more,
    }


@pytest.fixture
def result():
    curve = [
        row(f"pageable, {mib} MiB", way, role, value * mib, series="pageable", size_bytes=mib << 20)
        for mib in (1, 64)
        for way, role, value in (
            ("PyTorch .to", "pytorch", 0.1),
            ("Turnpike", "turnpike", 0.8),
            ("pinned", "bound", 0.9),
        )
    ]
    bars = [row("transposed", "PyTorch .to", "pytorch", 2.0), row("transposed", "Turnpike", "turnpike", 30.0)]
    judged = [row("transposed", "Turnpike", "turnpike", 30.0, target=0.9)]
    memory = [row("transposed", "Turnpike", "turnpike", 30.0, metric="GPU memory at its peak", unit="MiB")]
    return {
        "device": "Test GPU",
        "versions": {"torch": "2.11.0"},
        "date": "2026-01-01T00:00:00Z",
        "rows": curve + bars + judged + memory,
    }


def test_cases_of_one_series_are_a_curve_and_others_are_bars(result):
    drawn = plot.panels(result["rows"])
    assert [(kind, title, len(rows)) for kind, title, rows in drawn] == [
        ("curve", "to: pageable", 6),
        ("bars", "to: transposed", 2),
    ]


def test_an_svg_is_well_formed_and_names_everything(result, tmp_path):
    path = tmp_path / "to.svg"
    plot.draw(result, str(path))
    root = xml.etree.ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = "".join(root.itertext())
    for word in ("Test GPU", "to: pageable", "to: transposed", "Turnpike", "GB/s", "64 MiB", "more is better"):
        assert word in text


def test_a_png_is_one(result, tmp_path):
    path = tmp_path / "to.png"
    plot.draw(result, str(path))
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_problems_are_said_before_anything_is_measured(tmp_path):
    assert plot.problem_with(str(tmp_path / "to.svg")) is None
    assert "must end in .svg or .png" in plot.problem_with(str(tmp_path / "to.pdf"))
    assert "there is no folder" in plot.problem_with(str(tmp_path / "nowhere" / "to.svg"))
