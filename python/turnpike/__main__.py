"""`python -m turnpike`, which becomes the native executable that the wheel carries.

The command `turnpike` (src/cli/launcher.cpp) does so without Python, except for `bench`, `export` and `fleet`, for
which it comes here, too: Python itself moves tensors for the experiments, which needs the user's PyTorch, writes files
of Arrow and Parquet with pyarrow, and runs `turnpike fleet` with DuckDB.
"""

import os
import signal
import sys
from typing import NoReturn

from turnpike import _bench, _export, _fleet, _native


def main() -> NoReturn:
    if _bench.is_ours(sys.argv[1:]):
        from turnpike._bench import command

        sys.exit(command.main(sys.argv[2:]))
    if _export.is_ours(sys.argv[1:]):
        sys.exit(_export.main(sys.argv[2:]))
    if _fleet.is_ours(sys.argv[1:]):
        from turnpike._fleet import command as fleet

        sys.exit(fleet.main(sys.argv[2:]))
    # Python ignores these two for itself, which exec would hand on to the command and to all that it starts.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    # Replaces this process: the exit code, signals and terminal of the native program are the command's own.
    os.execv(_native.EXECUTABLE, ["turnpike", *sys.argv[1:]])


if __name__ == "__main__":
    main()
