// Divides the time of the devices, and puts the result into one sentence.
#include "analyze/verdict.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>

namespace turnpike::analyze {
namespace {

// Where the process called CUDA, short gaps between its calls included.
IntervalSet times_of_issuing(std::vector<Interval> calls) {
  for (Interval& call : calls) call.end_ns += kQuietNs;
  IntervalSet reached(std::move(calls));
  std::vector<Interval> issuing = reached.intervals();
  // A gap that is longer than kQuietNs is quiet from its start.
  for (Interval& interval : issuing) interval.end_ns -= kQuietNs;
  return IntervalSet(std::move(issuing));
}

DeviceTime account(const DeviceActivity& device, Interval span, const IntervalSet& copy_waits,
                   const IntervalSet& sync_waits, const IntervalSet& issuing) {
  DeviceTime time;
  time.span_ns = span.end_ns - span.start_ns;
  time.kernel_ns = device.kernels.total_ns();
  time.exposed_transfer_ns = device.busy.total_ns() - time.kernel_ns;
  const IntervalSet idle = IntervalSet({span}).subtract(device.busy);
  time.idle_ns = idle.total_ns();
  time.copy_wait_ns = idle.intersect(copy_waits).total_ns();
  const IntervalSet not_copying = idle.subtract(copy_waits);
  time.sync_wait_ns = not_copying.intersect(sync_waits).total_ns();
  const IntervalSet not_waiting = not_copying.subtract(sync_waits);
  time.launch_ns = not_waiting.intersect(issuing).total_ns();
  time.quiet_ns = not_waiting.total_ns() - time.launch_ns;
  return time;
}

double percent(std::int64_t part_ns, std::int64_t whole_ns) {
  return 100.0 * static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

std::string one_decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", value);
  return text;
}

std::string sentence(const DeviceTime& time) {
  const auto share = [&](std::int64_t part_ns) { return one_decimal(percent(part_ns, time.span_ns)); };
  return "Kernels ran for " + share(time.kernel_ns) + " of the time; for " + share(time.exposed_transfer_ns) +
         " only transfers ran, and for " + share(time.idle_ns) + " nothing did: the host was held by copies for " +
         share(time.copy_wait_ns) + ", by synchronisations for " + share(time.sync_wait_ns) +
         ", was issuing work for " + share(time.launch_ns) + " and did not call CUDA for " + share(time.quiet_ns) + ".";
}

std::string largest_cause(const DeviceTime& time) {
  const std::array<std::pair<std::int64_t, const char*>, 4> causes = {{
      {time.exposed_transfer_ns + time.copy_wait_ns, "transfer"},
      {time.sync_wait_ns, "sync"},
      {time.launch_ns, "launch"},
      {time.quiet_ns, "input"},
  }};
  const auto [cause_ns, name] =
      *std::max_element(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return 2 * cause_ns > time.span_ns - time.kernel_ns ? name : "mixed";
}

}  // namespace

void DeviceTime::add(const DeviceTime& other) {
  span_ns += other.span_ns;
  kernel_ns += other.kernel_ns;
  exposed_transfer_ns += other.exposed_transfer_ns;
  idle_ns += other.idle_ns;
  copy_wait_ns += other.copy_wait_ns;
  sync_wait_ns += other.sync_wait_ns;
  launch_ns += other.launch_ns;
  quiet_ns += other.quiet_ns;
}

DeviceTime account(const Activity& activity, HostActivity host) {
  DeviceTime sum;
  const IntervalSet copy_waits(std::move(host.copy_waits));
  const IntervalSet sync_waits(std::move(host.sync_waits));
  const IntervalSet issuing = times_of_issuing(std::move(host.calls));
  for (const auto& [id, device] : activity.devices()) {
    sum.add(account(device, host.span, copy_waits, sync_waits, issuing));
  }
  return sum;
}

Verdict judge(const DeviceTime& time, bool is_known) {
  Verdict verdict;
  if (!is_known) {
    verdict.why =
        "Kernels were not recorded, so what the GPU did between transfers is unknown. Record with --detail full.";
    return verdict;
  }
  if (time.span_ns <= 0) {
    verdict.why = "No GPU did anything while this was recorded.";
    return verdict;
  }
  verdict.gpu_busy_pct = percent(time.kernel_ns, time.span_ns);
  verdict.gpu_idle_pct = percent(time.idle_ns, time.span_ns);
  verdict.exposed_transfer_pct = percent(time.exposed_transfer_ns, time.span_ns);
  verdict.bound_by = *verdict.gpu_busy_pct >= kGpuBoundPct ? "gpu" : largest_cause(time);
  verdict.why = sentence(time);
  return verdict;
}

}  // namespace turnpike::analyze
