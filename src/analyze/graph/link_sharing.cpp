// Takes the time that copies lost to each other out of a recording, and puts it into a prediction.
#include "analyze/graph/link_sharing.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "analyze/cost_model.h"
#include "analyze/graph/edits.h"
#include "analyze/graph/link_play.h"
#include "analyze/model/intervals.h"

namespace turnpike::analyze {
namespace {

// What smaller copies take is mostly not their bytes.
constexpr std::uint64_t kSharedBytes = 1u << 20;
constexpr double kSettledNs = 1000;
// Of a copy, the share that others run beside, for it to show what they leave it.
constexpr double kMostly = 0.8;
constexpr std::size_t kFewCopies = 4;
// The rates of two GPUs behind one uplink add up to that of one link, about.
constexpr double kOneLinkTolerance = 0.15;
// Of the time that it took in a recording, what a copy may have taken alone at least.
constexpr double kSlowestShare = 0.5 * kBothDirectionsShare;

bool is_over_link(Direction direction) {
  return direction == Direction::kHostToDevice || direction == Direction::kDeviceToHost;
}

}  // namespace

LinkSharing::LinkSharing(const Timeline& timeline, const Graph& graph, const std::map<std::uint32_t, Link>& links) {
  for (std::uint32_t index = 0; index < graph.operations.size(); ++index) {
    const Operation& operation = graph.operations[index];
    if (operation.transfer == kNone) continue;
    const Transfer& transfer = timeline.transfers[operation.transfer];
    const auto link = links.find(operation.device);
    if (!is_over_link(transfer.direction) || transfer.bytes < kSharedBytes || link == links.end()) continue;
    const auto bytes_ns = link->second.copy_ns(transfer.direction, static_cast<double>(transfer.bytes));
    if (!bytes_ns) continue;
    const auto measured_ns = static_cast<double>(operation.end_ns - operation.start_ns);
    copies_.push_back(
        {index, operation.device, operation.device, transfer.direction, *bytes_ns, measured_ns, measured_ns});
  }
  find_uplinks(graph);
  if (!can_meet()) copies_.clear();
  undo_meetings(graph);
}

bool LinkSharing::fills_link(const Copy& copy, double alone_ns) {
  return alone_ns > 0 && copy.bytes_ns >= kAtLinkRateShare * alone_ns;
}

bool LinkSharing::can_meet() const {
  std::map<std::uint32_t, std::set<std::pair<std::uint32_t, Direction>>> of_uplink;
  for (const Copy& copy : copies_) of_uplink[copy.uplink].insert({copy.device, copy.direction});
  return std::any_of(of_uplink.begin(), of_uplink.end(), [](const auto& entry) { return entry.second.size() > 1; });
}

// Two GPUs are behind one uplink if their copies in one direction, one beside the other, come to the rate of one link.
void LinkSharing::find_uplinks(const Graph& graph) {
  std::map<std::uint32_t, std::vector<const Copy*>> of_device;
  for (const Copy& copy : copies_) {
    if (copy.direction == Direction::kHostToDevice) of_device[copy.device].push_back(&copy);
  }
  std::map<std::uint32_t, std::uint32_t> uplinks;
  for (auto one = of_device.begin(); one != of_device.end(); ++one) {
    for (auto other = std::next(one); other != of_device.end(); ++other) {
      const auto own_share = share_beside(graph, one->second, other->second);
      const auto other_share = share_beside(graph, other->second, one->second);
      if (!own_share || !other_share || std::abs(*own_share + *other_share - 1) > kOneLinkTolerance) continue;
      const auto first = uplinks.try_emplace(one->first, one->first).first->second;
      uplinks[other->first] = first;
    }
  }
  for (Copy& copy : copies_) {
    if (const auto found = uplinks.find(copy.device); found != uplinks.end()) copy.uplink = found->second;
  }
}

// The median share of the link's rate that copies reach which run beside the others; nullopt: few do.
std::optional<double> LinkSharing::share_beside(const Graph& graph, std::span<const Copy* const> own,
                                                std::span<const Copy* const> others) {
  std::vector<Interval> intervals;
  for (const Copy* other : others) {
    intervals.push_back({graph.operations[other->operation].start_ns, graph.operations[other->operation].end_ns});
  }
  const IntervalSet busy(std::move(intervals));
  std::vector<double> shares;
  for (const Copy* copy : own) {
    const Operation& operation = graph.operations[copy->operation];
    const auto covered_ns = static_cast<double>(busy.covered_ns(operation.start_ns, operation.end_ns));
    if (covered_ns >= kMostly * copy->measured_ns) shares.push_back(copy->bytes_ns / copy->measured_ns);
  }
  if (shares.size() < kFewCopies) return std::nullopt;
  std::nth_element(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2), shares.end());
  return shares[shares.size() / 2];
}

// First all that may have been slowed down by others count, then those that fill the link alone.
void LinkSharing::undo_meetings(const Graph& graph) {
  for (const bool is_first : {true, false}) {
    std::vector<std::size_t> counted;
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      const double alone_ns = is_first ? copies_[i].measured_ns * kSlowestShare : copies_[i].alone_ns;
      if (fills_link(copies_[i], alone_ns)) counted.push_back(i);
      copies_[i].alone_ns = copies_[i].measured_ns;
    }
    undo_meetings_of(counted, graph);
  }
}

void LinkSharing::undo_meetings_of(std::span<const std::size_t> counted, const Graph& graph) {
  std::vector<double> times_ns;
  for (const std::size_t i : counted) {
    const Operation& operation = graph.operations[copies_[i].operation];
    times_ns.push_back(static_cast<double>(operation.start_ns));
    times_ns.push_back(static_cast<double>(operation.end_ns));
    copies_[i].alone_ns = 0;
  }
  std::sort(times_ns.begin(), times_ns.end());
  std::size_t next = 0;
  std::vector<std::size_t> active;
  for (std::size_t at = 0; at + 1 < times_ns.size(); ++at) {
    const auto is_over = [&](std::size_t i) {
      return static_cast<double>(graph.operations[copies_[i].operation].end_ns) <= times_ns[at];
    };
    for (; next < counted.size() &&
           static_cast<double>(graph.operations[copies_[counted[next]].operation].start_ns) <= times_ns[at];
         ++next) {
      active.push_back(counted[next]);
    }
    std::erase_if(active, is_over);
    std::vector<Way> ways;
    for (const std::size_t i : active) ways.push_back({copies_[i].uplink, copies_[i].direction});
    for (std::size_t i = 0; i < active.size(); ++i) {
      copies_[active[i]].alone_ns += (times_ns[at + 1] - times_ns[at]) * speed_beside(ways[i], ways);
    }
  }
}

std::vector<double> LinkSharing::alone_ns(const Graph& changed) const {
  std::vector<double> alone_ns;
  for (const Copy& copy : copies_) {
    const auto duration = static_cast<double>(duration_ns(changed, copy.operation));
    alone_ns.push_back(duration == copy.measured_ns ? copy.alone_ns : duration);
  }
  return alone_ns;
}

bool LinkSharing::settle(Graph& changed, std::span<const std::int64_t> times_ns,
                         std::span<const double> alone_ns) const {
  std::vector<Crossing> crossings;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (!fills_link(copies_[i], alone_ns[i])) continue;
    const auto start_ns = static_cast<double>(times_ns[changed.operation_start(copies_[i].operation)]);
    crossings.push_back(
        {{copies_[i].uplink, copies_[i].direction}, copies_[i].operation, start_ns, alone_ns[i], start_ns});
  }
  std::stable_sort(crossings.begin(), crossings.end(),
                   [](const Crossing& a, const Crossing& b) { return a.start_ns < b.start_ns; });
  play(crossings);
  bool has_changed = false;
  for (const Crossing& one : crossings) {
    const double taken_ns = one.end_ns - one.start_ns;
    if (std::abs(taken_ns - static_cast<double>(duration_ns(changed, one.operation))) <= kSettledNs) continue;
    set_duration(changed, one.operation, std::llround(taken_ns));
    has_changed = true;
  }
  return has_changed;
}

}  // namespace turnpike::analyze
