// What torch.compile and CUDA graphs can reach in a program.
#pragma once

#include <optional>

#include "analyze/rules/rule.h"
#include "analyze/rules/step_parts.h"

namespace turnpike::analyze {

// Of the saving with the model's launches as one; nullopt where reads or steps that differ would break a graph.
std::optional<Reach> reach_of_compiling(const ProcessModel& model, const StepCalls& calls);

}  // namespace turnpike::analyze
