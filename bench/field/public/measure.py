"""Measures how much time changes of the public programs save, and compares it with what the reports predicted.

    python measure.py REPOSITORIES SCRATCH CHANGES --out FOLDER [--results results.json] [--turns 5]

CHANGES/NAME/FINDING.patch is a unified diff against the scratch copy of the program NAME, without the line that notes
the steps (`run.py` makes such a copy). A patch that changes the head of the loop puts the line
`# field: a step begins` where a step begins.

CHANGES/expected.json says what is expected, as shares of a step: {"NAME": {"FINDING": {"low": 0.1, "expected": 0.2,
"high": 0.3}}}. For a change that it does not name, `--results` of record.py are asked for the finding of this id, or
else of this rule.

A turn runs each change once: the program as it is and the changed one, in fresh processes and fresh copies. Some pairs
start together; then their processes run alone, one after the other, and the two of a pair directly after each other;
which one is first changes from turn to turn. A limit of time therefore costs turns, not programs.

The gain is one less the ratio of the times of a step: that of the window by its steps (`share`), and the median step
(`median_step_share`, which says nothing where steps come in bursts). FOLDER/measured.json is written after each pair.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import hook  # noqa: E402
import prepared  # noqa: E402
from medians import interval  # noqa: E402
from processes import Failed, Running, Window, wait_for  # noqa: E402

AS_IS, CHANGED = "as-it-is", "changed"
START_S = 20.0  # what must be left to start a group
COMPILED_STEPS = 6  # after which a program is compiled and its graphs are captured
COMPILE_S = 150.0  # until then, at most


@dataclasses.dataclass
class Change:
    program: prepared.Program
    finding: str
    patch: str
    expected: dict[str, float | None]
    pairs: list[tuple[Window, Window]] = dataclasses.field(default_factory=list)  # as it is, changed
    problems: list[str] = dataclasses.field(default_factory=list)
    said: list[str] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.program['name']}/{self.finding}"

    @property
    def compiles(self) -> bool:
        return ".compile(" in self.patch

    @property
    def is_slow(self) -> bool:
        return self.compiles or self.program["name"] in prepared.SLOW_S

    def as_json(self) -> dict[str, Any]:
        shares = [1 - changed.mean_us / as_is.mean_us for as_is, changed in self.pairs]
        medians = [1 - changed.median_us / as_is.median_us for as_is, changed in self.pairs]
        low, high = self.expected.get("low"), self.expected.get("high")
        row: dict[str, Any] = {"program": self.program["name"], "finding": self.finding, "expected": self.expected}
        row["turns"] = [
            {
                "share": round(share, 4),
                "median_step_share": round(median, 4),
                AS_IS: _short(as_is),
                CHANGED: _short(changed),
            }
            for share, median, (as_is, changed) in zip(shares, medians, self.pairs, strict=True)
        ]
        if shares:
            measured = statistics.median(shares)
            row |= {
                "share": round(measured, 4),
                "share_least": round(min(shares), 4),
                "share_most": round(max(shares), 4),
                "share_interval": [round(one / 100, 4) for one in interval([100 * share for share in shares])],
                "median_step_share": round(statistics.median(medians), 4),
                # How far alike processes lie apart: the largest of the unmodified ones by the least.
                "as_it_is_apart": round(
                    max(pair[0].mean_us for pair in self.pairs) / min(pair[0].mean_us for pair in self.pairs) - 1, 4
                ),
                "inside": low <= measured <= high if low is not None and high is not None else None,
            }
        return row | {"problems": self.problems, "said": self.said}


def _short(window: Window) -> dict[str, Any]:
    return {key: one for key, one in window.as_json().items() if key != "step_us"}


def expectations(folder: Path, results: Path | None) -> Any:
    """A function that says what is expected of a change."""
    given = json.loads((folder / "expected.json").read_text()) if (folder / "expected.json").exists() else {}
    recorded = json.loads(results.read_text())["programs"] if results else {}

    def expected(name: str, finding: str) -> dict[str, float | None]:
        if known := given.get(name, {}).get(finding):
            return {key: known.get(key) for key in ("low", "expected", "high")}
        findings = recorded.get(name, {}).get("findings", [])
        for key in ("id", "rule"):
            for one in findings:
                if one[key] == finding:
                    return {key: one[f"share_{key}"] for key in ("low", "expected", "high")}
        return {}

    return expected


class Measurement(prepared.TimedRun):
    """One run of measure.py."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        expected = expectations(args.changes, args.results)
        self.changes = [
            Change(program, patch.stem, patch.read_text(encoding="utf-8"), expected(program["name"], patch.stem))
            for program in prepared.chosen(args)
            for patch in sorted((args.changes / program["name"]).glob("*.patch"))
        ]
        self.changes = [one for one in self.changes if (one.expected.get("expected") or 0) >= args.least]
        self.turns = 0

    def run(self) -> None:
        programs = list({one.program["name"]: one.program for one in self.changes}.values())
        failed = prepared.make_sets(programs, self.args)
        for one in self.changes:
            one.problems += [failed[link["set"]] for link in one.program.get("data", []) if link["set"] in failed]
        able = [one for one in self.changes if not one.problems]
        self.say(f"the data is made; {self.left():.0f} s are left for {len(able)} changes")
        for turn in range(self.args.turns):
            for group in self.groups(able):
                if self.left() < START_S + 2 * self.turn_s:
                    break
                self.take(group, turn)
            else:
                self.turns = turn + 1
                self.say(f"turn {self.turns} of {self.args.turns} is complete")
                continue
            self.say(f"the time is over in turn {turn + 1}")
            break
        self.write()

    def groups(self, changes: list[Change]) -> list[list[Change]]:
        """Pairs that start together, those that start slowly by themselves. A change that failed twice is left out."""
        able = [one for one in changes if len(one.problems) < 2]
        found = []
        for is_slow in (False, True):
            some = [one for one in able if one.is_slow == is_slow]
            count = -(-len(some) // self.args.together)
            found += [some[first::count] for first in range(count)]
        return found

    def take(self, group: list[Change], turn: int) -> None:
        self.say(f"turn {turn + 1}: start {', '.join(one.name for one in group)}")
        started: dict[str, Running] = {}
        copies: dict[str, prepared.Copy] = {}
        try:
            for one in group:
                for variant in (AS_IS, CHANGED):
                    self.start(one, variant, started, copies)
            programs = [one.program for one in group]
            seconds = prepared.start_seconds(programs, self.args)
            if any(one.compiles for one in group):
                seconds = max(seconds, COMPILE_S)
            seconds = min(seconds, max(START_S, self.left() - 2 * self.turn_s))
            failed = wait_for(started, seconds)
            for one in group:
                keys = {variant: f"{one.name}/{variant}" for variant in (AS_IS, CHANGED)}
                for variant, key in keys.items():
                    if key in failed:
                        one.problems.append(f"turn {turn + 1}: {variant}: {failed[key]}")
                        one.said = started[key].last_lines()
                if all(key in started and key not in failed for key in keys.values()):
                    self.take_pair(one, {variant: started[key] for variant, key in keys.items()}, turn)
                self.write()
        finally:
            for running in started.values():
                running.end()
            for copied in copies.values():
                prepared.remove(copied)

    def start(self, one: Change, variant: str, started: dict[str, Running], copies: dict[str, prepared.Copy]) -> None:
        key = f"{one.name}/{variant}"
        try:
            patch = one.patch if variant == CHANGED else ""
            copied = copies[key] = prepared.copy(one.program, f"{one.finding}-{variant}", self.args, patch)
            self.port += 1
            environment = prepared.environment(copied, self.args, self.port)
            if one.compiles:
                environment["FIELD_READY_STEPS"] = str(COMPILED_STEPS)
            state = self.args.scratch.resolve() / "state" / copied.name
            started[key] = Running(copied.words, copied.folder, environment, state)
        except (hook.CannotChange, SystemExit, OSError, SyntaxError, IndexError) as error:
            one.problems += [f"{variant}: not prepared: {error!r}"] * 2

    def take_pair(self, one: Change, pair: dict[str, Running], turn: int) -> None:
        if self.left() < 2 * self.turn_s:
            return
        windows = {}
        for variant in (AS_IS, CHANGED) if turn % 2 == 0 else (CHANGED, AS_IS):
            try:
                windows[variant] = pair[variant].take_turn(patience=self.args.patience)
            except Failed as error:
                one.problems.append(f"turn {turn + 1}: {variant}: {error}")
                one.said = pair[variant].last_lines()
                self.say(f"{one.name}: {variant}: {error}")
                return
            finally:
                pair[variant].end()
            self.say(f"{one.name} {variant}: {windows[variant]}")
        one.pairs.append((windows[AS_IS], windows[CHANGED]))
        share = 1 - windows[CHANGED].mean_us / windows[AS_IS].mean_us
        self.say(f"{one.name}: {share:.1%} of a step, expected: {one.expected or 'nothing is known'}")

    def write(self) -> None:
        rows = [one.as_json() for one in self.changes]
        measured = [one for one in rows if one.get("inside") is not None]
        results = {
            "turns_complete": self.turns,
            "inside": sum(one["inside"] for one in measured),
            "judged": len(measured),
            "changes": rows,
        }
        self.write_results("measured.json", results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    prepared.options(parser)
    parser.add_argument("changes", type=Path, help="the folder of the patches")
    parser.add_argument("--results", type=Path, help="results.json of record.py")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--least", type=float, default=0, help="leave out changes that are expected to gain less")
    args = parser.parse_args()
    measurement = Measurement(args)
    if not measurement.changes:
        sys.exit(f"{args.changes} holds no changes of these programs")
    measurement.run()
    for one in measurement.changes:
        row = one.as_json()
        measurement.say(
            f"{one.name}: {row.get('share')} ({row.get('share_least')} to {row.get('share_most')}), "
            f"expected {one.expected}, inside: {row.get('inside')}; {'; '.join(one.problems)[:300]}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
