// Merges the work of each device into intervals.
#include "analyze/model/activity.h"

#include <algorithm>
#include <string>

#include "analyze/model/threads.h"

namespace turnpike::analyze {
namespace {

template <typename Record>
void add(std::map<std::uint32_t, std::vector<Interval>>& by_device, const Record& record) {
  if (has_times(record.start_ns, record.end_ns)) by_device[record.device].push_back({record.start_ns, record.end_ns});
}

}  // namespace

Activity::Activity(const Timeline& timeline, bool are_kernels_recorded) : is_known_(are_kernels_recorded) {
  if (!is_known_) return;
  std::map<std::uint32_t, std::vector<Interval>> kernels;
  std::map<std::uint32_t, std::vector<Interval>> transfers;
  for (const Kernel& kernel : timeline.kernels) add(kernels, kernel);
  for (const Transfer& transfer : timeline.transfers) {
    if (transfer.direction != Direction::kHostToHost) add(transfers, transfer);
  }
  for (auto& [device, intervals] : kernels) devices_[device].kernels = IntervalSet(std::move(intervals));
  for (auto& [device, activity] : devices_) activity.busy = activity.kernels;
  for (auto& [device, intervals] : transfers) {
    devices_[device].busy = devices_[device].kernels.unite(IntervalSet(std::move(intervals)));
  }
}

std::optional<std::int64_t> Activity::exposed_ns(const Transfer& transfer) const {
  if (!is_known_ || !transfer.has_times() || transfer.direction == Direction::kHostToHost) return std::nullopt;
  const auto found = devices_.find(transfer.device);
  const std::int64_t hidden_ns =
      found == devices_.end() ? 0 : found->second.kernels.covered_ns(transfer.start_ns, transfer.end_ns);
  return transfer.duration_ns() - hidden_ns;
}

std::optional<std::int64_t> Activity::idle_ns(std::uint32_t device, std::int64_t start_ns, std::int64_t end_ns) const {
  if (!is_known_ || device == trace::kUnknownId) return std::nullopt;
  const auto found = devices_.find(device);
  const std::int64_t busy_ns = found == devices_.end() ? 0 : found->second.busy.covered_ns(start_ns, end_ns);
  return end_ns - start_ns - busy_ns;
}

std::uint32_t Activity::resolve(std::uint32_t device) const {
  if (device != trace::kUnknownId || devices_.size() != 1) return device;
  return devices_.begin()->first;
}

bool are_kernels_recorded(const Timeline& timeline, const std::string& detail) {
  if (!timeline.kernels.empty()) return true;
  return detail == kFullDetail && std::none_of(timeline.calls.begin(), timeline.calls.end(), is_launch);
}

}  // namespace turnpike::analyze
