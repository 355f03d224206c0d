"""Every text and figure of the notebook's view, cell by cell."""

import html.parser
import json
import pathlib

import pytest

from turnpike import _html

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "report" / "golden"


class Cells(html.parser.HTMLParser):
    """The texts of the paragraphs and list items, and each table as a list of rows."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.tables, self.open = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
        elif tag in ("p", "li"):
            self.texts.append("")
        self.open = tag in ("th", "td") or self.open and tag != "p"

    def handle_endtag(self, tag):
        if tag in ("th", "td"):
            self.open = False

    def handle_data(self, data):
        if self.open:
            self.tables[-1][-1][-1] += data
        else:
            self.texts[-1] += data


def distinct():
    return json.loads((GOLDEN / "distinct.json").read_text())


def shown(values):
    return Cells(_html.of_report("run <1>", values))


def finding(number=1, **fields):
    plain = {
        "site": f"a.py:{number}",
        "title": "title <b>",
        "evidence": "evidence",
        "advice": "advice",
        "rule": "round_trip",
        "severity": "warning",
        "superseded_by": None,
        "saving_pct": 12.6,
        "saving_step_ns": 1_234_567,
    }
    return plain | fields


def test_the_tables_have_the_values_of_the_json():
    values = distinct()
    tables = shown(values).tables
    totals = [(name, total) for name, total in values["totals"].items() if total["count"]]
    assert tables[0][0] == ["direction", "count", "size", "device ms", "blocked ms", "GB/s"]
    assert [row[:2] for row in tables[0][1:]] == [[name, str(total["count"])] for name, total in totals]
    assert tables[1][0] == [
        "site", "operator", "phase", "direction", "memory", "count", "size", "device ms", "blocked ms", "overlapped %",
    ]  # fmt: skip
    for row, site in zip(tables[1][1:], values["sites"], strict=True):
        assert row[0] == site["site"] and row[3] == site["direction"] and row[5] == str(site["count"])
        assert row[1] == (site["op"] or site["api"] or "?") and row[2] == (site["phase"] or "?")
        assert row[4] == f"{site['src_kind'] or '?'} -> {site['dst_kind'] or '?'}"
    assert tables[2][0] == ["site", "operator", "phase", "count", "blocked ms"]
    for row, site in zip(tables[2][1:], values["sync_sites"], strict=True):
        assert row[:2] == [site["site"], site["op"] or site["api"] or "?"]
        assert row[2:] == [site["phase"] or "?", str(site["count"]), f"{site['host_blocked_ns'] / 1e6:.3f}"]
    assert tables[3][0] == ["what", "count"]
    sentences = values["loss_sentences"]
    assert tables[3][1:] == [[sentences[name] or name, str(count)] for name, count in values["losses"].items()]


@pytest.mark.parametrize(
    ("op", "api", "expected"),
    [("aten::to", "cudaMemcpy", "aten::to"), (None, "cudaFree", "cudaFree"), (None, None, "?")],
)
def test_the_operator_is_the_call_if_there_is_none_and_unknown_without_a_call(op, api, expected):
    values = distinct()
    for table in ("sites", "sync_sites"):
        values[table] = [values[table][0] | {"op": op, "api": api, "phase": None}]
    tables = shown(values).tables
    assert tables[1][1][1:3] == [expected, "?"] and tables[2][1][1:3] == [expected, "?"]


def test_units():
    total = {"count": 1, "bytes": 0, "device_time_ns": 1_500_000, "host_blocked_ns": None, "bandwidth_gbps": None}
    sizes = {
        999: "999 B",
        1000: "1 kB",
        999_499: "999 kB",
        999_500: "1 MB",
        1_000_000: "1 MB",
        1_000_000_000: "1 GB",
        0: "0 B",
    }
    for size_bytes, text in sizes.items():
        values = distinct() | {"totals": {"h2d": total | {"bytes": size_bytes}, "d2h": total | {"count": 0}}}
        assert shown(values).tables[0][1:] == [["h2d", "1", text, "1.500", "?", "?"]]
    values = distinct() | {"totals": {"d2h": total | {"bandwidth_gbps": 12.34, "host_blocked_ns": 1000}}}
    assert shown(values).tables[0][1][3:] == ["1.500", "0.001", "12.3"]


@pytest.mark.parametrize(("count", "rows", "more"), [(0, 0, None), (20, 20, None), (21, 20, 1), (23, 20, 3)])
def test_a_table_of_twenty_rows_says_how_many_more_there_are(count, rows, more):
    values = distinct() | {"findings": [], "totals": {}, "sync_sites": [], "losses": {}}
    values["sites"] = [values["sites"][0]] * count
    cells = shown(values)
    assert [len(table) - 1 for table in cells.tables] == ([rows] if rows else [])
    assert [text for text in cells.texts if "more" in text] == ([f"and {more} more"] if more else [])


@pytest.mark.parametrize(("count", "told", "more"), [(0, 0, None), (10, 10, None), (11, 10, 1), (14, 10, 4)])
def test_at_most_ten_findings_are_told(count, told, more):
    findings = [finding(number) for number in range(count)] + [finding(99, superseded_by="late_loader")]
    values = distinct() | {"findings": findings, "sites": [], "totals": {}, "sync_sites": [], "losses": {}}
    texts = shown(values).texts
    assert sum("fix:" in text for text in texts) == told and not any("a.py:99" in text for text in texts)
    assert ("What to do" in texts) == (count > 0)
    assert [text for text in texts if "more" in text] == ([f"and {more} more"] if more else [])


@pytest.mark.parametrize(
    ("fields", "steps", "expected"),
    [
        ({}, True, "a.py:1: title <b>; saves 1.235 ms a step (13 %)"),
        ({}, False, "a.py:1: title <b>; saves 1.235 ms (13 %)"),
        ({"site": None}, True, "the step as a whole: title <b>; saves 1.235 ms a step (13 %)"),
        ({"saving_pct": None}, True, "a.py:1: title <b>; gain unknown"),
        ({"saving_pct": None, "severity": "error"}, True, "a.py:1: title <b>; results may be wrong"),
    ],
)
def test_a_finding_says_where_what_and_how_much(fields, steps, expected):
    values = distinct() | {"findings": [finding(**fields)]}
    if not steps:
        values["steps"] = None
    assert expected + "what: evidencefix: advice (round_trip)" in shown(values).texts


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        (None, "unknown what limits this program"),
        ("mixed", "several things limit this program"),
        ("sync", "this program is sync-bound"),
    ],
)
def test_the_head_names_the_run_and_its_limit(bound, expected):
    values = distinct()
    values["verdict"] |= {"bound_by": bound, "why": "because <i>"}
    texts = shown(values).texts
    assert texts[:2] == ["Turnpike: run <1>", f"Verdict: {expected}. because <i>"]
