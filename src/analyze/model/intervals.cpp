// Merging sweeps over sorted intervals.
#include "analyze/model/intervals.h"

#include <algorithm>

namespace turnpike::analyze {

IntervalSet::IntervalSet(std::vector<Interval> intervals) : intervals_(std::move(intervals)) {
  const auto by_start = [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; };
  if (!std::is_sorted(intervals_.begin(), intervals_.end(), by_start)) {
    std::sort(intervals_.begin(), intervals_.end(), by_start);
  }
  std::size_t kept = 0;
  for (const Interval interval : intervals_) {
    if (interval.end_ns <= interval.start_ns) continue;
    if (kept > 0 && interval.start_ns <= intervals_[kept - 1].end_ns) {
      intervals_[kept - 1].end_ns = std::max(intervals_[kept - 1].end_ns, interval.end_ns);
    } else {
      intervals_[kept++] = interval;
    }
  }
  intervals_.resize(kept);
  intervals_.shrink_to_fit();
  before_ns_.reserve(kept);
  std::int64_t sum_ns = 0;
  for (const Interval& interval : intervals_) {
    sum_ns += interval.end_ns - interval.start_ns;
    before_ns_.push_back(sum_ns);
  }
}

std::size_t IntervalSet::first_from(std::int64_t moment_ns, std::size_t from, std::size_t to) const {
  const auto at = [&](std::size_t place) { return intervals_.begin() + static_cast<std::ptrdiff_t>(place); };
  const auto found =
      std::partition_point(at(from), at(to), [=](const Interval& interval) { return interval.start_ns < moment_ns; });
  return static_cast<std::size_t>(found - intervals_.begin());
}

std::int64_t IntervalSet::covered_before_ns(std::int64_t moment_ns, std::size_t next) const {
  if (next == 0) return 0;
  const std::int64_t after_moment_ns = std::max<std::int64_t>(0, intervals_[next - 1].end_ns - moment_ns);
  return before_ns_[next - 1] - after_moment_ns;
}

std::int64_t IntervalSet::covered_ns(std::int64_t start_ns, std::int64_t end_ns) const {
  if (end_ns <= start_ns) return 0;
  const std::size_t first = first_from(start_ns, 0, intervals_.size());
  // Most stretches are short, so their end is near.
  std::size_t near = first;
  std::size_t far = first;
  for (std::size_t ahead = 1; far < intervals_.size() && intervals_[far].start_ns < end_ns; ahead *= 2) {
    near = far + 1;
    far = std::min(intervals_.size(), far + ahead);
  }
  return covered_before_ns(end_ns, first_from(end_ns, near, far)) - covered_before_ns(start_ns, first);
}

IntervalSet IntervalSet::part(std::int64_t start_ns, std::int64_t end_ns) const {
  auto next = std::upper_bound(intervals_.begin(), intervals_.end(), start_ns,
                               [](std::int64_t moment_ns, const Interval& one) { return moment_ns < one.end_ns; });
  std::vector<Interval> inside;
  for (; next != intervals_.end() && next->start_ns < end_ns; ++next) {
    inside.push_back({std::max(next->start_ns, start_ns), std::min(next->end_ns, end_ns)});
  }
  return IntervalSet(std::move(inside));
}

IntervalSet IntervalSet::unite(const IntervalSet& other) const {
  std::vector<Interval> both;
  both.reserve(intervals_.size() + other.intervals_.size());
  std::merge(intervals_.begin(), intervals_.end(), other.intervals_.begin(), other.intervals_.end(),
             std::back_inserter(both), [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  return IntervalSet(std::move(both));
}

IntervalSet IntervalSet::intersect(const IntervalSet& other) const {
  std::vector<Interval> shared;
  auto a = intervals_.begin();
  auto b = other.intervals_.begin();
  while (a != intervals_.end() && b != other.intervals_.end()) {
    shared.push_back({std::max(a->start_ns, b->start_ns), std::min(a->end_ns, b->end_ns)});
    if (a->end_ns < b->end_ns) {
      ++a;
    } else {
      ++b;
    }
  }
  return IntervalSet(std::move(shared));
}

IntervalSet IntervalSet::subtract(const IntervalSet& other) const {
  std::vector<Interval> rest;
  auto cut = other.intervals_.begin();
  for (const Interval& interval : intervals_) {
    while (cut != other.intervals_.end() && cut->end_ns <= interval.start_ns) ++cut;
    std::int64_t start_ns = interval.start_ns;
    for (auto c = cut; c != other.intervals_.end() && c->start_ns < interval.end_ns; ++c) {
      rest.push_back({start_ns, c->start_ns});
      start_ns = c->end_ns;
    }
    rest.push_back({start_ns, interval.end_ns});
  }
  return IntervalSet(std::move(rest));
}

}  // namespace turnpike::analyze
