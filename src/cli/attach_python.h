// Has a running CPython load the recorder.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/attach_symbols.h"
#include "cli/target_process.h"

namespace turnpike::cli {

// Waits so long. False: the user has interrupted the command.
using Pause = std::function<bool(std::chrono::milliseconds)>;

// Afterwards the process waits for `turnpike attach`. After an Error nothing begins in it later, unless the Error says
// so.
Status load_by_python(const TargetProcess& process, const std::vector<MappedFile>& files, const std::string& library,
                      const Pause& pause);

}  // namespace turnpike::cli
