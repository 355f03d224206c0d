// The rows of one recorded process: its steps, ranges, threads and devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "analyze/process_view.h"
#include "report/html/lane.h"
#include "report/html/lane_sink.h"
#include "report/html/sites.h"
#include "report/html/strings.h"

namespace turnpike::report::html {

// One step as it would go with the fix of a finding.
struct FixedStep {
  std::string rule;
  std::string site;
  std::optional<std::string> library_site;
  double saving_pct = 0;
  std::vector<Lane> lanes;
};

// What there is to say of a process beside its lanes.
struct ProcessLanes {
  std::string group;  // what the process is called
  std::vector<FixedStep> fixed_steps;
  std::optional<analyze::Interval> median_step;  // of the second half, where the program has warmed up
  std::optional<analyze::Interval> opening;      // what of the time to look at first; where there is a median step
  std::optional<analyze::Interval> stretch;      // that is shown in full; nullopt: all
  // What is not in the lanes.
  std::uint64_t untimed = 0;         // records without usable times
  std::uint64_t too_deep = 0;        // events for which no row was free
  std::uint64_t left_out = 0;        // kernels, calls, samples and short gaps beyond the limit
  std::uint64_t lost_stretches = 0;  // events of class `lost`
  bool has_untimed_losses = false;
};

struct LaneInput {
  const analyze::ProcessView& view;
  // Above so many events, kernels and calls that are no wait are left out, those far from the median step first.
  std::size_t max_events;
  // Events that are further from it than a page can say are left out.
  std::int64_t reference_ns;
  std::uint32_t first_number;  // what links call the first event of the process
};

// The lane for what a device waits for, without events.
Lane state_lane(std::uint32_t device);
// The row of a picture with what a device waits for other ranks.
std::string waits_for_ranks_title(std::uint32_t device);
// Whether a gap of that time is in the page whatever their number. `stretch`: as in ProcessLanes.
bool is_gap_kept(const analyze::Interval& gap, const std::optional<analyze::Interval>& stretch);

// Hands the lanes on as it makes them.
ProcessLanes lanes_of(const LaneInput& input, Strings& strings, Sites& sites, LaneSink& sink);

// A moment in the midst of what the process did, which a few damaged times do not shift; nullopt: nothing has times.
std::optional<std::int64_t> typical_time_ns(const analyze::Timeline& timeline);

}  // namespace turnpike::report::html
