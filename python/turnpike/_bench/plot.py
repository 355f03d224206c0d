"""Draws the rows of a result: curves over the size, and bars that compare the ways of each case."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from turnpike._bench import figures

ENDINGS = (".svg", ".png")
COLOURS = {"pytorch": "#9a9a9a", "best": "#4c78a8", "turnpike": "#e4572e", "bound": "#222222"}


def problem_with(path: str) -> str | None:
    """Why nothing can be drawn there; None: all is well."""
    if not path.endswith(ENDINGS):
        return f"--plot {path}: the file must end in {' or '.join(ENDINGS)}"
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        return f"--plot {path}: there is no folder {folder}"
    if importlib.util.find_spec("matplotlib") is None:
        return "--plot needs matplotlib, which is not installed here: pip install 'turnpike-gpu[plot]'"
    return None


def panels(rows: list[dict[str, Any]]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """What is drawn: ("curve" or "bars", title, rows). Rows of targets only repeat others."""
    curves: dict[str, list[dict[str, Any]]] = {}
    bars: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["target"] is not None or row["metric"] not in ("rate", "time"):
            continue
        if row["series"] is not None:
            curves.setdefault(f"{row['experiment']}: {row['series']}", []).append(row)
        else:
            bars.setdefault(f"{row['experiment']}: {row['case']}", []).append(row)
    return [("curve", title, group) for title, group in curves.items()] + [
        ("bars", title, group) for title, group in bars.items()
    ]


def draw(result: dict[str, Any], path: str) -> None:
    """Writes the picture; its ending is its kind. Needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # Text stays text in the SVG: it can be searched, and the file is small.
    pyplot.rcParams["svg.fonttype"] = "none"
    drawn = panels(result["rows"])
    columns = min(3, len(drawn))
    lines = -(-len(drawn) // columns)
    size = (6 * columns, 3.4 * lines)
    figure, axes = pyplot.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    for axis, panel in zip(axes.flat, drawn, strict=False):
        kind, title, rows = panel
        axis.set_title(title, fontsize=10)
        (_curve if kind == "curve" else _bars)(axis, rows)
    for axis in list(axes.flat)[len(drawn) :]:
        axis.set_visible(False)
    figure.suptitle(f"{result['device']}, PyTorch {result['versions']['torch']}, {result['date'][:10]}")
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def _curve(axis: Any, rows: list[dict[str, Any]]) -> None:
    ways = list(dict.fromkeys(row["way"] for row in rows))
    drawn: list[str] = []
    for way in ways:
        own = sorted((row for row in rows if row["way"] == way), key=lambda row: row["size_bytes"])
        sizes = [row["size_bytes"] for row in own]
        role = own[0]["role"]
        colour = COLOURS[role]
        # Of one role there may be several.
        style = "--" if role == "bound" else ("-", "-.", ":")[drawn.count(role) % 3]
        drawn.append(role)
        axis.plot(sizes, [row["value"] for row in own], style, marker=".", color=colour, label=way)
        axis.fill_between(
            sizes, [row["spread"][0] for row in own], [row["spread"][1] for row in own], color=colour, alpha=0.15
        )
    axis.set_xscale("log", base=2)
    axis.set_xticks(sorted({row["size_bytes"] for row in rows}))
    axis.set_xticklabels([_size(size) for size in sorted({row["size_bytes"] for row in rows})], fontsize=7)
    axis.minorticks_off()
    axis.set_ylim(bottom=0)
    axis.set_ylabel(rows[0]["unit"])
    axis.legend(fontsize=8)


def _size(size_bytes: int) -> str:
    for shift, name in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size_bytes >= 1 << shift:
            return f"{size_bytes >> shift} {name}"
    return f"{size_bytes} B"


def _bars(axis: Any, rows: list[dict[str, Any]]) -> None:
    rows = list(reversed(rows))
    values = [row["value"] for row in rows]
    errors = [
        [max(0.0, row["value"] - row["spread"][0]) for row in rows],
        [max(0.0, row["spread"][1] - row["value"]) for row in rows],
    ]
    axis.barh(range(len(rows)), values, xerr=errors, color=[COLOURS[row["role"]] for row in rows], capsize=2)
    axis.set_yticks(range(len(rows)))
    axis.set_yticklabels([row["way"] for row in rows], fontsize=8)
    better = "more is better" if rows[0]["unit"] in figures.MORE_IS_BETTER else "less is better"
    axis.set_xlabel(f"{rows[0]['unit']} ({better})", fontsize=8)
