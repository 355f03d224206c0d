"""Tables: the rows behind a report, in the libraries that people read them with, and as files."""

import csv
import datetime
import os
import pathlib
import re
import subprocess
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import tracefile
import turnpike as tp
from turnpike import _native

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "mnist-h100.tpk"
NAMES = ["transfers", "syncs", "sites", "kernels", "steps", "idle", "allocations"]
MS = 1_000_000


def rows(table):
    return pyarrow.table(table).to_pylist()


def columns_of(arrow):
    """{column: values}, with times as nanoseconds, which not every library makes Python's."""
    return {
        field.name: (
            arrow.column(field.name).cast(pyarrow.int64())
            if pyarrow.types.is_timestamp(field.type)
            else arrow.column(field.name)
        ).to_pylist()
        for field in arrow.schema
    }


def plain(schema):
    """The same columns with texts that are no dictionaries."""
    return pyarrow.schema(
        [field.with_type(pyarrow.string()) if pyarrow.types.is_dictionary(field.type) else field for field in schema]
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_library_reads_the_same_rows(name):
    table = tp.report(EXAMPLE).table(name)
    arrow = pyarrow.table(table)
    arrow.validate(full=True)
    assert arrow.num_rows > 0 and arrow.column_names == table.columns
    expected = columns_of(arrow)
    assert columns_of(polars.DataFrame(table).to_arrow()) == expected
    assert columns_of(pyarrow.table(pandas.DataFrame.from_arrow(table)).cast(plain(arrow.schema))) == expected
    # DuckDB's times with a zone have microseconds, and need pytz to be Python's.
    names = [field.name for field in arrow.schema if not pyarrow.types.is_timestamp(field.type)]
    read = duckdb.sql(f'select {", ".join(names)} from "table"').fetchall()
    for name, values in zip(names, zip(*read, strict=True), strict=True):
        assert list(values) == expected[name]


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_plain_on_demand_with_the_same_rows(name):
    report = tp.report(EXAMPLE)
    arrow, plainly = pyarrow.table(report.table(name)), pyarrow.table(report.table(name, dictionary=False))
    plainly.validate(full=True)
    assert plainly.schema == plain(arrow.schema)
    assert plainly.to_pylist() == arrow.to_pylist()
    pieces = tp.Table([str(EXAMPLE)], name, batch_rows=3, dictionary=False)
    assert pyarrow.table(pieces).to_pylist() == arrow.to_pylist()


@pytest.mark.parametrize("name", NAMES)
def test_rows_do_not_depend_on_the_batches_they_come_in(name):
    whole = tp.report(EXAMPLE).table(name)
    pieces = tp.Table([str(EXAMPLE)], name, batch_rows=3)
    assert rows(pieces) == rows(whole)
    assert columns_of(polars.DataFrame(pieces).to_arrow()) == columns_of(pyarrow.table(whole))
    batches = list(pyarrow.RecordBatchReader.from_stream(pieces))
    assert {len(batch) for batch in batches[:-1]} <= {3} and sum(map(len, batches)) == len(rows(whole))


def test_transfers_add_up_to_the_totals_of_the_report():
    report = tp.report(EXAMPLE)
    transfers = rows(report.table("transfers"))
    for direction, total in report.totals.items():
        mine = [row for row in transfers if row["direction"] == direction]
        assert sum(row["count"] for row in mine) == total.count
        assert sum(row["bytes"] for row in mine) == total.bytes
        assert sum(row["device_time_ns"] for row in mine) == (total.device_time_ns or 0)
    sites = {row["site"] for row in transfers}
    assert sites == {site.site for site in report.sites}


def test_synchronisations_idle_times_and_steps_add_up_too():
    report = tp.report(EXAMPLE)
    syncs = rows(report.table("syncs"))
    assert len(syncs) == report.syncs.count
    assert sum(row["host_ns"] for row in syncs) == report.syncs.host_blocked_ns
    assert sum(row["is_of_transfer"] for row in syncs) == report.syncs.of_transfers_count
    assert {row["site"] for row in syncs} == {site.site for site in report.sync_sites}
    assert sum(row["duration_ns"] for row in rows(report.table("idle"))) == sum(site.time_ns for site in report.idle)
    steps = rows(report.table("steps"))
    assert [row["step"] for row in steps] == list(range(report.steps.count))
    assert 0 < sum(row["is_whole"] for row in steps) < report.steps.count
    lengths = sorted(row["duration_ns"] for row in steps if row["is_whole"])
    assert lengths[0] <= report.steps.median_ns <= lengths[-1]
    assert steps[-1]["duration_ns"] is None


def test_sites_are_those_of_the_report():
    report = tp.report(EXAMPLE)
    for row, site in zip(rows(report.table("sites")), report.sites, strict=True):
        assert row == {name: getattr(site, name) for name in row}


def test_a_row_has_its_time_its_call_and_its_place(run):
    row = rows(tp.report(run).table("transfers"))[0]
    assert (row["bytes"], row["direction"], row["src_kind"], row["dst_kind"]) == (4096, "h2d", "pageable", "device")
    assert (row["device_time_ns"], row["call_ns"], row["api"]) == (MS, 2 * MS, "cudaMemcpyAsync")
    assert (row["site"], row["line"], row["function"], row["op"]) == ("train.py:7", 7, "<b>train</b>", "aten::to")
    assert row["start"] - row["call_start"] == datetime.timedelta(milliseconds=1)
    assert (row["rank"], row["is_migration"]) == (None, False)


def test_kernels_that_were_not_recorded_are_an_error_and_no_empty_table(tmp_path):
    trace = tracefile.TraceFile()
    trace.metadata = {"detail": "transfers"}
    trace.memcpy(tracefile.HOST_TO_DEVICE, tracefile.PAGEABLE, tracefile.DEVICE, 4096, 1, MS, 2 * MS)
    (tmp_path / "run.tpk").mkdir()
    trace.write(tmp_path / "run.tpk" / "1.tpt")
    report = tp.report(tmp_path / "run.tpk")
    assert len(rows(report.table("transfers"))) == 1
    for name in ("kernels", "idle"):
        with pytest.raises(OSError, match="recorded without kernels"):
            pyarrow.table(report.table(name))
    result = turnpike("export", "run.tpk", "--to", "csv", cwd=tmp_path)
    assert result.returncode == 0 and "left out the table kernels" in result.stderr
    assert sorted(os.listdir(tmp_path / "run.csv")) == [
        f"{name}.csv" for name in sorted(set(NAMES) - {"kernels", "idle"})
    ]
    assert turnpike("export", "run.tpk", "--to", "csv", "--table", "idle", cwd=tmp_path).returncode == 3
    result = turnpike("export", "run.tpk", "--to", "parquet", cwd=tmp_path)
    assert result.returncode == 0 and "no table kernels" in result.stderr


def test_kernels_that_a_later_rank_did_not_record_leave_the_same_tables_out(tmp_path):
    (tmp_path / "run.tpk").mkdir()
    for rank in (1, 2):
        trace = tracefile.TraceFile(pid=rank)
        trace.metadata = {"detail": "full" if rank == 1 else "transfers"}
        trace.memcpy(tracefile.HOST_TO_DEVICE, tracefile.PAGEABLE, tracefile.DEVICE, 4096, 1, MS, 2 * MS)
        if rank == 1:
            trace.kernel("kernel", 2, 3 * MS, 4 * MS)
        trace.write(tmp_path / "run.tpk" / f"{rank}.tpt")
    present = sorted(set(NAMES) - {"kernels", "idle"})
    result = turnpike("export", "run.tpk", "--to", "csv", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert re.search(r"left out the table kernels: .*2\.tpt was recorded without kernels", result.stderr)
    assert sorted(os.listdir(tmp_path / "run.csv")) == [f"{name}.csv" for name in present]
    result = turnpike("export", "run.tpk", "--to", "parquet", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert sorted(os.listdir(tmp_path / "run.parquet")) == [f"{name}.parquet" for name in present]


def test_an_unknown_table_and_a_run_that_is_gone_are_errors(tmp_path, run):
    report = tp.report(run)
    with pytest.raises(tp.Error, match="no table 'rows'.*transfers, syncs"):
        report.table("rows")
    table = report.table("transfers")
    run.rename(tmp_path / "elsewhere.tpk")
    with pytest.raises(tp.Error, match="run.tpk"):
        pyarrow.table(table)


def test_readers_may_take_the_schema_alone_and_give_up_early():
    table = tp.report(EXAMPLE).table("kernels")
    assert pyarrow.schema(table) == pyarrow.table(table).schema
    reader = pyarrow.RecordBatchReader.from_stream(tp.Table([str(EXAMPLE)], "kernels", batch_rows=10))
    batch = reader.read_next_batch()
    del reader
    assert len(batch) == 10 and batch.column("name")[9].as_py()
    table.__arrow_c_stream__()  # nobody reads it


def turnpike(*arguments, cwd):
    package = pathlib.Path(tp.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-m", "turnpike", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("format_name", ["parquet", "arrow"])
def test_files_hold_the_rows_of_the_table(tmp_path, format_name):
    result = turnpike("export", EXAMPLE, "--to", format_name, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    folder = tmp_path / f"mnist-h100.{format_name}"
    assert sorted(os.listdir(folder)) == [f"{name}.{format_name}" for name in sorted(NAMES)]
    for name in NAMES:
        path = folder / f"{name}.{format_name}"
        read = pyarrow.parquet.read_table if format_name == "parquet" else pyarrow.feather.read_table
        assert read(path).to_pylist() == rows(tp.report(EXAMPLE).table(name))


@pytest.mark.parametrize("format_name", ["parquet", "arrow"])
def test_a_table_has_the_mode_of_the_file_that_it_replaces(tmp_path, run, format_name):
    path = tmp_path / f"t.{format_name}"
    path.write_text("old")
    path.chmod(0o600)
    arguments = ["--to", format_name, "--table", "transfers", "-o", path]
    assert turnpike("export", run, *arguments, cwd=tmp_path).returncode == 0
    assert path.stat().st_size > 100
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_of_arrow_may_have_texts_that_come_later(tmp_path):
    from turnpike._export import write_arrow

    table = tp.Table([str(EXAMPLE)], "kernels", batch_rows=5)
    write_arrow(table, tmp_path / "kernels.arrow")
    with pyarrow.ipc.open_file(tmp_path / "kernels.arrow") as file:
        assert file.num_record_batches > 1
        assert file.read_all().to_pylist() == rows(table)


def test_csv_has_the_rows_with_times_to_the_nanosecond(tmp_path):
    result = turnpike("export", EXAMPLE, "--to", "csv", "--table", "transfers", "-o", "-", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    written = list(csv.DictReader(result.stdout.splitlines()))
    table = pyarrow.table(tp.report(EXAMPLE).table("transfers"))
    assert len(written) == table.num_rows and list(written[0]) == table.column_names
    starts = table.column("start").cast(pyarrow.int64()).to_pylist()
    for text, start, row in zip(written, starts, table.drop(["start", "call_start"]).to_pylist(), strict=True):
        head, _, fraction = text["start"].removesuffix("Z").partition(".")
        second = datetime.datetime.fromisoformat(head + "+00:00").timestamp()
        assert int(second) * 10**9 + int(fraction) == start
        for name, value in row.items():
            shown = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            assert text[name] == shown


def test_csv_quotes_what_needs_it(tmp_path):
    trace = tracefile.TraceFile()
    stack = trace.stack(trace.frame(tracefile.PYTHON_FRAME, 'a, "b"', "/home/someone/train.py", 7))
    trace.call("cudaMemcpy", tracefile.COPY_CALL, 1, 0, 2 * MS, stack=stack, size_bytes=8)
    trace.memcpy(tracefile.HOST_TO_DEVICE, tracefile.PAGEABLE, tracefile.DEVICE, 8, 1, MS, 2 * MS)
    trace.write(tmp_path / "1.tpt")
    result = turnpike("export", "1.tpt", "--to", "csv", "--table", "transfers", "-o", "-", cwd=tmp_path)
    assert '"a, ""b"""' in result.stdout
    assert next(csv.DictReader(result.stdout.splitlines()))["function"] == 'a, "b"'


@pytest.mark.parametrize("format_name", ["csv", "parquet", "arrow"])
def test_an_export_never_writes_over_its_run(tmp_path, run, format_name):
    file = run / "100.tpt"
    before = file.read_bytes()
    arguments = ["--to", format_name, "--table", "syncs"]
    assert turnpike("export", run, *arguments, "-o", file, cwd=tmp_path).returncode == 2
    assert file.read_bytes() == before
    assert turnpike("export", "missing.tpk", *arguments, cwd=tmp_path).returncode == 3


def test_the_executable_alone_says_what_parquet_needs(tmp_path):
    result = subprocess.run(
        [_native.EXECUTABLE, "export", EXAMPLE, "--to", "parquet"], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 2 and "turnpike-gpu[tables]" in result.stderr
    assert list(tmp_path.iterdir()) == []


def parquet_file(tmp_path, name="transfers", **options):
    path = tmp_path / "table.parquet"
    tp.report(EXAMPLE).table(name).to_parquet(path, **options)
    return pyarrow.parquet.ParquetFile(path)


def test_a_parquet_file_tells_the_least_and_most_of_numbers_and_names_texts_once(tmp_path):
    group = parquet_file(tmp_path).metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert columns["bytes"].statistics.max >= columns["bytes"].statistics.min > 0
    assert columns["start"].statistics.has_min_max and columns["site"].statistics is None
    for name in ("site", "direction", "bytes", "pid"):
        assert "RLE_DICTIONARY" in columns[name].encodings, name
    assert "DELTA_BINARY_PACKED" in columns["start"].encodings
    assert "RLE_DICTIONARY" not in columns["call_ns"].encodings


def test_options_for_the_parquet_file_come_first(tmp_path):
    group = parquet_file(tmp_path, compression="snappy", write_statistics=["site"]).metadata.row_group(0)
    assert group.column(0).compression == "SNAPPY" and group.column(0).statistics is None


def test_an_older_pyarrow_chooses_its_own_pages(monkeypatch):
    from turnpike import _export

    schema = pyarrow.schema([("start", pyarrow.timestamp("ns")), ("bytes", pyarrow.int64())])
    assert "max_rows_per_page" in _export._parquet_options(schema)
    monkeypatch.setattr(pyarrow.parquet, "write_table", lambda table, where: None)
    assert "max_rows_per_page" not in _export._parquet_options(schema)
