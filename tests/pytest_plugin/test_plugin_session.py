"""The plugin in a session: the fixture, the file of limits, summaries, other plugins, and machines without a GPU."""

import pathlib
import re
import subprocess
import sys

import pytest

import pytest_turnpike

pytest_plugins = ["pytester"]

MARKED = """
    @pytest.mark.limit_transfers(h2d=0)
    def test_marked(): {}

    def test_plain(): pass
"""


def test_without_a_gpu_a_marked_test_runs_and_is_not_checked(plain):
    plain.write(MARKED.format("pass"))
    result = plain()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["limits of 0 tests checked, of 1 not checked", "not checked: *"])
    plain("-q").stdout.fnmatch_lines(["limits of 0 tests checked, of 1 not checked", "not checked: *"])


@pytest.mark.parametrize("error", ["ImportError('no extension')", "RuntimeError('a bug')"])
def test_a_failure_that_is_no_missing_gpu_fails_the_test(plain, error):
    plain.pytester.makeconftest(f"""
import turnpike

def start(*arguments, **options):
    raise {error}

turnpike.start = start
""")
    plain.write(MARKED.format("pass"))
    result = plain()
    result.assert_outcomes(passed=1, failed=1)
    assert error[:11] in result.stdout.str() and "not checked:" not in result.stdout.str()


@pytest.mark.parametrize("how", ["option", "ini", "marker"])
def test_where_a_gpu_is_required_a_marked_test_fails_without_one(plain, how):
    text = MARKED.format("pass")
    if how == "ini":
        plain.ini("turnpike_require_gpu = true")
    plain.write(text.replace("h2d=0", "h2d=0, require_gpu=True") if how == "marker" else text)
    result = plain(*(["--turnpike-require-gpu"] if how == "option" else []))
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*transfers not checked, and a GPU is required: *"])


@pytest.mark.parametrize("option", ["--turnpike-update", "--turnpike-fail-on-increase"])
def test_where_a_gpu_is_required_the_file_of_limits_is_not_passed_over(plain, option):
    (plain.pytester.path / "turnpike-limits.toml").write_text('["test_gpu.py::test_it"]\nh2d_count = 0\n')
    plain.write("def test_it(): pass", "test_gpu")
    plain("--turnpike", option).assert_outcomes(passed=1)
    result = plain("--turnpike", option, "--turnpike-require-gpu")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*transfers not checked, and a GPU is required: *"])


def test_a_process_that_is_recorded_already_is_not_checked(run):
    run.write("""
        import turnpike

        @pytest.mark.limit_transfers(h2d=0)
        def test_it(): upload()

        @pytest.fixture(autouse=True)
        def other_recording(tmp_path):
            with turnpike.record(tmp_path / "other.tpk"):
                yield
    """)
    result = run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["not checked: *recorded*already*"])


def test_the_fixture_has_the_figures_of_its_block(run):
    run.write("""
        def test_it(transfers):
            upload()
            with transfers() as t:
                upload(500); upload(500); download(4)
            upload()
            assert (t.h2d.count, t.h2d.bytes, t.d2h.count) == (2, 1000, 1)
            assert t.sites[0].file.endswith("gpu.py") and t.sites[0].line
            assert t.is_checked and t.report.totals["h2d"].count == 2
            with transfers() as t:
                pass
            assert t.h2d.count == 0
    """)
    result = run("--turnpike")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["     2     1 kB      1      4 B *test_it.py::test_it"])


@pytest.mark.parametrize("is_required", [False, True])
def test_a_figure_of_a_block_without_a_gpu_is_never_zero(plain, is_required):
    plain.write("""
        def test_it(transfers):
            with transfers() as t:
                ran = True
            assert ran and not t.is_checked
            assert t.d2h.count == 0
    """)
    result = plain("-rs", *(["--turnpike-require-gpu"] if is_required else []))
    result.assert_outcomes(failed=1) if is_required else result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*transfers not checked: *"])


def test_an_exception_in_a_block_passes_and_ends_the_recording(run):
    run.write("""
        import turnpike

        def test_it(transfers):
            with pytest.raises(KeyError):
                with transfers():
                    raise KeyError
            assert not turnpike.is_recording()
            with transfers() as t:
                with pytest.raises(RuntimeError, match="has not ended"):
                    t.h2d
    """)
    run().assert_outcomes(passed=1)


def test_a_block_in_the_set_up_of_a_fixture_keeps_its_figures(run):
    run.write("""
        @pytest.fixture
        def model(transfers):
            with transfers() as t:
                upload(500)
            return t

        def test_it(model, transfers):
            with transfers() as t:
                download(4)
            assert (model.h2d.bytes, t.d2h.bytes) == (500, 4)

        def test_nothing_more(model): pass
    """)
    result = run("--turnpike")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["     1    500 B      1      4 B *test_it.py::test_it"])
    result.stdout.fnmatch_lines(["     1    500 B      0      0 B *test_it.py::test_nothing_more"])


def test_a_block_of_a_set_up_that_cannot_be_recorded_is_counted_as_not_checked(plain):
    plain.write("""
        @pytest.fixture
        def model(transfers):
            with transfers() as t:
                pass
            assert t.h2d.count == 0

        def test_it(model): pass
    """)
    result = plain()
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["limits of 0 tests checked, of 1 not checked"])


@pytest.mark.parametrize("option", [[], ["--turnpike"]])
def test_the_fixture_may_be_asked_for_while_the_test_runs(run, option):
    run.write("""
        def test_it(request):
            upload(7000)
            transfers = request.getfixturevalue("transfers")
            with transfers() as t:
                upload(500)
            assert (t.h2d.count, t.h2d.bytes) == (1, 500)
    """)
    result = run("--junitxml=junit.xml", "-o", "junit_family=xunit1", *option)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["limits of 1 test checked, of 0 not checked"])
    assert 'name="turnpike_h2d_bytes" value="500"' in (run.pytester.path / "junit.xml").read_text()


def test_marker_and_a_fixture_that_is_asked_for_later_exclude_each_other_too(run):
    run.write("""
        @pytest.mark.limit_transfers(h2d=9)
        def test_it(request):
            request.getfixturevalue("transfers")

        @pytest.fixture
        def early(request):
            with request.getfixturevalue("transfers")():
                pass

        @pytest.mark.limit_transfers(h2d=9)
        def test_early(early): pass
    """)
    result = run()
    result.assert_outcomes(failed=1, errors=1)
    assert result.stdout.str().count("use one of them") >= 2


@pytest.mark.parametrize("option", [[], ["--turnpike"]])
def test_a_marker_that_a_fixture_applies_is_a_limit(run, option):
    run.write("""
        @pytest.fixture(autouse=True)
        def limited(request):
            request.applymarker(pytest.mark.limit_transfers(h2d=0))

        def test_it(): upload()
    """)
    result = run(*option)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["h2d_count: 1, and 0 allowed"])


LATE = """
    def test_it(request):
        upload()
        request.applymarker(pytest.mark.limit_transfers({}))
"""


def test_a_marker_that_the_test_applies_is_a_limit_where_the_test_is_recorded(run):
    run.write(LATE.format("h2d=0"))
    result = run("--turnpike")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["h2d_count: 1, and 0 allowed"])


@pytest.mark.parametrize("option", [[], ["--turnpike-require-gpu"]])
def test_a_marker_that_comes_too_late_is_not_checked_and_that_is_said(run, option):
    run.write(LATE.format("h2d=0"))
    result = run(*option)
    result.assert_outcomes(**{"failed" if option else "passed": 1})
    result.stdout.fnmatch_lines(["limits of 0 tests checked, of 1 not checked", "not checked: *had begun*"])


def test_a_warm_up_that_comes_too_late_fails(run):
    run.write(LATE.format("h2d=1, warmup=1"))
    result = run("--turnpike")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*warmup*had begun*"])


def test_marker_and_fixture_exclude_each_other(run):
    run.write("""
        @pytest.mark.limit_transfers(h2d=0)
        def test_it(transfers): pass
    """)
    result = run()
    result.assert_outcomes(errors=1)
    assert "use one of them" in result.stdout.str()


def test_all_tests_are_recorded_on_demand_and_the_dearest_shown(run):
    run.write("""
        def test_one(): upload()
        def test_three():
            for _ in range(3): upload(60000)
        def test_none(): pass
    """)
    assert "transfers between CPU and GPU" not in run().stdout.str()
    shown = run("--turnpike").stdout.str()
    assert len(re.findall(r"::test_(?:one|three|none)$", shown, re.MULTILINE)) == 3
    shown = run("--turnpike", "--turnpike-top", "1").stdout.str()
    assert len(re.findall(r"::test_(?:one|three|none)$", shown, re.MULTILINE)) == 1


BARE = """
    @pytest.mark.limit_transfers
    def test_it():
        for _ in range({}): upload()
"""


def test_a_bare_marker_takes_its_limits_from_the_file_that_update_writes(run):
    run.write(BARE.format(2))
    without = run()
    without.assert_outcomes(failed=1)
    without.stdout.fnmatch_lines(["*has none for this test*--turnpike-update"])
    run("--turnpike-update").assert_outcomes(passed=1)
    text = (run.pytester.path / "turnpike-limits.toml").read_text()
    assert '["test_it.py::test_it"]\n' in text and "h2d_count = 2\n" in text and "h2d_bytes = 2000\n" in text
    run().assert_outcomes(passed=1)
    run.write(BARE.format(3))
    more = run()
    more.assert_outcomes(failed=1)
    more.stdout.fnmatch_lines(["h2d_count: 3, and 2 allowed"])
    run("--turnpike-update").assert_outcomes(passed=1)
    run().assert_outcomes(passed=1)


def test_an_update_keeps_what_did_not_run_and_times_are_not_kept(run):
    run.write(BARE.format(1) + BARE.format(2).replace("test_it", "test_other"))
    run("--turnpike-update").assert_outcomes(passed=2)
    before = (run.pytester.path / "turnpike-limits.toml").read_text()
    run("--turnpike-update", "-k", "test_other").assert_outcomes(passed=1, deselected=1)
    assert (run.pytester.path / "turnpike-limits.toml").read_text() == before
    assert "blocked" not in before


def test_an_increase_fails_on_demand_whatever_the_marker_permits(run):
    text = BARE.replace("limit_transfers", "limit_transfers(h2d=10)")
    run.write(text.format(2))
    run("--turnpike-update").assert_outcomes(passed=1)
    run.write(text.format(3))
    run().assert_outcomes(passed=1)
    result = run("--turnpike-fail-on-increase")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["h2d_count: 3, and 2 allowed"])
    run.write(text.format(1))
    run("--turnpike-fail-on-increase").assert_outcomes(passed=1)


def test_an_approved_figure_loosens_no_limit_with_a_unit(run):
    text = BARE.replace("limit_transfers", 'limit_transfers(h2d="2.5 kB")')
    run.write(text.format(4))
    run("--turnpike-update").assert_outcomes(failed=1)
    run("--turnpike-fail-on-increase").assert_outcomes(failed=1)
    run.write(text.format(1))
    run("--turnpike-update").assert_outcomes(passed=1)
    run.write(text.format(2))
    run().assert_outcomes(passed=1)
    result = run("--turnpike-fail-on-increase")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["h2d_bytes: 2*1*allowed"])


def test_a_name_beyond_the_first_plane_is_kept(run):
    run.write("""
        @pytest.mark.parametrize("name", [pytest.param(1, id="\U0001f600")])
        @pytest.mark.limit_transfers
        def test_it(name): upload()
    """)
    run("--turnpike-update").assert_outcomes(passed=1)
    run().assert_outcomes(passed=1)


@pytest.mark.parametrize("text", ["[", '["test_it.py::test_it"]\nh2d_count = "many"\n', "h2d_count = 1\n"])
def test_a_broken_file_of_limits_ends_the_session(run, text):
    run.write(BARE.format(1))
    (run.pytester.path / "turnpike-limits.toml").write_text(text)
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "turnpike-limits.toml" in result.stderr.str()


def test_github_gets_annotations_and_a_summary(run, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(run.pytester.path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    run.write(MARKED.format("upload()"))
    result = run()
    result.stdout.fnmatch_lines(["::error file=gpu.py,line=21,title=turnpike check%3A per_run.h2d_count::*"])
    summary = (tmp_path / "summary.md").read_text()
    assert "| `test_it.py::test_marked` | 1 (1 kB) | 0 (0 B) | 0 | h2d_count: 1, and 0 allowed |" in summary


def test_without_github_there_is_neither(run):
    run.write(MARKED.format("upload()"))
    assert "::error" not in run().stdout.str()


def test_workers_of_xdist_count_for_themselves_and_one_summary_has_all(run):
    for name in ("a", "b"):
        run.write(BARE.format(2).replace("test_it", f"test_{name}"), name=f"test_{name}")
    result = run("-n", "2", "--turnpike-update", beside=["xdist.plugin"])
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["limits of 2 tests checked, of 0 not checked"])
    assert (run.pytester.path / "turnpike-limits.toml").read_text().count("h2d_count = 2") == 2
    run("-n", "2", beside=["xdist.plugin"]).assert_outcomes(passed=2)


def test_a_repeated_test_is_judged_by_its_last_call(run):
    run.write("""
        calls = []

        @pytest.mark.flaky(reruns=2)
        @pytest.mark.limit_transfers(h2d=1)
        def test_it():
            calls.append(1)
            for _ in range(3 - len(calls)): upload()
    """)
    result = run(beside=["pytest_rerunfailures"])
    assert result.parseoutcomes() == {"passed": 1, "rerun": 1}


def test_asynchronous_tests_are_warmed_up_and_counted(run):
    run.write("""
        calls = []

        @pytest.mark.asyncio
        @pytest.mark.limit_transfers(h2d=1, warmup=1)
        async def test_it():
            calls.append(1)
            for _ in range(3 - len(calls)): upload()

        def test_calls(): assert len(calls) == 2
    """)
    run(beside=["pytest_asyncio.plugin"]).assert_outcomes(passed=2)


def test_tests_of_anyio_are_counted_too(run):
    run.write("""
        @pytest.fixture
        def anyio_backend(): return "asyncio"

        @pytest.mark.anyio
        @pytest.mark.limit_transfers(h2d=1)
        async def test_kept(): upload()

        @pytest.mark.anyio
        @pytest.mark.limit_transfers(h2d=1)
        async def test_exceeded(): upload(); upload()
    """)
    result = run(beside=["anyio.pytest_plugin"])
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["h2d_count: 2, and 1 allowed"])


def test_methods_of_unittest_are_counted_and_warmed_up(run):
    run.write("""
        import unittest

        class TestIt(unittest.TestCase):
            calls = 0

            @pytest.mark.limit_transfers(h2d=1, warmup=1)
            def test_warm(self):
                type(self).calls += 1
                for _ in range(3 - self.calls): upload()

            @pytest.mark.limit_transfers(h2d=0)
            def test_too_much(self): upload()

            @pytest.mark.limit_transfers(h2d=0)
            def test_own_failure(self):
                upload()
                self.fail("its own reason")
    """)
    result = run()
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*h2d_count: 1, and 0 allowed*"])
    assert "its own reason" in result.stdout.str() and result.stdout.str().count("0 allowed\n") <= 2


def test_the_plugin_can_be_switched_off(run):
    run.write("""
        def test_it(): pass
    """)
    run("-p", "no:turnpike", "-p", "no:pytest_turnpike").assert_outcomes(passed=1)


def test_an_unused_plugin_imports_nothing_of_turnpike_and_records_nothing(plain):
    plain.write("""
        import sys

        def test_it():
            loaded = [name for name in sys.modules if name.split(".")[0] in ("turnpike", "pytest_turnpike")]
            assert loaded == ["pytest_turnpike"]
    """)
    plain().assert_outcomes(passed=1)


def test_the_packages_import_without_pytest():
    python = pathlib.Path(pytest_turnpike.__file__).parents[1]
    code = "import sys; sys.modules['pytest'] = None; import turnpike; print('fine')"
    result = subprocess.run([sys.executable, "-c", code], cwd=python, capture_output=True, text=True)
    assert result.stdout == "fine\n", result.stderr


def test_the_entry_point_is_the_plugin():
    text = (pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\npytest_turnpike = "pytest_turnpike"\n' in text
    assert 'wheel.packages = ["python/turnpike", "python/pytest_turnpike"]' in text
