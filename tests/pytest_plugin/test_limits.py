"""Limits of tests: what exceeds them fails, at the line that did it."""

import xml.etree.ElementTree

import pytest

pytest_plugins = ["pytester"]


def test_a_test_within_its_limits_passes_and_is_counted(run):
    run.write("""
        @pytest.mark.limit_transfers(h2d=2, d2h=0)
        def test_two():
            upload()
            upload()
    """)
    result = run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["limits of 1 test checked, of 0 not checked"])


def test_one_more_than_the_limit_fails_and_names_the_line(run):
    run.write("""
        @pytest.mark.limit_transfers(h2d=2)
        def test_three():
            for _ in range(3):
                upload()  # the line
    """)
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "h2d_count: 3, and 2 allowed",
            "    3 at gpu.py:21: h2d (pageable -> device, 3 kB)",
            "        assert _cudart.*",
        ]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_the_three_largest_places_are_shown_all_with_vv_and_none_with_q(run):
    run.write("""
        import ctypes, gpu
        def copy():
            size = ctypes.c_size_t(8)
            gpu._cudart.cudaMemcpy(gpu._memory(), gpu._host, size, 1)  # a
            gpu._cudart.cudaMemcpy(gpu._memory(), gpu._host, size, 1)  # b
            gpu._cudart.cudaMemcpy(gpu._memory(), gpu._host, size, 1)  # c
            gpu._cudart.cudaMemcpy(gpu._memory(), gpu._host, size, 1)  # d

        @pytest.mark.limit_transfers(h2d=0)
        def test_four():
            copy()
    """)
    usual = run().stdout.str()
    assert usual.count(" at test_it.py:") == 3
    assert usual.count("        gpu._cudart.cudaMemcpy") == 3
    quiet = run("-q").stdout.str()
    assert "h2d_count: 4, and 0 allowed" in quiet and " at test_it.py:" not in quiet
    everything = run("-vv").stdout.str()
    assert all(f"test_it.py:{line}" in everything for line in (8, 9, 10, 11))


@pytest.mark.parametrize(
    "limit, body, text",
    [
        ('h2d="1 kB"', "upload(1001)", "h2d_bytes: 1001, and 1000 allowed"),
        ("h2d_bytes=10", "upload(11)", "h2d_bytes: 11 B, and 10 B allowed"),
        ("d2h=0", "download()", "d2h_count: 1, and 0 allowed"),
        ("syncs=0", "wait()", "syncs: 1, and 0 allowed"),
        ("pageable=1", "upload(); download()", "pageable: 2, and 1 allowed"),
        ('blocked="0 ns"', "wait(); download(60000)", "blocked: * ms, and 0 ms allowed"),
    ],
)
def test_each_kind_of_limit(run, limit, body, text):
    run.write(f"""
        @pytest.mark.limit_transfers({limit})
        def test_it():
            {body}
    """)
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([text])


def test_a_size_that_is_kept_is_kept(run):
    run.write("""
        @pytest.mark.limit_transfers(h2d="1 kB", d2h="4 B", syncs=9)
        def test_it():
            upload(1000); download(4)
    """)
    run().assert_outcomes(passed=1)


def test_only_the_call_counts_and_not_the_warm_up(run):
    run.write("""
        calls = []

        @pytest.fixture
        def batch():
            upload()
            yield
            upload()

        @pytest.mark.limit_transfers(h2d=1, warmup=2)
        def test_it(batch):
            calls.append(1)
            upload()
            if len(calls) < 3:
                upload()

        def test_calls():
            assert len(calls) == 3
    """)
    run().assert_outcomes(passed=2)


def test_the_nearest_marker_wins_and_the_others_add_up(run):
    run.write("""
        pytestmark = pytest.mark.limit_transfers(h2d=0, d2h=0)

        @pytest.mark.limit_transfers(h2d=1)
        class TestClass:
            def test_of_the_class(self):
                upload()

            def test_of_the_module(self):
                download()

            @pytest.mark.limit_transfers(h2d=2)
            def test_own(self):
                upload(); upload()

            @pytest.mark.limit_transfers(d2h=None)
            def test_lifted(self):
                download()
    """)
    result = run()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["FAILED test_it.py::TestClass::test_of_the_module*"])


def test_an_allowed_place_does_not_count_and_may_be_absent(run):
    run.write("""
        @pytest.mark.limit_transfers(h2d=0, d2h=0, allow=["gpu.py:download", "nowhere.py:*"])
        def test_allowed():
            download()

        @pytest.mark.limit_transfers(h2d=0, allow=["gpu.py:download"])
        def test_other():
            upload()
    """)
    run().assert_outcomes(passed=1, failed=1)


def test_the_ini_limits_every_test_without_a_marker(run):
    run.ini("turnpike_default = d2h=0 h2d='1 kB'")
    run.write("""
        def test_down(): download()
        def test_up(): upload(2000)
        def test_nothing(): pass

        @pytest.mark.limit_transfers(d2h=1)
        def test_own(): download()
    """)
    run().assert_outcomes(passed=2, failed=2)


def test_words_of_the_ini_are_flags(run):
    run.ini("turnpike_default = d2h=0 require_gpu=false losses=true")
    run.write("def test_up(): upload()")
    run().assert_outcomes(passed=1)


@pytest.mark.parametrize("words", ["h2d='1", "require_gpu=maybe"])
def test_an_ini_that_cannot_be_read_ends_the_session(run, words):
    run.ini(f"turnpike_default = {words}")
    run.write("def test_up(): upload()")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "turnpike_default" in result.stderr.str()


def test_a_failing_test_fails_for_its_own_reason(run):
    run.write("""
        @pytest.mark.limit_transfers(h2d=0)
        def test_it():
            upload()
            assert 1 == 2, "its own reason"
    """)
    result = run()
    result.assert_outcomes(failed=1)
    assert "its own reason" in result.stdout.str() and "allowed" not in result.stdout.str()


def test_what_was_lost_fails_a_limit_unless_the_marker_permits(run, monkeypatch):
    monkeypatch.setenv("FAKE_CUPTI_DROP", "2")
    run.write("""
        @pytest.mark.limit_transfers(h2d=100)
        def test_lost():
            for _ in range(10): upload()

        @pytest.mark.limit_transfers(h2d=100, losses=True)
        def test_permitted():
            for _ in range(10): upload()
    """)
    result = run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_lost*"])


@pytest.mark.parametrize(
    "marker, text",
    [
        ("h2h2=0", "knows no 'h2h2'"),
        ("h2d=-1", "no limit"),
        ("syncs='1 MB'", "no limit"),
        ("h2d='much'", "no limit"),
        ("warmup='once'", "no number of calls"),
        ("0", "by name"),
    ],
)
def test_a_wrong_limit_is_an_error_of_its_test_alone(run, marker, text):
    run.write(f"""
        def test_first(): pass

        @pytest.mark.limit_transfers({marker})
        def test_it(): pass
    """)
    result = run()
    result.assert_outcomes(passed=1, errors=1)
    assert text in result.stdout.str() and "test_it.py::test_it" in result.stdout.str()


def test_a_size_with_an_unknown_unit_fails_its_test(run):
    run.write("""
        @pytest.mark.limit_transfers(h2d="1 XB")
        def test_it(): pass
    """)
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1 XB*unknown unit*"])


def test_junit_has_the_figures_and_the_reason(run, tmp_path):
    run.write("""
        @pytest.mark.limit_transfers(h2d=0)
        def test_it(): upload(1000)
    """)
    run(f"--junitxml={tmp_path / 'junit.xml'}", "-o", "junit_family=xunit1")
    case = next(xml.etree.ElementTree.parse(tmp_path / "junit.xml").iter("testcase"))
    properties = {entry.get("name"): entry.get("value") for entry in case.iter("property")}
    assert (properties["turnpike_h2d_count"], properties["turnpike_h2d_bytes"]) == ("1", "1000")
    assert "h2d_count: 1, and 0 allowed" in case.find("failure").get("message")


def test_recordings_are_kept_where_asked_and_removed_otherwise(run, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    run.write(f"""
        @pytest.mark.limit_transfers(h2d=1)
        @pytest.mark.parametrize("name", ["a/b", "{"x" * 300}"])
        def test_it(name): upload()
    """)
    run().assert_outcomes(passed=2)
    assert [path for path in scratch.iterdir() if path.name.startswith("turnpike")] == []
    run("--turnpike-save", str(tmp_path / "kept")).assert_outcomes(passed=2)
    run("--turnpike-save", str(tmp_path / "kept")).assert_outcomes(passed=2)
    kept = sorted((tmp_path / "kept").iterdir())
    assert len(kept) == 4 and all(len(run.name.encode()) <= 255 and len(list(run.glob("*.tpt"))) == 1 for run in kept)
