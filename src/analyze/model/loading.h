// Where the host waited in a data loader for the next batch, or made one, as samples found it.
#pragma once

#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/stacks.h"
#include "analyze/model/threads.h"
#include "analyze/model/timeline.h"

namespace turnpike::analyze {

// The times in which samples found one of `threads` in the phase `loader`, by thread, then time. A sample stands for
// the time to the next one of its thread, or for twice the usual distance if that is less: samples may end. Unlike the
// gaps of batch_gaps.h, these need no steps and no upload behind them.
std::vector<Interval> find_loading(const Timeline& timeline, Stacks& stacks, const Threads& threads);

}  // namespace turnpike::analyze
