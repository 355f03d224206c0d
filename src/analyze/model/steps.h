// The steps of a run: how many there are, and how long one takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/stacks.h"
#include "analyze/model/timeline.h"
#include "analyze/report.h"
#include "trace/process.h"

namespace turnpike::analyze {

struct FoundSteps {
  Steps steps;
  std::vector<std::int64_t> starts_ns;  // rising, one for each step
  // From the first start to the end of the last step whose end is known, without the steps that warm up: those at the
  // start that last more than 3 times the median. They load kernels and try algorithms, which says nothing of the rest.
  Interval window;
  std::uint64_t whole_count;  // steps that lie in the window as a whole
  bool has_warm_up;           // whether steps were left out of the window
};

// The steps of one process:
//  1. NVTX ranges whose name ends in the word step or iteration ("train_step", "ProfilerStep#12"; not those of an
//     optimizer) and comes at least 3 times, numbers apart. Of several names the one with the most time: the outermost.
//     Where such ranges of several threads overlap, those of the thread with the most time: steps follow each other.
//  2. Backward passes, at least 3: calls that PyTorch makes while it evaluates a node of a backward pass, on whatever
//     thread, follow each other until a kernel launch from elsewhere, or a copy by a thread that built a graph. A step
//     lasts from the first call of one pass to that of the next. So with gradient accumulation every pass is a step,
//     though the optimizer runs less often, and so is every pass of an iteration with several losses. Calls of which
//     PyTorch tells nothing count for neither side.
//  3. The place whose transfers (at least 5; copies within a device and memsets are computing) come most often among
//  those that come regularly: the standard deviation of
//     the intervals, without those of steps that warm up, is below half of their mean. A step starts with the call of
//     its transfer. Where it uploads the pieces of a model one after the other, a step is a round of them
//     (upload_cycle.h).
// Where only starts are known (2 and 3), the last step has no end and lies outside of the window. Transfers (3) are no
// steps where less than half of the kernels lie between the first and the last of them: they are a burst.
// `like`: the steps of an earlier part of the same process. Those of this part have the same source and marker, however
// few they are, and begin with the same piece. If this part does not upload that piece, it is searched for rounds anew.
// `site_of_transfer`: for each transfer of the timeline the row of its site; kNone for places that are not known.
std::optional<FoundSteps> find_steps(const trace::Process& process, const Timeline& timeline, Stacks& stacks,
                                     std::span<const std::uint32_t> site_of_transfer, const Steps* like = nullptr);

}  // namespace turnpike::analyze
