"""A plugin of pytest: gives every test a file of its own for what it reaches, and writes how each test ended.

MUTANT_REACHED is a folder at first, and the test's file in it while the test runs. What runs once for several tests
goes to a file that belongs to all of them: "outside" for modules, and one for each fixture of a module or the like,
whose programs may inherit its name.
"""

import json
import os
import pathlib

import pytest

folder = pathlib.Path(os.environ["MUTANT_REACHED"])
outside = str(folder / "outside")
os.environ["MUTANT_CHANGES_IN"] = str(os.getpid())  # for the extension, which is loaded later
os.environ["MUTANT_OUTSIDE"] = outside
os.environ["MUTANT_REACHED"] = outside
tests = {}
shared = {}  # fixture -> its file


def pytest_collection_modifyitems(items):
    for index, item in enumerate(items):
        tests[item.nodeid] = {"files": [str(index)], "seconds": 0.0, "outcome": "passed"}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    test = tests[item.nodeid]
    os.environ["MUTANT_REACHED"] = str(folder / test["files"][0])
    yield
    os.environ["MUTANT_REACHED"] = outside
    used = [fixture for fixtures in item._fixtureinfo.name2fixturedefs.values() for fixture in fixtures]
    test["files"] += [shared[fixture] for fixture in used if fixture in shared]


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef):
    if fixturedef.scope == "function":
        yield
        return
    before = os.environ["MUTANT_REACHED"]
    os.environ["MUTANT_REACHED"] = str(folder / shared.setdefault(fixturedef, f"fixture{len(shared)}"))
    yield
    os.environ["MUTANT_REACHED"] = before


def pytest_runtest_logreport(report):
    test = tests[report.nodeid]
    test["seconds"] += report.duration
    if report.outcome != "passed":
        test["outcome"] = report.outcome


def pytest_sessionfinish():
    (folder / "tests.json").write_text(json.dumps(tests))
