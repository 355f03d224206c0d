"""turnpike rollup: its rows, read by two readers of Parquet, add up to the report."""

import collections
import json
import os
import pathlib

import duckdb
import pyarrow.parquet
import pytest
from runs import EPOCH_NS, MS, write_run

from tracefile import (
    COPY_CALL,
    DEVICE,
    HOST_TO_DEVICE,
    PAGEABLE,
    PYTHON_FRAME,
    TraceFile,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = [
    "examples/mnist-h100.tpk",
    "examples/train-before-h100.tpk",
    "tests/golden/field/hf_trainer.tpk",
    "tests/golden/field/lightning_fit.tpk",
    "tests/golden/whatif/peer_copy.tpk",
    "tests/golden/whatif/explicit_sync.tpk",
]
MINUTE_NS = 60_000_000_000
SUMS = ["count", "bytes", "device_time_ns", "host_blocked_ns", "exposed_ns", "gpu_idle_ns"]


def rows_of(folder):
    """Each row as a dictionary."""
    files = sorted(pathlib.Path(folder).glob("*.parquet"))
    return [row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]


def added_up(rows, names):
    """{(place, direction, kind of memory): sums by name; None where nothing is known}"""
    sums = collections.defaultdict(lambda: dict.fromkeys(names))
    for key, row in rows:
        for name in names:
            if row[name] is not None:
                sums[key][name] = (sums[key][name] or 0) + row[name]
    return dict(sums)


def host_memory(site):
    side = {"h2d": "src_kind", "h2h": "src_kind", "d2h": "dst_kind"}.get(site["direction"])
    return side and site[side]


@pytest.mark.parametrize("name", RECORDED)
def test_the_rows_add_up_to_the_report(run, tmp_path, name):
    report = json.loads(run("report", ROOT / name, "--json").stdout)
    assert run("rollup", ROOT / name, "-o", tmp_path / "out").returncode == 0
    rows = rows_of(tmp_path / "out")

    def key(place):
        return place["site"], place["op"], place["direction"], host_memory(place)

    transfers = [row for row in rows if row["what"] == "transfer"]
    of_rows = added_up([((*key_of_row(row),), row) for row in transfers], SUMS)
    assert of_rows == added_up([(key(site), site) for site in report["sites"]], SUMS)
    syncs = [row for row in rows if row["what"] == "sync"]
    alone = report["syncs"]["count"] - report["syncs"]["of_transfers_count"]
    assert sum(row["count"] for row in syncs) == alone
    losses = {row["loss"]: row["count"] for row in rows if row["what"] == "loss"}
    assert losses.items() <= report["losses"].items()


def key_of_row(row):
    return row["site"], row["op"], row["direction"], row["host_memory"]


def test_duckdb_reads_the_same_as_pyarrow(run, tmp_path):
    for name in RECORDED:
        assert run("rollup", ROOT / name, "-o", tmp_path / "out").returncode == 0
    for file in (tmp_path / "out").glob("*.parquet"):
        of_duckdb = duckdb.sql(f"FROM '{file}'").fetchall()
        of_pyarrow = [tuple(row.values()) for row in pyarrow.parquet.read_table(file).to_pylist()]
        assert of_duckdb == of_pyarrow
        pyarrow.parquet.read_table(file).validate(full=True)


def test_histograms_hold_each_transfer_once(run, tmp_path):
    assert run("rollup", ROOT / RECORDED[0], "-o", tmp_path / "out").returncode == 0
    for row in rows_of(tmp_path / "out"):
        if row["what"] != "transfer":
            continue
        assert len(row["rates"]) == 32
        assert sum(row["rates"]) == row["count"]
        mean = row["timed_bytes"] / row["device_time_ns"]
        used = [2 ** (bucket / 2) / 64 for bucket, count in enumerate(row["rates"]) if count]
        assert used[0] == 1 / 64 or used[0] <= mean
        assert row["rates"][-1] or mean < used[-1] * 2**0.5


def upload_each_minute(path, minutes, **metadata):
    trace = TraceFile(pid=7, start_ns=EPOCH_NS // MINUTE_NS * MINUTE_NS)
    trace.metadata = {"program": "python\x1ftrain.py", "detail": "full", **metadata}
    trace.device("GPU")
    stack = trace.stack(trace.frame(PYTHON_FRAME, "train", "/home/me/train.py", 23))
    for minute in range(minutes):
        for copy in range(minute + 1):
            at, correlation = minute * MINUTE_NS + copy * MS, minute * 1000 + copy + 1
            trace.call("cudaMemcpy", COPY_CALL, correlation, at, at + 500_000, stack=stack, size_bytes=1 << 20)
            trace.memcpy(HOST_TO_DEVICE, PAGEABLE, DEVICE, 1 << 20, correlation, at + 1000, at + 450_000)
    trace.write(path)


def test_each_minute_is_a_row_and_each_row_says_who(run, tmp_path):
    (tmp_path / "big.tpk").mkdir()
    who = {"host": "node/7", "rank": "12", "world_size": "16", "local_rank": "4", "job_id": "j1", "node": "n7"}
    link = {"link.0": "generation=5 width=16 max_generation=5 max_width=16 from=sysfs", "cuda_driver_version": "13.0"}
    upload_each_minute(tmp_path / "big.tpk" / "7.tpt", 3, **who, **link)
    assert run("rollup", tmp_path / "big.tpk").returncode == 0
    assert os.listdir(tmp_path / "big.rollup") == ["big.node_7.rank12.7.parquet"]
    rows = rows_of(tmp_path / "big.rollup")
    first = EPOCH_NS // MINUTE_NS * MINUTE_NS
    uploads = [(row["minute_ns"], row["count"]) for row in rows if row["what"] == "transfer"]
    assert uploads == [(first, 1), (first + MINUTE_NS, 2), (first + 2 * MINUTE_NS, 3)]
    for row in rows:
        assert (row["schema"], row["run"], row["pid"], row["host"]) == (1, "big", 7, "node/7")
        assert (row["rank"], row["local_rank"], row["world_size"], row["job"]) == (12, 4, 16, "j1")
        assert (row["node"], row["gpu"], row["driver"]) == ("n7", "GPU", "13.0")
        assert (row["pci"], row["pcie_generation"], row["pcie_width"]) == ("0000:01:00.0", 5, 16)


def test_what_was_lost_is_a_row(run, tmp_path):
    write_run(tmp_path / "train.tpk", losses={3: 17})
    assert run("rollup", tmp_path / "train.tpk").returncode == 0
    losses = {row["loss"]: row["count"] for row in rows_of(tmp_path / "train.rollup") if row["what"] == "loss"}
    assert losses["call_buffers_full"] == 17


def test_a_file_that_cannot_be_read_does_not_keep_the_others(run, tmp_path):
    write_run(tmp_path / "train.tpk")
    (tmp_path / "train.tpk" / "9.tpt").write_bytes(b"nonsense" * 20)
    result = run("rollup", tmp_path / "train.tpk")
    assert result.returncode == 3
    assert "9.tpt" in result.stderr
    assert os.listdir(tmp_path / "train.rollup") == ["train.box.433.parquet"]


def test_a_file_that_was_cut_off_says_so(run, tmp_path):
    write_run(tmp_path / "train.tpk", copies=400)
    file = tmp_path / "train.tpk" / "433.tpt"
    file.write_bytes(file.read_bytes()[:-200])
    assert run("rollup", tmp_path / "train.tpk").returncode == 0
    assert "not_closed" in {row["loss"] for row in rows_of(tmp_path / "train.rollup")}


def test_the_folder_is_never_the_run(run, tmp_path):
    write_run(tmp_path / "train.tpk")
    before = sorted((tmp_path / "train.tpk").iterdir())
    assert run("rollup", tmp_path / "train.tpk", "-o", tmp_path / "train.tpk").returncode == 2
    assert sorted((tmp_path / "train.tpk").iterdir()) == before


def test_processes_of_one_name_do_not_replace_each_other(run, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_run(tmp_path / folder / "train.tpk")
    result = run("rollup", tmp_path / "a" / "train.tpk", tmp_path / "b" / "train.tpk", "-o", tmp_path / "out")
    assert result.returncode == 0
    assert len(list((tmp_path / "out").iterdir())) == 2
