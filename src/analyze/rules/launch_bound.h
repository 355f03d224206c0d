// What the rule launch_bound says where it advises nothing.
#pragma once

#include <optional>
#include <string>

#include "analyze/graph/process_model.h"

namespace turnpike::analyze {

// Why torch.compile is not advised although the GPU waits for launches, as a clause in plain words; nullopt: it is
// advised, or launching is not the matter. Looks at all calls and samples of the stretch once, and re-times nothing.
std::optional<std::string> why_not_compiled(const ProcessModel& model);

}  // namespace turnpike::analyze
