#include "report/chrome/rows.h"

#include <algorithm>
#include <tuple>

namespace turnpike::report {
namespace {

// A slice that fits none of the first so many lanes gets a new one: keeps a hostile file from costing quadratic time.
constexpr std::size_t kLanesTried = 64;

// One row: the slices that are open at the moment, outermost first.
class Lane {
 public:
  bool fits(const RowItem& item, bool may_nest) {
    while (!open_.empty() && open_.back().end_ns <= item.start_ns) open_.pop_back();
    if (open_.empty()) return true;
    const RowItem& outer = open_.back();
    const bool is_inside =
        item.end_ns <= outer.end_ns && (item.start_ns > outer.start_ns || item.ordinal > outer.ordinal);
    return may_nest && is_inside;
  }
  void add(const RowItem& item) { open_.push_back(item); }

 private:
  std::vector<RowItem> open_;
};

std::uint32_t place(const RowItem& item, bool may_nest, std::vector<Lane>& lanes) {
  const std::size_t tried = std::min(lanes.size(), kLanesTried);
  for (std::size_t i = 0; i < tried; ++i) {
    if (!lanes[i].fits(item, may_nest)) continue;
    lanes[i].add(item);
    return static_cast<std::uint32_t>(i);
  }
  lanes.emplace_back().add(item);
  return static_cast<std::uint32_t>(lanes.size() - 1);
}

}  // namespace

RowLanes::RowLanes(std::vector<RowItem> items, const std::vector<bool>& may_nest) : lane_counts_(may_nest.size(), 1) {
  std::sort(items.begin(), items.end(), [](const RowItem& a, const RowItem& b) {
    return std::tie(a.track, a.start_ns, b.end_ns, a.ordinal) < std::tie(b.track, b.start_ns, a.end_ns, b.ordinal);
  });
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const RowItem& item = items[i];
    if (i > 0 && items[i - 1].track != item.track) lanes.clear();
    const std::uint32_t lane = place(item, may_nest[item.track], lanes);
    if (lane > 0) lanes_[item.ordinal] = lane;
    lane_counts_[item.track] = std::max(lane_counts_[item.track], lane + 1);
  }
}

std::uint32_t RowLanes::lane_of(std::uint32_t ordinal) const {
  const auto found = lanes_.find(ordinal);
  return found == lanes_.end() ? 0 : found->second;
}

}  // namespace turnpike::report
