"""CPython 3.14, which few systems have yet: Debian's, run by its own loader and C library."""

import pytest
import roots
from wheel_files import output, wheels


def test_stable_abi_is_imported_and_analyses(recordings, tmp_path):
    chosen = [wheel for wheel in wheels("x86_64") if wheel.abi == "abi3"]
    if not chosen:
        pytest.skip("no abi3 wheel for x86-64 here: scripts/wheels builds it")
    chosen[0].unpack(tmp_path)
    root = roots.python_3_14("amd64")
    libraries = root / "usr" / "lib" / "x86_64-linux-gnu"
    loader = [libraries / "ld-linux-x86-64.so.2", "--library-path", libraries]
    program = f"""
import sys, turnpike
print(sys.version_info[:2], len(turnpike.report({str(recordings[0])!r}).findings) > 0)
"""
    environment = {"PYTHONHOME": str(root / "usr"), "PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    assert output(*loader, root / "usr" / "bin" / "python3.14", "-c", program, env=environment) == "(3, 14) True\n"
