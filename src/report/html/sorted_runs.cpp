// Looks for a time by halving the time in which it can lie: sorting all of them, or selecting among them, takes many
// times as long.
#include "report/html/sorted_runs.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace turnpike::report::html {

void SortedRuns::add(Run run) {
  size_ += run.count;
  runs_.push_back(std::move(run));
}

void SortedRuns::add_copy(const std::function<void(std::size_t from, const Take& take)>& scan) {
  const auto times_ns = std::make_shared<std::vector<std::int64_t>>();
  scan(0, [&](std::size_t, std::int64_t time_ns) {
    times_ns->push_back(time_ns);
    return true;
  });
  std::sort(times_ns->begin(), times_ns->end());
  add_run([times_ns](std::size_t from, const Take& take) {
    for (std::size_t i = from; i < times_ns->size() && take(i, (*times_ns)[i]); ++i) continue;
  });
}

std::size_t SortedRuns::count_before(std::int64_t time_ns) const {
  std::size_t count = 0;
  for (const Run& run : runs_) count += count_before(run, time_ns);
  return count;
}

std::size_t SortedRuns::count_before(const Run& run, std::int64_t time_ns) {
  const auto behind = std::lower_bound(run.samples.begin(), run.samples.end(), time_ns,
                                       [](const Sample& sample, std::int64_t ns) { return sample.time_ns < ns; });
  if (behind == run.samples.begin()) return 0;
  const auto whole = static_cast<std::size_t>(behind - run.samples.begin() - 1) * kStride;
  std::size_t more = 0;
  run.scan(std::prev(behind)->position, [&](std::size_t, std::int64_t ns) {
    if (ns >= time_ns) return false;
    return ++more < kStride;
  });
  return whole + more;
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
