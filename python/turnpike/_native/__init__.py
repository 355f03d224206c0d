"""Where the wheel keeps what is not Python: the executable `turnpike`, and beside it the library that records."""

import os

_FOLDER = os.path.dirname(os.path.abspath(__file__))
EXECUTABLE = os.path.join(_FOLDER, "turnpike")
RECORD_LIBRARY = os.path.join(_FOLDER, "libturnpike_record.so")
