// Times that come in several runs, each sorted, and what would stand where if all of them were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace turnpike::report::html {

class SortedRuns {
 public:
  void reserve(std::size_t count) { times_ns_.reserve(count); }
  // To the run that is not ended.
  void add(std::int64_t time_ns) { times_ns_.push_back(time_ns); }
  // Sorts what was added out of order, as only damaged files have it.
  void end_run();

  // Only what is in runs that are ended counts.
  std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  std::size_t count_before(std::int64_t time_ns) const;
  // `rank`: below size().
  std::int64_t at(std::size_t rank) const;

 private:
  std::vector<std::int64_t> times_ns_;
  std::vector<std::size_t> ends_;  // of runs
};

}  // namespace turnpike::report::html
