// Divides the time of the devices, and puts the result into one sentence.
#include "analyze/sums/verdict.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace turnpike::analyze {
namespace {

void add_idle(DeviceTime& time, IdleCause cause, std::int64_t idle_ns) {
  switch (cause) {
    case IdleCause::kCopiesOnly:
    case IdleCause::kRank:
      break;  // no states of a host
    case IdleCause::kCopy:
      time.copy_wait_ns += idle_ns;
      break;
    case IdleCause::kSync:
      time.sync_wait_ns += idle_ns;
      break;
    case IdleCause::kInput:
      time.input_ns += idle_ns;
      break;
    case IdleCause::kLaunch:
      time.launch_ns += idle_ns;
      break;
    case IdleCause::kUnknown:
      time.quiet_ns += idle_ns;
      break;
  }
}

double percent(std::int64_t part_ns, std::int64_t whole_ns) {
  return 100.0 * static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

std::string scope_text(const VerdictScope& scope) {
  if (scope.is_range) return "While it was open";
  if (scope.whole_steps == 0) return "Over all that was recorded";
  std::string text = scope.is_of_devices ? "Over the GPU's time for the " : "Over the ";
  text += std::to_string(scope.whole_steps) + " whole steps";
  if (scope.processes > 1) text += " of " + std::to_string(scope.processes) + " processes";
  if (scope.has_warm_up) text += " after the warm-up";
  return text;
}

// Less of a share is shown as 0.0 %.
constexpr double kMinShownPct = 0.05;

// What the host did while no device did anything: ": the host issued work for 1.1 % and ... for 4.4 %".
std::string idle_text(const DeviceTime& time) {
  const std::array<std::pair<std::int64_t, const char*>, 5> causes = {{
      {time.copy_wait_ns, "was held by copies"},
      {time.sync_wait_ns, "was held by synchronisations"},
      {time.input_ns, "got the next batch ready"},
      {time.launch_ns, "issued work"},
      {time.quiet_ns, "made no call to CUDA elsewhere"},
  }};
  std::vector<std::string> parts;
  for (const auto& [part_ns, what] : causes) {
    const double part_pct = percent(part_ns, time.span_ns);
    if (part_pct >= kMinShownPct) parts.push_back(std::string(what) + " for " + exact_percent_text(part_pct));
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += i == 0 ? ": the host " : i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

std::string sentence(const DeviceTime& time, const VerdictScope& scope) {
  const auto share = [&](std::int64_t part_ns) { return exact_percent_text(percent(part_ns, time.span_ns)); };
  return scope_text(scope) + ", kernels ran for " + share(time.kernel_ns) + " of the time, only transfers for " +
         share(time.exposed_transfer_ns) + ", and nothing for " + share(time.idle_ns) + idle_text(time) + ".";
}

Bound largest_cause(const DeviceTime& time) {
  const std::array<std::pair<std::int64_t, Bound>, 4> causes = {{
      {time.exposed_transfer_ns + time.copy_wait_ns, Bound::kTransfer},
      {time.sync_wait_ns, Bound::kSync},
      {time.launch_ns + time.quiet_ns, Bound::kLaunch},
      {time.input_ns, Bound::kInput},
  }};
  const auto [cause_ns, bound] =
      *std::max_element(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return 2 * cause_ns > time.span_ns - time.kernel_ns ? bound : Bound::kMixed;
}

}  // namespace

void DeviceTime::add(const DeviceTime& other) {
  span_ns += other.span_ns;
  kernel_ns += other.kernel_ns;
  exposed_transfer_ns += other.exposed_transfer_ns;
  idle_ns += other.idle_ns;
  copy_wait_ns += other.copy_wait_ns;
  sync_wait_ns += other.sync_wait_ns;
  input_ns += other.input_ns;
  launch_ns += other.launch_ns;
  quiet_ns += other.quiet_ns;
}

DeviceTimes::DeviceTimes(const Activity& activity, HostActivity host) : activity_(activity), states_(std::move(host)) {}

DeviceTime DeviceTimes::within(const IntervalSet& span) const {
  DeviceTime sum;
  if (span.intervals().empty()) return sum;
  const auto near = [start_ns = span.intervals().front().start_ns, end_ns = span.intervals().back().end_ns](
                        const IntervalSet& set) { return set.part(start_ns, end_ns); };
  for (const auto& [id, device] : activity_.devices()) {
    DeviceTime time;
    time.span_ns = span.total_ns();
    time.kernel_ns = near(device.kernels).intersect(span).total_ns();
    const IntervalSet idle = span.subtract(near(device.busy));
    time.idle_ns = idle.total_ns();
    time.exposed_transfer_ns = time.span_ns - time.kernel_ns - time.idle_ns;
    for (const Interval& interval : idle.intervals()) {
      states_.each(interval.start_ns, interval.end_ns, [&](const HostState& state) {
        add_idle(time, state.cause, state.time.end_ns - state.time.start_ns);
      });
    }
    sum.add(time);
  }
  return sum;
}

DeviceTime account(const Activity& activity, HostActivity host) {
  const IntervalSet span({host.span});
  return DeviceTimes(activity, std::move(host)).within(span);
}

Bound bound_by(const DeviceTime& time) {
  return percent(time.kernel_ns, time.span_ns) >= kGpuBoundPct ? Bound::kGpu : largest_cause(time);
}

Verdict judge(const DeviceTime& time, const VerdictScope& scope) {
  Verdict verdict;
  if (time.span_ns <= 0) {
    verdict.why = "No GPU did anything while this was recorded.";
    return verdict;
  }
  verdict.gpu_busy_pct = percent(time.kernel_ns, time.span_ns);
  verdict.gpu_idle_pct = percent(time.idle_ns, time.span_ns);
  verdict.exposed_transfer_pct = percent(time.exposed_transfer_ns, time.span_ns);
  verdict.idle = IdleShares{.copies_pct = percent(time.copy_wait_ns, time.span_ns),
                            .syncs_pct = percent(time.sync_wait_ns, time.span_ns),
                            .input_pct = percent(time.input_ns, time.span_ns),
                            .launch_pct = percent(time.launch_ns, time.span_ns),
                            .quiet_pct = percent(time.quiet_ns, time.span_ns)};
  verdict.bound_by = bound_by(time);
  verdict.why = sentence(time, scope);
  return verdict;
}

}  // namespace turnpike::analyze
