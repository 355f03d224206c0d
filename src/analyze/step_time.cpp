#include "analyze/step_time.h"

#include <algorithm>

namespace turnpike::analyze {
namespace {

constexpr double kVisiblePct = 0.05;

// Empty if most of the time has no line: a reader would take the lines that are known for all of it.
std::vector<const IdleSite*> sites_of(const Report& report, IdleCause cause) {
  std::vector<const IdleSite*> sites;
  std::int64_t all_ns = 0;
  std::int64_t known_ns = 0;
  for (const IdleSite& site : report.idle) {
    const std::int64_t time_ns = report.steps ? site.in_steps_ns : site.time_ns;
    if (site.cause != cause || time_ns <= 0) continue;
    all_ns += time_ns;
    if (site.site.empty()) continue;
    known_ns += time_ns;
    sites.push_back(&site);
  }
  return 2 * known_ns < all_ns ? std::vector<const IdleSite*>() : sites;
}

TimePart without(const Report& report, IdleCause cause, double pct) {
  return {.use = TimeUse::kWithout, .cause = cause, .pct = pct, .sites = sites_of(report, cause)};
}

}  // namespace

std::vector<TimePart> parts_of_time(const Report& report) {
  const Verdict& verdict = report.verdict;
  if (!verdict.gpu_busy_pct) return {};
  const double collectives_pct = verdict.exposed_collective_pct.value_or(0);
  std::vector<TimePart> parts = {{.use = TimeUse::kComputing, .pct = *verdict.gpu_busy_pct - collectives_pct},
                                 {.use = TimeUse::kCollectives, .pct = collectives_pct},
                                 without(report, IdleCause::kCopiesOnly, verdict.exposed_transfer_pct.value_or(0))};
  if (verdict.idle) {
    const IdleShares& idle = *verdict.idle;
    parts.push_back(without(report, IdleCause::kCopy, idle.copies_pct));
    parts.push_back(without(report, IdleCause::kSync, idle.syncs_pct));
    parts.push_back(without(report, IdleCause::kAllocation, idle.allocations_pct));
    parts.push_back(without(report, IdleCause::kInput, idle.input_pct));
    parts.push_back(without(report, IdleCause::kLaunch, idle.launch_pct));
    parts.push_back(without(report, IdleCause::kUnknown, idle.quiet_pct));
    parts.push_back(without(report, IdleCause::kBetweenKernels, idle.between_kernels_pct));
    parts.push_back(without(report, IdleCause::kOtherDevice, idle.other_devices_pct));
    parts.push_back(without(report, IdleCause::kUnrecorded, idle.unrecorded_pct));
  } else {
    parts.push_back({.use = TimeUse::kWithout, .pct = verdict.gpu_idle_pct.value_or(0)});
  }
  // Also what a damaged recording makes no number of.
  std::erase_if(parts, [](const TimePart& part) { return !(part.pct >= kVisiblePct); });
  return parts;
}

}  // namespace turnpike::analyze
