// The steps of a run: how many there are, and how long one takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/report.h"
#include "analyze/stacks.h"
#include "analyze/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

// Where steps can come from, the most trustworthy first.
enum class StepSource { kRanges, kOptimizer, kTransfers };

struct FoundSteps {
  StepSource source;
  Steps steps;
};

// The steps of one process:
//  1. NVTX ranges whose name ends in the word step or iteration ("train_step", "ProfilerStep#12"; not those of an
//  optimizer) and
//     comes at least 3 times, numbers apart. Of several names the one with the most time: the outermost.
//  2. Launches from the step of a torch.optim optimizer: those that follow each other on a thread from one line of the
//     program are one step. Of several lines (several optimizers) the one with the most, at least 3.
//  3. The place whose transfers (at least 5) come most often among those that come regularly: the standard deviation of
//     the intervals is below half of their mean.
// `site_of_transfer`: for each transfer of the timeline the row of its site; kNone for places that are not known.
std::optional<FoundSteps> find_steps(const trace::Process& process, const Timeline& timeline, Stacks& stacks,
                                     std::span<const std::uint32_t> site_of_transfer);

}  // namespace turnpike::analyze
