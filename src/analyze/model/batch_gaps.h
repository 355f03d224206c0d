// Where the host, for a while, did nothing but get the next batch ready.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/stacks.h"
#include "analyze/model/threads.h"
#include "analyze/model/timeline.h"

namespace turnpike::analyze {

// Between the calls of a busy host lie microseconds; even a slow step of Python that issues work stays below this.
inline constexpr std::int64_t kQuietNs = 2'000'000;

// The gaps of more than kQuietNs, without a call by any of `threads`, that end where a step takes its batch: the next
// launch, copy, memset or synchronisation is the step's first upload, or was made by a data loader. A step is what
// begins at one of `step_starts_ns` (rising), wherever in its loop the program stands there; uploads in a backward pass
// or an optimizer are no batch. A gap anywhere else says nothing of the input.
std::vector<Interval> find_batch_gaps(const Timeline& timeline, Stacks& stacks, const Threads& threads,
                                      std::span<const std::int64_t> step_starts_ns);

}  // namespace turnpike::analyze
