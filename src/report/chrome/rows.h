// Distributes slices over the rows of a trace viewer, which draws wrongly what overlaps on one row without nesting.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace turnpike::report {

struct RowItem {
  std::int64_t start_ns;
  std::int64_t end_ns;  // >= start_ns
  std::uint32_t track;
  std::uint32_t
      ordinal;  // the place in the file: a viewer takes the first of two slices that start together as the outer
};

class RowLanes {
 public:
  RowLanes() = default;
  // `may_nest[track]`: slices may lie inside one another (calls on a thread) or must not touch (work on a stream).
  // O(n log n); the memory of `items` is given back.
  RowLanes(std::vector<RowItem> items, const std::vector<bool>& may_nest);

  // 0 is the track's own row; what does not fit there goes to lane 1, 2, ...
  std::uint32_t lane_of(std::uint32_t ordinal) const;
  // By track: how many lanes it has, at least 1.
  const std::vector<std::uint32_t>& lane_counts() const { return lane_counts_; }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> lanes_;  // of the few that are not in lane 0
  std::vector<std::uint32_t> lane_counts_;
};

}  // namespace turnpike::report
