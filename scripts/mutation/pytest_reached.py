"""A plugin of pytest: gives every test a file of its own for what it reaches, and writes how each test ended.

MUTANT_REACHED is a folder at first, and the test's file in it while the test runs.
"""

import json
import os
import pathlib

import pytest

folder = pathlib.Path(os.environ["MUTANT_REACHED"])
os.environ["MUTANT_CHANGES_IN"] = str(os.getpid())  # for the extension, which is loaded later
os.environ["MUTANT_REACHED"] = str(folder / "outside")  # of any test: what modules do when they are imported
tests = {}


def pytest_collection_modifyitems(items):
    for index, item in enumerate(items):
        tests[item.nodeid] = {"file": str(index), "seconds": 0.0, "outcome": "passed"}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    os.environ["MUTANT_REACHED"] = str(folder / tests[item.nodeid]["file"])
    yield
    os.environ["MUTANT_CHANGES_IN"] = str(os.getpid())  # for the extension, which is loaded later


os.environ["MUTANT_REACHED"] = str(folder / "outside")


def pytest_runtest_logreport(report):
    test = tests[report.nodeid]
    test["seconds"] += report.duration
    if report.outcome != "passed":
        test["outcome"] = report.outcome


def pytest_sessionfinish():
    (folder / "tests.json").write_text(json.dumps(tests))
