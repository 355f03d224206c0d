// Looks for a time by halving the time in which it can lie: sorting all of them, or selecting among them, takes many
// times as long.
#include "report/html/sorted_runs.h"

#include <algorithm>
#include <limits>

namespace turnpike::report::html {

void SortedRuns::end_run() {
  const auto begin = times_ns_.begin() + static_cast<std::ptrdiff_t>(size());
  if (!std::is_sorted(begin, times_ns_.end())) std::sort(begin, times_ns_.end());
  if (begin != times_ns_.end()) ends_.push_back(times_ns_.size());
}

std::size_t SortedRuns::count_before(std::int64_t time_ns) const {
  std::size_t count = 0;
  auto begin = times_ns_.begin();
  for (const std::size_t end : ends_) {
    const auto end_of_run = times_ns_.begin() + static_cast<std::ptrdiff_t>(end);
    count += static_cast<std::size_t>(std::lower_bound(begin, end_of_run, time_ns) - begin);
    begin = end_of_run;
  }
  return count;
}

std::int64_t SortedRuns::at(std::size_t rank) const {
  // The latest time with at most `rank` of them before it.
  std::int64_t from_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t to_ns = std::numeric_limits<std::int64_t>::max();
  while (from_ns < to_ns) {
    const auto length_ns = static_cast<std::uint64_t>(to_ns) - static_cast<std::uint64_t>(from_ns);
    const std::uint64_t half_ns = length_ns / 2 + length_ns % 2;
    const auto middle_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(from_ns) + half_ns);
    if (count_before(middle_ns) <= rank) {
      from_ns = middle_ns;
    } else {
      to_ns = middle_ns - 1;
    }
  }
  return from_ns;
}

}  // namespace turnpike::report::html
