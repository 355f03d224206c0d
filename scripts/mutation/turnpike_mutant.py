"""What chooses a mutant in Python: as turnpike_mutant.h does in C++."""

import inspect
import os
import sys

_chosen = os.environ.get("MUTANT", "")
_number = int(_chosen) if _chosen.isdigit() else -1
_reached = set()


def turnpike_mutant_is(number: int) -> bool:
    if _chosen == "reach":
        path = _file(sys._getframe(1).f_code.co_flags & inspect.CO_OPTIMIZED != 0)
        if path and (path, number) not in _reached:
            _reached.add((path, number))
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            os.write(descriptor, b"%d\n" % number)
            os.close(descriptor)
    return number == _number


def _file(is_in_function: bool) -> str | None:
    """Modules and classes run once in a process: where that has several tests, what they reach is every test's."""
    if not is_in_function and os.environ.get("MUTANT_CHANGES_IN") == str(os.getpid()):
        return os.environ.get("MUTANT_OUTSIDE")
    return os.environ.get("MUTANT_REACHED")
