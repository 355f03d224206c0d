"""The scripts that make the documentation, and the executable that they run."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))


@pytest.fixture(scope="session")
def turnpike():
    build = os.environ.get("TURNPIKE_BUILD")
    if not build:
        pytest.fail("TURNPIKE_BUILD is not set: name the folder in which Turnpike was built", pytrace=False)
    return pathlib.Path(build).resolve() / "src/cli/turnpike"
