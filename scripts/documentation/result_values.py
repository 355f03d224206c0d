"""What an expression of bench/figures says of a result file: see figures.py."""

import statistics

from . import numbers

ERRORS = (ValueError, LookupError, TypeError, NameError, OSError, ZeroDivisionError)
FUNCTIONS = {"len": len, "min": min, "max": max, "sum": sum, "abs": abs, "set": set, "median": statistics.median}


class Row(dict):
    __getattr__ = dict.__getitem__


class Result:
    """A result file as the expressions of an entry see it."""

    def __init__(self, result, where=None):
        self.file, self.where = Row(result), where or {}

    def rows(self, **wanted):
        wanted = {**self.where, **wanted}
        return [Row(row) for row in self.file["rows"] if all(row.get(key) == wanted[key] for key in wanted)]

    def row(self, **wanted):
        found = self.rows(**wanted)
        if len(found) > 1:  # rows of targets repeat others
            found = [row for row in found if row["target"] is None] or found
        if len(found) != 1:
            raise ValueError(f"{len(found)} rows have {self.where | wanted}")
        return found[0]

    def at(self, **wanted):
        return self.row(**wanted)["value"]

    def ci(self, **wanted):
        row = self.row(**wanted)
        return [row["value"], *row["spread"]]

    def values(self, expressions, **more):
        """The numbers that expressions stand for, in order."""
        own = {"rows": self.rows, "row": self.row, "at": self.at, "ci": self.ci, "file": self.file}
        names = {"__builtins__": {}, **FUNCTIONS, **own, **more}
        found = []
        for expression in expressions:
            value = eval(expression, dict(names))  # committed text, like any test
            found += value if isinstance(value, list) else [value]
        return found


def is_shown_as(value, text):
    if value is None:
        return False
    shown, half = numbers.shown(text)
    return abs(value - shown) <= half * (1 + 1e-6)
