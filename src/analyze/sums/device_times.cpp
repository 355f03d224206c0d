// Adds the stretches up.
#include "analyze/sums/device_times.h"

#include <algorithm>

namespace turnpike::analyze {
namespace {

constexpr std::int64_t kCountsFromOneIn = 10;

std::vector<std::int64_t> chunk_starts(const SpilledLog<IdleInterval>& stretches) {
  std::vector<std::int64_t> starts_ns;
  std::size_t index = 0;
  for (const IdleInterval& stretch : stretches) {
    if (index++ % SpilledLog<IdleInterval>::kChunk == 0) starts_ns.push_back(stretch.time.start_ns);
  }
  return starts_ns;
}

}  // namespace

std::int64_t DeviceTime::idle_ns() const {
  std::int64_t sum_ns = 0;
  for (const IdleCause cause : kIdleCauses) sum_ns += is_idle(cause) ? of(cause) : 0;
  return sum_ns;
}

void DeviceTime::add(const DeviceTime& other) {
  span_ns += other.span_ns;
  computing_ns += other.computing_ns;
  collectives_ns += other.collectives_ns;
  for (const IdleCause cause : kIdleCauses) of(cause) += other.of(cause);
}

DeviceTimes::DeviceTimes(const Activity& activity, IdleTimes& idle) {
  std::int64_t most_ns = 0;
  for (const auto& [id, device] : activity.devices()) most_ns = std::max(most_ns, device.busy.total_ns());
  for (const auto& [id, device] : activity.devices()) {
    if (device.busy.total_ns() < most_ns / kCountsFromOneIn) continue;
    const SpilledLog<IdleInterval>& stretches = idle.of(id);
    devices_.push_back({&device, &stretches, chunk_starts(stretches)});
  }
}

DeviceTime DeviceTimes::within(const IntervalSet& span) const {
  DeviceTime sum;
  for (const Device& device : devices_) sum.add(within(device, span));
  return sum;
}

DeviceTime DeviceTimes::within(const Device& device, const IntervalSet& span) {
  DeviceTime time;
  time.span_ns = span.total_ns();
  for (const Interval& part : span.intervals()) {
    const std::int64_t computing_ns = device.activity->computing.covered_ns(part.start_ns, part.end_ns);
    const std::int64_t collectives_ns = device.activity->collectives_alone.covered_ns(part.start_ns, part.end_ns);
    time.computing_ns += computing_ns - collectives_ns;
    time.collectives_ns += collectives_ns;
    add_stretches(device, part, time);
  }
  std::int64_t known_ns = time.computing_ns + time.collectives_ns;
  for (const std::int64_t cause_ns : time.of_cause_ns) known_ns += cause_ns;
  time.of(IdleCause::kUnknown) += time.span_ns - known_ns;
  return time;
}

void DeviceTimes::add_stretches(const Device& device, const Interval& part, DeviceTime& time) {
  const auto& starts_ns = device.chunk_starts_ns;
  const auto behind = std::upper_bound(starts_ns.begin(), starts_ns.end(), part.start_ns);
  const std::size_t chunk = behind == starts_ns.begin() ? 0 : static_cast<std::size_t>(behind - starts_ns.begin()) - 1;
  const std::size_t first = std::min(chunk * SpilledLog<IdleInterval>::kChunk, device.stretches->size());
  for (auto stretch = device.stretches->from(first); stretch != device.stretches->end(); ++stretch) {
    if (stretch->time.start_ns >= part.end_ns) break;
    const std::int64_t inside_ns =
        std::min(stretch->time.end_ns, part.end_ns) - std::max(stretch->time.start_ns, part.start_ns);
    if (inside_ns > 0) time.of(stretch->cause) += inside_ns;
  }
}

}  // namespace turnpike::analyze
