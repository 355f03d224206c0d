"""Where the wheel keeps what is not Python: the executable `turnpike`, and the libraries that record and guard."""

import os

_FOLDER = os.path.dirname(os.path.abspath(__file__))
EXECUTABLE = os.path.join(_FOLDER, "turnpike")
RECORD_LIBRARY = os.path.join(_FOLDER, "libturnpike_record.so")
GUARD_LIBRARY = os.path.join(_FOLDER, "libturnpike_guard.so")
