"""scripts/test takes a skipped test for a failed one, unless it knows the reason."""

import importlib.machinery
import importlib.util
import pathlib
import sys

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


def counted(script, folder, cases, succeeded=True):
    junit = folder / "result.xml"
    junit.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    counts = script.counts_of_junit(junit, succeeded)
    return counts.passed, counts.failed, counts.skipped


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
