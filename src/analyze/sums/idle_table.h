// The time without kernels while it is summed up over the processes of a run: by device, cause and place.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/report.h"
#include "analyze/sums/idle.h"

namespace turnpike::analyze {

// `steps`: those of its process; empty where there are none.
void add_stretch(IdleSite& row, const Interval& time, const IntervalSet& steps);

class IdleTable {
 public:
  // All devices of a process. `steps`: when its steps ran; empty: it has none.
  void add(IdleTimes& idle, const IntervalSet& steps);
  // Most time in the steps first, then most time. Empties the table.
  std::vector<IdleSite> take_ranked();

 private:
  using Key = std::tuple<std::uint32_t, IdleCause, Where>;

  std::map<Key, IdleSite> rows_;
};

}  // namespace turnpike::analyze
