// The lanes of a process, kept for a test to look at.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "report/html/lane.h"
#include "report/html/lane_sink.h"

namespace turnpike::report::html {

struct KeptLanes final : LaneSink {
  void show_step(const analyze::Interval& step) override { shown = step; }
  void begin_lane(const Lane& lane) override { lanes.push_back(lane); }
  void add_block(std::span<const Event> events) override {
    sizes.push_back(events.size());
    lanes.back().events.insert(lanes.back().events.end(), events.begin(), events.end());
  }

  std::optional<analyze::Interval> shown;
  std::vector<Lane> lanes;
  std::vector<std::size_t> sizes;  // of blocks
};

}  // namespace turnpike::report::html
