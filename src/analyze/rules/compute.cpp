// Collects the kernels of a graph.
#include "analyze/rules/compute.h"

#include <utility>

namespace turnpike::analyze {
namespace {

// Of the time of a device's kernels: a stream with less does not compute.
constexpr std::int64_t kShareOfCompute = 10;  // a tenth

}  // namespace

Compute::Compute(const ProcessModel& model) {
  std::map<std::uint32_t, std::vector<Interval>> intervals;
  for (const Operation& operation : model.graph().operations) {
    if (operation.kernel == kNone) continue;
    intervals[operation.device].push_back({operation.start_ns, operation.end_ns});
    kernel_ns_[{operation.device, operation.stream}] += operation.end_ns - operation.start_ns;
  }
  for (auto& [device, of_device] : intervals) kernels_.emplace(device, IntervalSet(std::move(of_device)));
}

bool Compute::is_compute_stream(std::uint32_t device, std::uint32_t stream) const {
  const auto kernels = kernels_.find(device);
  const auto own = kernel_ns_.find({device, stream});
  if (kernels == kernels_.end() || own == kernel_ns_.end()) return false;
  return own->second * kShareOfCompute >= kernels->second.total_ns();
}

std::int64_t Compute::exposed_ns(const Operation& copy) const {
  return exposed_ns(copy.device, copy);
}

std::int64_t Compute::exposed_ns(std::uint32_t device, const Operation& copy) const {
  const std::int64_t all_ns = copy.end_ns - copy.start_ns;
  const auto kernels = kernels_.find(device);
  return kernels == kernels_.end() ? all_ns : all_ns - kernels->second.covered_ns(copy.start_ns, copy.end_ns);
}

std::vector<std::uint32_t> Compute::devices() const {
  std::vector<std::uint32_t> devices;
  for (const auto& [device, kernels] : kernels_) devices.push_back(device);
  return devices;
}

}  // namespace turnpike::analyze
