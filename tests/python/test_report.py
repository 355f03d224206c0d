"""turnpike.report: the objects, the text and the HTML of a run whose contents are known."""

import dataclasses
import json
import subprocess
import sys

import pytest

import turnpike as tp
from turnpike import _native


def test_finds_the_line_and_the_figures_of_each_upload(run):
    rep = tp.report(run)
    assert [(site.file, site.line, site.direction) for site in rep.sites] == [("/home/someone/train.py", 7, "h2d")]
    site = rep.sites[0]
    assert (site.count, site.bytes, site.device_time_ns) == (3, 3 * 4096, 3_000_000)
    assert (site.src_kind, site.dst_kind, site.op) == ("pageable", "device", "aten::to")
    assert rep.totals["h2d"].count == 3
    assert rep.totals["h2d"].pageable_bytes == 3 * 4096
    assert rep.totals["d2h"].count == 0


def test_losses_come_with_their_sentence(run):
    rep = tp.report(run)
    assert rep.losses == {"cupti_dropped": 5}
    assert rep.loss_sentences["cupti_dropped"].endswith(".")


def test_source_names_the_files_the_process_and_the_device(run):
    source = tp.report(str(run)).source
    assert source.kind == "turnpike"
    assert source.processes == 1
    assert [device.name for device in source.devices] == ["Test GPU"]


def test_takes_a_path_a_string_a_file_and_several(run):
    count = tp.report(run).totals["h2d"].count
    for paths in (str(run), run / "100.tpt", [run], (str(path) for path in [run])):
        assert tp.report(paths).totals["h2d"].count == count


def test_a_missing_run_is_an_error_that_names_it(tmp_path):
    with pytest.raises(tp.Error, match="nowhere.tpk"):
        tp.report(tmp_path / "nowhere.tpk")
    assert issubclass(tp.Error, RuntimeError)


def test_an_empty_list_is_an_error():
    with pytest.raises(tp.Error):
        tp.report([])


def test_every_key_of_the_json_has_a_field(run):
    rep = tp.report(run)
    values = rep.to_dict()
    for row_type, keys in [
        (tp.Source, values["source"]),
        (tp.Device, values["source"]["devices"][0]),
        (tp.Total, values["totals"]["h2d"]),
        (tp.Syncs, values["syncs"]),
        (tp.Verdict, values["verdict"]),
        (tp.Site, values["sites"][0]),
    ]:
        assert {field.name for field in dataclasses.fields(row_type)} == set(keys), row_type
    assert set(values) - {"schema"} == set(tp.Report.__annotations__)


def test_to_dict_is_what_the_command_prints_and_a_copy(run):
    rep = tp.report(run)
    printed = subprocess.run([_native.EXECUTABLE, "report", run, "--json"], capture_output=True, text=True, check=True)
    assert rep.to_dict() == json.loads(printed.stdout)
    rep.to_dict()["sites"].clear()
    assert rep.to_dict()["sites"]


def test_printing_shows_the_text_of_the_command(run):
    printed = subprocess.run([_native.EXECUTABLE, "report", run], capture_output=True, text=True, check=True).stdout
    assert str(tp.report(run)).strip() == printed.strip()
    assert "train.py:7" in printed


def test_text_obeys_its_width(run):
    assert max(len(line) for line in tp.report(run).text(width=72).splitlines()) <= 72


def test_repr_is_one_short_line(run):
    text = repr(tp.report(run))
    assert text.startswith("<turnpike.Report of ")
    assert "3 transfers" in text
    assert "\n" not in text


def test_link_rates_that_cannot_be_read_are_a_warning(run, tmp_path, monkeypatch):
    (tmp_path / "turnpike").mkdir()
    (tmp_path / "turnpike" / "link.json").write_text("no JSON")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.warns(RuntimeWarning, match="link.json"):
        rep = tp.report(run)
    assert rep.totals["h2d"].link_gbps is None


def test_reading_a_report_needs_neither_torch_nor_cuda(run):
    code = f"import sys, turnpike; turnpike.report({str(run)!r}); print('torch' in sys.modules, 'numpy' in sys.modules)"
    maps = "print(any('libcuda' in line or 'record' in line for line in open('/proc/self/maps')))"
    result = subprocess.run([sys.executable, "-c", f"{code}\n{maps}"], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", "False"]
