"""Several runs in one file, in the form of bench/results: a row for each folder."""

import json
import pathlib
import sys

from . import outcome
from .mutant import Mutant
from .outcome import Outcome

NAME = "mutation"


def outcomes_of(runs):
    """What became of each mutant in the first run that tried it, and in the last. A dropped one says nothing."""
    first, last = {}, {}
    for run in runs:
        for entry in run["mutants"]:
            mutant = Mutant(
                entry["path"], entry["line"], 0, 0, entry["operator"], entry["original"], entry["mutated"],
                name=entry["name"],
            )  # fmt: skip
            ended = Outcome(mutant, entry["state"], entry["by"])
            if ended.state != outcome.DROPPED or mutant.name not in last:
                first.setdefault(mutant.name, ended)
                last[mutant.name] = ended
    return list(first.values()), list(last.values())


def rows(runs, entries, target, make_row):
    """`entries` are those of tests/mutants_left.toml, `make_row` is that of bench/result_file.py.

    The score is the one that the first run of a mutant found: once there are tests for a sample's survivors, it tells
    of these tests, and no longer of all.
    """
    first, last = outcomes_of(runs)
    for outcomes in (first, last):
        outcome.with_reasons(outcomes, entries)
    as_found, now = outcome.rows(first), outcome.rows(last)
    result = []
    for name, row in as_found.items():
        if row.score is None:
            continue
        result.append(
            make_row(
                name, "mutants killed", "%", round(row.score, 1), samples=row.of, target=target,
                met=row.score >= target, killed=row.counts[outcome.KILLED], by_time=row.timed_out,
                survived=row.counts[outcome.SURVIVED], not_reached=row.counts[outcome.NOT_REACHED],
                equivalent=row.equivalent, value_with_new_tests=round(now[name].score, 1),
            )
        )  # fmt: skip
    return result


def write(root, path, files, entries, target):
    sys.path.insert(0, str(root / "bench"))
    import result_file  # that folder is no package

    runs = [json.loads(pathlib.Path(file).read_text()) for file in files]
    commands = [{"command": run["command"], "commit": run["commit"], "date": run["date"]} for run in runs]
    made = rows(runs, entries, target, result_file.row)
    result_file.write(str(path), NAME, made, runs=commands)
    return made
