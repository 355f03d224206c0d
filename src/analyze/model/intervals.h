// A set of moments as sorted, disjoint, non-empty intervals of time, with how much of any interval it covers in O(log
// n).
#pragma once

#include <cstdint>
#include <vector>

namespace turnpike::analyze {

// Half open: [start_ns, end_ns).
struct Interval {
  std::int64_t start_ns;
  std::int64_t end_ns;
  friend bool operator==(const Interval&, const Interval&) = default;
};

class IntervalSet {
 public:
  IntervalSet() = default;
  // In any order, overlapping or not; empty and backward ones count for nothing. O(n log n).
  explicit IntervalSet(std::vector<Interval> intervals);

  const std::vector<Interval>& intervals() const { return intervals_; }
  std::int64_t total_ns() const { return before_ns_.empty() ? 0 : before_ns_.back(); }
  // How much of [start_ns, end_ns) lies in the set.
  std::int64_t covered_ns(std::int64_t start_ns, std::int64_t end_ns) const;

  // What of it lies in [start_ns, end_ns). O(log n) and the size of the result.
  IntervalSet part(std::int64_t start_ns, std::int64_t end_ns) const;
  IntervalSet unite(const IntervalSet& other) const;
  IntervalSet intersect(const IntervalSet& other) const;
  IntervalSet subtract(const IntervalSet& other) const;

 private:
  // The first interval of from..to that starts at a moment or later; `to`: none.
  std::size_t first_from(std::int64_t moment_ns, std::size_t from, std::size_t to) const;
  // `next`: the first that starts at the moment or later.
  std::int64_t covered_before_ns(std::int64_t moment_ns, std::size_t next) const;

  std::vector<Interval> intervals_;
  std::vector<std::int64_t> before_ns_;  // summed lengths up to and including each interval
};

}  // namespace turnpike::analyze
