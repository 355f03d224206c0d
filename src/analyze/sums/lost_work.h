// Work of a device that was launched and is not in the recording: the device may have done it in a gap.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/timeline.h"

namespace turnpike::analyze {

class LostWork {
 public:
  // Of one device; launches whose device is not known count for each. Keeps a reference to `timeline`.
  LostWork(const Timeline& timeline, std::uint32_t device);

  // Where in `gap` the device may have been at work on launches that began between the calls of the work before the
  // gap (`after_ns`) and behind it (`before_ns`): from the end of the first to the end of the synchronisation that
  // waited for the last, or else of the gap. How long lost work lasted, nothing tells. nullopt: there are none.
  std::optional<Interval> within(const Interval& gap, std::int64_t after_ns, std::int64_t before_ns) const;

 private:
  // Of the first one that begins at `start_ns` or later.
  std::optional<std::int64_t> end_of_synchronisation_from(std::int64_t start_ns) const;

  std::vector<Interval> launches_;          // by start
  std::vector<Interval> synchronisations_;  // by start
};

}  // namespace turnpike::analyze
