// The numbers behind a finding: what the calls that it is about do in one step.
#pragma once

#include <optional>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/report.h"
#include "analyze/whatif/what_if.h"

namespace turnpike::analyze {

// Each call counts once, in however many of the changes it is. nullopt: they name no calls.
std::optional<StepEvidence> step_evidence(const ProcessModel& model, const std::vector<NamedChange>& changes);

}  // namespace turnpike::analyze
