// Tells files of other profilers from Turnpike runs, to say so instead of calling them damaged.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"

namespace turnpike::cli {

// An Error, saying what to do, when one of these is a file of torch.profiler or of Nsight Systems.
Status check_are_turnpike_runs(const std::vector<std::filesystem::path>& runs);

}  // namespace turnpike::cli
