"""What chooses a mutant in Python: as turnpike_mutant.h does in C++."""

import os

_chosen = os.environ.get("MUTANT", "")
_number = int(_chosen) if _chosen.isdigit() else -1
_reached = set()


def turnpike_mutant_is(number: int) -> bool:
    if _chosen == "reach":
        path = os.environ.get("MUTANT_REACHED")
        if path and (path, number) not in _reached:
            _reached.add((path, number))
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            os.write(descriptor, b"%d\n" % number)
            os.close(descriptor)
    return number == _number
