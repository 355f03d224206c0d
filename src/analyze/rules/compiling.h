// What torch.compile and CUDA graphs can reach in a program.
#pragma once

#include <optional>
#include <string>

#include "analyze/rules/rule.h"
#include "analyze/rules/step_parts.h"

namespace turnpike::analyze {

struct Compiling {
  std::optional<Reach> reach;  // of the saving with the model's launches as one; nullopt: compiling is not advised
  std::string reason;          // why not, as a clause
};

Compiling judge_compiling(const ProcessModel& model, const StepCalls& calls);

}  // namespace turnpike::analyze
