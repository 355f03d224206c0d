"""What is said where the package is installed but its extension does not fit this Python."""

import platform
import sysconfig

from turnpike import _native


def no_extension() -> ImportError:
    """The error for an interpreter that finds no turnpike._core."""
    build = "free-threaded build" if sysconfig.get_config_var("Py_GIL_DISABLED") else "build"
    return ImportError(
        f"Turnpike has no extension module for this {build} of {platform.python_implementation()} "
        f"{platform.python_version()} on {platform.machine()}. It needs CPython 3.10 or later with the GIL: use one "
        f"of those. The command line works without Python: {_native.EXECUTABLE}"
    )
