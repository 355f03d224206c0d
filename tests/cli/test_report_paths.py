"""`turnpike report --tree`, `--by` and `--under`, on a recording of Lightning."""

import json
import pathlib
import subprocess

import pytest

RUN = pathlib.Path(__file__).resolve().parents[1] / "golden/field/lightning_fit.tpk"
LOGGING = "lightning: fabric/utilities/apply_func.py:134"


@pytest.fixture
def report(turnpike):
    def report(*arguments, code=0):
        command = [str(turnpike), "report", str(RUN), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    return report


def test_lines_of_a_library_are_rows_of_their_own(report):
    sites = json.loads(report("--json"))["sites"]
    of_fit = {site["library_site"] for site in sites if site["site"] == "lightning_fit.py:82"}
    assert LOGGING in of_fit
    assert len(of_fit) >= 5, of_fit


def test_paths_add_up_to_the_totals(report):
    values = json.loads(report("--json"))
    for direction, total in values["totals"].items():
        paths = [path for path in values["paths"] if path["kind"] == direction]
        for key in ("count", "bytes"):
            assert sum(path[key] for path in paths) == total[key], (direction, key)
        assert sum(path["host_blocked_ns"] or 0 for path in paths) == (total["host_blocked_ns"] or 0)
    syncs = values["syncs"]
    alone = sum(path["count"] for path in values["paths"] if path["kind"] == "sync")
    assert alone == syncs["count"] - syncs["of_transfers_count"]


def test_the_tree_leads_from_the_program_into_the_library(report):
    lines = report("--tree").splitlines()
    assert lines[0] == "CALL PATHS"
    text = "\n".join(lines)
    assert text.index("lightning_fit.py:82 main") < text.index("aten::item, GPU > CPU: 80 x, 320 B")


@pytest.mark.parametrize(
    ("key", "row"),
    [
        ("path", f"lightning_fit.py:82 > {LOGGING} > aten::item"),
        ("line", "lightning_fit.py:82"),
        ("library", "lightning"),
        ("operator", "aten::item"),
        ("module", "(outside of modules)"),
    ],
)
def test_a_table_by_each_key(report, key, row):
    assert any(line.endswith("  " + row) for line in report("--by", key, "--top", "99").splitlines())


def test_under_keeps_what_a_place_led_to(report):
    below = report("--under", "apply_func.py:134")
    assert "aten::item" in below
    assert "aten::to " not in below


@pytest.mark.parametrize(
    "arguments",
    [("--by", "row"), ("--tree", "--by", "line"), ("--tree", "--json"), ("--under", ""), ("--under", "nowhere.py:1")],
)
def test_what_makes_no_sense_is_refused(report, arguments):
    assert "--" in report(*arguments, code=2)
