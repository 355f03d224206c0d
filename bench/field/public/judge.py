"""Sets the measured gains beside the expected savings, and writes a result file.

    python judge.py RESULTS CHANGES MEASURED [MEASURED ...] --device "NVIDIA H200" --date DATE --out FILE

RESULTS is the results.json of record.py, CHANGES the folder of the patches, MEASURED are measured.json files of
measure.py: their turns are put together. DATE is when they were measured, in UTC.

A prediction comes true if it is off by at most 3 % of a step, or a fifth of the saving, whichever is more. It has the
wrong sign if the changed program was slower in the median turn. It broke if the changed program failed before its
steps in every turn. `narrow` says whether the turns lie within 4 % of a step of each other: those of other changes need
more turns before anybody can rely on them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import result_file  # noqa: E402

MOST_OFF, MOST_OFF_OF_SAVING, NARROW = 0.03, 0.2, 0.04


def is_true(expected: float, measured: float) -> bool:
    return abs(measured - expected) <= max(MOST_OFF, MOST_OFF_OF_SAVING * expected)


def row_of(name: str, finding: str, expected: dict[str, Any], shares: list[float], problems: list[str]) -> Any:
    """The row of a change. The baseline is what was expected."""
    measured = statistics.median(shares) if shares else None
    spread = [min(shares), max(shares)] if shares else None
    return result_file.row(
        f"{name}, {finding}",
        "share of a step that the change saves",
        "1",
        measured,
        spread=spread,
        samples=len(shares),
        baseline="expected",
        baseline_value=expected["expected"],
        target=max(MOST_OFF, MOST_OFF_OF_SAVING * expected["expected"]),
        met=is_true(expected["expected"], measured) if measured is not None else None,
        expected_low=expected["low"],
        expected_high=expected["high"],
        inside=expected["low"] <= measured <= expected["high"] if measured is not None else None,
        wrong_sign=measured < 0 if measured is not None else None,
        narrow=max(shares) - min(shares) < NARROW if len(shares) > 1 else False,
        broke=not shares and any(problem.startswith("turn") and "changed:" in problem for problem in problems),
        finding=expected["id"],
        turns=shares,
        problems=problems,
    )


def rows_of(expected: dict[str, Any], measured: list[dict[str, Any]]) -> list[Any]:
    shares: dict[tuple[str, str], list[float]] = {}
    problems: dict[tuple[str, str], list[str]] = {}
    for one in [change for file in measured for change in file["changes"]]:
        key = one["program"], one["finding"]
        shares.setdefault(key, []).extend(turn["share"] for turn in one["turns"])
        problems.setdefault(key, []).extend(one["problems"])
    return [
        row_of(name, finding, value, shares.get((name, finding), []), problems.get((name, finding), []))
        for name, findings in expected.items()
        for finding, value in findings.items()
    ]


def summary(programs: dict[str, Any], rows: list[Any], not_done: dict[str, Any]) -> dict[str, int]:
    measured = [row for row in rows if row["samples"]]
    return {
        "programs": len(programs),
        "recorded": sum(bool(one.get("verdict")) for one in programs.values()),
        "with_a_saving": len({row["case"].split(",")[0] for row in rows} | set(not_done)),
        "changes": len(rows),
        "not_done": sum(map(len, not_done.values())),
        "measured": len(measured),
        "broke": sum(row["broke"] for row in rows),
        "true": sum(row["met"] for row in measured),
        "inside": sum(row["inside"] for row in measured),
        "wrong_sign": sum(row["wrong_sign"] for row in measured),
        "narrow": sum(row["narrow"] for row in measured),
        "true_of_narrow": sum(row["met"] for row in measured if row["narrow"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("changes", type=Path)
    parser.add_argument("measured", type=Path, nargs="+")
    parser.add_argument("--device", required=True)
    parser.add_argument("--date", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    programs = json.loads(args.results.read_text())["programs"]
    not_done = json.loads((args.changes / "not_done.json").read_text())
    measured = [json.loads(path.read_text()) for path in args.measured]
    rows = rows_of(json.loads((args.changes / "expected.json").read_text()), measured)
    versions = next((one["versions"] for one in programs.values() if one.get("versions")), {})
    result_file.write(
        str(args.out),
        "field-public",
        rows,
        device=args.device,
        device_count=1,
        date=args.date,
        versions=result_file.versions() | versions,
        sums=summary(programs, rows, not_done),
        verdicts={name: one["verdict"]["bound_by"] for name, one in programs.items() if one.get("verdict")},
        not_recorded={name: one["problems"] for name, one in programs.items() if not one.get("verdict")},
        not_done=not_done,
    )


if __name__ == "__main__":
    main()
