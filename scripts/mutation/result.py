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


def newest_samples(runs):
    """Of each folder, what became of the mutants of the last run that tried any of it for the first time."""
    newest, seen = {}, set()
    for run in runs:
        tried = [one for one in outcomes_of([run])[0] if one.state != outcome.DROPPED]
        fresh = [one for one in tried if one.mutant.name not in seen]
        newest.update(outcome.by_folder(fresh))
        seen.update(one.mutant.name for one in fresh)
    return newest


def rows(runs, entries, target, make_row):
    """`entries` are those of tests/mutants_left.toml, `make_row` is that of bench/result_file.py.

    The score is the one that the first run of a mutant found: once there are tests for a sample's survivors, it tells
    of these tests, and no longer of all. Tests get better from one sample to the next: the newest one alone says how
    good they are by now.
    """
    first, last = outcomes_of(runs)
    newest = newest_samples(runs)
    for outcomes in (first, last, *newest.values()):
        outcome.with_reasons(outcomes, entries)
    as_found, now = outcome.rows(first), outcome.rows(last)
    alone = {name: outcome.rows(outcomes)[name] for name, outcomes in newest.items()}
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
                **newest_figures(alone.get(name)),
            )
        )  # fmt: skip
    return result


SUMMED = ("samples", "killed", "by_time", "survived", "not_reached", "equivalent")


def together(before, after):
    """A row of an older file and one of runs since, of other mutants. The files of runs are not kept."""
    row = {**before, **after}
    row.update({key: before[key] + after[key] for key in SUMMED})
    row["value"] = round(100 * row["killed"] / row["samples"], 1)
    killed_now = sum(each["value_with_new_tests"] * each["samples"] for each in (before, after))
    row["value_with_new_tests"] = round(killed_now / row["samples"], 1)
    row["met"] = row["value"] >= row["target"]
    return row


def added(before, after):
    """The rows of an older file and those of runs since, one for each folder."""
    older, newer = ({row["case"]: row for row in rows} for rows in (before, after))
    every = {
        case: together(older[case], newer[case])
        if case in older and case in newer
        else (newer.get(case) or older[case])
        for case in (*older, *newer)
    }
    return list(outcome.in_order(every).values())


def newest_figures(row):
    """None for the row of all folders: their newest samples are of several runs."""
    if row is None or row.score is None:
        return {}
    return {"value_of_newest_sample": round(row.score, 1), "newest_sample": row.of}


def write(root, path, files, entries, target, is_added=False):
    """With `is_added`, what the file at `path` holds is kept: no run may be in both."""
    sys.path.insert(0, str(root / "bench"))
    import result_file  # that folder is no package

    runs = [json.loads(pathlib.Path(file).read_text()) for file in files]
    commands = [{"command": run["command"], "commit": run["commit"], "date": run["date"]} for run in runs]
    made = rows(runs, entries, target, result_file.row)
    if is_added:
        older = json.loads(path.read_text())
        made, commands = added(older["rows"], made), older["runs"] + commands
    result_file.write(str(path), NAME, made, runs=commands)
    return made
