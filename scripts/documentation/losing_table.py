"""The cases in which a call of Turnpike is slower than PyTorch or a way by hand, from rows of `turnpike bench`."""

HEAD = ["experiment", "case", "call", "takes or reaches", "the best other way", "times as slow"]


def table(rows):
    """A line for each way of Turnpike that loses by more than a hundredth, in the order of the file."""
    found = [line(row, best_other(rows, row)) for row in rows if is_ours(row) and loses(row, best_other(rows, row))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [HEAD, ["---"] * len(HEAD), *found])


def is_ours(row):
    return row["role"] == "turnpike" and row["target"] is None and row["metric"] in ("rate", "time")


def best_other(rows, ours):
    same = ("experiment", "case", "metric")
    others = [
        row
        for row in rows
        if row["role"] in ("pytorch", "best") and row["target"] is None and all(row[key] == ours[key] for key in same)
    ]
    return min(others, key=lambda row: slowness(row, ours), default=None)


def slowness(row, other):
    """How many times as slow the one is as the other."""
    return other["value"] / row["value"] if row["metric"] == "rate" else row["value"] / other["value"]


def loses(ours, other):
    return other is not None and slowness(ours, other) > 1.01


def line(ours, other):
    return [
        f"`{ours['experiment']}`",
        ours["case"],
        ours["way"],
        f"{ours['value']:.4g} {ours['unit']}",
        f"{other['value']:.4g} ({other['way']})",
        f"{slowness(ours, other):.2f}",
    ]
