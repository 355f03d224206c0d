// The answer to `turnpike whatif`: what a step of a recorded process takes, and what it would take with changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/process_model.h"
#include "analyze/what_if.h"
#include "base/result.h"

namespace turnpike::analyze {

struct AskedChange {
  Change change;
  std::string site;  // "" for every place it applies to
};

struct WhatIfAnswer {
  std::size_t step_count = 0;  // of the stretch that was looked at; 1 for a whole run without steps
  double measured_step_ns = 0;
  double retimed_step_ns = 0;  // by the unchanged graph
  double typical_step_ns = 0;  // by the graph with typical lags in the place of measured ones: how good the model is
  std::optional<double> predicted_step_ns;  // nullopt: a figure that a change needs is not known
  std::vector<std::size_t> changed;         // by asked change: to how many calls it applied
  std::uint64_t contradicted_count = 0;
};

// The process with the most calls of a run speaks for it. Fails when there is none with any work in it.
Result<WhatIfAnswer> what_if(const trace::Process& process, const Timeline& timeline,
                             const std::vector<AskedChange>& changes, const LinkRates& rates);

}  // namespace turnpike::analyze
