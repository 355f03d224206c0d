// Batches for which a thread waited until worker processes of a DataLoader delivered them.
//
// Workers that are late work all the time, whatever the thread does. So a batch that came late comes at the same time
// after the workers were started, also when the steps before it take less: what is saved there is waited for here. Only
// more or faster workers bring it sooner. Where a thread waits for less than kLateWorkers of the time, the workers may
// have had time to spare, and a wait may be chance: no batch counts as late then.
//
// What this cannot see: workers are processes of their own, which nobody records. A batch that was ready in time may
// have been ready only just, and becomes late when the steps take less. Workers that stay for several epochs
// (persistent_workers) rest at the end of each, which no sample shows: their batches count from the first start.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/graph/draft.h"

namespace turnpike::analyze {

struct BatchArrival {
  bool is_awaited = false;
  std::uint32_t since = 0;  // point: the batch comes as long after it as recorded; new workers, or the origin
  std::int64_t own_ns = 0;  // the thread's own work in the pause
};

// The batch before each call. Only samples show a wait.
std::vector<BatchArrival> find_batch_arrivals(const Draft& draft);

}  // namespace turnpike::analyze
