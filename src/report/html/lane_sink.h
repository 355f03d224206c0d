// How rows are handed on while a process is read: piece by piece, so that no row is ever in memory as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "analyze/model/intervals.h"
#include "report/html/format.h"
#include "report/html/lane.h"

namespace turnpike::report::html {

// Receives the lanes of a process in the order of the page.
class LaneSink {
 public:
  virtual ~LaneSink() = default;

  // The step to show, before any lane; not called where the process has none.
  virtual void show_step(const analyze::Interval& step) = 0;
  // `lane`: without events, with its curve.
  virtual void begin_lane(const Lane& lane) = 0;
  // The next events of that lane: as many as make a block of the page. Valid during the call.
  virtual void add_block(std::span<const Event> events) = 0;
  virtual void end_lane() {}
};

// Collects the events of a lane until they make a block.
class BlockCutter {
 public:
  explicit BlockCutter(LaneSink& sink) : sink_(sink) {}

  // `event`: not before the last one.
  void add(const Event& event) {
    const bool is_next = count_ > 0 && (count_ == kMaxBlockEvents || starts_block(events_[count_ - 1], event));
    if (is_next) hand_on();
    // Not push_back(), which is called for each event: this becomes a few instructions.
    if (count_ == events_.size()) events_.resize(std::clamp<std::size_t>(2 * count_, 64, kMaxBlockEvents));
    events_[count_++] = event;
  }
  void end_lane() {
    if (count_ > 0) hand_on();
    sink_.end_lane();
  }

 private:
  void hand_on() {
    sink_.add_block(std::span(events_).first(count_));
    count_ = 0;
  }

  LaneSink& sink_;
  std::vector<Event> events_;  // the first `count_`
  std::size_t count_ = 0;
};

}  // namespace turnpike::report::html
