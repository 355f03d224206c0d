// An optimizer that launches much.
#pragma once

#include <vector>

#include "analyze/rules/rule.h"
#include "analyze/rules/step_parts.h"

namespace turnpike::analyze {

// Adds a candidate of the rule launch_bound where a fused optimizer would gain. `saving_pct`: of a step, with the
// optimizer's launches as one.
void find_slow_optimizer(const ProcessModel& model, const StepCalls& calls, double saving_pct,
                         std::vector<Candidate>& found);

}  // namespace turnpike::analyze
