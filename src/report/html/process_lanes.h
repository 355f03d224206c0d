// The rows of one recorded process: its steps, ranges, threads and devices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"
#include "analyze/process_view.h"
#include "report/html/lane.h"
#include "report/html/sites.h"
#include "report/html/strings.h"

namespace turnpike::report::html {

struct Lane {
  LaneKind kind = LaneKind::kSteps;
  std::string title{};
  std::uint32_t depth = 0;
  std::optional<std::uint32_t> device{};
  std::vector<Event> events{};
  std::vector<std::pair<std::int64_t, std::uint64_t>> curve{};  // of kMemory: time and bytes
};

// One step as it would go with the fix of a finding.
struct FixedStep {
  std::string rule;
  std::string site;
  std::optional<std::string> library_site;
  double saving_pct = 0;
  std::vector<Lane> lanes;
};

struct ProcessLanes {
  std::string group;  // what the process is called
  std::vector<Lane> lanes;
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

// Receives each lane as soon as it is complete, in the order of the page; it stays among those of the result.
using TakeLane = std::function<void(const Lane&)>;

ProcessLanes lanes_of(const LaneInput& input, Strings& strings, Sites& sites, const TakeLane& take = {});

// A moment in the midst of what the process did, which a few damaged times do not shift; nullopt: nothing has times.
std::optional<std::int64_t> typical_time_ns(const analyze::Timeline& timeline);

}  // namespace turnpike::report::html
