"""scripts/test takes a skipped test for a failed one, unless it knows the reason, and names each failure at its end."""

import fnmatch
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "test"


@pytest.fixture(scope="module")
def script():
    loader = importlib.machinery.SourceFileLoader("scripts_test", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module  # its dataclass looks itself up there
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
        yield module
    finally:
        sys.dont_write_bytecode = before
        del sys.modules[loader.name]


def counts_of(script, folder, cases, succeeded=True):
    junit = folder / "result.xml"
    junit.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    return script.counts_of_junit(junit, script.Outcome(succeeded, "" if succeeded else "it crashed"))


def counted(script, folder, cases, succeeded=True):
    counts = counts_of(script, folder, cases, succeeded)
    return counts.passed, counts.failed, counts.skipped


def test_what_failed_in_company_is_tried_again_alone(script, tmp_path):
    junit = tmp_path / "shard.xml"
    junit.write_text(
        '<testsuites><testsuite><testcase classname="Engine" name="Starts" status="run" result="completed"/>'
        '<testcase classname="Engine" name="Stops" status="run" result="completed"><failure message="no"/></testcase>'
        '<testcase classname="Engine" name="Waits" result="skipped"><skipped message="no time"/></testcase>'
        '<testcase classname="Engine" name="Asks" status="run" result="skipped">'
        '<skipped message="a_test.cpp:3&#x0A;there is no GPU"/></testcase></testsuite></testsuites>'
    )
    tried = script.tried_in_shard(junit, script.Outcome(False, "no"))
    assert (tried.counts.passed, tried.counts.failed, tried.counts.skipped) == (1, 0, 1)
    assert tried.done == {"Engine.Starts", "Engine.Asks"}
    assert tried.failed == {"Engine.Stops": "no", "Engine.Waits": "skipped: no time"} and not tried.ended_early


def test_without_a_file_all_are_tried_again(script, tmp_path):
    tried = script.tried_in_shard(tmp_path / "none.xml", script.Outcome(False, "Segmentation fault"))
    assert tried == script.Tried(ended_early="Segmentation fault")


# A program of GoogleTest as scripts/test starts it: Luck.Once fails at its first start, Luck.Never at each; where
# Luck.Dies is among several, it ends the process. ctest starts one test, by its filter.
PROGRAM = """#!{python}
import os, pathlib, sys
given = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:] if "=" in word)
tests = [given["gtest_filter"]] if "gtest_filter" in given else {tests}
mark = pathlib.Path({folder!r}, "started")
failed = [test for test in tests if test == "Luck.Never" or (test == "Luck.Once" and not mark.exists())]
mark.touch()
if "Luck.Dies" in tests and len(tests) > 1:
    print("Fatal: error: it died")
    os._exit(139)
if "gtest_output" in given:
    cases = [
        "<testcase classname='Luck' name='%s' status='run' result='completed'>%s</testcase>"
        % (test.partition(".")[2], "<failure message='a_test.cpp:7: unlucky'/>" if test in failed else "")
        for test in tests
    ]
    pathlib.Path(given["gtest_output"].removeprefix("xml:")).write_text("<a><b>%s</b></a>" % "".join(cases))
print("a_test.cpp:9: Failure" if failed else "fine")
sys.exit(bool(failed))
"""


@pytest.fixture
def ctest(script, tmp_path, monkeypatch):
    """scripts/test's ctest() on a folder in which such a program has the given tests."""
    monkeypatch.setattr(script, "RESULTS", tmp_path)

    def ctest(*tests):
        program = tmp_path / "luck_test"
        program.write_text(PROGRAM.format(python=sys.executable, tests=list(tests), folder=str(tmp_path)))
        program.chmod(0o755)
        lines = [
            f'add_test({test} "{program}" "--gtest_filter={test}")\n'
            f'set_tests_properties({test} PROPERTIES WORKING_DIRECTORY "{tmp_path}")\n'
            for test in tests
        ]
        (tmp_path / "CTestTestfile.cmake").write_text("".join(lines))
        return script.ctest(tmp_path, "luck")

    return ctest


def test_a_test_that_passes_only_at_its_second_try_is_named_and_fails(ctest):
    counts = ctest("Luck.Always", "Luck.Once")
    assert (counts.passed, counts.failed, counts.skipped) == (1, 1, 0)
    assert counts.failures == ["Luck.Once: flaky: passed only when tried again; at first: a_test.cpp:7: unlucky"]


def test_a_test_that_fails_twice_is_one_failure(ctest):
    counts = ctest("Luck.Always", "Luck.Never")
    assert (counts.passed, counts.failed) == (1, 1)
    assert counts.failures[0].startswith("Luck.Never: ") and "flaky" not in counts.failures[0]


def test_a_process_that_dies_fails_although_its_tests_pass_one_by_one(ctest):
    counts = ctest("Luck.Always", "Luck.Dies")
    assert (counts.passed, counts.failed) == (2, 1)
    assert counts.failures == ["luck_test-0: its process ended early: Fatal: error: it died"]


def test_only_what_no_shard_has_done_is_left(script):
    tests = [
        {"name": "A.B", "command": ["/b/one", "--gtest_filter=A.B"]},
        {"name": "A.C/Later", "command": ["/b/one", "--gtest_filter=A.C/0"]},
        {"name": "A.B2", "command": ["/b/two", "--gtest_filter=A.B"]},
        {"name": "Other", "command": ["/usr/bin/cmake"]},
        {"name": "two_NOT_BUILT"},
    ]
    done = {("/b/one", "A.B"), ("/b/one", "A.C/0")}
    assert script.numbers_left(tests, done) == [3, 4, 5]
    assert script.numbers_left(tests, done, left_out=["A.*"]) == [4, 5]
    assert script.numbers_left(tests, set(), left_out=["A.C/L*", "Other"]) == [1, 3, 5]


def test_every_slow_test_is_there(script):
    """A pattern that matches nothing is the old name of a test, which --quick would run."""
    names = {test["name"] for test in script.listed_tests(script.RELEASE)}
    assert [one for one in script.SLOW_TESTS if not fnmatch.filter(names, one)] == []


def test_a_program_runs_in_shards_of_its_tests(script):
    def test(program, name):
        place = {"name": "WORKING_DIRECTORY", "value": "/there"}
        return {"name": name, "command": [str(program), f"--gtest_filter={name}"], "properties": [place]}

    tests = [test("/b/small", "A.B"), {"name": "Other", "command": ["/usr/bin/cmake"]}]
    tests += [test("/b/large", f"C.{number}") for number in range(script.TESTS_OF_A_SHARD + 1)]
    assert [(shard.program, shard.folder, shard.number, shard.total) for shard in script.shards_of(tests)] == [
        ("/b/large", "/there", 0, 2),
        ("/b/large", "/there", 1, 2),
        ("/b/small", "/there", 0, 1),
    ]


PASSED = '<testcase classname="c" name="passed"/>'


def test_a_reason_that_is_known_may_skip(script, tmp_path):
    of_pytest = '<testcase name="a"><skipped message="no CPython 3.14 here">file.py:1: no CPython</skipped></testcase>'
    of_ctest = (
        '<testcase name="b" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
        "<system-out>a_test.cpp:104: Skipped\nThreadSanitizer's own locks hang such children, recorded or not"
        "</system-out></testcase>"
    )
    assert counted(script, tmp_path, PASSED + of_pytest + of_ctest) == (1, 0, 2)


@pytest.mark.parametrize(
    "skipped",
    [
        '<testcase name="a"><skipped message="PyTorch is not installed">file.py:1</skipped></testcase>',
        '<testcase name="a"><skipped message="collection skipped">("f.py", 1, "no libclang")</skipped></testcase>',
        '<testcase name="a" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
        "<system-out>a_test.cpp:1: Skipped\nno time</system-out></testcase>",
        '<testcase name="a" status="disabled"><system-out>there is a test</system-out></testcase>',
    ],
)
def test_any_other_reason_fails_and_is_shown(script, tmp_path, capsys, skipped):
    assert counted(script, tmp_path, PASSED + skipped) == (1, 1, 0)
    assert "skipped, and must not be: a: " in capsys.readouterr().out


def test_failures_errors_and_an_empty_run_are_failures(script, tmp_path):
    failed = '<testcase name="a"><failure message="no"/></testcase><testcase name="b"><error message="no"/></testcase>'
    assert counted(script, tmp_path, PASSED + failed, succeeded=False) == (1, 2, 0)
    assert counted(script, tmp_path, PASSED, succeeded=False) == (1, 1, 0)
    assert counted(script, tmp_path, "") == (0, 1, 0)


def test_a_failure_is_named_with_its_first_line(script, tmp_path):
    of_pytest = (
        '<testcase classname="tests.cli.test_a" name="test_b[2]"><failure message="AssertionError: assert 1 == 2&#10;'
        '  +  where">def test_b(): ...</failure></testcase>'
    )
    of_ctest = (
        '<testcase classname="Reader.Reads" name="Reader.Reads" status="fail"><failure message=""/><system-out>'
        "[ RUN      ] Reader.Reads\nreader_test.cpp:12: Failure\nExpected equality of these values:\n  1\n"
        "</system-out></testcase>"
    )
    silent = '<testcase name="Reader.Dies" status="fail"><failure message=""/><system-out></system-out></testcase>'
    fixture = '<testcase classname="tests.c" name="test_d"><error message="no such file">...</error></testcase>'
    assert counts_of(script, tmp_path, of_pytest + of_ctest + silent + fixture).failures == [
        "tests.cli.test_a::test_b[2]: AssertionError: assert 1 == 2",
        "Reader.Reads: reader_test.cpp:12: Failure: Expected equality of these values:",
        "Reader.Dies",
        "tests.c::test_d: no such file",
    ]


def test_so_are_a_bad_skip_and_a_runner_that_failed(script, tmp_path):
    skipped = '<testcase name="a"><skipped message="no PyTorch">file.py:1</skipped></testcase>'
    assert counts_of(script, tmp_path, PASSED + skipped).failures == ["a: skipped, and must not be: no PyTorch"]
    assert counts_of(script, tmp_path, PASSED, succeeded=False).failures == ["the test runner: it crashed"]
    assert counts_of(script, tmp_path, "").failures == ["the test runner: no test ran"]


def test_a_failed_command_is_named_with_the_line_that_says_why(script, capsys):
    code = (
        "print('[1/2] Building'); print('a.cpp:3:1: error: no such type'); print('ninja: stopped'); raise SystemExit(2)"
    )
    outcome = script.run(sys.executable, "-c", code)
    assert not outcome and outcome.failure == "a.cpp:3:1: error: no such type"
    assert "ninja: stopped" in capsys.readouterr().out
    assert script.one("build", outcome).failures == ["build: a.cpp:3:1: error: no such type"]
    assert not script.run(sys.executable, "-c", "raise SystemExit(3)")
    assert script.run(sys.executable, "-c", "raise SystemExit(3)").failure == "exit status 3"


def test_a_quiet_command_shows_its_output_only_when_it_fails(script, capsys):
    assert script.run(sys.executable, "-c", "print('fine')", quiet=True)
    assert capsys.readouterr().out == ""
    assert not script.run(sys.executable, "-c", "print('warning'); raise SystemExit(1)", quiet=True)
    assert "warning" in capsys.readouterr().out


def test_a_command_is_over_although_a_child_keeps_its_output_open(script):
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    before_s = time.monotonic()
    assert script.run(sys.executable, "-c", code, drain_s=0.1)
    assert time.monotonic() - before_s < 30


def run_suites(script, monkeypatch, tmp_path, suites):
    monkeypatch.setattr(script, "SUITES", suites)
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    monkeypatch.setattr(script, "run", lambda *command, **options: script.Outcome(True))
    monkeypatch.setattr(sys, "argv", ["test", "--only", *suites])
    return script.main()


def test_the_end_of_the_log_names_every_failure(script, monkeypatch, tmp_path, capsys):
    def release():
        "C++."
        return script.one("Reader.Reads", script.Outcome(False, "reader_test.cpp:12: Failure"))

    def python():
        "Python."
        return script.one("fine", script.Outcome(True)) + script.one("test_b", script.Outcome(False, "assert 0"))

    assert run_suites(script, monkeypatch, tmp_path, {"release": release, "python": python}) == 1
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "FAILED release: Reader.Reads: reader_test.cpp:12: Failure",
        "FAILED python: test_b: assert 0",
        "1 passed, 2 failed, 0 skipped",
    ]


def test_a_suite_beside_others_is_told_in_its_turn(script, monkeypatch, tmp_path, capfd):
    def tidy():
        "clang-tidy."
        print("a.cpp:3: error")
        return script.one("a.cpp", script.Outcome(False, f"found, at priority {os.nice(0)}"))

    def release():
        "C++."
        assert [list(one.tasks) for one in script.Beside.running] == [["tidy"]]
        return script.one("fine", script.Outcome(True))

    assert run_suites(script, monkeypatch, tmp_path, {"release": release, "tidy": tidy}) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines.index("== tidy: clang-tidy.") < lines.index("a.cpp:3: error")
    assert lines[-2:] == ["FAILED tidy: a.cpp: found, at priority 19", "1 passed, 1 failed, 0 skipped"]
    assert script.Beside.running == []


def test_a_suite_beside_others_that_dies_has_failed(script, monkeypatch, tmp_path, capfd):
    def tidy():
        "clang-tidy."
        os._exit(0)

    def release():
        "C++."
        return script.one("fine", script.Outcome(True))

    assert run_suites(script, monkeypatch, tmp_path, {"release": release, "tidy": tidy}) == 1
    assert "FAILED tidy: tidy: it ended early" in capfd.readouterr().out


def test_builds_are_done_beside_others_and_told_with_their_suites(script, monkeypatch, tmp_path, capfd):
    def build_preset(name):
        print(f"building {name} at priority {os.nice(0)}")
        if name == "asan":
            second = "import time\nwhile time.process_time() < 1: pass"
            subprocess.run([sys.executable, "-c", second], check=True)
        return script.Outcome(name == "asan", f"no {name}.cpp")

    def release():
        "C++."
        assert [list(one.tasks) for one in script.Beside.running] == [["asan", "tsan", "tidy"]]
        return script.one("fine", script.Outcome(True))

    def tidy():
        "clang-tidy."
        return script.one("a.cpp", script.Outcome(True))

    monkeypatch.setattr(script, "build_preset", build_preset)
    monkeypatch.setattr(script, "ctest", lambda *arguments: script.one("A.B", script.Outcome(True)))
    suites = {"release": release, "asan": script.suite_asan, "tsan": script.suite_tsan, "tidy": tidy}
    assert run_suites(script, monkeypatch, tmp_path, suites) == 1
    lines = capfd.readouterr().out.splitlines()
    asan, tsan = (lines.index(f"building {name} at priority 19") for name in ("asan", "tsan"))
    assert lines[asan - 1].startswith("== asan: ") and lines[tsan - 1].startswith("== tsan: ")
    # What a suite's build took is the suite's.
    used_s = [int(re.search(r"CPU (\d+) s", line).group(1)) for line in lines[-6:-2]]
    assert used_s[1] > 0 and used_s[2] == 0
    assert lines[-2:] == ["FAILED tsan: build: no tsan.cpp", "3 passed, 1 failed, 0 skipped"]


def test_a_suite_by_itself_builds_by_itself(script, monkeypatch, tmp_path):
    own = os.getpid()
    monkeypatch.setattr(script, "build_preset", lambda name: script.Outcome(os.getpid() == own, "in another process"))
    monkeypatch.setattr(script, "ctest", lambda *arguments: script.one("A.B", script.Outcome(True)))
    assert run_suites(script, monkeypatch, tmp_path, {"asan": script.suite_asan}) == 0


# As ninja starts compilers: in groups of their own.
TICKS = """
import sys, time
for _ in range(4000):
    with open(sys.argv[1], "ab") as file:
        file.write(b".")
    time.sleep(0.005)
"""


def test_what_runs_beside_a_test_that_measures_is_paused(script, monkeypatch, tmp_path):
    monkeypatch.setattr(script, "RESULTS", tmp_path)

    def ticks():
        subprocess.run([sys.executable, "-c", TICKS, str(tmp_path / "ticks")], preexec_fn=os.setpgrp, check=True)
        return script.one("fine", script.Outcome(True))

    def count():
        return (tmp_path / "ticks").stat().st_size if (tmp_path / "ticks").exists() else 0

    def goes_on():
        before, deadline = count(), time.monotonic() + 30
        while count() == before:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def stands_still():
        time.sleep(0.1)  # a signal takes effect a moment later
        before = count()
        time.sleep(0.3)
        return count() == before

    beside = script.Beside({"tidy": ticks})
    goes_on()
    with script.Beside.all_paused():
        assert stands_still()
    goes_on()
    script.Beside.end_all()
    assert stands_still()
    assert beside.take("tidy", "it ended early") == "it ended early"


def test_every_test_that_is_marked_alone_is_found(script):
    tests = SCRIPT.parents[1] / "tests"
    found = script.files_marked_alone(tests)
    assert tests / "integrations" / "test_ray.py" in found and tests / "cli" / "test_strange_places.py" in found
    assert tests / "python" / "test_docs.py" not in found
    # A conftest.py that marks tests must be looked for, too.
    marks = re.compile(r"mark\.alone\b|add_marker\(.alone\b")
    assert found == sorted(path for path in tests.rglob("*.py") if marks.search(path.read_text()))


def test_the_end_of_the_log_stays_short(script, monkeypatch, tmp_path, capsys):
    def release():
        "C++."
        outcome = script.Outcome(False, "x" * 1000)
        return sum((script.one(f"test {number}", outcome) for number in range(100)), script.Counts())

    assert run_suites(script, monkeypatch, tmp_path, {"release": release}) == 1
    last = capsys.readouterr().out.splitlines()[-42:]
    assert last[0].startswith("FAILED release: test 0: xxx")
    assert max(map(len, last)) < 300
    assert last[-2:] == ["FAILED release: and 60 more", "0 passed, 100 failed, 0 skipped"]


def test_a_build_beside_others_serves_two_suites_and_is_told_once(script, monkeypatch, tmp_path, capfd):
    def build_preset(name):
        print(f"building {name}")
        return script.Outcome(True)

    def two():
        "Two suites."
        return script.one("first", script.built_preset("asan")) + script.one("second", script.built_preset("asan"))

    monkeypatch.setattr(script, "build_preset", build_preset)
    monkeypatch.setattr(script, "PRESETS_OF_SUITES", {"asan": "all"})
    assert run_suites(script, monkeypatch, tmp_path, {"asan": two, "other": lambda: script.Counts(passed=1)}) == 0
    assert capfd.readouterr().out.count("building asan") == 1


# A program with a test that passes if it is given its time.
STRESSED = """#!{python}
import os, pathlib, sys
given = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:] if "=" in word)
failed = "" if os.environ.get("TURNPIKE_STRESS_SECONDS") == "{seconds}" else "<failure message='not its time'/>"
case = "<testcase classname='StressOne' name='Holds' status='run' result='completed'>%s</testcase>" % failed
pathlib.Path(given["gtest_output"].removeprefix("xml:")).write_text("<a><b>%s</b></a>" % case)
"""


@pytest.fixture
def stressed(script, tmp_path, monkeypatch):
    """suite_stress() over three finished builds, with one stress test each, which wants so many seconds."""
    monkeypatch.setattr(script, "RESULTS", tmp_path)
    monkeypatch.setattr(script, "RELEASE", tmp_path / "release")
    monkeypatch.setattr(script, "build", lambda *arguments: script.Outcome(True))
    monkeypatch.setattr(script, "built_preset", lambda name: script.Outcome(True))
    monkeypatch.delenv(script.STRESS_VARIABLE, raising=False)

    def stressed(seconds, names=("StressOne.Holds", "Engine.Starts")):
        program = tmp_path / "stress_test"
        program.write_text(STRESSED.format(python=sys.executable, seconds=seconds))
        program.chmod(0o755)
        place = {"name": "WORKING_DIRECTORY", "value": str(tmp_path)}
        tests = [
            {"name": name, "command": [str(program), f"--gtest_filter={name}"], "properties": [place]} for name in names
        ]
        monkeypatch.setattr(script, "listed_tests", lambda folder: tests)
        return script.suite_stress()

    return stressed


def test_stress_tests_alone_run_for_their_time_in_each_build(script, stressed):
    counts = stressed(script.STRESS_SECONDS)
    assert (counts.passed, counts.failed) == (3, 0)
    failures = stressed(1).failures
    assert failures == [f"{name}: StressOne::Holds: not its time" for name in ("release", "asan", "tsan")]


def test_another_time_may_be_chosen(script, stressed, monkeypatch):
    monkeypatch.setenv(script.STRESS_VARIABLE, "1800")
    assert stressed(1800).failed == 0


def test_a_suite_without_stress_tests_fails(stressed):
    assert stressed(1, names=["Engine.Starts"]).failures == ["stress: no test is called Stress*.*"]


def test_many_stress_tests_share_the_time(script, monkeypatch):
    monkeypatch.delenv(script.STRESS_VARIABLE, raising=False)
    assert script.stress_seconds(3, 1) == script.STRESS_SECONDS
    assert script.stress_seconds(400, 1) == 1 and script.stress_seconds(80, 2) == 10


def test_other_suites_do_not_stress(script, monkeypatch, tmp_path):
    monkeypatch.setenv(script.STRESS_VARIABLE, "1800")
    monkeypatch.setattr(script, "listed_tests", lambda folder: [{"name": "a", "command": ["/b/a"]}])
    given = []
    monkeypatch.setattr(script, "run", lambda *command, env, **options: given.append(env) or script.Outcome(True))
    script.ctest(tmp_path, "release")
    assert given and script.STRESS_VARIABLE not in given[0]
