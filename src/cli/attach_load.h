// Loads the recorder into a process that was not started dormant. From then on it waits as a dormant one does.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace turnpike::cli {

// What the user should know of it, mostly nothing. The Error says why that cannot be, and what to do.
Result<std::string> load_recorder_into(pid_t process);

}  // namespace turnpike::cli
