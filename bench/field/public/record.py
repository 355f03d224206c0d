"""Records all public programs, one after the other, and keeps what their reports say.

    python record.py REPOSITORIES SCRATCH --out FOLDER [--only NAME,NAME] [--seconds-in-all 540]
    python record.py REPOSITORIES SCRATCH --out FOLDER --cpu --scale 0.02 --no-recording --together 1     a try

All data is made first, in parallel. Then some programs start together, each twice: as it is, and under
`turnpike record`. Each takes a few steps and is stopped. When its turn comes, it runs alone: it warms up, and takes
its window of steps (field_steps.py). Reports are made while the next programs start. A program that fails is tried
once more at the end. What was not reached is said.

FOLDER then holds results.json, reports.tar.xz with all that each report says, and recordings-K.tar, which hold
recordings as NAME.tpk.tar.xz. The line that notes the steps moves the lines of its file by one: `line` of a finding is
the line without it, the texts of the report have the line with it.

The variable TURNPIKE names another executable than that of the installed package.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import hook  # noqa: E402
import prepared  # noqa: E402
import turnpike_command  # noqa: E402
from processes import Failed, Running, Window, wait_for  # noqa: E402

PLAIN, RECORDED = "plain", "recorded"
END_S = 20.0  # until `turnpike record` has ended
RESERVE_S = 25.0  # for the last reports and the results
REPORT_S = 90
ARCHIVE_BYTES, ARCHIVES = 15 << 20, 5
FINDING = (
    "id", "rule", "severity", "title", "site", "file", "line", "function", "op", "library_site", "superseded_by",
    "saving_step_ns", "saving_step_low_ns", "saving_step_expected_ns", "saving_step_high_ns", "saving_pct",
    "saving_reason", "evidence",
    "advice", "alternatives", "change",
)  # fmt: skip


def base_of(finding: dict[str, Any]) -> float | None:
    """What a saving is a share of, in ns: the mean step with its pauses, as the report re-timed it."""
    if not finding.get("saving_step_ns") or not finding.get("saving_pct"):
        return None
    return float(100 * finding["saving_step_ns"] / finding["saving_pct"])


@dataclasses.dataclass
class Taken:
    """What is known of one program."""

    program: prepared.Program
    command: str = ""
    windows: dict[str, Window] = dataclasses.field(default_factory=dict)
    said: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    problems: list[str] = dataclasses.field(default_factory=list)
    hook_line: int = 0
    report: dict[str, Any] | None = None
    recording_bytes: int = 0
    archive: bytes = b""
    tried: bool = False

    @property
    def name(self) -> str:
        return str(self.program["name"])

    def as_json(self) -> dict[str, Any]:
        plain, recorded = self.windows.get(PLAIN), self.windows.get(RECORDED)
        row: dict[str, Any] = {
            "ok": not self.problems,
            "problems": self.problems,
            "command": self.command,
            "hook_line": self.hook_line,
            PLAIN: plain.as_json() if plain else None,
            RECORDED: recorded.as_json() if recorded else None,
            "cost_of_recording": round(recorded.mean_us / plain.mean_us, 4) if plain and recorded else None,
            "recording_bytes": self.recording_bytes,
            "archive_bytes": len(self.archive),
        }
        if self.report:
            row |= self.of_report(self.report)
        return row | {"said": self.said}

    def is_of_loop(self, file: str) -> bool:
        """Whether this is the file with the line that notes the steps. It may be named from another folder."""
        one, other = f"/{self.program['step']['file']}", f"/{file}"
        return bool(file) and (one.endswith(other) or other.endswith(one))

    def of_report(self, report: dict[str, Any]) -> dict[str, Any]:
        """The claims, also as shares of the mean step."""
        steps = report["steps"] or {}
        step_ns = steps.get("device_median_ns" if steps.get("is_host_ahead") else "median_ns")
        findings = []
        for finding in report["findings"]:
            kept = {key: finding.get(key) for key in FINDING}
            base_ns = base_of(finding)
            for key in ("low", "expected", "high"):
                saving = finding.get(f"saving_step_{key}_ns")
                kept[f"share_{key}"] = round(saving / base_ns, 4) if saving is not None and base_ns else None
            if (line := finding.get("line")) and self.is_of_loop(finding.get("file") or "") and line > self.hook_line:
                kept["line"] = line - 1
            findings.append(kept)
        of_steps = ("count", "median_ns", "device_median_ns", "is_host_ahead", "source")
        return {
            "report_steps": {key: steps.get(key) for key in of_steps} if steps else None,
            "report_step_ns": step_ns,
            "verdict": {key: one for key, one in report["verdict"].items() if key != "threads"},
            "saving_pct_all": report["saving_pct_all"],
            "losses": report["losses"],
            "versions": report["source"]["versions"],
            "findings": findings,
        }


class Recorder(prepared.TimedRun):
    """One run of record.py."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.scratch = args.scratch.resolve()
        self.taken = {program["name"]: Taken(program) for program in prepared.chosen(args)}
        self.pool = concurrent.futures.ThreadPoolExecutor(8)
        self.jobs: list[concurrent.futures.Future[None]] = []
        self.lagging: dict[str, tuple[prepared.Copy, Running]] = {}  # not ready yet, and stopped
        self.ending: dict[Running, Taken] = {}
        self.link_problem = ""

    def run(self) -> None:
        programs = [one.program for one in self.taken.values()]
        large = [program for program in programs if program["name"] in prepared.SLOW_S]
        # Large data is made while the first group starts.
        self.jobs.append(self.pool.submit(self.make_data, large))
        self.make_data([program for program in programs if program not in large])
        self.say(f"most data is made; {self.left():.0f} s are left")
        if not self.args.no_recording:
            self.measure_link()
        for group in prepared.groups(programs, self.args.together):
            self.take(group)
        if self.lagging:
            self.take([])
        again = [program for program in programs if self.taken[program["name"]].tried]
        again = [program for program in again if self.taken[program["name"]].problems]
        for group in prepared.groups(again, min(3, self.args.together)):
            for program in group:
                one = self.taken[program["name"]]
                one.tried = False  # it is not tried a third time
                one.problems, one.said["first try"] = [], [*one.problems, *sum(one.said.values(), [])[-10:]]
            self.take(group)
            if self.lagging:
                self.take([])
        self.finish_jobs()
        self.write(archives=True)

    def make_data(self, programs: list[prepared.Program]) -> None:
        failed = prepared.make_sets(programs, self.args)
        for program in programs:
            missing = [failed[link["set"]] for link in program.get("data", []) if link["set"] in failed]
            self.taken[program["name"]].problems += missing

    def measure_link(self) -> None:
        """So that reports know the link's rate."""
        try:
            turnpike_command.turnpike_text("bench", "link", environment=self.report_environment())
        except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
            self.link_problem = str(error)
        self.say(f"the link: {self.link_problem or 'measured'}")

    def report_environment(self) -> dict[str, str]:
        return os.environ | {"XDG_CACHE_HOME": str(self.scratch / "link")}

    def variants(self) -> tuple[str, ...]:
        return (PLAIN,) if self.args.no_recording else (PLAIN, RECORDED)

    def take(self, group: list[prepared.Program]) -> None:
        """Starts a group, and lets it and what lagged behind before take their turns."""
        needed = self.turn_s * len(self.variants()) + RESERVE_S
        if self.left() < needed + 10:
            for program in group:
                self.taken[program["name"]].problems.append("not reached: the time was over")
            for name, (one, running) in self.lagging.items():
                self.give_up(one, running, f"not ready before the time was over: {name}")
            self.lagging = {}
            return
        if any(program["name"] in prepared.SLOW_S for program in group):
            self.finish_jobs()  # their data
        group = [program for program in group if not self.taken[program["name"]].problems]
        names = [program["name"] for program in group]
        self.say(f"start {', '.join(names)}; go on with {', '.join(self.lagging) or 'nothing'}")
        copies = {name: one for name, (one, _) in self.lagging.items()}
        started = {name: running for name, (_, running) in self.lagging.items()}
        self.lagging = {}
        for running in started.values():
            running.resume()
        try:
            for program in group:
                self.start(self.taken[program["name"]], started, copies)
            may_lag = {name for name, one in copies.items() if one.program["name"] in prepared.SLOW_S}
            if may_lag >= set(started):
                may_lag = set()
            programs = [one.program for name, one in copies.items() if name not in may_lag]
            seconds = min(prepared.start_seconds(programs, self.args), self.left() - needed)
            for name, why in wait_for(started, seconds, may_lag).items():
                self.give_up(copies[name], started.pop(name), why)
            for name in [name for name in started if not started[name].is_ready_now()]:
                self.lagging[name] = copies.pop(name), started.pop(name)
            self.finish_jobs()
            self.say(f"ready: {len(started)}, not yet: {len(self.lagging)}")
            for name, running in started.items():
                self.take_turn(copies[name], running)
        finally:
            for running in started.values():
                if running not in self.ending:
                    running.end()
        self.finish_ends()
        for one in copies.values():
            prepared.remove(one)
        self.write()

    def start(self, taken: Taken, started: dict[str, Running], copies: dict[str, prepared.Copy]) -> None:
        taken.tried = True
        for variant in self.variants():
            try:
                one = prepared.copy(taken.program, variant, self.args)
            except (hook.CannotChange, SystemExit, OSError, SyntaxError) as error:
                taken.problems.append(f"{variant}: not prepared: {error}")
                continue
            copies[one.name] = one
            taken.command, taken.hook_line = one.command, one.hook_line
            self.port += 1
            environment = prepared.environment(one, self.args, self.port)
            command = list(one.words)
            if variant == RECORDED:
                run = self.recording(taken)
                run.parent.mkdir(parents=True, exist_ok=True)
                shutil.rmtree(run, ignore_errors=True)
                most = f"{3 * self.args.recording_mib} MB"
                recorder = [turnpike_command.executable(), "record", "--quiet", "--no-link", "--max-size", most]
                command = [*recorder, "-o", str(run), "--", *command]
                environment["FIELD_RECORDING"] = str(run)
                environment["FIELD_RECORDING_BYTES"] = str(self.args.recording_mib << 20)
            try:
                started[one.name] = Running(command, one.folder, environment, self.scratch / "state" / one.name)
            except OSError as error:
                taken.problems.append(f"{variant}: not started: {error}")

    def recording(self, taken: Taken) -> Path:
        return self.scratch / "recordings" / f"{taken.name}.tpk"

    def take_turn(self, one: prepared.Copy, running: Running) -> None:
        taken = self.taken[one.program["name"]]
        variant = one.name.rsplit("-", 1)[1]
        if self.left() < self.turn_s + RESERVE_S:
            self.give_up(one, running, "not reached: the time was over")
            return
        try:
            window = running.take_turn(patience=self.args.patience)
        except Failed as error:
            self.give_up(one, running, str(error))
            return
        taken.windows[variant] = window
        self.say(f"{one.name}: {window}")
        if variant == RECORDED:
            self.ending[running] = taken  # while the next one warms up
            return
        running.end()
        taken.said[variant] = running.last_lines()

    def finish_ends(self) -> None:
        """Waits until the recordings are complete. Their reports are made while the next group starts."""
        for running, taken in self.ending.items():
            if not running.wait(END_S):
                taken.problems.append(f"{RECORDED}: it did not end within {END_S:.0f} s after its window")
            running.end()
            taken.said[RECORDED] = running.last_lines()
            self.jobs.append(self.pool.submit(self.report, taken))
        self.ending = {}

    def give_up(self, one: prepared.Copy, running: Running, why: str) -> None:
        running.end()
        taken = self.taken[one.program["name"]]
        variant = one.name.rsplit("-", 1)[1]
        taken.problems.append(f"{variant}: {why}")
        taken.said[variant] = running.last_lines()
        self.say(f"{one.name}: {why}")

    def report(self, taken: Taken) -> None:
        """Makes the report and the archive of a recording."""
        run = self.recording(taken)
        try:
            taken.recording_bytes = sum(entry.stat().st_size for entry in os.scandir(run))
            command = [turnpike_command.executable(), "report", "--json", str(run)]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=REPORT_S, env=self.report_environment()
            )
            if done.returncode:
                raise RuntimeError(f"turnpike report: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
            taken.report = json.loads(done.stdout)
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w:xz", preset=4) as archive:
                archive.add(run, arcname=run.name)
            taken.archive = packed.getvalue()
        except (OSError, RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            taken.problems.append(f"report: {error}")

    def finish_jobs(self) -> None:
        for job in self.jobs:
            job.result()
        self.jobs = []

    def write(self, *, archives: bool = False) -> None:
        results = {
            "link_problem": self.link_problem,
            "recordings_left_out": self.archives() if archives else [],
            "programs": {name: one.as_json() for name, one in self.taken.items()},
        }
        self.write_results("results.json", results)

    def archives(self) -> list[str]:
        """Writes the reports and the recordings. The names of those for which there was no room."""
        with tarfile.open(self.args.out / "reports.tar.xz", "w:xz", preset=2) as archive:
            for name, one in self.taken.items():
                if one.report:
                    data = json.dumps(one.report).encode()
                    entry = tarfile.TarInfo(f"{name}.json")
                    entry.size = len(data)
                    archive.addfile(entry, io.BytesIO(data))
        filled: list[list[Taken]] = [[] for _ in range(ARCHIVES)]
        left_out = []
        for one in sorted(self.taken.values(), key=lambda one: len(one.archive)):
            if not one.archive:
                continue
            sizes = [sum(len(other.archive) + 2048 for other in files) for files in filled]
            fits = [number for number, size in enumerate(sizes) if size + len(one.archive) + 20480 <= ARCHIVE_BYTES]
            if fits:
                filled[fits[0]].append(one)
            else:
                left_out.append(one.name)
        for number, files in enumerate(filled, 1):
            if files:
                with tarfile.open(self.args.out / f"recordings-{number}.tar", "w") as archive:
                    for one in files:
                        entry = tarfile.TarInfo(f"{one.name}.tpk.tar.xz")
                        entry.size = len(one.archive)
                        archive.addfile(entry, io.BytesIO(one.archive))
        return left_out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    prepared.options(parser)
    parser.add_argument("--no-recording", action="store_true", help="only time the steps")
    parser.add_argument("--recording-mib", type=int, default=18, help="a window ends when the recording is that large")
    args = parser.parse_args()
    recorder = Recorder(args)
    recorder.run()
    good = [name for name, one in recorder.taken.items() if not one.problems]
    for name, one in recorder.taken.items():
        if one.problems:
            recorder.say(f"{name}: {'; '.join(one.problems)[:400]}")
    recorder.say(f"{len(good)} of {len(recorder.taken)} programs: {args.out / 'results.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
