"""What came of a run: the reasons for survivors, the table, the file of figures."""

import collections
import dataclasses

import tomllib

from .mutant import Mutant

KILLED, SURVIVED, NOT_REACHED, DROPPED = "killed", "survived", "not reached", "dropped"
OUT_OF_TIME = "out of time"


@dataclasses.dataclass
class Outcome:
    mutant: Mutant
    state: str
    by: str = ""  # the test that noticed it
    tests: tuple[str, ...] = ()  # those that reach it, the quickest first
    reason: str = ""
    is_equivalent: bool = False

    @property
    def is_out_of_time(self):
        return self.by.endswith(OUT_OF_TIME)

    def figures(self):
        mutant = self.mutant
        return {
            "name": mutant.name,
            "path": mutant.path,
            "line": mutant.line,
            "operator": mutant.operator,
            "original": mutant.original,
            "mutated": mutant.mutated,
            "state": self.state,
            "by": self.by,
            "tests": len(self.tests),
            "reason": self.reason,
            "equivalent": self.is_equivalent,
        }


def place(outcome):
    return outcome.mutant.path, outcome.mutant.line, outcome.mutant.name


def reasons(path):
    """Name -> entry of tests/mutants_left.toml. A name that a mutant had before (`earlier`) is that of old runs."""
    if not path.exists():
        return {}
    entries = tomllib.loads(path.read_text()).get("mutant", [])
    for entry in entries:
        if not entry.get("name") or not entry.get("reason"):
            raise SystemExit(f"mutate: {path}: an entry needs `name` and `reason`: {entry}")
    return {name: entry for entry in entries for name in (entry["name"], *entry.get("earlier", ()))}


def with_reasons(outcomes, entries):
    for outcome in outcomes:
        entry = entries.get(outcome.mutant.name)
        if entry:
            outcome.reason = entry["reason"]
            outcome.is_equivalent = entry.get("equivalent", False)


def row_of(path):
    return "/".join(path.split("/")[:2])


def by_folder(outcomes):
    made = {}
    for outcome in outcomes:
        made.setdefault(row_of(outcome.mutant.path), []).append(outcome)
    return made


@dataclasses.dataclass
class Row:
    counts: collections.Counter
    equivalent: int = 0
    timed_out: int = 0  # of those killed

    @property
    def of(self):
        """How many count: all that the compiler took, less those that change nothing."""
        return sum(self.counts.values()) - self.counts[DROPPED] - self.equivalent

    @property
    def score(self):
        return 100 * self.counts[KILLED] / self.of if self.of else None

    def figures(self):
        score = None if self.score is None else round(self.score, 1)
        return {**self.counts, "out of time": self.timed_out, "equivalent": self.equivalent, "score": score}


def rows(outcomes):
    """Folder -> Row, and those of src and python as a whole."""
    made = {}
    for outcome in outcomes:
        for name in (row_of(outcome.mutant.path), outcome.mutant.path.split("/")[0] + ", all"):
            row = made.setdefault(name, Row(collections.Counter()))
            row.counts[outcome.state] += 1
            row.timed_out += outcome.is_out_of_time
            row.equivalent += outcome.is_equivalent and outcome.state in (SURVIVED, NOT_REACHED)
    return in_order(made)


def in_order(rows):
    """By folder, and behind its folders the row of src or python as a whole."""
    return dict(sorted(rows.items(), key=lambda item: (item[0].split("/")[0].split(",")[0], "," in item[0], item[0])))


def table(made):
    titles = ("folder", "mutants", "killed", "by time", "survived", "not reached", "equivalent", "dropped", "score")
    lines = [titles]
    for name, row in made.items():
        score = "-" if row.score is None else f"{row.score:.1f} %"
        counts = row.counts
        numbers = (
            sum(counts.values()) - counts[DROPPED],
            counts[KILLED],
            row.timed_out,
            counts[SURVIVED],
            counts[NOT_REACHED],
        )
        lines.append((name, *map(str, numbers), str(row.equivalent), str(counts[DROPPED]), score))
    widths = [max(len(line[column]) for line in lines) for column in range(len(titles))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def shortened(text, most=150):
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3] + "..."


def described(mutant):
    """A mutant in two lines: where it is, and what becomes what."""
    mutated = shortened(mutant.mutated) if mutant.mutated else "(nothing)"
    place = f"{mutant.path}:{mutant.line}: {mutant.operator} [{mutant.name}]"
    return f"{place}\n    {shortened(mutant.original)}  ->  {mutated}"


def told(outcome, most=20):
    """What became of one mutant, with the tests that it is a matter of."""
    lines = [f"{described(outcome.mutant)}\n    {outcome.state}{' by ' + outcome.by if outcome.by else ''}"]
    if outcome.state == SURVIVED:
        lines += [f"    reached by {name}" for name in outcome.tests[:most]]
        if len(outcome.tests) > most:
            lines.append(f"    and by {len(outcome.tests) - most} more")
    return "\n".join(lines)


def survivors(outcomes):
    """The text that lists what no test noticed."""
    left = [outcome for outcome in outcomes if outcome.state in (SURVIVED, NOT_REACHED)]
    left.sort(key=place)
    parts = []
    for outcome in left:
        if not outcome.reason:
            note = (
                "no test reaches it"
                if outcome.state == NOT_REACHED
                else f"{len(outcome.tests)} tests reach it, none fails"
            )
            parts.append(f"{described(outcome.mutant)}\n    {note}")
    explained = [outcome for outcome in left if outcome.reason]
    if explained:
        parts.append("with a reason in tests/mutants_left.toml:")
    for outcome in explained:
        what = "equivalent" if outcome.is_equivalent else "left"
        parts.append(f"{described(outcome.mutant)}\n    {what}: {outcome.reason}")
    return "\n".join(parts)
