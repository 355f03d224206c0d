"""scripts/mutate: it finds the mistakes it should, builds them in beside the original, and counts what came of them."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if sys.version_info < (3, 11):
    pytest.skip("scripts/mutate needs Python 3.11", allow_module_level=True)
sys.path.insert(0, str(ROOT / "scripts"))
from mutation import choose, command, cpp, outcome, python, result, suites, tree  # noqa: E402
from mutation.mutant import Mutant, named, with_all  # noqa: E402

SWITCHES = ROOT / "scripts" / "mutation"


def described(mutants):
    return {(mutant.line, mutant.operator, mutant.mutated) for mutant in mutants}


# Python

PYTHON = '''"""A docstring."""

from __future__ import annotations

LIMIT = 10


def small(numbers: list[int], limit: int = LIMIT) -> int | None:
    """Another: 1 < 2."""
    total = 0
    for number in numbers:
        if number < 0 or number is None:
            continue
        total += number
    if not numbers:
        return None
    return min(total, limit)
'''


def python_mutants(folder, text=PYTHON):
    (folder / "small.py").write_text(text)
    return python.mutants(folder, "small.py")


def test_python_has_the_mistakes_of_its_operators(tmp_path):
    found = described(python_mutants(tmp_path))
    assert found == {
        (5, "number + 1", "11"),
        (10, "number + 1", "1"),
        (12, "condition negated", "(not (number < 0 or number is None))"),
        (12, "or to and", "number < 0 and number is None"),
        (12, "< to <=", "number <= 0"),
        (12, "< to >=", "number >= 0"),
        (12, "number + 1", "1"),
        (12, "is to is not", "number is not None"),
        (13, "continue to break", "break"),
        (14, "+= to -=", "total -= number"),
        (15, "not dropped", "bool(numbers)"),
        (17, "None returned", "None"),
        (17, "min to max", "max(total, limit)"),
    }


def test_a_python_mutant_is_real_when_the_environment_names_it(tmp_path):
    numbered = list(enumerate(python_mutants(tmp_path), 1))
    (tmp_path / "small.py").write_bytes(python.file_with(PYTHON.encode(), numbered, "small.py"))
    shutil.copy(SWITCHES / "turnpike_mutant.py", tmp_path)

    def printed(number):
        program = "from small import small; print(small([3, -1, 4]), small([8, 5]), small([]), small([0]))"
        variables = {**os.environ, "PYTHONPATH": str(tmp_path), "MUTANT": str(number), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True).stdout

    assert printed("") == printed(0) == "7 10 None 0\n"
    by_operator = {mutant.operator: printed(number) for number, mutant in numbered if mutant.operator != "number + 1"}
    assert by_operator["< to <="] == "7 10 None 0\n"  # only an equivalent mistake prints the same
    assert by_operator["continue to break"] == "3 10 None 0\n"
    assert by_operator["+= to -="] == "-7 -13 None 0\n"
    assert by_operator["min to max"] == "10 13 None 10\n"
    assert by_operator["not dropped"] == "None None 0 None\n"


def test_a_python_program_tells_which_mutants_it_came_upon(tmp_path):
    numbered = list(enumerate(python_mutants(tmp_path), 1))
    (tmp_path / "small.py").write_bytes(python.file_with(PYTHON.encode(), numbered, "small.py"))
    shutil.copy(SWITCHES / "turnpike_mutant.py", tmp_path)
    reached = tmp_path / "reached"
    variables = {**os.environ, "PYTHONPATH": str(tmp_path), "MUTANT": "reach", "MUTANT_REACHED": str(reached)}
    subprocess.run([sys.executable, "-c", "import small; small.small([])"], env=variables, check=True)
    lines = {mutant.line for number, mutant in numbered if number in suites.numbers_in(reached)}
    assert lines == {5, 10, 15}


def test_all_of_the_package_can_be_mutated():
    for path in sorted((ROOT / "python" / "turnpike").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        numbered = list(enumerate(python.mutants(ROOT, name), 1))
        compile(python.file_with(path.read_bytes(), numbered, name), name, "exec")


# C++

CPP = """// A source.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <string>

constexpr int kLimit = 3;
static_assert(kLimit < 4);
enum { kOne = 1 };

constexpr int by_compiler(int x) { return x + 2; }
static int counted = 0;

bool is_small(int value) { return value < kLimit && value != -1; }

int clipped(int value) {
  std::array<int, 5> room{};
  int taken[4] = {};
  room[0] = taken[2];
  assert(value < 100);
  if (is_small(value)) {
    ++counted;
    return value;
  }
  switch (value) {
    case 7: return 70;
    default: break;
  }
  const std::string text = std::string("a") + "b";
  return std::min(value, 10) * static_cast<int>(text.size());
}

int main() {
  std::printf("%d %d %d %d ", clipped(-1), clipped(2), clipped(7), clipped(50));
  std::printf("%d\\n", counted);
  return by_compiler(-2);
}
"""


@pytest.fixture
def clang():
    try:
        return choose.clang()
    except choose.NoClang as missing:
        pytest.skip(str(missing))


@pytest.fixture
def cpp_mutants(clang, tmp_path):
    (tmp_path / "small.cpp").write_text(CPP)
    try:
        arguments = ["-std=gnu++20", "-isystem", str(choose.resources(ROOT)), "-w"]
    except choose.NoClang as missing:
        pytest.skip(str(missing))
    return cpp.mutants(clang, tmp_path, "small.cpp", arguments)


def test_cpp_has_the_mistakes_of_its_operators(cpp_mutants):
    by_line = collections.defaultdict(set)
    for line, operator, mutated in described(cpp_mutants):
        by_line[line].add((operator, mutated))
    assert by_line[15] == {
        ("< to <=", "value <= kLimit"),
        ("< to >=", "value >= kLimit"),
        ("!= to ==", "value == -1"),
        ("&& to ||", "value < kLimit || value != -1"),
        ("condition negated", "!(value < kLimit && value != -1)"),
        ("minus dropped", "+1"),
        ("number + 1", "2"),
    }
    assert by_line[22] == {("condition negated", "!(is_small(value))")}
    assert by_line[23] == {("++ to --", "--counted"), ("statement left out", "")}
    assert ("std::min to std::max", "std::max(value, 10)") in by_line[31]


def test_cpp_leaves_alone_what_only_the_compiler_reads(cpp_mutants):
    left_alone = {8, 9, 10, 18, 19, 21, 30}  # constants, sizes, an assert, strings that are joined
    assert left_alone.isdisjoint(mutant.line for mutant in cpp_mutants)
    assert {mutant.mutated for mutant in cpp_mutants if mutant.line == 27} == {"71"}  # 70, and not the label
    assert {mutant.is_constant for mutant in cpp_mutants if mutant.line == 12} == {True}


@pytest.fixture
def program(cpp_mutants, tmp_path):
    """The program with all its mutants, and what it prints with one."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    numbered = list(enumerate(cpp_mutants, 1))
    (tmp_path / "small.cpp").write_bytes(cpp.file_with(CPP.encode(), numbered, "small.cpp"))
    built = tmp_path / "small"
    command = [compiler, "-std=c++20", "-w", f"-I{SWITCHES}", "-o", str(built), str(tmp_path / "small.cpp")]
    subprocess.run(command, check=True)

    def printed(number, **variables):
        chosen = {**os.environ, "MUTANT": str(number), **variables}
        return subprocess.run([built], env=chosen, capture_output=True, text=True, timeout=60).stdout

    return numbered, printed


def test_a_cpp_mutant_is_real_when_the_environment_names_it(program):
    numbered, printed = program
    assert printed("") == printed(0) == "-2 2 70 20 1\n"

    def of(line, operator):
        (number,) = {number for number, mutant in numbered if (mutant.line, mutant.operator) == (line, operator)}
        return printed(number)

    assert of(15, "!= to ==") == "-1 4 70 20 1\n"
    assert of(22, "condition negated") == "-1 4 7 50 3\n"
    assert of(23, "statement left out") == "-2 2 70 20 0\n"
    assert of(31, "std::min to std::max") == "20 2 70 100 1\n"


def test_a_cpp_program_tells_which_mutants_it_came_upon(program, tmp_path):
    numbered, printed = program
    reached = tmp_path / "reached"
    assert printed("reach", MUTANT_REACHED=str(reached)) == "-2 2 70 20 1\n"
    numbers = suites.numbers_in(reached)
    assert {mutant.line for number, mutant in numbered if number in numbers} >= {15, 22, 23, 27, 31}
    assert len(reached.read_text().split()) == len(numbers)  # each once


SWITCH = """#include <turnpike_mutant.h>
#include <cstdlib>
bool is_mutated() { return turnpike_mutant_is(5); }
int main(int count, char** values) {
  if (count == 2) {
    setenv("MUTANT_CHANGES_IN", std::to_string(getpid()).c_str(), 1);
  }
  is_mutated();
  is_mutated();
  if (count == 2) {
    setenv("MUTANT_REACHED", values[1], 1);
  } else {
    turnpike_mutant_switch::begin(values[2]);
  }
  is_mutated();
  is_mutated();
}
"""


@pytest.mark.parametrize("is_told_by_the_environment", [True, False])
def test_each_test_of_a_process_has_a_file_of_its_own(tmp_path, is_told_by_the_environment):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    (tmp_path / "switch.cpp").write_text("#include <string>\n" + SWITCH)
    command = [compiler, "-std=c++20", f"-I{SWITCHES}", "-o", tmp_path / "switch", tmp_path / "switch.cpp"]
    subprocess.run(command, check=True)
    first, second = tmp_path / "first", tmp_path / "second"
    arguments = [second] if is_told_by_the_environment else ["", second]
    variables = {**os.environ, "MUTANT": "reach", "MUTANT_REACHED": str(first)}
    subprocess.run([tmp_path / "switch", *arguments], env=variables, check=True)
    assert first.read_text() == second.read_text() == "5\n"


# Names, changed lines, the build's errors


def test_a_name_lasts_while_the_text_of_the_line_and_the_name_of_the_file_do():
    def names(text, path="src/analyze/x.cpp"):
        start = text.index(b"a < b")
        line = text.count(b"\n", 0, start) + 1
        twice = text.index(b"a < b", start + 1)
        made = [
            Mutant(path, line, start, start + 5, "< to <=", "a < b", "a <= b"),
            Mutant(path, text.count(b"\n", 0, twice) + 1, twice, twice + 5, "< to <=", "a < b", "a <= b"),
        ]
        return [mutant.name for mutant in named(made, text)]

    first, second = names(b"if (a < b) x();\nif (a < b) x();\n")
    assert first != second
    assert names(b"// Lines above change nothing.\n\n  if (a < b) x();\n\nif (a < b) x();\n") == [first, second]
    assert first not in names(b"if (a < b) y();\nif (a < b) y();\n")
    text = b"if (a < b) x();\nif (a < b) x();\n"
    assert names(text, "src/analyze/graph/x.cpp") == [first, second], "the file may move within its folder"
    for other in ("src/report/x.cpp", "src/analyze/y.cpp", "python/turnpike/x.cpp"):
        assert not {first, second} & set(names(text, other))


def test_mutants_stand_inside_of_each_other():
    outer = Mutant("x", 1, 0, 9, "", "a < 1 + b", "OUTER")
    inner = Mutant("x", 1, 4, 5, "", "1", "INNER")
    text = with_all(
        b"a < 1 + b;", [(1, outer), (2, inner)], lambda pairs, original: b"<%d:%s>" % (pairs[0][0], original)
    )
    assert text == b"<1:a < <2:1> + b>;"


@pytest.fixture
def repository(tmp_path):
    def git(*arguments):
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *author, "-C", tmp_path, *arguments], check=True, capture_output=True)

    git("init", "-b", "main")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.cpp").write_text("one\ntwo\nthree\n")
    git("add", "-A")
    git("commit", "-m", "first")
    return tmp_path, git


def test_changed_lines_are_those_of_the_branch_and_those_not_committed(repository):
    root, git = repository
    git("checkout", "-b", "work")
    (root / "src" / "a.cpp").write_text("one\nTWO\nthree\n")
    git("commit", "-am", "second")
    (root / "src" / "a.cpp").write_text("one\nTWO\nthree\nfour\n")
    (root / "src" / "b.cpp").write_text("new\n")
    changed = choose.changed_lines(root, choose.base(root))
    assert changed["src/a.cpp"] == {2, 4}
    assert 1 in changed["src/b.cpp"]


def test_on_main_the_last_commit_counts(repository):
    root, git = repository
    (root / "src" / "a.cpp").write_text("one\ntwo\nTHREE\n")
    git("commit", "-am", "second")
    assert choose.changed_lines(root, choose.base(root)) == {"src/a.cpp": {3}}


def test_the_mutants_of_the_lines_in_the_compilers_errors_are_dropped(tmp_path):
    made = tree.Tree(ROOT, tmp_path / "tree", sys.executable, 1)
    numbered = [
        (number, Mutant("src/a.cpp", line, 0, 1, "", original, ""))
        for number, line, original in ((1, 3, "x"), (2, 4, "y\nz"), (3, 9, "x"))
    ]
    output = "[1/2] Building\nFAILED: a.o\ncommand\n../../src/a.cpp:5:7: error: no\n  5 | z\n"
    assert made.rejected(output, numbered) == {2}
    output = "FAILED: a.o\n/usr/include/x.h:5:7: error: no\n../../src/a.cpp:9:7:   required from here\n"
    assert made.rejected(output, numbered) == {3}
    assert made.rejected("FAILED: a\nld: undefined reference\n", numbered) == set()


def test_every_test_program_gets_the_listener():
    text = tree.with_listener((ROOT / "tests" / "CMakeLists.txt").read_bytes()).decode()
    assert "$<TARGET_OBJECTS:mutation_listener>)" in text
    with pytest.raises(SystemExit, match="in a way that"):
        tree.with_listener(b"add_executable(other)")


# What came of it


def mutant(name, path="src/analyze/a.cpp"):
    return Mutant(path, 1, 0, 1, "< to <=", "a < b", "a <= b", name=name)


def test_the_score_counts_neither_dropped_nor_equivalent_mutants(tmp_path):
    outcomes = [
        outcome.Outcome(mutant("1"), outcome.KILLED),
        outcome.Outcome(mutant("2"), outcome.SURVIVED, tests=("a", "b", "c")),
        outcome.Outcome(mutant("3"), outcome.SURVIVED, tests=("a", "b", "c")),
        outcome.Outcome(mutant("4"), outcome.NOT_REACHED),
        outcome.Outcome(mutant("5"), outcome.DROPPED),
    ]
    reasons = tmp_path / "left.toml"
    reasons.write_text(
        '[[mutant]]\nname = "3"\nreason = "the same either way"\nequivalent = true\n'
        '[[mutant]]\nname = "4"\nreason = "needs a full disk"\n'
    )
    outcome.with_reasons(outcomes, outcome.reasons(reasons))
    row = outcome.rows(outcomes)["src/analyze"]
    assert (row.of, row.equivalent) == (3, 1)
    assert row.score == pytest.approx(100 / 3)
    listed = outcome.survivors(outcomes)
    assert re.search(r"\[2\]\n.*\n    3 tests reach it, none fails", listed)
    assert "equivalent: the same either way" in listed and "left: needs a full disk" in listed


def test_the_figures_of_several_runs_are_of_each_mutant_once(tmp_path):
    """A later run, of survivors for which there are tests now, says what became of them."""

    def run(seed, **states):
        names = {
            "path": "src/analyze/a.cpp",
            "line": 1,
            "operator": "< to <=",
            "original": "a < b",
            "mutated": "a <= b",
        }
        mutants = [{**names, "name": name, "state": state, "by": ""} for name, state in states.items()]
        file = tmp_path / f"{seed}.json"
        about = {"command": f"scripts/mutate --seed {seed}", "commit": "abc", "date": "2026-11-22"}
        file.write_text(json.dumps({**about, "mutants": mutants}))
        return file

    runs = [
        run(1, a="killed", b="killed", c="survived", d="not reached", e="dropped"),
        run(2, c="killed", d="not reached", f="killed", b="dropped"),
    ]
    entries = {"d": {"name": "d", "reason": "needs a full disk"}}
    made = result.write(ROOT, tmp_path / "out.json", runs, entries, 85)
    assert json.loads((tmp_path / "out.json").read_text())["rows"] == made
    assert [entry["command"] for entry in json.loads((tmp_path / "out.json").read_text())["runs"]] == [
        "scripts/mutate --seed 1",
        "scripts/mutate --seed 2",
    ]
    folder, whole = made
    assert (folder["case"], whole["case"]) == ("src/analyze", "src, all")
    assert (folder["killed"], folder["survived"], folder["not_reached"], folder["samples"]) == (3, 1, 1, 5)
    assert folder["value"] == 60.0 and folder["value_with_new_tests"] == 80.0 and not folder["met"]
    assert (folder["value_of_newest_sample"], folder["newest_sample"]) == (100.0, 1), "of f alone"
    assert "newest_sample" not in whole
    entries["d"]["equivalent"] = True
    folder, _ = result.write(ROOT, tmp_path / "out.json", runs, entries, 75)
    assert (folder["value"], folder["equivalent"], folder["samples"], folder["met"]) == (75.0, 1, 4, True)
    assert folder["value_with_new_tests"] == 100.0

    later, elsewhere = run(3, g="survived", h="killed"), run(4, i="killed")
    elsewhere.write_text(elsewhere.read_text().replace("src/analyze/a.cpp", "src/base/b.cpp"))
    analyze, base, whole = result.write(ROOT, tmp_path / "out.json", [later, elsewhere], entries, 75, is_added=True)
    assert [row["case"] for row in (analyze, base, whole)] == ["src/analyze", "src/base", "src, all"]
    assert (analyze["killed"], analyze["survived"], analyze["samples"], analyze["value"]) == (4, 2, 6, 66.7)
    assert (analyze["value_with_new_tests"], analyze["newest_sample"], analyze["met"]) == (83.3, 2, False)
    assert (base["value"], base["samples"]) == (100.0, 1)
    assert (whole["killed"], whole["samples"], whole["value"], whole["met"]) == (5, 7, 71.4, False)
    written = json.loads((tmp_path / "out.json").read_text())
    assert [run["command"][-1] for run in written["runs"]] == ["1", "2", "3", "4"] and len(written["rows"]) == 3


def test_an_old_run_knows_a_mutant_by_the_name_that_it_had_before_its_file_moved(tmp_path):
    left = tmp_path / "left.toml"
    entry = '[[mutant]]\nname = "new"\nreason = "the same either way"\nequivalent = true\n'
    survived = [outcome.Outcome(mutant("old"), outcome.SURVIVED), outcome.Outcome(mutant("1"), outcome.KILLED)]
    for earlier, score in (("", 50.0), ('earlier = ["older", "old"]\n', 100.0)):
        left.write_text(entry + earlier)
        outcome.with_reasons(survived, outcome.reasons(left))
        assert outcome.rows(survived)["src/analyze"].score == score


def test_of_one_mutant_the_tests_are_told_that_reach_it():
    survived = outcome.Outcome(mutant("1"), outcome.SURVIVED, tests=("analyze_test: A.B", "analyze_test: C.D"))
    assert outcome.told(survived, most=1).splitlines()[2:] == [
        "    survived",
        "    reached by analyze_test: A.B",
        "    and by 1 more",
    ]
    killed = outcome.Outcome(mutant("1"), outcome.KILLED, by="analyze_test: A.B", tests=("analyze_test: A.B",))
    assert outcome.told(killed).splitlines()[2:] == ["    killed by analyze_test: A.B"]


def test_a_reason_must_say_something(tmp_path):
    (tmp_path / "left.toml").write_text('[[mutant]]\nname = "3"\n')
    with pytest.raises(SystemExit, match="needs `name` and `reason`"):
        outcome.reasons(tmp_path / "left.toml")


def test_quick_tests_come_first_and_python_last():
    quick, slow = suites.GoogleTest(pathlib.Path("quick")), suites.GoogleTest(pathlib.Path("slow"))
    by_python = suites.Pytest(None, "tests/cli", [])
    cases = [
        suites.Case(suite, name, seconds, set())
        for suite, name, seconds in ((by_python, "p", 0.0), (slow, "s", 9.0), (quick, "q2", 0.3), (quick, "q1", 0.1))
    ]
    assert [[case.name for case in batch] for _, batch in suites.batches(cases)] == [["q1", "q2"], ["s"], ["p"]]


class Sleeping(suites.Suite):
    """Tests that take an hour, in a process and its child."""

    def command(self, names, folder):
        return ["sh", "-c", f"sleep 3600 & echo $! >> {self.noted}; sleep 3600"]


def is_running(process):
    try:
        return ") Z " not in pathlib.Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_python_is_measured_in_parts_and_tried_as_a_whole(monkeypatch):
    whole = suites.Pytest(
        tree.Tree(ROOT, ROOT, sys.executable, 2), "tests/python", ["test_a.py", "test_b.py", "test_c.py"]
    )
    assert [part.files for part in whole.parts(2)] == [["test_a.py", "test_c.py"], ["test_b.py"]]
    assert [part.files for part in whole.parts(9)] == [["test_a.py"], ["test_b.py"], ["test_c.py"]]

    def run(self, command, environment, seconds, folder):
        name = f"{self.files[0]}::test"
        test = {"files": ["0", "1"], "seconds": 0.5, "outcome": "passed"}
        (folder / "reached" / "tests.json").write_text(json.dumps({name: test}))
        (folder / "reached" / "0").write_text("7\n")
        (folder / "reached" / "1").write_text("8\n")
        return 0, ""

    monkeypatch.setattr(suites.Pytest, "run", run)
    cases = [case for part in whole.parts(2) for case in suites.measure(part)]
    assert [(case.suite, case.name, case.reached) for case in cases] == [
        (whole, "test_a.py::test", {7, 8}),
        (whole, "test_b.py::test", {7, 8}),
    ]
    assert len(suites.batches(cases)) == 1


TESTED = """# Mutated.
from turnpike_mutant import turnpike_mutant_is

LIMIT = 2 if turnpike_mutant_is(1) else 1

class Thing:
    limit = 2 if turnpike_mutant_is(2) else 1

def ask(number):
    return turnpike_mutant_is(number)
"""

TESTS = """import os, subprocess, sys
import pytest

@pytest.fixture(scope="session")
def of_session():
    import tested
    return tested.ask(3)

@pytest.fixture(scope="module")
def of_module(of_session):
    import tested
    tested.ask(4)
    environment = dict(os.environ)

    def program(number):
        subprocess.run([sys.executable, "-c", f"import tested; tested.ask({number})"], env=environment, check=True)

    return program

@pytest.fixture
def own():
    import tested
    tested.ask(5)

def test_first(of_module):
    import tested
    tested.ask(6)

def test_second(of_module, own):
    of_module(7)

def test_third():
    import tested
    tested.ask(8)
"""


def test_what_runs_once_for_several_tests_is_reached_by_all_of_them(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "plugin").mkdir()
    (tmp_path / "python").mkdir()
    (tmp_path / "tests" / "test_some.py").write_text(TESTS)
    (tmp_path / "python" / "tested.py").write_text(TESTED)
    shutil.copy(SWITCHES / "turnpike_mutant.py", tmp_path / "python")
    shutil.copy(SWITCHES / "pytest_reached.py", tmp_path / "plugin")
    measured = tree.Tree(ROOT, tmp_path, sys.executable, 2)
    measured.folder = tmp_path
    cases = suites.measure(suites.Pytest(measured, "tests", ["tests/test_some.py"]))
    assert {case.name.partition("::")[2]: case.reached for case in cases} == {
        "test_first": {1, 2, 3, 4, 6, 7},
        "test_second": {1, 2, 3, 4, 5, 7},
        "test_third": {1, 2, 8},
    }


GROUPS = """#include <gtest/gtest.h>
#include <turnpike_mutant.h>

class Group : public testing::Test {
 protected:
  static void SetUpTestSuite() { turnpike_mutant_is(1); }
  static void TearDownTestSuite() { turnpike_mutant_is(2); }
};
TEST(Before, First) { turnpike_mutant_is(3); }
TEST_F(Group, First) { turnpike_mutant_is(4); }
TEST_F(Group, Second) { turnpike_mutant_is(5); }
TEST(Behind, First) { turnpike_mutant_is(6); }
int at_start() { return turnpike_mutant_is(7); }
const int kOnce = at_start();
"""


def test_what_a_suite_in_cpp_sets_up_is_reached_by_all_of_its_tests(tmp_path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    (tmp_path / "groups.cpp").write_text(GROUPS)
    sources = [tmp_path / "groups.cpp", SWITCHES / "gtest_listener.cpp"]
    built = tmp_path / "groups"
    command = [compiler, "-std=c++20", f"-I{SWITCHES}", "-o", built, *sources, "-lgtest", "-lgtest_main", "-pthread"]
    subprocess.run(command, check=True)
    cases = suites.measure(suites.GoogleTest(built))
    assert {case.name: case.reached for case in cases} == {
        "Before.First": {3, 7},
        "Group.First": {1, 2, 4, 7},
        "Group.Second": {1, 2, 5, 7},
        "Behind.First": {6, 7},
    }


def test_no_test_is_left_behind_when_the_run_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(suites, "running", suites.Running())
    sleeping = Sleeping()
    sleeping.noted = tmp_path / "children"

    def work(number):
        if number == 0:
            deadline = time.monotonic() + 60
            while not (sleeping.noted.exists() and sleeping.noted.read_text().endswith("\n")):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            raise KeyboardInterrupt
        return sleeping.try_mutant(number, [suites.Case(sleeping, "a", 3600, set())])

    with pytest.raises(KeyboardInterrupt):
        list(suites.in_parallel(work, range(4), jobs=2))
    children = sleeping.noted.read_text().split()
    assert children
    deadline = time.monotonic() + 60  # they are killed by now; a busy machine takes its time over it
    while any(map(is_running, children)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_running, children))


def test_an_interrupted_run_tells_what_it_has_tried(monkeypatch):
    case = suites.Case(suites.CTest(ROOT, "Some.Test"), "Some.Test", 1.0, {1, 2})

    def try_mutant(number, cases, is_alone):
        if number == 2:
            raise KeyboardInterrupt
        return suites.Ended(True, cases[0].name)

    monkeypatch.setattr(suites, "try_mutant", try_mutant)
    monkeypatch.setattr(suites, "running", suites.Running())
    ended = command.tried([(1, mutant("1")), (2, mutant("2")), (3, mutant("3"))], [case], jobs=1)
    assert ("1", outcome.KILLED) in [(one.mutant.name, one.state) for one in ended]
    assert "2" not in [one.mutant.name for one in ended]


class Timed(suites.Suite):
    """Tests whose original takes longer each time that it is asked, and then no longer; mutants take what they take."""

    name = "timed"

    def __init__(self, original, of_mutant):
        self.original, self.of_mutant, self.limits = iter(original), of_mutant, []

    def command(self, names, folder):
        return names

    def run(self, command, environment, seconds, folder):
        self.limits.append(seconds)
        return (None if seconds < self.of_mutant else 0), ""

    def time_original(self, cases):
        return next(self.original)


class Failing(suites.Suite):
    """Plays tests of which some fail with the mutant, each a given number of times."""

    name = "failing"

    def __init__(self, **times):
        self.times = times

    def command(self, names, folder):
        return names

    def run(self, names, environment, seconds, folder):
        for name in names:
            if self.times.get(name, 0) > 0:
                self.times[name] -= 1
                return 1, name
        return 0, ""

    def failed_case(self, output):
        return output


@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize(
    ("times", "by"),
    [
        ({}, ""),
        ({"a": 1}, ""),
        ({"a": 1, "c": 1}, ""),
        ({"b": 2}, "failing: b"),
        ({"a": 1, "c": 2}, "failing: c"),  # the others are still asked
    ],
)
def test_a_test_that_fails_once_has_not_noticed_the_mutant(times, by, is_alone):
    suite = Failing(**times)
    ended = suites.try_mutant(1, [suites.Case(suite, name, 0.1, {1}) for name in "abc"], is_alone)
    assert (ended.is_noticed, ended.by) == (bool(by), by)


def test_a_program_that_ends_without_naming_a_test_has_noticed_the_mutant():
    suite = Failing(a=1)
    suite.failed_case = lambda output: ""
    ended = suites.try_mutant(1, [suites.Case(suite, "a", 0.1, {1})])
    assert (ended.is_noticed, ended.by) == (True, "failing: exit code 1")


@pytest.mark.parametrize(
    ("original", "of_mutant", "is_killed", "limits"),
    [
        ([4.0], 1000, True, [25.0]),  # as quick as usual: the mutant is slow
        ([9.0], 30, False, [25.0, 37.0]),  # the machine was slow
        ([9.0, 12.0, 11.0], 1000, True, [25.0, 37.0, 46.0]),  # both are
        ([None], 1000, False, [25.0]),  # it fails with the original now: it says nothing
    ],
)
def test_a_mutant_out_of_time_is_killed_only_if_the_original_is_quick(original, of_mutant, is_killed, limits):
    suite = Timed(original, of_mutant)
    ended = suites.try_mutant(1, [suites.Case(suite, "a", 5.0, {1})], is_alone=True)
    assert (ended.is_noticed, ended.is_out_of_time) == (is_killed, is_killed)
    assert suite.limits == limits


def test_the_original_is_timed_with_the_tests_of_the_mutant(tmp_path):
    class Shell(suites.Suite):
        def command(self, names, folder):
            return ["sh", "-c", '[ -z "$MUTANT" ] && ' + names[0]]

    def of(name):
        return Shell().time_original([suites.Case(None, name, 0.0, set())])

    assert of("sleep 0.05") >= 0.05
    assert of("false") is None


def test_what_ran_out_of_time_is_tried_again_when_nothing_else_runs(monkeypatch):
    case = suites.Case(suites.CTest(ROOT, "Some.Test"), "Some.Test", 1.0, {1, 2, 3})
    tried = []

    def try_mutant(number, cases, is_alone):
        tried.append((number, is_alone))
        is_killed = number == 1 if is_alone else number != 2
        return suites.Ended(is_killed, f"x: {outcome.OUT_OF_TIME}" if is_killed else "")

    monkeypatch.setattr(suites, "try_mutant", try_mutant)
    ended = command.tried([(1, mutant("1")), (2, mutant("2")), (3, mutant("3"))], [case], jobs=2)
    assert sorted(tried[:3]) == [(1, False), (2, False), (3, False)]
    assert sorted(tried[3:]) == [(1, True), (3, True)]
    assert sorted((one.mutant.name, one.state) for one in ended) == [
        ("1", outcome.KILLED),
        ("2", outcome.SURVIVED),
        ("3", outcome.SURVIVED),
    ]


def test_a_sample_is_the_same_for_the_same_seed():
    made = [mutant(str(number)) for number in range(100)]
    assert choose.sample(made, 10, 1) == choose.sample(made[::-1], 10, 1)
    assert choose.sample(made, 10, 1) != choose.sample(made, 10, 2)
    numbered = list(enumerate(choose.sample(made, 10, 1)))
    assert len(numbered) > 10 == len(command.at_most(numbered, {"src": 10}))
