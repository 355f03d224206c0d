"""The suite `wheels` of scripts/test. Without TURNPIKE_WHEELS, the folder with the wheels, nothing is collected."""

import sqlite3
import sys

import pytest
from wheel_files import FOLDER, ROOT

sys.path.insert(0, str(ROOT / "scripts"))
if not FOLDER:
    collect_ignore_glob = ["test_*.py"]

RECORDINGS = [
    ROOT / "tests" / "golden" / "rules" / "blocking_copy-positive.tpk",
    ROOT / "examples" / "mnist-h100.tpk",
    ROOT / "tests" / "golden" / "side_by_side" / "transfers.json.gz",
]


def write_nsys(path):
    """A run of Nsight Systems, as small as one can be: an upload and the call that made it."""
    with sqlite3.connect(path) as file:
        file.executescript(
            """
            CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO StringIds VALUES (1, 'cudaMemcpy_v3020');
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
                start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1100000, 83886085, 1, 1);
            CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
                start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
                correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER,
                dstKind INTEGER);
            INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1000, 1001000, 0, 1, 7, 1, 83886080, 4096, 1, 0, 2);
            """
        )


@pytest.fixture(scope="session")
def recordings(tmp_path_factory):
    """One of each kind that is read: a recording, torch.profiler's JSON through zlib, Nsight's file through SQLite."""
    nsys = tmp_path_factory.mktemp("nsys") / "run.sqlite"
    write_nsys(nsys)
    return [*RECORDINGS, nsys]
