"""The command line of `turnpike bench NAME...` for the experiments that need PyTorch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from turnpike._bench import EXPERIMENTS, result, run, table
from turnpike._bench.machine import Nothing, open_machine

FINE, WRONG, USAGE, FAILED = 0, 1, 2, 4
INTERRUPTED = 130

EXAMPLES = """\
Each experiment does the same thing in several ways, which take turns in one process: PyTorch's own way, the best that
one writes by hand, and Turnpike's. Every result is compared with its source; the figures are medians with quartiles,
ratios are made round by round. The targets are those of an H100.

  turnpike bench                         list the experiments
  turnpike bench to                      one of them, 40 seconds
  turnpike bench to small d2h --quick    a few, 8 seconds each
  turnpike bench all --out move.json     all, with the result file
  turnpike bench d2h --plot d2h.svg      as a picture (needs pip install 'turnpike-gpu[plot]')

Exit code: 0 measured (missed targets are said); 1 a result was wrong; 2 wrong usage; 4 there is nothing to measure here
(no PyTorch, no GPU), or something failed."""


def main(arguments: Sequence[str]) -> int:
    """Runs `turnpike bench ARGUMENTS`; returns the exit code."""
    try:
        return _main(list(arguments))
    except KeyboardInterrupt:
        print("\nturnpike bench: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return FAILED


def parser() -> argparse.ArgumentParser:
    names = [*EXPERIMENTS, "all"]
    made = argparse.ArgumentParser(
        prog="turnpike bench",
        description="Measures how fast data crosses between CPU and GPU on this machine, in three ways each.",
        epilog="Experiments:\n"
        + "\n".join(f"  {name:10} {about}" for name, about in EXPERIMENTS.items())
        + "\n\n"
        + EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("names", nargs="+", metavar="NAME", choices=names, help=f"one or more of: {', '.join(names)}")
    made.add_argument("--quick", action="store_true", help="fewer sizes and cases, 8 seconds an experiment")
    made.add_argument("--seconds", type=_positive, metavar="S", help="seconds an experiment (default: 40, quick 8)")
    made.add_argument("--device", type=_index, metavar="N", help="this GPU, counted from 0 (default: 0)")
    made.add_argument("--json", action="store_true", help="print the result as JSON instead of tables")
    made.add_argument("--out", metavar="FILE", help="write the result as JSON")
    made.add_argument("--plot", metavar="FILE", help="draw the result: a file that ends in .svg or .png")
    made.add_argument("--trace", metavar="FILE.json", help="peer: write a Chrome trace of each way, FILE-WAY.json")
    return made


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return value


def _index(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("GPUs are counted from 0")
    return value


class Progress:
    """One line on a terminal that is written over; nothing elsewhere."""

    def __init__(self) -> None:
        self.is_shown = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        if self.is_shown:
            print(f"\r\033[K{text[:100]}", end="", file=sys.stderr, flush=True)


def _main(arguments: list[str]) -> int:
    made = parser()
    options = made.parse_args(arguments)
    if options.plot:
        from turnpike._bench import plot

        if problem := plot.problem_with(options.plot):
            made.error(problem)
    names = list(EXPERIMENTS) if "all" in options.names else list(dict.fromkeys(options.names))
    try:
        machine = open_machine(options.device)
    except Nothing as nothing:
        print(f"turnpike bench {' '.join(options.names)}: {nothing}.", file=sys.stderr)
        return FAILED
    return measure(names, machine, options, arguments)


def measure(names: list[str], machine: Any, options: argparse.Namespace, arguments: list[str]) -> int:
    """Runs the experiments on the machine and shows what came of them; returns the exit code."""
    chosen = run.Options(options.quick, options.seconds or (8.0 if options.quick else 40.0), options.trace)
    outcome = run.Outcome()
    progress = Progress()
    facts = machine.facts()
    # With --json, stdout is the document alone.
    show: run.Say = _silent if options.json else _print
    settings = facts["settings"]
    show(f"{facts['device']}, PyTorch {facts['versions']['torch']}")
    show(f"Turnpike: {settings['threads']} threads, chunks of {settings['chunk_bytes'] >> 20} MiB")

    def document() -> dict[str, Any]:
        return result.document(outcome.rows, names, arguments, facts, outcome.problems())

    def keep() -> None:
        # After each case: what is measured stays if a later one takes the process down, or the time is over.
        if options.out:
            result.write(options.out, document())

    for name in names:
        show("")
        run.run_experiment(name, machine, chosen, outcome, show, progress, keep)
    keep()
    return _finish(options, outcome, document(), show)


def _print(text: str) -> None:
    print(text, flush=True)


def _silent(_: str) -> None:
    pass


def _finish(options: argparse.Namespace, outcome: run.Outcome, document: dict[str, Any], show: run.Say) -> int:
    if options.json:
        print(result.text(document), end="")
    show("\n" + table.summary(outcome.rows))
    if options.plot and outcome.rows:
        from turnpike._bench import plot

        plot.draw(document, options.plot)
    for problem in outcome.problems():
        print(f"turnpike bench: {problem}", file=sys.stderr)
    if outcome.wrong:
        return WRONG
    # An experiment that needs more than this machine has is no failure beside others that were measured.
    return FAILED if outcome.failed or not outcome.rows else FINE
