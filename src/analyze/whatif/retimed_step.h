// One step of a run as it would go with changes: when its calls and its work on the devices would begin and end.
//
// A step takes as step_ns() counts it: from the moment at which all work of the step before it is done, on the host and
// on the devices, until all of its own is. The step that is shown is the median of those of the second half, where what
// went ahead has settled.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/model/intervals.h"
#include "analyze/whatif/scenario.h"

namespace turnpike::analyze {

// The recorded step that is shown. Times are on the recording's clock.
struct ShownStep {
  std::size_t index;  // into FoundSteps::starts_ns
  Interval time;      // the step as the host saw it: from its start to the next one's
  Interval work;      // from when all work of the step before is done until all of its own is: what the step takes
  std::size_t graph_step = 0;  // of those that the graph holds
};
// Without steps the whole run, as step 0; nullopt: nothing has times.
std::optional<ShownStep> shown_step(const ProcessModel& model);

// Times are on the recording's clock, moved so that `work` begins where that of the recorded step does: then what ends
// earlier than the recorded one is what is saved. Calls of the step lie before its work where the host is ahead, as in
// the recording, and so does work that is done one step ahead.
struct RetimedStep {
  struct Item {
    std::uint32_t index;  // into the timeline's calls, kernels or transfers
    Interval time;
  };
  ShownStep recorded;
  // What steps take on average with the changes, as Scenario says: a finding's saving_step_ns is the measured
  // step without this. Where all steps are alike, it is the length of `work`.
  double predicted_step_ns;
  Interval work;
  // What the host and the devices do for the step, in the order of the recording; without what is no longer done.
  std::vector<Item> calls;
  std::vector<Item> kernels;
  std::vector<Item> transfers;
};

// nullopt: a change cannot be predicted, as in predict(). No changes: the run as it was, re-timed.
std::optional<RetimedStep> retimed_step(const ProcessModel& model, std::span<const NamedChange> changes);
// The same of a scenario of one process that was re-timed. `shown`: the model's.
RetimedStep retimed_step(const ShownStep& shown, const Scenario& scenario, Pauses pauses);

}  // namespace turnpike::analyze
