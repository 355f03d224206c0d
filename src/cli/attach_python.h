// CPython 3.14 and later can be asked to run a script at the next safe moment of its main thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cli/attach_symbols.h"

namespace turnpike::cli {

// The minor version of the CPython 3 in a process, 0 if it has none.
int python_version_of(const std::vector<MappedFile>& files);

enum class PythonAnswer {
  kLoaded,     // the process has loaded the recorder and waits
  kNotLoaded,  // it is no such Python, or its main thread runs no Python for a while, as in a long call
  kForbidden,  // it was started so that nobody may ask (PYTHON_DISABLE_REMOTE_DEBUG)
};

// Without kLoaded nothing is left that the process might still run.
PythonAnswer ask_python(pid_t process, const std::vector<MappedFile>& files, const std::string& library);

}  // namespace turnpike::cli
