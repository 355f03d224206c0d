#!/usr/bin/env python3
"""Checks the report on a recorded examples/mnist.py: the two uploads and the read of each step, at their lines.

turnpike report RUN --json | tests/gpu/check_mnist.py STEPS [BATCH]
"""

import json
import os
import sys

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "mnist.py")
PARAMETERS = {"count": 8, "bytes": 4 * 1_199_882}


def expected(steps: int, batch: int) -> dict[str, dict]:
    """By the text of the line in the example."""
    per_step = {"phase": "other", "function": "train", "count": steps, "blocked_count": steps}
    up = {"direction": "h2d", "op": "aten::to", "src_kind": "pageable", "dst_kind": "device"}
    down = {"direction": "d2h", "op": "aten::item", "src_kind": "device", "dst_kind": "pinned"}
    return {
        "data = data.to(device)": {**per_step, **up, "bytes": steps * batch * 28 * 28 * 4},
        "target = target.to(device)": {**per_step, **up, "bytes": steps * batch * 8},
        "running = loss.item()": {**per_step, **down, "bytes": steps * 4},
        "model = Net().to(device)": {**up, **PARAMETERS, "function": "main"},
    }


def problems_of(report: dict, steps: int, batch: int) -> list[str]:
    with open(EXAMPLE) as file:
        lines = {text.strip(): number for number, text in enumerate(file, start=1)}
    problems = []
    explained = 0
    for text, wanted in expected(steps, batch).items():
        place = f"mnist.py:{lines[text]}"
        rows = [row for row in report["sites"] if row["site"] == place]
        if len(rows) != 1:
            problems.append(f"{place}: {len(rows)} rows instead of one")
            continue
        explained += rows[0]["count"]
        problems += [
            f"{place}: {key} is {rows[0][key]}, not {value}" for key, value in wanted.items() if rows[0][key] != value
        ]
    crossings = sum(report["totals"][direction]["count"] for direction in ("h2d", "d2h"))
    if crossings != explained:
        problems.append(f"{crossings} transfers between CPU and GPU, of which the example makes {explained}")
    if report["losses"]:
        problems.append(f"losses: {report['losses']}")
    return problems


def main() -> int:
    steps = int(sys.argv[1])
    batch = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    problems = problems_of(json.load(sys.stdin), steps, batch)
    print("\n".join(problems) or f"every transfer of {steps} steps is there, at its line")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
