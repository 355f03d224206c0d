// All that the processes of a run add to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "analyze/model/timeline.h"
#include "analyze/report.h"
#include "analyze/sums/line_times.h"
#include "analyze/sums/path_table.h"
#include "analyze/sums/site_table.h"
#include "analyze/sums/step_counts.h"

namespace turnpike::analyze {

// What sees each transfer and each synchronisation while it is added, for sums of another shape. Both may be empty.
struct SumsWatcher {
  // `site`: the row of `sites`.
  std::function<void(const Transfer& transfer, const TransferCost& cost, std::uint32_t site)> transfer{};
  // A synchronisation that belongs to no transfer: the cost of the others has it. `site`: the row of `sync_sites`.
  std::function<void(const Call& call, std::optional<std::int64_t> gpu_idle_ns, std::uint32_t site)> synchronisation{};
};

struct RunSums {
  SiteTable sites;
  SyncTable sync_sites;
  PathTable paths;
  LineTable lines;
  Syncs syncs;
  std::array<TotalSums, kDirectionCount> totals;
  StepCounts step_counts;
  SumsWatcher watch;
};

}  // namespace turnpike::analyze
