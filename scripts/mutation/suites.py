"""The tests: which of them reach a mutant, and whether they notice it."""

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from .outcome import OUT_OF_TIME
from .tree import say

# A test that takes three times as long as with the original, and these seconds more, is stopped. Whether the mutant or
# the machine made it slow is found out later, with nothing else of the run at work: see try_alone.
TIMES, MORE_SECONDS = 3, 10
REACH_SECONDS = 1800
FILTER_LIMIT = 100_000  # bytes of one argument; the kernel takes 128 KiB


@dataclasses.dataclass
class Case:
    suite: "Suite"
    name: str
    seconds: float
    reached: set


@dataclasses.dataclass
class Ended:
    is_noticed: bool
    by: str = ""
    case: str = ""  # the test that failed, as far as its name is known

    @property
    def is_out_of_time(self):
        return self.by.endswith(OUT_OF_TIME)


class Running:
    """The tests that run now, each in a process group of its own, so that none of their children outlives them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.children = set()
        self.is_over = False

    def start(self, command, **options):
        with self.lock:
            if self.is_over:
                raise InterruptedError("the run is over")
            child = subprocess.Popen(command, start_new_session=True, **options)
            self.children.add(child)
        return child

    def end(self, child):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        with self.lock:
            self.children.discard(child)

    def end_all(self):
        """For good: nothing starts after it."""
        with self.lock:
            self.is_over = True
            for child in self.children:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)


running = Running()


class Suite:
    """Tests that one command runs."""

    name = ""
    start_seconds = 0.0

    def parts(self, count):
        """What is measured at once: up to `count` parts of it, whose cases are those of the whole."""
        return [self]

    def measure(self, folder):
        """Runs all of it with the original: its cases, with their times and what they reach, less those that fail."""
        raise NotImplementedError

    def command(self, names, folder):
        raise NotImplementedError

    def failed_case(self, output):
        return ""

    def run(self, command, environment, seconds, folder):
        """Ends with the exit code, None when the time is over, and the output. Leaves no process behind."""
        scratch = folder / "tmp"
        scratch.mkdir()
        own = {
            **os.environ,
            **self.environment(),
            **environment,
            "TMPDIR": str(scratch),
            "XDG_CACHE_HOME": str(scratch / "cache"),
        }
        own.pop("GTEST_FILTER", None)
        with open(folder / "output", "wb") as output:
            child = running.start(
                [str(word) for word in command], cwd=self.directory(), env=own, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                code = child.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            running.end(child)
        return code, (folder / "output").read_text(errors="replace")

    def environment(self):
        return {}

    def directory(self):
        return None

    def usual_seconds(self, cases):
        return sum(case.seconds for case in cases) + self.start_seconds

    def try_mutant(self, number, cases, usual=None):
        """Runs `cases` with one mutant. `usual`: the seconds that the original takes, if not those measured."""
        usual = self.usual_seconds(cases) if usual is None else usual
        with scratch_folder() as folder:
            command = self.command([case.name for case in cases], folder)
            code, output = self.run(command, {"MUTANT": str(number)}, TIMES * usual + MORE_SECONDS, folder)
        if code == 0:
            return Ended(False)
        if code is None:
            return Ended(True, f"{self.name}: {OUT_OF_TIME}")
        case = self.failed_case(output)
        return Ended(True, f"{self.name}: {case or f'exit code {code}'}", case)

    def time_original(self, cases):
        """The seconds that `cases` take now; None if they fail."""
        with scratch_folder() as folder:
            started = time.monotonic()
            command = self.command([case.name for case in cases], folder)
            code, _ = self.run(command, {"MUTANT": ""}, REACH_SECONDS, folder)
        return time.monotonic() - started if code == 0 else None


@contextlib.contextmanager
def scratch_folder():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mutate-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def numbers_in(path):
    return {int(line) for line in path.read_text().split()} if path.is_file() else set()


class GoogleTest(Suite):
    def __init__(self, path):
        self.path = path
        self.name = path.name

    def directory(self):
        return self.path.parent

    def measure(self, folder):
        report = folder / "report.json"
        prefix = folder / "reached."
        command = [self.path, f"--gtest_output=json:{report}"]
        code, output = self.run(command, {"MUTANT": "reach", "MUTANT_REACHED": str(prefix)}, REACH_SECONDS, folder)
        if not report.exists():
            raise SystemExit(f"mutate: {self.name} does not run to its end: exit code {code}\n{output[-2000:]}")
        outside = numbers_in(prefix)
        cases = []
        for group in json.loads(report.read_text())["testsuites"]:
            shared = numbers_in(folder / f"reached.suite:{group['name'].replace('/', '%')}") | outside
            for test in group["testsuite"]:
                name = f"{group['name']}.{test['name']}"
                if test.get("failures"):
                    say(f"{name} of {self.name} fails with the original: it is left out")
                elif test["result"] == "COMPLETED":
                    reached = numbers_in(folder / f"reached.{name.replace('/', '%')}")
                    cases.append(Case(self, name, float(test["time"].rstrip("s")), reached | shared))
        return cases

    def command(self, names, folder):
        pattern = ":".join(names)
        chosen = [f"--gtest_filter={pattern}"] if len(pattern) < FILTER_LIMIT else []
        return [self.path, *chosen, "--gtest_fail_fast", "--gtest_brief=1"]

    def failed_case(self, output):
        found = re.search(r"^\[  FAILED  \] (\S+)", output, re.MULTILINE)
        return found.group(1).rstrip(",") if found else ""


class CTest(Suite):
    """A test that is no GoogleTest: a script or a program of its own, with a folder of its own in the build."""

    one_at_a_time = threading.Lock()

    def __init__(self, build, name):
        self.build, self.name = build, name

    def measure(self, folder):
        started = time.monotonic()
        reached = folder / "reached"
        code, _ = self.run(
            self.command([], folder), {"MUTANT": "reach", "MUTANT_REACHED": str(reached)}, REACH_SECONDS, folder
        )
        if code != 0:
            say(f"{self.name} fails with the original: it is left out")
            return []
        return [Case(self, self.name, time.monotonic() - started, numbers_in(reached))]

    def run(self, *arguments):
        with self.one_at_a_time:
            return super().run(*arguments)

    def command(self, names, folder):
        return ["ctest", "--test-dir", self.build, "--no-tests=error", "-R", f"^{re.escape(self.name)}$"]


class Pytest(Suite):
    """The tests of one folder of Python, in one process: importing PyTorch takes longer than most of them."""

    def __init__(self, tree, folder, files, whole=None):
        self.tree, self.name, self.files, self.whole = tree, folder, files, whole or self

    def parts(self, count):
        split = [self.files[first::count] for first in range(min(count, len(self.files)))]
        return [Pytest(self.tree, self.name, files, self) for files in split]

    def directory(self):
        return self.tree.folder

    def environment(self):
        path = [str(self.tree.folder / "python"), str(self.tree.folder / "plugin")]
        is_built = (self.tree.build / "src" / "cli" / "turnpike").exists()
        return {
            **({"TURNPIKE_BUILD": str(self.tree.build)} if is_built else {}),
            "PYTHONPATH": os.pathsep.join(path),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def pytest(self, folder, *arguments):
        common = ["-q", "-p", "no:cacheprovider", f"--basetemp={folder / 'pytest'}"]
        return [self.tree.python, "-m", "pytest", *common, *arguments]

    def measure(self, folder):
        reached = folder / "reached"
        reached.mkdir()
        started = time.monotonic()
        command = self.pytest(folder, "-p", "pytest_reached", *self.files)
        code, output = self.run(command, {"MUTANT": "reach", "MUTANT_REACHED": str(reached)}, REACH_SECONDS, folder)
        if code not in (0, 1, 5) or not (reached / "tests.json").exists():
            say(f"{self.name} cannot be run by {self.tree.python}: its tests are left out\n{output[-2000:]}")
            return []
        tests = json.loads((reached / "tests.json").read_text())
        start_seconds = time.monotonic() - started - sum(test["seconds"] for test in tests.values())
        self.whole.start_seconds = max(self.whole.start_seconds, start_seconds)
        cases = []
        outside = numbers_in(reached / "outside")
        for name, test in tests.items():
            if test["outcome"] == "failed":
                say(f"{name} fails with the original: it is left out")
            elif test["outcome"] == "passed":
                numbers = outside.union(*(numbers_in(reached / file) for file in test["files"]))
                cases.append(Case(self.whole, name, test["seconds"], numbers))
        return cases

    def command(self, names, folder):
        listed = folder / "names"
        listed.write_text("\n".join(names))
        return self.pytest(folder, "-x", f"@{listed}")

    def failed_case(self, output):
        found = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
        return found.group(1) if found else ""


def all_of(tree, wanted, with_cpp):
    """Every suite; with `wanted`, those whose name contains one of these words."""
    suites = [*cpp_suites(tree)] if with_cpp else []
    suites = [suite for suite in suites if not wanted or any(word in suite.name for word in wanted)]
    # tests/cli and tests/golden run the built command and no Python of ours, tests/gpu needs a GPU.
    other = {"gpu"} if with_cpp else {"gpu", "cli", "golden"}
    by_folder = {}
    for path in sorted((tree.folder / "tests").rglob("test_*.py")):
        name = str(path.relative_to(tree.folder))
        folder = "/".join(name.split("/")[:2])
        if folder.removeprefix("tests/") not in other and (not wanted or any(word in name for word in wanted)):
            by_folder.setdefault(folder, []).append(name)
    return suites + [Pytest(tree, folder, files) for folder, files in by_folder.items()]


def cpp_suites(tree):
    listed = subprocess.run(
        ["ctest", "--test-dir", tree.build, "--show-only=json-v1"], capture_output=True, text=True, check=True
    )
    suites, programs = [], set()
    for test in json.loads(listed.stdout)["tests"]:
        command = test.get("command", [])
        if any(word.startswith("--gtest_filter=") for word in command):
            programs.add(pathlib.Path(command[0]))
        elif not test["name"].endswith("_NOT_BUILT"):
            suites.append(CTest(tree.build, test["name"]))
    return suites + [GoogleTest(path) for path in sorted(programs)]


def measure(suite):
    with scratch_folder() as folder:
        return suite.measure(folder)


# How many seconds of tests run before it is asked whether one has failed.
STAGES = (1, 5, 30)


def batches(cases):
    """The cases in the order in which they are tried: quick ones first, those of one suite together."""
    by_suite = {}
    for case in sorted(cases, key=lambda case: case.seconds):
        by_suite.setdefault(case.suite, []).append(case)
    made = []
    for suite, own in by_suite.items():
        stages = [[] for _ in range(len(STAGES) + 1)]
        total = 0.0
        for case in own:
            total += case.seconds
            stages[sum(total > limit for limit in STAGES)].append(case)
        made += [(suite, stage) for stage in stages if stage]
    is_python = lambda batch: isinstance(batch[0], Pytest)  # noqa: E731
    return sorted(
        made, key=lambda batch: (is_python(batch), sum(case.seconds for case in batch[1]) + batch[0].start_seconds)
    )


def try_mutant(number, cases, is_alone=False):
    for suite, batch in batches(cases):
        ended = try_batch(suite, number, batch, is_alone)
        if ended.is_noticed:
            return ended
    return Ended(False)


def try_batch(suite, number, cases, is_alone=False):
    """As suite.try_mutant, but a test must fail twice: one that a busy machine makes fail has noticed nothing."""
    left = list(cases)
    while left:
        ended = try_alone(suite, number, left) if is_alone else suite.try_mutant(number, left)
        failed = [case for case in left if ended.case and case.name.startswith(ended.case)]
        if not failed or suite.try_mutant(number, failed).is_noticed:
            return ended
        say(f"{ended.by} fails once and passes then, with the same mutant: it does not count")
        left = [case for case in left if case not in failed]
    return Ended(False)


def try_alone(suite, number, cases):
    """As suite.try_mutant, but a slow machine is no reason: it says "out of time" only if the original takes no longer,
    right after, than the limit is made for."""
    usual = suite.usual_seconds(cases)
    while True:
        ended = suite.try_mutant(number, cases, usual)
        if not ended.is_out_of_time:
            return ended
        now = suite.time_original(cases)
        if now is None:
            say(f"{suite.name} fails with the original: what it says of a mutant does not count")
            return Ended(False)
        if now <= usual:
            return ended
        say(f"{suite.name} takes {now:.1f} s with the original, not {usual:.1f} s: it is tried again")
        usual = now


def in_parallel(function, items, jobs):
    """Pairs of an item and function(item), as they are done. When it is left early, so are the tests that run."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        work = {pool.submit(function, item): item for item in items}
        try:
            for future in concurrent.futures.as_completed(work):
                yield work[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            running.end_all()
            raise
