"""A report as a flat dict of numbers, and where such dicts are kept: W&B, MLflow, TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnpike._report import Report

# Of each direction. Their names never change; new ones may be added.
_DIRECTIONS = ("h2d", "d2h", "d2d", "p2p")


def summary(report: Report) -> dict[str, int | float]:
    """The figures of `Report.summary`. One that the recording cannot tell is left out: it is not 0."""
    if "totals" not in vars(report):  # nothing was recorded
        return {}
    values: dict[str, int | float | None] = {"span_ms": report.span_ns / 1e6}
    for name in _DIRECTIONS:
        total = report.totals[name]
        values[f"{name}_count"] = total.count
        values[f"{name}_bytes"] = total.bytes
        values[f"{name}_device_ms"] = _ms(total.device_time_ns)
        values[f"{name}_blocked_ms"] = _ms(total.host_blocked_ns)
        values[f"{name}_pageable_count"] = total.pageable_count
        values[f"{name}_gbps"] = total.bandwidth_gbps
    values["syncs_count"] = report.syncs.count
    values["syncs_blocked_ms"] = _ms(report.syncs.host_blocked_ns)
    values["step_count"] = report.steps.count if report.steps else None
    values["step_median_ms"] = _ms(report.steps.median_ns) if report.steps else None
    per_step = report.steps.per_step if report.steps else None
    if per_step is not None:
        for name in _DIRECTIONS:
            values[f"{name}_count_per_step"] = per_step[f"{name}_count"]
            values[f"{name}_bytes_per_step"] = per_step[f"{name}_bytes"]
        values["syncs_count_per_step"] = per_step["syncs_count"]
        values["blocked_ms_per_step"] = per_step["blocked_ns"] / 1e6
    values["gpu_busy_pct"] = report.verdict.gpu_busy_pct
    values["gpu_idle_pct"] = report.verdict.gpu_idle_pct
    values["exposed_transfer_pct"] = report.verdict.exposed_transfer_pct
    values["saving_pct"] = report.saving_pct_all
    values["finding_count"] = sum(finding.superseded_by is None for finding in report.findings)
    values["lost_count"] = sum(report.losses.values())
    return {name: value for name, value in values.items() if value is not None}


def _ms(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / 1e6


def log_to(values: dict[str, int | float], target: Any, step: int | None, prefix: str) -> None:
    """Hands the figures to a run of W&B, to MLflow (the module or a client's run) or to a SummaryWriter."""
    named = {prefix + name: value for name, value in values.items()}
    if hasattr(target, "add_scalar"):  # TensorBoard's SummaryWriter, torch's or tensorboardX's
        for name, value in named.items():
            target.add_scalar(name, value, step)
    elif hasattr(target, "log_metrics"):  # the module mlflow; loggers of Lightning have the same method
        target.log_metrics(named, step=step)
    elif hasattr(target, "log"):  # a run of W&B, or the module wandb
        target.log(named, step=step)
    else:
        raise TypeError(
            f"log_to() knows no {type(target).__name__}: give it a run of W&B, the module mlflow, a logger of "
            "Lightning or a SummaryWriter"
        )
