// Loads the recorder into a process that was not started dormant. From then on it waits as a dormant one does.
#pragma once

#include "base/result.h"
#include "cli/attach_python.h"
#include "cli/target_process.h"

namespace turnpike::cli {

// The Error says why that cannot be, and what to do.
Status load_recorder_into(const TargetProcess& process, const Pause& pause);

}  // namespace turnpike::cli
