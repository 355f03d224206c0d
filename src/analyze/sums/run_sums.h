// All that the processes of a run add to.
#pragma once

#include <array>

#include "analyze/report.h"
#include "analyze/sums/path_table.h"
#include "analyze/sums/site_table.h"

namespace turnpike::analyze {

struct RunSums {
  SiteTable sites;
  SyncTable sync_sites;
  PathTable paths;
  Syncs syncs;
  std::array<TotalSums, kDirectionCount> totals;
};

}  // namespace turnpike::analyze
