"""The command: which mutants, one build with all of them, which tests notice which."""

import argparse
import datetime
import fcntl
import json
import os
import pathlib
import platform
import shlex
import signal
import sys
import time

from . import choose, outcome, result, suites
from .outcome import DROPPED, KILLED, NOT_REACHED, SURVIVED, Outcome
from .tree import Tree, say

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "python")
COUNTS = {"src": 300, "python": 100}

DESCRIPTION = """\
Do the tests notice? Makes small mistakes (mutants) in src/ and python/turnpike, one at a time, and runs the tests that
come by. A mutant that makes a test fail, crash or run out of time is killed. One that does not survives: no test says
what that line must do.

    scripts/mutate                                the lines that your branch changes
    scripts/mutate --all --seed 1                 a random sample: 300 mutants of src/, 100 of python/
    scripts/mutate --all --folder src/analyze --count 50
    scripts/mutate --only 3f2a91c0de --tests analyze_test
                                                  one survivor again, while you write the test for it
    scripts/mutate --result bench/results/mutation.json --add RUN.json...
                                                  no run: adds the figures of earlier ones (--json) to a file

All mutants are built at once, in a copy of the checkout (build/mutation/tree), and the environment chooses one of them
when a program runs. The checkout itself is not touched. A first run sees which test reaches which mutant. Then each
mutant is tried with the tests that reach it, C++ before Python, quick ones first, until one fails, twice. A test has
three times its usual time and ten seconds. A mutant that runs out of time is tried again at the end, alone, and is
killed only if the original is as quick as usual then: a busy machine costs time, and kills none. Dropped are mutants
that the compiler rejects, and those of functions that only the compiler runs.

A survivor that no test can tell from the original, or that is not worth one, gets an entry in tests/mutants_left.toml:

    [[mutant]]
    name = "3f2a91c0de"         # as listed; it lasts while the text of the line does, and the name of the file
    reason = "why"
    equivalent = true           # the program does the same: it counts neither way
"""
EPILOG = """\
Needs Python 3.11, what scripts/bootstrap sets up, and for src/ libclang:
    pip install -r scripts/requirements-mutate.txt
The Python tests are run by --python, which needs pytest; the C++ of src/python needs nanobind there, and the tests of
python/turnpike/_move PyTorch. What only tests reach that it cannot run is reported as not reached.
Exit 1: a folder is below the target, or an entry of mutants_left.toml fits no mutant. Exit 2: wrong usage, or what
the run needs is missing or fails.
"""


def parsed(arguments):
    parser = argparse.ArgumentParser(
        "mutate", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="a sample of all lines, not those that changed")
    parser.add_argument("--count", type=int, help="how many mutants of each folder (default: src 300, python 100)")
    parser.add_argument("--seed", type=int, default=1, help="which sample (default: 1)")
    parser.add_argument(
        "--folder", action="append", help="only these folders or files, such as src/analyze; may be repeated"
    )
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="only the mutants of these names, as survivors are listed"
    )
    parser.add_argument(
        "--tests", action="append", metavar="WORD", help="only the test programs and files whose name contains it"
    )
    parser.add_argument("--list", action="store_true", help="list the mutants, try none")
    parser.add_argument(
        "--target", type=float, default=85, help="the score in percent that every folder must have (default: 85)"
    )
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="how much runs at once (default: the cores)"
    )
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter for the Python tests (default: this one)"
    )
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write every mutant and what became of it")
    parser.add_argument(
        "--result",
        type=pathlib.Path,
        metavar="FILE",
        help="write the score of each folder over these runs: what the first try of a mutant found, and the last",
    )
    parser.add_argument("--add", action="store_true", help="with --result: keep what FILE holds of other runs")
    parser.add_argument("runs", nargs="*", type=pathlib.Path, metavar="RUN.json", help="for --result")
    options = parser.parse_args(arguments)
    if bool(options.result) != bool(options.runs):
        parser.error("--result FILE and the files of runs are for each other")
    if options.add and not (options.result and options.result.is_file()):
        parser.error("--add needs a --result FILE that exists")
    return options


def chosen(options, tree):
    """The mutants of this run, the most to try of each folder, and all that there are: None if some are not known."""
    folders = [folder.rstrip("/") for folder in options.folder or FOLDERS]
    for folder in folders:
        if folder.split("/")[0] not in FOLDERS or not (ROOT / folder).exists():
            raise SystemExit(f"mutate: --folder {folder} is not a folder below src/ or python/")
    changed = None
    if not options.all and not options.only:
        changed = choose.changed_lines(ROOT, choose.base(ROOT))
    names = [name for name in choose.sources(ROOT, folders) if changed is None or name in changed]
    if any(name.startswith("src/") for name in names):
        tree.know_commands()
    found, left_out = choose.all_of(ROOT, tree, names, options.jobs)
    for name in left_out:
        say(f"{name} is not built here: it is left out")
    everything = None if left_out else found
    if options.only:
        result = [mutant for mutant in found if mutant.name in options.only]
        missing = set(options.only) - {mutant.name for mutant in result}
        if missing:
            names = ", ".join(sorted(missing))
            raise SystemExit(f"mutate: no mutant is named {names}: its line has changed, or --folder leaves it out")
        return result, {}, everything
    if changed is not None:
        return choose.on_lines(found, changed), {}, everything
    result, most = [], {}
    for folder in folders:
        own = [mutant for mutant in found if mutant.path == folder or mutant.path.startswith(folder + "/")]
        count = options.count or COUNTS.get(folder, COUNTS[folder.split("/")[0]])
        most[folder] = count
        say(f"{folder}: {min(count, len(own))} of {len(own)} mutants")
        result += choose.sample(own, count, options.seed)
    return list(dict.fromkeys(result)), most, everything


def at_most(numbered, most):
    """Of each folder no more than were asked for: some were taken in reserve."""
    left = dict(most)
    result = []
    for number, mutant in numbered:
        folder = next((name for name in left if mutant.path == name or mutant.path.startswith(name + "/")), None)
        if folder is None or left[folder] > 0:
            result.append((number, mutant))
            if folder is not None:
                left[folder] -= 1
    return result


def reached(tree, options, numbered):
    """Every case of the tests, with the numbers of the mutants that it reaches."""
    with_cpp = any(not mutant.path.endswith(".py") for _, mutant in numbered)
    chosen_suites = [
        part for suite in suites.all_of(tree, options.tests, with_cpp) for part in suite.parts(options.jobs)
    ]
    cases = []
    for done, (suite, own) in enumerate(suites.in_parallel(suites.measure, chosen_suites, options.jobs), 1):
        cases += own
        seconds = sum(case.seconds for case in own)
        say(f"[{done}/{len(chosen_suites)}] {suite.name}: {len(own)} tests, {seconds:.1f} s")
    return cases


def tried(numbered, cases, jobs):
    """What became of each mutant; when it is interrupted, of those that were tried until then.

    Those that ran out of time are tried again at the end, one at a time: beside others, any test is slow.
    """
    by_number = {}
    for case in cases:
        for number in case.reached:
            by_number.setdefault(number, []).append(case)

    def one(pair, is_alone=False):
        number, mutant = pair
        own = by_number.get(number, [])
        if not own:
            return Outcome(mutant, DROPPED if mutant.is_constant else NOT_REACHED)
        ended = suites.try_mutant(number, own, is_alone)
        names = tuple(f"{case.suite.name}: {case.name}" for case in sorted(own, key=lambda case: case.seconds))
        return Outcome(mutant, KILLED if ended.is_noticed else SURVIVED, ended.by, names)

    def report(place, ended):
        mutant = ended.mutant
        what = f"{ended.state}{' by ' + ended.by if ended.by else ''}"
        say(f"[{place}] {mutant.path}:{mutant.line} {mutant.operator} [{mutant.name}]: {what}")

    made, again = [], []
    try:
        for done, (pair, ended) in enumerate(suites.in_parallel(one, numbered, jobs), 1):
            report(f"{done}/{len(numbered)}", ended)
            if ended.is_out_of_time:
                again.append(pair)
            else:
                made.append(ended)
        for done, pair in enumerate(again, 1):
            ended = one(pair, is_alone=True)
            report(f"alone {done}/{len(again)}", ended)
            made.append(ended)
    except KeyboardInterrupt:
        suites.running.end_all()
        say(f"interrupted: {len(made)} of {len(numbered)} mutants were tried")
    return made


def figures(options, outcomes, made, seconds):
    return {
        "date": datetime.date.today().isoformat(),
        "version": (ROOT / "VERSION").read_text().strip(),
        "commit": choose.git(ROOT, "rev-parse", "HEAD"),
        "command": shlex.join(["scripts/mutate", *sys.argv[1:]]),
        "seed": options.seed,
        "python": platform.python_version(),
        "seconds": round(seconds),
        "folders": {name: row.figures() for name, row in made.items()},
        "mutants": [ended.figures() for ended in sorted(outcomes, key=outcome.place)],
    }


def locked(path):
    """Two runs in one checkout would build over each other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = open(path, "w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit("mutate: another run goes on in this checkout") from None
    return file


def main(arguments=None):
    options = parsed(arguments)
    if options.result:
        return collected(options)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as with Ctrl-C, no test is left behind
    try:
        with locked(ROOT / "build" / "mutation" / "lock"):
            return run(options)
    except KeyboardInterrupt:
        return 130
    except SystemExit as failed:
        print(failed, file=sys.stderr)
        return 2


def collected(options):
    entries = outcome.reasons(ROOT / "tests" / "mutants_left.toml")
    rows = result.write(ROOT, options.result, options.runs, entries, options.target, options.add)
    for row in rows:
        print(
            f"{row['case']:<20} {row['value']:5.1f} % of {row['samples']}{'' if row['met'] else ': below the target'}"
        )
    return 0 if all(row["met"] for row in rows) else 1


def run(options):
    started = time.monotonic()
    tree = Tree(ROOT, ROOT / "build" / "mutation" / "tree", options.python, options.jobs)
    try:
        mutants, most, everything = chosen(options, tree)
    except choose.NoClang as missing:
        print(f"mutate: {missing}", file=sys.stderr)
        return 2
    if options.list:
        for mutant in sorted(mutants, key=lambda one: (one.path, one.start)):
            print(outcome.described(mutant))
        return 0
    if not mutants:
        print("mutate: no mutant stands on the changed lines")
        return 0

    entries = outcome.reasons(ROOT / "tests" / "mutants_left.toml")
    numbered, dropped = tree.make(list(enumerate(mutants, 1)), options.tests or [])
    numbered = at_most(numbered, most)
    say(f"{len(numbered)} mutants are built, {time.monotonic() - started:.0f} s; now the tests that reach them")
    cases = reached(tree, options, numbered)
    outcomes = tried(numbered, cases, options.jobs)
    is_whole = len(outcomes) == len(numbered)
    outcomes += [Outcome(mutant, DROPPED) for _, mutant in dropped]
    outcome.with_reasons(outcomes, entries)
    made = outcome.rows(outcomes)
    listed = "\n".join(map(outcome.told, outcomes)) if options.only else outcome.survivors(outcomes)
    if listed:
        print(listed)
    print(outcome.table(made))
    if options.json:
        whole = figures(options, outcomes, made, time.monotonic() - started)
        options.json.write_text(json.dumps(whole, indent=1) + "\n")
    stale = []
    if options.all and not options.folder and everything is not None:
        stale = sorted({entry["name"] for entry in entries.values()} - {mutant.name for mutant in everything})
        for name in stale:
            print(
                f"mutate: tests/mutants_left.toml: {name} fits no mutant any more: {entries[name]['reason']}",
                file=sys.stderr,
            )
    if not is_whole:
        return 130
    is_below = any(row.score is not None and row.score < options.target for row in made.values())
    return 1 if is_below or stale else 0
