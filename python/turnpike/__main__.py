"""The command `turnpike` and `python -m turnpike`: both become the native executable that the wheel carries."""

import os
import sys
from typing import NoReturn

from turnpike import _native


def main() -> NoReturn:
    # Replaces this process: the exit code, signals and terminal of the native program are the command's own.
    os.execv(_native.EXECUTABLE, ["turnpike", *sys.argv[1:]])


if __name__ == "__main__":
    main()
