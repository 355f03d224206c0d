#include "report/html/encoded_lanes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace turnpike::report::html {

EncodedLanes::EncodedLanes(const EncodedLanes& other)
    : lanes_(other.lanes_), blocks_(other.blocks_), planes_bytes_(other.planes_bytes_), packer_(other.packer_) {}

void EncodedLanes::add(const Lane& lane, std::uint32_t group, std::optional<std::size_t> fix, const Strings& strings) {
  begin(lane, group, fix);
  for (std::span<const Event> left(lane.events); !left.empty();) {
    const auto events = left.first(block_size(left));
    add_block(events, strings);
    left = left.subspan(events.size());
  }
}

void EncodedLanes::begin(const Lane& lane, std::uint32_t group, std::optional<std::size_t> fix) {
  lanes_.push_back({lane.kind, lane.title, group, lane.depth, lane.device, fix, {}, {}, lane.curve});
  name_in_lane_.clear();
}

void EncodedLanes::add_block(std::span<const Event> events, const Strings& strings) {
  LaneEntry& lane = lanes_.back();
  constexpr std::uint32_t kNotInLane = std::numeric_limits<std::uint32_t>::max();
  name_in_lane_.resize(strings.all().size(), kNotInLane);
  for (const Event& event : events) {
    std::uint32_t& name = name_in_lane_[event.name];
    if (name != kNotInLane) continue;
    // The last name stands for all that have no room.
    name = static_cast<std::uint32_t>(std::min(lane.names.size(), kMaxLaneNames - 1));
    if (lane.names.size() < kMaxLaneNames) lane.names.push_back(event.name);
  }
  BlockHeader header{.id = static_cast<std::uint32_t>(blocks_.size())};
  std::string planes = planes_of(events, columns_of(lane.kind), header, name_in_lane_);
  const Effort effort = effort_for(lane.kind, planes_bytes_);
  planes_bytes_ += planes.size();
  const std::size_t place = store_->add(packer_->pack(std::move(planes), effort));
  blocks_.push_back({store_, place});
  lane.blocks.push_back(std::move(header));
}

}  // namespace turnpike::report::html
