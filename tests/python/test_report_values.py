"""Every attribute of a report is the value of its key in the JSON, whatever the value."""

import copy
import dataclasses
import json
import pathlib
import pickle
import subprocess
import typing
import warnings

import pytest

import turnpike as tp
from turnpike import _core, _native

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "report" / "golden"
EXAMPLE = ROOT / "examples" / "mnist-h100.tpk"


class Analysis:
    """Stands for the extension's: the JSON in which no two keys share a value."""

    def __init__(self, name):
        self.values = (GOLDEN / name).read_text()

    def json(self):
        return self.values

    def text(self, width, top, show):
        return f"{width} columns, {top} rows"

    def overview(self, path, address):
        return f"page {path!r} at {address!r}"


def assert_same(attribute, value, path):
    """`attribute` has every key of `value` under its name, at every depth."""
    if dataclasses.is_dataclass(attribute):
        assert [field.name for field in dataclasses.fields(attribute) if field.name not in value] == [], path
        for key in value:
            assert_same(getattr(attribute, key), value[key], f"{path}.{key}")
    elif isinstance(value, list):
        assert isinstance(attribute, list) and len(attribute) == len(value), path
        for number, (one, other) in enumerate(zip(attribute, value, strict=True)):
            assert_same(one, other, f"{path}[{number}]")
    elif isinstance(value, dict):
        assert isinstance(attribute, dict) and list(attribute) == list(value), path
        for key in value:
            assert_same(attribute[key], value[key], f"{path}[{key!r}]")
    else:
        assert (type(attribute), attribute) == (type(value), value), path


@pytest.fixture(params=["distinct.json", "bare.json", EXAMPLE], ids=["distinct", "bare", "recorded"])
def rep(request):
    return tp.report(request.param) if isinstance(request.param, pathlib.Path) else tp.Report(Analysis(request.param))


def test_every_attribute_is_the_value_of_its_key(rep):
    values = rep.to_dict()
    for key in values.keys() - {"schema"}:
        assert_same(getattr(rep, key), values[key], key)
    assert set(values) - {"schema"} == set(typing.get_type_hints(tp.Report))


def test_rows_are_objects_of_their_own_kind():
    rep = tp.Report(Analysis("distinct.json"))
    assert isinstance(rep.source, tp.Source) and isinstance(rep.source.devices[1], tp.Device)
    assert isinstance(rep.totals["memset"], tp.Total) and isinstance(rep.syncs, tp.Syncs)
    assert isinstance(rep.steps, tp.Steps) and isinstance(rep.verdict, tp.Verdict)
    assert isinstance(rep.sites[6], tp.Site) and isinstance(rep.sync_sites[1], tp.SyncSite)
    assert isinstance(rep.findings[2], tp.Finding) and isinstance(rep.lines[1], tp.LineTime)
    assert (rep.source.devices[1].id, rep.source.devices[1].memory_bytes) == (5, 40_200_000_000)
    assert (rep.totals["p2p"].pageable_count, rep.totals["h2h"].link_gbps) == (104, 88.5)
    assert (rep.totals["d2h"].link_source, rep.totals["d2h"].link_basis) == ("learnt", "link B")
    assert (rep.source.devices[0].numa_node, rep.source.devices[0].pcie_width) == (7, 8)
    assert (rep.sites[3].count, rep.sites[3].bytes, rep.sites[3].blocked_count) == (314, 41_440_000, 154)
    assert (rep.verdict.threads[0].calls_pct, rep.verdict.threads[0].waits_pct) == (12.25, 38.5)
    assert (rep.memory.peak_device_bytes, rep.memory.peak_pinned_bytes) == (1_120_000_000, 25_300_000)


def test_what_the_report_cannot_tell_is_none():
    rep = tp.Report(Analysis("bare.json"))
    assert rep.steps is None and rep.source.program is None and rep.verdict.bound_by is None
    assert rep.sites[0].line is None and rep.totals["h2d"].device_time_ns is None
    assert tp.Report(Analysis("bare.json")).memory.peak_resident_bytes is None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_has_every_attribute(copied):
    rep = tp.Report(Analysis("distinct.json"))
    other = copied(rep)
    for key in typing.get_type_hints(tp.Report):
        assert getattr(other, key) == getattr(rep, key), key
    assert other.text() == "100 columns, 15 rows"


def test_the_line_of_repr_adds_up_all_but_memset():
    transfers = 201 + 202 + 203 + 204 + 205
    size_bytes = 201_300_000 + 302_400_000 + 403_500_000 + 504_600_000 + 605_700_000
    assert repr(tp.Report(Analysis("distinct.json"))) == (
        f"<turnpike.Report of rank0.tpk, rank1.tpk: 3.01 s, {transfers} transfers, {size_bytes} bytes, "
        "1876 synchronisations, bound by transfer>"
    )
    assert repr(tp.Report(Analysis("bare.json"))) == (
        "<turnpike.Report of bare.json: 9.99e-07 s, 7 transfers, 10 bytes, 5 synchronisations>"
    )


def test_the_values_are_those_of_the_command():
    printed = subprocess.run(
        [_native.EXECUTABLE, "report", EXAMPLE, "--json"], capture_output=True, text=True, check=True
    )
    assert tp.report(EXAMPLE).to_dict() == json.loads(printed.stdout)


def test_parts_of_the_text_have_the_names_of_the_commands_options():
    rep = tp.report(EXAMPLE)
    assert len(rep.text().splitlines()) <= 40
    assert "TRANSFERS BY LINE" in rep.text(show="transfers") and "MEMORY" not in rep.text(show="transfers")
    assert "MEMORY" in rep.text(show=["memory", "losses"]) and "LOSSES" in rep.text(show=["memory", "losses"])
    printed = subprocess.run(
        [_native.EXECUTABLE, "report", EXAMPLE, "--all"], capture_output=True, text=True, check=True
    )
    assert rep.text(show="all") == printed.stdout
    with pytest.raises(tp.Error, match='there is no "memori" to show: choose of findings, .*explain, or all'):
        rep.text(show="memori")


def test_width_and_rows_of_the_text_are_what_was_asked_for():
    rep = tp.report(EXAMPLE)
    assert tp.Report(Analysis("bare.json")).text(width=72, top=3) == "72 columns, 3 rows"
    assert rep.text() == rep.text(width=100, top=15) == str(rep)
    narrow = rep.text(width=60, top=1)
    assert 50 < max(map(len, narrow.splitlines())) <= 60
    assert f"{len(rep.sites) - 1} more: --top {len(rep.sites)} shows them all" in narrow
    assert "more: --top" not in rep.text(width=60, top=100)
    assert rep.text(width=1) == rep.text(width=40)
    assert "\x1b" not in narrow


def test_the_link_of_the_machine_is_in_the_totals(tmp_path, monkeypatch):
    source = tp.report(EXAMPLE).source
    (tmp_path / "turnpike").mkdir()
    link = {"device_name": source.devices[0].name, "host": source.hosts[0], "h2d_pinned_gbps": 55.25,
            "d2h_pinned_gbps": 53.75, "date": ""}  # fmt: skip
    (tmp_path / "turnpike" / "link.json").write_text(json.dumps({"schema": 1, "links": [link]}))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    totals = tp.report(EXAMPLE).totals
    assert [total.link_gbps for total in totals.values()] == [55.25, 53.75, None, None, None, None]
    assert [totals[direction].link_source for direction in ("h2d", "d2h", "d2d")] == ["measured", "measured", None]


def test_warnings_are_clean_and_point_at_the_caller(run):
    (run / "7\x1b.tpt").write_text("This is not a trace.")
    with pytest.warns(RuntimeWarning) as caught:
        tp.report(run)
    texts = [str(warning.message) for warning in caught]
    assert any("7\\x1b.tpt is no run that Turnpike knows" in text for text in texts), texts
    assert not any("\x1b" in text for text in texts), texts


def test_a_warning_that_is_an_error_is_raised(run):
    (run / "7.tpt").write_text("This is not a trace.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match=r"7\.tpt"):
            tp.report(run)


def test_errors_of_several_paths_are_sentences_in_one_line(tmp_path):
    with pytest.raises(tp.Error) as failed:
        tp.report([tmp_path / "one.tpk", tmp_path / "two.tpk"])
    assert "one.tpk" in str(failed.value)
    assert "\n" not in str(failed.value)
    assert type(failed.value).__module__ == "turnpike"


class TestRecorderLibrary:
    """What the extension says of a library that is none of ours: nothing is started."""

    @pytest.mark.parametrize(
        "call",
        [
            lambda library, path: _core.is_recording(library),
            lambda library, path: _core.stop(library),
            lambda library, path: _core.start(library, path, detail="full", stacks=True),
        ],
    )
    def test_is_told_apart_from_one_that_is_missing(self, tmp_path, call):
        with pytest.raises(tp.Error, match="The recorder could not be loaded: .*nowhere.so"):
            call(str(tmp_path / "nowhere.so"), tmp_path)
        with pytest.raises(tp.Error, match=r"libm\.so\.6 lacks turnpike_start: it is of another version of Turnpike"):
            call("libm.so.6", tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_details_are_full_and_transfers(self, tmp_path):
        with pytest.raises(ValueError, match='detail must be "full" or "transfers"'):
            _core.start(str(_native.RECORD_LIBRARY), tmp_path, detail="some")

    @pytest.mark.parametrize("name", ["delay", "capture_range", "speed"])
    def test_options_are_those_of_the_c_interface(self, tmp_path, name):
        with pytest.raises(TypeError, match=f"there is no option of recording {name}"):
            _core.start(str(_native.RECORD_LIBRARY), tmp_path, **{name: True})

    def test_what_is_on_or_off_is_a_bool(self, tmp_path):
        with pytest.raises(TypeError, match="stacks must be True or False"):
            _core.start(str(_native.RECORD_LIBRARY), tmp_path, stacks=1)


def test_the_arguments_have_names(run):
    assert _core.analyze(paths=[str(run)]).text(width=100, top=15) == str(tp.report(run))
    assert json.loads(_core.analyze([str(run)]).json()) == tp.report(run).to_dict()


def rows_of(value):
    """Every dataclass of a report, at any depth."""
    if dataclasses.is_dataclass(value):
        yield value
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from rows_of(item)


def test_a_report_cannot_be_changed_by_mistake():
    rep = tp.Report(Analysis("distinct.json"))
    rows = list(rows_of([getattr(rep, name) for name in typing.get_type_hints(tp.Report)]))
    assert {type(row) for row in rows} > {tp.Source, tp.Device, tp.Total, tp.Syncs, tp.Verdict, tp.Site, tp.Finding}
    for row in rows:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(row, dataclasses.fields(row)[0].name, None)
