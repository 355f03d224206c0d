// What the host of a process did at each moment, as far as it explains a device that has nothing to do.
//
// Every moment has one state, the first of these that applies: held by a copy of which no times were recorded, so that
// nobody knows how long the device copied (unrecorded); held by a copy; held by another synchronisation; in a call that
// allocates or frees memory; getting the next batch ready (batch_gaps.h, loading.h); in another call that lasts longer
// than kQuietNs, because it loads code or sets something up (unknown); issuing work, which is calling CUDA or pausing
// between calls for no longer than kQuietNs; and unknown: no call for longer, in the midst of its work. The host is the
// threads that launch; a process that launches nothing is seen through all of its threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "analyze/report.h"

namespace turnpike::analyze {

// A stretch of the host's time, with the call that explains it.
struct HostWait {
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t call = kNone;  // index into the timeline's
};

// What the host of a process did, in any order; stretches may overlap.
struct HostActivity {
  std::vector<Interval> calls{};          // all calls of the threads that launch, waits included
  std::vector<HostWait> copy_waits{};     // held by a copy, or by the synchronisation paired with it
  std::vector<HostWait> sync_waits{};     // held by other synchronisations
  std::vector<HostWait> allocations{};    // in calls that allocate, free, lock or unlock memory
  std::vector<HostWait> batch_gaps{};     // the call: the first one behind the gap
  std::vector<HostWait> untimed_waits{};  // held by copies of which no times were recorded
  std::vector<HostWait> long_calls{};     // in other calls that last longer than kQuietNs: the driver works
};

struct HostState {
  Interval time;
  IdleCause cause;
  // Of copy and sync the one that was held, of allocation the one that allocates, of input the one behind the pause;
  // else kNone.
  std::uint32_t call;
};

class HostStates {
 public:
  // O(n log n); keeps 24 bytes for each wait, and as much for each pause of more than kQuietNs.
  explicit HostStates(HostActivity host);

  // Hands on the states in [start_ns, end_ns), one after the other without holes.
  template <typename Take>
  void each(std::int64_t start_ns, std::int64_t end_ns, Take&& take) const {
    auto next =
        std::upper_bound(states_.begin(), states_.end(), start_ns,
                         [](std::int64_t moment_ns, const HostState& one) { return moment_ns < one.time.end_ns; });
    while (start_ns < end_ns) {
      const bool is_stated = next != states_.end() && next->time.start_ns <= start_ns;
      HostState state{{start_ns, end_ns}, IdleCause::kUnknown, kNone};
      if (is_stated) {
        state = {{start_ns, std::min(next->time.end_ns, end_ns)}, next->cause, next->call};
        ++next;
      } else if (next != states_.end()) {
        state.time.end_ns = std::min(next->time.start_ns, end_ns);
      }
      take(state);
      start_ns = state.time.end_ns;
    }
  }

 private:
  std::vector<HostState> states_;  // rising, without overlap; what lies between them is unknown
};

}  // namespace turnpike::analyze
