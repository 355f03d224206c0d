// The answer to `turnpike whatif`: what a step of a recorded program takes, and what it would take with changes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/graph/process_model.h"
#include "analyze/whatif/what_if.h"
#include "base/result.h"

namespace turnpike::analyze {

struct AskedChange {
  Change change;
  std::string site;  // "" for every place it applies to
};

struct WhatIfAnswer {
  std::size_t step_count = 0;  // of the stretch that was looked at; 1 for a whole run without steps
  // On average; with pauses where the changes concern what is done in them.
  double measured_step_ns = 0;
  double retimed_step_ns = 0;  // by the unchanged graph
  double typical_step_ns = 0;  // by the graph with typical lags in the place of measured ones: how good the model is
  std::optional<double> predicted_step_ns;  // nullopt: a figure that a change needs is not known
  std::vector<std::size_t> changed;         // by asked change: to how many calls it applied, on all ranks
  std::vector<std::string> misfits;         // sentences: sites at which nothing is, or nothing that the change is about
  std::uint64_t contradicted_count = 0;
  std::size_t rank_count = 1;         // how many processes were re-timed together, because they meet in collectives
  std::size_t meeting_count = 0;      // in how many
  bool has_lost_collectives = false;  // several processes hold collectives that could not be matched
  bool has_steps = true;              // false: the whole run was re-timed as one
  // false: the model misses the recorded step by so much (kUselessShare) that the report would claim no saving.
  bool is_reliable = true;
};

// The process with the most calls speaks for a run, together with all that it meets in collectives: a change is made on
// each of these ranks. Fails when there is no process with any work in it.
Result<WhatIfAnswer> what_if(std::span<const LoadedProcess> processes, const std::vector<AskedChange>& changes,
                             const LinkRates& rates);

}  // namespace turnpike::analyze
