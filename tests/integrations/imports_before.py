"""Imports modules, then runs each program that a line of its input names in a child of its own, and says how it ended.

To import a trainer takes most of the time of a program that trains it a little. A program finds the modules imported,
and all else as in a process that was started for it.
"""

import importlib
import json
import os
import sys
import types


def enter(task):
    """Makes this process, a child, the program's."""
    os.environ.clear()
    os.environ.update(task["environment"])
    os.chdir(task["folder"])
    for number, name, flags in ((0, os.devnull, 0), (1, task["out"], 0o1101), (2, task["err"], 0o1101)):
        os.dup2(os.open(name, flags, 0o600), number)
    sys.argv = [task["script"]]
    sys.path[0] = task["folder"]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    with open(task["script"]) as file:
        return compile(file.read(), task["script"], "exec"), main.__dict__


for name in sys.argv[1:]:
    importlib.import_module(name)
for line in sys.stdin:
    task = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
# Here, and not in a function that ends by os._exit: the program has the end of any other.
exec(*enter(task))
