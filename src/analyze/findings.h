// What should be done otherwise, ranked by what that would gain.
#pragma once

#include <optional>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/report.h"

namespace turnpike::analyze {

struct FoundFindings {
  std::vector<Finding> findings;         // most saving first
  std::optional<double> saving_pct_all;  // of the step, with all of them done together
};

// The order of findings: errors first, then most saving.
bool comes_before(const Finding& a, const Finding& b);

// Asks every rule, re-times each candidate, and drops those that would gain too little to matter.
FoundFindings find_findings(const ProcessModel& model);

}  // namespace turnpike::analyze
