"""`import turnpike` brings little along, and still has every name."""

import ast
import json
import pathlib
import subprocess
import sys

import pytest

import turnpike as tp

SOURCE = ast.parse(pathlib.Path(tp.__file__).read_text())
# Each takes as long to import as all of Turnpike may, or starts something.
HEAVY = {
    *("argparse", "asyncio", "concurrent.futures", "ctypes", "dataclasses", "inspect", "ipaddress", "json", "logging"),
    *("multiprocessing", "pathlib", "pickle", "random", "re", "socket", "subprocess", "tempfile", "threading"),
    *("typing", "urllib.parse", "turnpike._move", "turnpike._report", "turnpike._guard"),
}


def in_fresh_process(program):
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def loaded_by(statement):
    program = f"import sys; before = set(sys.modules)\n{statement}\nprint(*sorted(set(sys.modules) - before))"
    return set(in_fresh_process(program).split())


def test_no_heavy_module_is_imported():
    loaded = loaded_by("import turnpike")
    assert "turnpike._core" in loaded
    assert loaded & HEAVY == set() and len(loaded) < 10, sorted(loaded)


def test_what_is_used_is_imported_then():
    assert "turnpike._move.to" in loaded_by("import turnpike as tp; tp.to")
    loaded = loaded_by("from turnpike import TransferError")
    assert "turnpike._guard.errors" in loaded and "turnpike._move.to" not in loaded


def test_each_name_comes_from_the_module_that_type_checkers_are_told():
    [checked] = [node for node in SOURCE.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    told = {name.name: node.module for node in checked.body for name in node.names}
    assert {name: f"turnpike.{module}" for name, module in tp._MODULE_OF_NAME.items()} == told
    for name, module in told.items():
        assert getattr(tp, name) is getattr(sys.modules[module], name)


def test_every_public_name_is_there_and_listed():
    program = (
        "import json, turnpike; print(json.dumps(dir(turnpike))); from turnpike import *; print(to, report, Error)"
    )
    listed = json.loads(in_fresh_process(program).splitlines()[0])
    assert set(tp.__all__) <= set(listed)
    assert set(tp._MODULE_OF_NAME) <= set(listed)
    for name in tp.__all__:
        getattr(tp, name)


def test_the_names_of_a_module_are_looked_up_once():
    program = "import turnpike as tp; tp.start; print(*(name in vars(tp) for name in ('start', 'stop', 'to')))"
    assert in_fresh_process(program) == "True True False\n"


def test_what_a_program_puts_in_place_of_a_name_stays():
    assert in_fresh_process("import turnpike as tp; tp.stop = 7; tp.start; print(tp.stop)") == "7\n"


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'turnpike' has no attribute 'nonsense'"):
        print(tp.nonsense)
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec("from turnpike import nonsense")
    assert not hasattr(tp, "__wrapped__")
