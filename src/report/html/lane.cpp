#include "report/html/lane.h"

#include <algorithm>
#include <utility>

namespace turnpike::report::html {

std::uint64_t length_ns(std::int64_t start_ns, std::int64_t end_ns) {
  return end_ns <= start_ns ? 0 : static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(start_ns);
}

Depths spread(std::vector<Event> events) {
  const auto is_before = [](const Event& a, const Event& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  };
  Depths depths;
  // Nearly always they are sorted and fit into one row: then one look at them is enough, and nothing is copied.
  const auto does_not_follow = [&](const Event& before, const Event& event) {
    return before.end_ns() > event.start_ns || is_before(event, before);
  };
  if (std::adjacent_find(events.begin(), events.end(), does_not_follow) == events.end()) {
    depths.rows.push_back(std::move(events));
    return depths;
  }
  // Sorting takes as much memory again.
  if (!std::is_sorted(events.begin(), events.end(), is_before)) {
    std::stable_sort(events.begin(), events.end(), is_before);
  }
  const auto fits = [](const std::vector<Event>& row, const Event& event) {
    return row.empty() || row.back().end_ns() <= event.start_ns;
  };
  // Most events fit into the first row.
  std::vector<Event> others;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (kept == 0 || events[kept - 1].end_ns() <= events[i].start_ns) {
      if (kept != i) events[kept] = events[i];
      ++kept;
    } else {
      others.push_back(events[i]);
    }
  }
  events.resize(kept);
  depths.rows.push_back(std::move(events));
  for (const Event& event : others) {
    auto row = std::find_if(depths.rows.begin() + 1, depths.rows.end(),
                            [&](const std::vector<Event>& candidate) { return fits(candidate, event); });
    if (row == depths.rows.end()) {
      if (depths.rows.size() == kMaxDepth) {
        ++depths.dropped;
        continue;
      }
      row = depths.rows.insert(depths.rows.end(), std::vector<Event>());
    }
    row->push_back(event);
  }
  return depths;
}

}  // namespace turnpike::report::html
