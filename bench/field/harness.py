#!/usr/bin/env python3
"""Does the advice come true? Records each, follows its report, and measures both in turn.

    python -m bench.field [--programs a,b] [--out FOLDER]
    python -m bench.field --dry-run --device cpu              only tries the programs and their fixes out

For each program: `turnpike record` a run of some tens of steps; report it; start the program as it is and once with
each fix, all at the same time; then let them run blocks of steps in turn, while the others are stopped, and record the
program as it is twice more in between. A saving is the median over the rounds of the difference between the block of
the program as it is and that of the fixed one. Each finding of the recording whose steps were as long as the measured
ones is compared with the fixes that follow its advice. Programs that fail are named, and the rest goes on.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import program as programs  # noqa: E402
import result_file  # noqa: E402
import turnpike_command  # noqa: E402
from live import Died, Live, surroundings  # noqa: E402
from medians import interval, rounded  # noqa: E402
from program import Fix, Program  # noqa: E402

ROUNDS = 25
LEAST_ROUNDS = 5
ROUND_RECORDED = 1  # behind the second round, and behind the last
# Short blocks: what disturbs a shared machine for longer then hits all variants of a round alike.
BLOCK_S = 0.12
LEAST_STEPS = 5
SETTLED_PCT = 3.0  # of a step: the interval of every saving is narrower, and more rounds would tell nothing
START_S = 120  # to import, build, compile and warm up, beside the others of the group
RECORD_S = 90
KEPT_BYTES = 48 << 20  # of recordings, which shrink to a sixth in an archive
TARGET_PCT = 5.0  # of a step, where a report predicts a single number
# Of a step. Two alike processes that lie further apart tell less than a claim of a single number promises, so that no
# claim is judged by them.
APART_PCT = TARGET_PCT
PLAIN = "as it is"
AGAIN = "as it is, again"  # another process of it, which tells how far two alike ones lie apart
RECORDED = "recorded"  # the process that is recorded between the blocks, of which none is measured


@dataclasses.dataclass
class Recorded:
    """One recording of the program as it is."""

    report: dict[str, Any]
    steps: int  # of the program
    run: str = ""  # the path
    step_us: float | None = None  # of the program, by its own clock
    trace_bytes: int | None = None

    @property
    def steps_in_step(self) -> float:
        """How many of the report's steps are one of the program's: three where a step has three backward passes, and
        where the report finds no steps, so that the run is its only one, a part of one."""
        steps = self.report["steps"]
        if not steps or not steps["count"]:
            return 1 / self.steps
        ratio = steps["count"] / self.steps
        return float(round(ratio)) if ratio >= 1 else 1 / round(1 / ratio)

    @property
    def reported_step_us(self) -> float | None:
        """What the report says that a step of the program takes."""
        steps = self.report["steps"]
        return steps["median_ns"] / 1e3 * self.steps_in_step if steps and steps["count"] else None


@dataclasses.dataclass
class Taken:
    """What is known of one program so far."""

    program: Program
    first: Recorded | None = None  # which tells what to measure
    beside: list[Recorded] = dataclasses.field(default_factory=list)  # between the blocks
    blocks: dict[str, list[float]] = dataclasses.field(default_factory=dict)  # by PLAIN, AGAIN or the name of a fix
    losses: dict[str, float | None] = dataclasses.field(default_factory=dict)
    steps_per_block: int | None = None
    failed: dict[str, str] = dataclasses.field(default_factory=dict)  # the last words of fixes that did not run
    cpu: CpuTime | None = None
    problems: list[str] = dataclasses.field(default_factory=list)

    def gave_up(self, name: str, error: Exception) -> None:
        """The program with this fix did not run, or ended."""
        self.failed[name] = str(error)
        self.problems.append(f"{name}: {error}")

    @property
    def plain(self) -> list[float]:
        """What the program as it is took in each round: the mean of its two processes."""
        first, second = self.blocks.get(PLAIN, []), self.blocks.get(AGAIN, [])
        if len(first) != len(second):  # the second one did not run, or ended
            return first
        return [(one + other) / 2 for one, other in zip(first, second, strict=True)]

    @property
    def apart_us(self) -> float:
        """How far the two processes of the program as it is lie apart; 0 where `plain` is of the first one alone."""
        if len(self.blocks.get(AGAIN, [])) < len(self.blocks.get(PLAIN, [])):
            return 0.0
        apart = savings_us(self, AGAIN)
        return abs(statistics.median(apart)) if apart else 0.0

    @property
    def judged(self) -> Recorded | None:
        """The recording whose claims count: the one whose steps were as long as those of the blocks, as nearly as any.
        What its report says plays no part."""
        known = [one for one in (*self.beside, self.first) if one]
        plain = self.plain
        if not known or not plain:
            return known[-1] if known else None
        plain_us = statistics.median(plain)
        return min(known, key=lambda one: abs((one.step_us or math.inf) - plain_us))

    @property
    def findings(self) -> list[dict[str, Any]]:
        return self.first.report["findings"] if self.first else []


class Field:
    """One run of the harness."""

    def __init__(self, args: argparse.Namespace, scratch: str) -> None:
        self.args, self.scratch, self.out = args, scratch, os.path.abspath(args.out)
        self.deadline = time.monotonic() + args.seconds_in_all
        self.taken: list[Taken] = []
        self.link_problem: str | None = None
        for name in ("reports", "logs", "recordings"):
            os.makedirs(os.path.join(self.out, name), exist_ok=True)

    def environment(self, program: Program, **more: str) -> dict[str, str]:
        """What a program runs under. Files that it leaves lie in a folder that goes with this run."""
        folder = os.path.join(self.scratch, program.name)
        os.makedirs(folder, exist_ok=True)
        return surroundings(folder) | more

    def command(self, program: Program, *options: str) -> list[str]:
        warm_up = ["--warm-up", str(program.warm_up)]
        return [sys.executable, os.path.basename(program.path), "--device", self.args.device, *warm_up, *options]

    def folder(self, program: Program) -> str:
        """A copy of the programs, in which they run: a recording that is kept names no folder of this machine."""
        copied = os.path.join(self.scratch, "programs")
        if not os.path.exists(copied):
            shutil.copytree(os.path.dirname(program.path), copied, ignore=shutil.ignore_patterns("__pycache__"))
        return copied

    def live(self, program: Program, command: list[str], what: str, **environment: str) -> Live:
        return Live(command, self.log(program, what), self.environment(program, **environment), self.folder(program))

    def log(self, program: Program, what: str) -> str:
        return os.path.join(self.out, "logs", f"{program.name}-{what.replace(' ', '-')}.log")

    def run(self, names: list[str]) -> None:
        self.measure_link()
        for first in range(0, len(names), self.args.together):
            if time.monotonic() > self.deadline:
                for name in names[first:]:
                    self.taken.append(Taken(programs.load(name), problems=["not begun: the time was over"]))
                break
            group = [Taken(programs.load(name)) for name in names[first : first + self.args.together]]
            self.taken += group
            self.record(group)
            self.measure(group)
        self.write()

    def measure_link(self) -> None:
        """So that reports know the link's rate. The first report of a program is made without."""
        try:
            turnpike_command.turnpike_text("bench", "link", environment=self.link_environment())
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            self.link_problem = str(error)
            print(f"the link is not known: {error}", flush=True)

    def link_environment(self, *, known: bool = True) -> dict[str, str]:
        return os.environ | {"XDG_CACHE_HOME": os.path.join(self.scratch, "link" if known else "no-link")}

    def record(self, group: list[Taken]) -> None:
        """Starts the group's programs together, then records them one after the other."""
        lives: list[tuple[Taken, Live, str]] = []
        for taken in group:
            run = self.run_of(taken.program, "first")
            recorder = [turnpike_command.executable(), "record", "--quiet", "-o", run, "--"]
            command = self.command(taken.program, "--steps", str(taken.program.steps), "--wait")
            lives.append((taken, self.live(taken.program, recorder + command, "recorded"), run))
        ready = []
        until = time.monotonic() + START_S
        for taken, live, run in lives:
            with self.problems_of(taken, "recording", live):
                live.answer(until - time.monotonic())
                live.pause()
                ready.append((taken, live, run))
        for taken, live, run in ready:
            with self.problems_of(taken, "recording", live):
                live.resume()
                live.send("go")
                said = live.answer(RECORD_S)
                if code := live.wait(RECORD_S):
                    raise Died(f"exit code {code}")
                taken.first = self.report(taken, run, taken.program.steps, said["step_us"])
            live.end()

    def report(self, taken: Taken, run: str, steps: int, step_us: float | None) -> Recorded:
        name = os.path.join(self.out, "reports", os.path.basename(run).removesuffix(".tpk"))
        if taken.first is None:
            without = turnpike_command.turnpike_text("report", run, environment=self.link_environment(known=False))
            _write(name + "-no-link.txt", without)
        _write(name + ".txt", turnpike_command.turnpike_text("report", run, environment=self.link_environment()))
        report = turnpike_command.turnpike_json("report", run, "--json", environment=self.link_environment())
        _write(name + ".json", json.dumps(report, indent=1) + "\n")
        if report["losses"]:
            taken.problems.append(f"losses: {report['losses']}")
        trace_bytes = sum(entry.stat().st_size for entry in os.scandir(run))
        return Recorded(report, steps, run, step_us, trace_bytes)

    def record_beside(self, taken: Taken, live: Live | None, lead: int) -> None:
        """Another recording of the program as it is, in its turn. Reports of it are made in no block's time."""
        run = self.run_of(taken.program, str(len(taken.beside) + 1))
        try:
            if live is None:
                raise Died("it had not started")
            live.resume()
            step_us = live.block(lead, taken.program.steps, RECORD_S, run)
            live.pause()
            taken.beside.append(self.report(taken, run, lead + taken.program.steps, step_us))
        except Exception as error:
            taken.problems.append(f"recording between the blocks: {error}")

    def run_of(self, program: Program, which: str) -> str:
        return os.path.join(self.scratch, f"{program.name}-{which}.tpk")

    def measure(self, group: list[Taken]) -> None:
        """Starts the group's programs and their fixes together, then measures one program after the other."""
        started = [(taken, self.start(taken)) for taken in group if taken.first or not self.args.follow_only]
        try:
            until = time.monotonic() + START_S
            for taken, lives in started:
                for name in list(lives):
                    try:
                        taken.losses[name] = lives[name].answer(until - time.monotonic()).get("loss")
                    except Died as error:
                        taken.gave_up(name, error)
                        lives.pop(name).end()
            for _, lives in started:
                for live in lives.values():
                    live.pause()
            for taken, lives in started:
                self.take_turns(taken, lives)
                for live in lives.values():
                    live.end()
                lives.clear()
                show(taken)
                self.write()
        finally:
            for _, lives in started:
                for live in lives.values():
                    live.end()

    def start(self, taken: Taken) -> dict[str, Live]:
        """The program as it is, and with each fix that is to be measured."""
        lives = {}
        variants: list[tuple[str, Fix | None]] = [(PLAIN, None), (AGAIN, None), (RECORDED, None)]
        for fix in taken.program.fixes:
            if not self.args.follow_only or any(fix.follows(finding) for finding in taken.findings):
                variants.append((fix.name, fix))
        for name, fix in variants:
            options = fix.options(taken.findings) if fix else []
            command = self.command(taken.program, "--turns", *options)
            lives[name] = self.live(taken.program, command, name, **(fix.environment if fix else {}))
        return lives

    def take_turns(self, taken: Taken, lives: dict[str, Live]) -> None:
        if PLAIN not in lives:
            return
        recorded = lives.pop(RECORDED, None)
        try:
            self.take_rounds(taken, lives, recorded)
        finally:
            if recorded:
                recorded.end()

    def take_rounds(self, taken: Taken, lives: dict[str, Live], recorded: Live | None) -> None:
        until = time.monotonic() + self.args.seconds * taken.program.seconds
        seconds = 30.0  # for one block, before anything is known

        def block(name: str, lead: int, steps: int) -> float | None:
            try:
                lives[name].resume()
                us = lives[name].block(lead, steps, seconds)
                lives[name].pause()
                return us
            except Died as error:
                taken.gave_up(name, error)
                lives.pop(name).end()
                return None

        estimate = block(PLAIN, taken.program.lead, LEAST_STEPS)
        if estimate is None:
            return
        period = taken.program.period
        steps = min(400, max(LEAST_STEPS, round(BLOCK_S * 1e6 / estimate)))
        steps = taken.steps_per_block = -(-steps // period) * period
        # The lead is made of whole periods, too: all blocks are at the same place of theirs.
        leads = dict.fromkeys((PLAIN, AGAIN), taken.program.lead)
        leads |= {fix.name: fix.lead or taken.program.lead for fix in taken.program.fixes}
        leads = {name: -(-lead // period) * period if period > 1 else lead for name, lead in leads.items()}
        order = random.Random(0)
        before = CpuTime.now()
        for done in range(self.args.rounds):
            if done >= LEAST_ROUNDS and (time.monotonic() > until or settled(taken)):
                break
            row = {name: block(name, leads[name], steps) for name in order.sample(list(lives), len(lives))}
            if row.get(PLAIN) is None:
                return
            for name, value in row.items():
                if value is not None:
                    taken.blocks.setdefault(name, []).append(value)
            if done == ROUND_RECORDED:
                self.record_beside(taken, recorded, leads[PLAIN])
        self.record_beside(taken, recorded, leads[PLAIN])
        taken.cpu = CpuTime.now() - before

    def problems_of(self, taken: Taken, what: str, live: Live) -> _Problems:
        return _Problems(taken, what, live)

    def write(self) -> None:
        """The result file and the recordings so far."""
        rows = [row for taken in self.taken for row in rows_of(taken)]
        failures = [f"{taken.program.name}: {problem}" for taken in self.taken for problem in taken.problems]
        gpu = result_file.short_gpu_name()
        path = os.path.join(self.out, f"field-{gpu}.json")
        result_file.write(path, "field", rows, failures=failures, summary=summary(rows))
        self.keep_recordings()

    def keep_recordings(self) -> None:
        """The smallest ones, as far as they may fill; the others are named. Those that are judged come first."""
        runs = []
        for taken in self.taken:
            judged = taken.judged
            for one in (*taken.beside, taken.first):
                if one:
                    name = f"{taken.program.name}.tpk" if one is judged else os.path.basename(one.run)
                    runs.append((one is not judged, one.trace_bytes or 0, name, one.run, taken))
        folder = os.path.join(self.out, "recordings")
        shutil.rmtree(folder)
        os.makedirs(folder)
        kept, left_out = 0, []
        for is_other, size, name, run, taken in sorted(runs, key=lambda one: one[:3]):
            kept += size
            if kept > KEPT_BYTES:
                left_out.append(f"{name}: {size} bytes")
                continue
            target = os.path.join(folder, name)
            shutil.copytree(run, target)
            if not is_other:
                _write(target.removesuffix(".tpk") + ".json", json.dumps(facts(taken), indent=1) + "\n")
        rates = os.path.join(self.scratch, "link", "turnpike")
        if os.path.exists(rates):
            shutil.copytree(rates, os.path.join(self.out, "recordings", "turnpike"), dirs_exist_ok=True)
        _write(os.path.join(self.out, "recordings", "left_out.txt"), "".join(line + "\n" for line in left_out))


@dataclasses.dataclass(frozen=True)
class CpuTime:
    """What the machine's processors did, in ticks."""

    all: int
    idle: int
    stolen: int

    @staticmethod
    def now() -> CpuTime:
        with open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        return CpuTime(sum(ticks), ticks[3] + ticks[4], ticks[7])

    def __sub__(self, before: CpuTime) -> CpuTime:
        return CpuTime(self.all - before.all, self.idle - before.idle, self.stolen - before.stolen)

    def pct(self) -> dict[str, float]:
        """How busy they were, and how much of the time the machine's host gave to others."""
        whole = max(self.all, 1)
        return {"busy": round((1 - self.idle / whole) * 100, 1), "stolen": round(self.stolen / whole * 100, 1)}


class _Problems:
    """A block whose failure belongs to one program: it is noted, its process ends, and the rest goes on."""

    def __init__(self, taken: Taken, what: str, live: Live) -> None:
        self.taken, self.what, self.live = taken, what, live

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if not isinstance(error, Exception):
            return False
        self.taken.problems.append(f"{self.what}: {error}")
        print(f"{self.taken.program.name}: {self.what}: {error}", flush=True)
        self.live.end()
        return True


SAVINGS = ("saving_pct", "saving_step_ns", "saving_step_low_ns", "saving_step_high_ns")


def predicted_us(recorded: Recorded, finding: dict[str, Any], step_us: float) -> tuple[float, float] | None:
    """The saving that the finding claims in microseconds a step of the program, from and to; the same twice where the
    claim is one number. A claim is a share of the recorded step, so it is one of the step that was measured, too: the
    recorder and what else runs on the machine make steps longer at one time than at another. step_us: as measured."""
    single, percent = finding.get("saving_step_ns"), finding.get("saving_pct")
    low, high = finding.get("saving_step_low_ns", single), finding.get("saving_step_high_ns", single)
    if low is None or high is None:
        return None
    in_us = recorded.steps_in_step / 1e3
    if recorded.report["steps"] is None and recorded.step_us:  # the share would be one of the whole run
        in_us *= step_us / recorded.step_us
    elif single and percent:
        in_us = percent / single / 100 * step_us
    return low * in_us, high * in_us


def savings_us(taken: Taken, fix: str) -> list[float]:
    """What each round of blocks says that the fix saves a step; of AGAIN, that of one alike process over the other."""
    plain = taken.blocks.get(PLAIN, []) if fix == AGAIN else taken.plain
    return [before - after for before, after in zip(plain, taken.blocks.get(fix, []), strict=False)]


def settled(taken: Taken) -> bool:
    """Whether each saving is known well enough."""
    plain_us = statistics.median(taken.plain)
    spreads = [interval(savings_us(taken, name)) for name in taken.blocks if name not in (PLAIN, AGAIN)]
    return all(high - low < SETTLED_PCT / 100 * plain_us for low, high in spreads)


def rows_of(taken: Taken) -> list[dict[str, Any]]:
    """A row for each fix that was measured and each finding that it follows; without a finding, one row. A fix that a
    finding asks for and that did not run has a row, too: advice that breaks the program did not come true. The last row
    is of the second process of the program as it is, which saves nothing."""
    rows = []
    for fix in taken.program.fixes:
        savings = savings_us(taken, fix.name)
        claims = claims_of(taken, fix)
        if savings:
            rows += [row_of(taken, fix, savings, claim) for claim in claims or [None]]
        elif fix.name in taken.failed and PLAIN in taken.blocks:
            rows += [row_of(taken, fix, None, claim) for claim in claims]
    if alike := savings_us(taken, AGAIN):
        rows.append(row_of(taken, Fix(AGAIN, "nothing"), alike, None))
    return rows


@dataclasses.dataclass(frozen=True)
class Claim:
    """What a report says that a fix gains."""

    recorded: Recorded
    finding: dict[str, Any]
    is_of_first: bool


def claims_of(taken: Taken, fix: Fix) -> list[Claim]:
    """Those of the recording that is judged; those of the first one where the other has no such finding, which makes no
    claim go away that was made."""
    for recorded in (taken.judged, taken.first):
        if recorded is None:
            continue
        findings = [claim for finding in recorded.report["findings"] if (claim := fix.claim(finding))]
        if findings:
            return [Claim(recorded, finding, recorded is taken.first) for finding in joined(findings)]
    return []


def claim_of_first(taken: Taken, fix: Fix) -> tuple[float, float] | None:
    """What the first recording's report claims."""
    if taken.first is None:
        return None
    findings = joined([claim for finding in taken.findings if (claim := fix.claim(finding))])
    return predicted_us(taken.first, findings[0], statistics.median(taken.plain)) if findings else None


def joined(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One finding in the place of those that a fix follows at once: what it saves is what all of them claim together. A
    finding that another one supersedes adds nothing. The finding that would gain most gives the name."""
    known = [finding for finding in findings if finding.get("saving_pct") is not None]
    leading = [finding for finding in known if not finding["superseded_by"]] or known[:1]
    if len(leading) < 2:
        return leading or findings[:1]
    leading = sorted(leading, key=lambda finding: -finding["saving_pct"])
    sums = {key: sum(finding[key] for finding in leading) for key in SAVINGS if all(key in one for one in leading)}
    return [leading[0] | sums | {"site": ", ".join(finding["site"] for finding in leading)}]


@dataclasses.dataclass(frozen=True)
class Judgement:
    """Whether a claim came true."""

    met: bool | None  # None: there is no claim, or it cannot be judged
    is_too_noisy: bool = False  # to judge it: two alike processes lie too far apart
    is_none_of_none: bool = False  # met though the raw figure lies below the range: none was possible, none was found


def judgement(
    claim: tuple[float, float] | None, savings: list[float] | None, plain_us: float, apart_us: float
) -> Judgement:
    """savings: None where the program did not run with the fix. apart_us: of two alike processes."""
    if claim is None:
        return Judgement(None)
    if not savings:
        return Judgement(False)
    if apart_us > APART_PCT / 100 * plain_us:
        return Judgement(None, is_too_noisy=True)
    measured_us = statistics.median(savings)
    slack = TARGET_PCT / 100 * plain_us if claim[0] == claim[1] else 0.0
    if claim[0] - slack <= measured_us <= claim[1] + slack:
        return Judgement(True)
    is_none_of_none = claim[0] == 0 and measured_us < 0 and interval(savings)[1] >= -apart_us
    return Judgement(is_none_of_none, is_none_of_none=is_none_of_none)


def row_of(taken: Taken, fix: Fix, savings: list[float] | None, claimed: Claim | None) -> dict[str, Any]:
    """savings: None where the program did not run with the fix."""
    plain, fixed = taken.plain, taken.blocks.get(fix.name)
    plain_us = statistics.median(plain)
    measured_us = statistics.median(savings) if savings else None
    finding = claimed.finding if claimed else None
    recorded = claimed.recorded if claimed else taken.judged
    claim = predicted_us(claimed.recorded, claimed.finding, plain_us) if claimed else None
    judged = judgement(claim, savings, plain_us, taken.apart_us)
    sign_right = None
    if claim and savings and not judged.is_too_noisy:
        sign_right = claim[1] <= 0 or interval(savings)[1] > -taken.apart_us
    of_first = claim_of_first(taken, fix)
    before, after = taken.losses.get(PLAIN), taken.losses.get(fix.name)
    return result_file.row(
        f"{taken.program.name} {fix.name}",
        "saving",
        "us",
        rounded(measured_us),
        spread=interval(savings) if savings else None,
        samples=len(savings or []),
        baseline="predicted by the report",
        baseline_value=rounded(sum(claim) / 2) if claim else None,
        target=TARGET_PCT if claim else None,
        met=judged.met,
        program=taken.program.name,
        fix=fix.name,
        does=fix.does,
        rule=finding["rule"] if finding else None,
        site=finding["site"] if finding else None,
        advice=finding["advice"] if finding else None,
        superseded_by=finding["superseded_by"] if finding else None,
        predicted_low=rounded(claim[0]) if claim else None,
        predicted_high=rounded(claim[1]) if claim else None,
        too_noisy=judged.is_too_noisy,
        counted_as_none=judged.is_none_of_none,
        sign_right=sign_right,
        claim_is_of_first_recording=claimed.is_of_first if claimed else None,
        first_predicted_low=rounded(of_first[0]) if of_first else None,
        first_predicted_high=rounded(of_first[1]) if of_first else None,
        first_met=judgement(of_first, savings, plain_us, taken.apart_us).met,
        measured_as_is=rounded(plain_us),
        measured_as_is_spread=interval(plain),
        measured_fixed=rounded(statistics.median(fixed)) if fixed else None,
        measured_fixed_spread=interval(fixed) if fixed else None,
        saving_pct=rounded(measured_us / plain_us * 100) if measured_us is not None else None,
        failed=taken.failed.get(fix.name),
        recorded_as_is=rounded(recorded.reported_step_us) if recorded else None,
        recorded_by_its_clock=rounded(recorded.step_us) if recorded else None,
        first_recorded_as_is=rounded(taken.first.reported_step_us) if taken.first else None,
        first_recorded_by_its_clock=rounded(taken.first.step_us) if taken.first else None,
        report_steps_in_step=recorded.steps_in_step if recorded else None,
        steps_per_block=taken.steps_per_block,
        blocks_as_is=[rounded(value) for value in plain],
        blocks_fixed=[rounded(value) for value in fixed or []],
        cpu_pct=taken.cpu.pct() if taken.cpu else None,
        loss_as_is=before,
        loss_fixed=after,
        trace_bytes=recorded.trace_bytes if recorded else None,
    )


def facts(taken: Taken) -> dict[str, Any]:
    """What was measured, beside the recording that is kept: enough to judge another report of it."""
    judged = taken.judged
    alone = dataclasses.replace(taken, first=None, beside=[judged] if judged else [])
    true = [(row["fix"], row["rule"], row["site"]) for row in rows_of(alone) if row["met"]]
    program = {"program": taken.program.name, "steps": judged.steps if judged else None}
    program["recorded_us"] = judged.step_us if judged else None
    return program | {"blocks": taken.blocks, "failed": taken.failed, "came_true": true}


def judged_again(known: dict[str, Any], report: dict[str, Any]) -> Taken:
    """A report of the recording, and what facts() kept."""
    recorded = Recorded(report, known["steps"], step_us=known.get("recorded_us"))
    return Taken(programs.load(known["program"]), beside=[recorded], blocks=known["blocks"], failed=known["failed"])


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How the targets stand: of the claims that are judged, how many came true, are narrow and have the right sign."""
    claims = [row for row in rows if row["met"] is not None]
    narrow = [row for row in claims if row["predicted_high"] - row["predicted_low"] < 0.15 * row["measured_as_is"]]
    return {
        "claims": len(claims),
        "too_noisy": sum(row["too_noisy"] for row in rows),
        "in_range": sum(row["met"] for row in claims),
        "counted_as_none": sum(row["counted_as_none"] for row in claims),
        "claims_of_first_recordings": sum(row["first_met"] is not None for row in rows),
        "in_range_of_first_recordings": sum(row["first_met"] is True for row in rows),
        "narrow": len(narrow),
        "wrong_sign": sum(row["sign_right"] is False for row in claims),
        "broke_the_program": sum(row["value"] is None for row in claims),
        "findings_without_a_claim": sum(row["rule"] is not None and row["predicted_low"] is None for row in rows),
    }


def unfollowed(taken: Taken) -> list[dict[str, Any]]:
    """Findings that no fix of the table follows."""
    findings = taken.judged.report["findings"] if taken.judged else []
    return [finding for finding in findings if not any(fix.follows(finding) for fix in taken.program.fixes)]


def show(taken: Taken) -> None:
    plain = taken.plain
    recorded = taken.judged
    bound = recorded.report["verdict"]["bound_by"] if recorded else None
    head = (
        f"{statistics.median(plain):10.1f} us a step, {bound}-bound, {len(plain)} rounds" if plain else "not measured"
    )
    head += f", CPU {taken.cpu.pct()} %" if taken.cpu else ""
    print(f"{taken.program.name:20} {head}", flush=True)
    for one in (taken.first, *taken.beside):
        if one and one.step_us:
            said = f"{one.reported_step_us:.1f}" if one.reported_step_us else "none"
            is_judged = "  judged" if one is taken.judged else ""
            print(f"    recorded         {one.step_us:10.1f} us a step, {said} by the report{is_judged}", flush=True)
    for row in rows_of(taken):
        saving = f"{'failed':>10}"
        if row["value"] is not None:
            low, high = row["spread"]
            saving = f"{row['value']:10.1f} us saved ({row['saving_pct']:+.1f} %, {low:.0f} to {high:.0f})"
        claim = "no finding"
        if row["rule"]:
            claim = f"{row['rule']} at {row['site'] or 'the step'}: "
            claim += "gain unknown" if row["predicted_low"] is None else f"{row['baseline_value']:.0f} predicted"
            claim += "  TOO NOISY TO JUDGE" if row["too_noisy"] else "  MISSED" if row["met"] is False else ""
        print(f"    {row['fix']:16} {saving}  {claim}", flush=True)
    for finding in unfollowed(taken):
        print(f"    no fix follows {finding['rule']} at {finding['site']}: {finding['advice'][:100]}", flush=True)
    for problem in taken.problems:
        print(f"    PROBLEM {problem}", flush=True)


def dry_run(names: list[str], device: str, jobs: int) -> list[str]:
    """Runs each program and each of its fixes for a few steps; a sentence for each that failed."""
    cases = [(programs.load(name), fix) for name in names for fix in (None, *programs.load(name).fixes)]

    def one(case: tuple[Program, Fix | None]) -> str | None:
        program, fix = case
        command = [sys.executable, program.path, "--device", device, "--steps", "6", "--warm-up", "2"]
        command += fix.options([]) if fix else []
        name = f"{program.name} {fix.name if fix else PLAIN}"
        environment = os.environ | (fix.environment if fix else {})
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
        said = (done.stderr.strip() or "(it said nothing)").splitlines()[-1]
        problem = f"exit code {done.returncode}: {said}" if done.returncode else None
        if problem is None:
            result = json.loads(done.stdout.splitlines()[-1])
            problem = None if result["steps"] >= 6 and result["step_us"] else f"it measured nothing: {result}"
        print(f"{name:40} {problem or 'ok'}", flush=True)
        return problem and f"{name}: {problem}"

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [problem for problem in pool.map(one, cases) if problem]


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", help=f"default: all of {', '.join(programs.names())}")
    parser.add_argument("--out", default="field-results", help="the folder for results, reports, logs and recordings")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of blocks, one of each variant")
    parser.add_argument("--seconds", type=float, default=10, help="to measure one program; at least five rounds")
    parser.add_argument("--seconds-in-all", type=float, default=480, help="after these no program is begun")
    parser.add_argument("--together", type=int, default=7, help="programs that start at the same time")
    parser.add_argument("--follow-only", action="store_true", help="measure only the fixes that a finding asks for")
    parser.add_argument("--dry-run", action="store_true", help="a few steps of each, no recording")
    parser.add_argument("--jobs", type=int, default=2, help="of --dry-run, at the same time")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: only with --dry-run")
    args = parser.parse_args()
    names = args.programs.split(",") if args.programs else programs.names()
    if unknown := set(names) - set(programs.names()):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(programs.names())}")
    if args.dry_run:
        return 1 if dry_run(names, args.device, args.jobs) else 0
    if args.device == "cpu" or not result_file.gpu_names():
        parser.error("there is no GPU to measure on; to try the programs out: --dry-run --device cpu")
    with tempfile.TemporaryDirectory(prefix="field-", ignore_cleanup_errors=True) as scratch:
        field = Field(args, scratch)
        field.run(names)
    rows = [row for taken in field.taken for row in rows_of(taken)]
    problems = sum(bool(taken.problems) for taken in field.taken)
    print(f"{json.dumps(summary(rows))}; {problems} of {len(names)} programs had problems: {args.out}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
