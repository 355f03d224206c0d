// A row of the timeline: events of one kind that are sorted and never overlap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/html/format.h"

namespace turnpike::report::html {

struct Event {
  std::int64_t start_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t name = 0;  // index into Strings
  std::uint32_t link = kNoLink;
  std::uint32_t exposed_ns = 0;
  std::uint32_t record = kNoLink;  // what it was made of, for who numbers events; not written
  std::uint16_t site = 0;
  Class event_class = Class::kOther;

  // No overflow: durations are at most kMaxTimeNs, and start times lie that far from the run's first at most.
  std::int64_t end_ns() const { return start_ns + static_cast<std::int64_t>(duration_ns); }
};

// As long as `start_ns`..`end_ns`. An end before the start, as damaged files have it, makes 0.
std::uint64_t length_ns(std::int64_t start_ns, std::int64_t end_ns);

// At most so many rows hold what overlaps; a file with more has no meaning that rows could show.
inline constexpr std::size_t kMaxDepth = 256;

struct Depths {
  std::vector<std::vector<Event>> rows;  // at least one
  std::uint64_t dropped = 0;             // events for which no row was free
};
// Each event goes to the first row that is free, the longer of two that start together first.
Depths spread(std::vector<Event> events);

}  // namespace turnpike::report::html
