// A row of the timeline: events of one kind that are sorted and never overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
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
  std::uint16_t site = 0;
  Class event_class = Class::kOther;

  // No overflow: durations are at most kMaxTimeNs, and start times lie that far from the run's first at most.
  std::int64_t end_ns() const { return start_ns + static_cast<std::int64_t>(duration_ns); }
};

// Whether an event lies too far behind the one before it to stand in its block.
inline bool starts_block(const Event& before, const Event& event) {
  constexpr std::uint64_t kMaxDistance = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint64_t>(event.start_ns) - static_cast<std::uint64_t>(before.start_ns) > kMaxDistance;
}

struct Lane {
  LaneKind kind = LaneKind::kSteps;
  std::string title{};
  std::uint32_t depth = 0;
  std::optional<std::uint32_t> device{};
  std::vector<Event> events{};
  std::vector<std::pair<std::int64_t, std::uint64_t>> curve{};  // of kMemory: time and bytes
};

// As long as `start_ns`..`end_ns`. An end before the start, as damaged files have it, makes 0.
inline std::uint64_t length_ns(std::int64_t start_ns, std::int64_t end_ns) {
  return end_ns <= start_ns ? 0 : static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(start_ns);
}

// At most so many rows hold what overlaps; a file with more has no meaning that rows could show.
inline constexpr std::size_t kMaxDepth = 256;

template <typename Item>
struct Depths {
  std::vector<std::vector<Item>> rows;  // at least one
  std::uint64_t dropped = 0;            // items for which no row was free
};

struct Extent {
  std::int64_t start_ns;
  std::uint64_t duration_ns;

  std::int64_t end_ns() const { return start_ns + static_cast<std::int64_t>(duration_ns); }
  // The longer of two that start together comes first.
  bool comes_before(const Extent& other) const {
    return start_ns != other.start_ns ? start_ns < other.start_ns : duration_ns > other.duration_ns;
  }
};

// Each item goes to the first row that is free, in the order of Extent. `extent_of` tells when an item is.
template <typename Item, typename ExtentOf>
Depths<Item> spread(std::vector<Item> items, ExtentOf extent_of) {
  const auto is_before = [&](const Item& a, const Item& b) { return extent_of(a).comes_before(extent_of(b)); };
  const auto is_one_row = [&] {
    if (items.empty()) return true;
    Extent before = extent_of(items.front());
    return std::all_of(items.begin() + 1, items.end(), [&](const Item& item) {
      const Extent extent = extent_of(item);
      const bool follows = before.end_ns() <= extent.start_ns && !extent.comes_before(before);
      before = extent;
      return follows;
    });
  };
  Depths<Item> depths;
  // Nearly always they are sorted and fit into one row: then one look at them is enough, and nothing is copied.
  if (is_one_row()) {
    depths.rows.push_back(std::move(items));
    return depths;
  }
  // Sorting takes as much memory again.
  if (!std::is_sorted(items.begin(), items.end(), is_before)) std::stable_sort(items.begin(), items.end(), is_before);
  std::vector<std::int64_t> row_ends_ns;
  std::size_t kept = 0;
  depths.rows.resize(1);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Extent extent = extent_of(items[i]);
    const auto free = std::find_if(row_ends_ns.begin(), row_ends_ns.end(),
                                   [&](std::int64_t end_ns) { return end_ns <= extent.start_ns; });
    const auto row = static_cast<std::size_t>(free - row_ends_ns.begin());
    if (row == kMaxDepth) {
      ++depths.dropped;
      continue;
    }
    if (row == row_ends_ns.size()) row_ends_ns.push_back(0);
    row_ends_ns[row] = extent.end_ns();
    if (row == 0) {  // most do: they stay where they are
      if (kept != i) items[kept] = std::move(items[i]);
      ++kept;
      continue;
    }
    if (row == depths.rows.size()) depths.rows.emplace_back();
    depths.rows[row].push_back(std::move(items[i]));
  }
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(kept), items.end());
  depths.rows.front() = std::move(items);
  return depths;
}

Depths<Event> spread(std::vector<Event> events);

}  // namespace turnpike::report::html
