// Which step shows a place best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analyze/model/intervals.h"
#include "report/html/format.h"
#include "report/html/lane.h"

namespace turnpike::report::html {

// Sums up what each place costs in each step that has it. Lanes come as a LaneSink gets them, those of steps first.
class StepsOfSites {
 public:
  void begin_lane(LaneKind kind);
  void add_block(std::span<const Event> events);
  // For each place, by number as in events: `median`, if the place is in it, else the step in which it costs most.
  std::map<std::uint16_t, analyze::Interval> find(const analyze::Interval& median) const;

 private:
  LaneKind kind_ = LaneKind::kSteps;
  int rows_of_steps_ = 0;
  std::size_t step_ = 0;  // at the last event of the lane
  std::vector<Event> steps_;
  std::map<std::pair<std::uint16_t, std::size_t>, std::uint64_t> costs_;  // by place and step
};

}  // namespace turnpike::report::html
