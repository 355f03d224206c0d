// Who loads the data of a loop, as far as samples of its threads show.
#pragma once

#include <cstdint>
#include <string>

#include "analyze/graph/process_model.h"
#include "analyze/model/intervals.h"

namespace turnpike::analyze {

struct LoaderSeen {
  bool is_of_graphs = false;  // PyTorch Geometric put a batch together
  bool is_optimizer = false;  // an optimizer on the CPU took most of the time
  std::string place;          // where most samples were taken; empty: there are none
};

// What samples of `thread` show that lie in `times`.
LoaderSeen loader_in(const ProcessModel& model, std::uint32_t thread, const IntervalSet& times);

// Whether a DataLoader without workers loads the data of the steps.
bool loads_in_main_process(const ProcessModel& model);

}  // namespace turnpike::analyze
