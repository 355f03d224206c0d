// Merges the work of each device into intervals.
#include "analyze/model/activity.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyze/model/collectives.h"
#include "analyze/model/threads.h"

namespace turnpike::analyze {
namespace {

// The work of one device by what it is.
struct Work {
  std::vector<Interval> collectives;
  std::vector<Interval> other_kernels;
  std::vector<Interval> within_device;
  std::vector<Interval> copies;
};

// The names of a process are asked for once.
class CollectiveKernels {
 public:
  explicit CollectiveKernels(const trace::Process& process) : process_(process) {}

  bool contains(const Kernel& kernel) {
    const auto [known, is_new] = is_collective_.try_emplace(kernel.name);
    if (is_new) known->second = is_of_nccl(process_.string(kernel.name));
    return known->second;
  }

 private:
  const trace::Process& process_;
  std::unordered_map<std::uint32_t, bool> is_collective_;
};

std::map<std::uint32_t, Work> work_of_devices(const trace::Process& process, const Timeline& timeline) {
  std::map<std::uint32_t, Work> work;
  CollectiveKernels collectives(process);
  for (const Kernel& kernel : timeline.kernels) {
    if (!kernel.has_times()) continue;
    Work& of_device = work[kernel.device];
    auto& intervals = collectives.contains(kernel) ? of_device.collectives : of_device.other_kernels;
    intervals.push_back({kernel.start_ns, kernel.end_ns});
  }
  for (const Transfer& transfer : timeline.transfers) {
    if (!transfer.has_times() || transfer.direction == Direction::kHostToHost) continue;
    Work& of_device = work[transfer.device];
    auto& intervals = is_within_device(transfer.direction) ? of_device.within_device : of_device.copies;
    intervals.push_back({transfer.start_ns, transfer.end_ns});
  }
  return work;
}

}  // namespace

bool is_within_device(Direction direction) {
  return direction == Direction::kDeviceToDevice || direction == Direction::kMemset;
}

Activity::Activity(const trace::Process& process, const Timeline& timeline, bool are_kernels_recorded)
    : is_known_(are_kernels_recorded) {
  if (!is_known_) return;
  for (auto& [device, work] : work_of_devices(process, timeline)) {
    DeviceActivity& activity = devices_[device];
    const IntervalSet collectives(std::move(work.collectives));
    const IntervalSet other_kernels(std::move(work.other_kernels));
    const IntervalSet others = other_kernels.unite(IntervalSet(std::move(work.within_device)));
    activity.kernels = other_kernels.unite(collectives);
    activity.computing = others.unite(collectives);
    activity.collectives_alone = collectives.subtract(others);
    activity.busy = activity.computing.unite(IntervalSet(std::move(work.copies)));
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
