"""A report as a flat dict of numbers, and its way into W&B, MLflow and TensorBoard, each the real library offline."""

import pathlib

import pytest

import tracefile
import turnpike as tp

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "mnist-h100.tpk"


def test_a_summary_has_the_figures_of_the_report():
    report = tp.report(EXAMPLE)
    summary = report.summary()
    assert all(type(value) in (int, float) for value in summary.values())
    assert (summary["h2d_count"], summary["h2d_bytes"]) == (88, 12848168)
    assert summary["d2h_blocked_ms"] == report.totals["d2h"].host_blocked_ns / 1e6
    assert summary["syncs_count"] == report.syncs.count
    assert summary["step_median_ms"] == report.steps.median_ns / 1e6
    assert summary["gpu_idle_pct"] == report.verdict.gpu_idle_pct


def test_each_figure_of_a_summary_is_that_of_its_name():
    report = tp.report(EXAMPLE)
    expected = {
        "span_ms": report.span_ns / 1e6,
        "syncs_count": report.syncs.count,
        "syncs_blocked_ms": report.syncs.host_blocked_ns / 1e6,
        "step_count": report.steps.count,
        "step_median_ms": report.steps.median_ns / 1e6,
        "gpu_busy_pct": report.verdict.gpu_busy_pct,
        "gpu_idle_pct": report.verdict.gpu_idle_pct,
        "exposed_transfer_pct": report.verdict.exposed_transfer_pct,
        "saving_pct": report.saving_pct_all,
        "finding_count": len([one for one in report.findings if one.superseded_by is None]),
        "lost_count": sum(report.losses.values()),
    }
    per_step = report.steps.per_step
    expected["syncs_count_per_step"] = per_step["syncs_count"]
    expected["blocked_ms_per_step"] = per_step["blocked_ns"] / 1e6
    for way in ("h2d", "d2h", "d2d", "p2p"):
        expected[f"{way}_count_per_step"] = per_step[f"{way}_count"]
        expected[f"{way}_bytes_per_step"] = per_step[f"{way}_bytes"]
    assert per_step["h2d_count"] > 0
    for way in ("h2d", "d2h", "d2d", "p2p"):
        total = report.totals[way]
        for name, value in {
            "count": total.count,
            "bytes": total.bytes,
            "device_ms": total.device_time_ns and total.device_time_ns / 1e6,
            "blocked_ms": total.host_blocked_ns and total.host_blocked_ns / 1e6,
            "pageable_count": total.pageable_count,
            "gbps": total.bandwidth_gbps,
        }.items():
            expected[f"{way}_{name}"] = value
    assert report.summary() == {name: value for name, value in expected.items() if value is not None}


def test_what_is_not_known_is_left_out(tmp_path):
    trace = tracefile.TraceFile()
    trace.metadata = {"detail": "transfers"}
    trace.memcpy(tracefile.HOST_TO_DEVICE, tracefile.PAGEABLE, tracefile.DEVICE, 4096, 1, 1000, 2000)
    trace.write(tmp_path / "1.tpt")
    summary = tp.report(tmp_path / "1.tpt").summary()
    assert summary["h2d_count"] == 1 and summary["d2h_count"] == 0
    assert {"step_count", "gpu_busy_pct", "d2h_device_ms"}.isdisjoint(summary)


def test_tensorboard_keeps_the_figures(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    report = tp.report(EXAMPLE)
    with SummaryWriter(tmp_path) as writer:
        report.log_to(writer, step=7)
    events = EventAccumulator(str(tmp_path)).Reload()
    [event] = [entry for entry in events.Scalars("turnpike/h2d_count")]
    assert (event.step, event.value) == (7, 88)
    assert len(events.Tags()["scalars"]) == len(report.summary())


def test_mlflow_keeps_the_figures(tmp_path, monkeypatch):
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as run:
        tp.report(EXAMPLE).log_to(mlflow, step=3)
    assert mlflow.get_run(run.info.run_id).data.metrics["turnpike/h2d_count"] == 88


def test_wandb_keeps_the_figures(tmp_path, monkeypatch):
    import wandb

    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(mode="offline", dir=str(tmp_path), project="test")
    tp.report(EXAMPLE).log_to(run, prefix="gpu/")
    assert run.summary["gpu/h2d_count"] == 88
    run.finish()


def test_what_keeps_no_figures_is_refused():
    with pytest.raises(TypeError, match="knows no list"):
        tp.report(EXAMPLE).log_to([])
