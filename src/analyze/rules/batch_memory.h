// What a deeper pipeline costs in memory.
#pragma once

#include <string>

#include "analyze/graph/process_model.h"

namespace turnpike::analyze {

// "; one more batch in flight takes 16.8 MB on the GPU and 16.8 MB page-locked on the CPU's side (the GPU has 85.9 GB,
// of which 1.10 GB were taken at the peak)". A batch is what a step uploads to the device that gets most; the peak is
// of the allocations that were recorded. What is not known is left out: empty without steps.
std::string one_more_batch_text(const ProcessModel& model);

}  // namespace turnpike::analyze
