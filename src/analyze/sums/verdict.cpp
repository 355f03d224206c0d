// Names the largest cause, and puts the division of the time into one sentence.
#include "analyze/sums/verdict.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace turnpike::analyze {
namespace {

double percent(std::int64_t part_ns, std::int64_t whole_ns) {
  return 100.0 * static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

// ", without 1.20 s before and 3.00 ms after it".
std::string left_out_text(const VerdictScope& scope) {
  if (scope.before_ns <= 0 && scope.after_ns <= 0) return "";
  if (scope.after_ns <= 0) return ", without " + duration_text(scope.before_ns) + " before it";
  if (scope.before_ns <= 0) return ", without " + duration_text(scope.after_ns) + " after it";
  return ", without " + duration_text(scope.before_ns) + " before and " + duration_text(scope.after_ns) + " after it";
}

std::string scope_text(const VerdictScope& scope) {
  if (scope.is_range) return "While it was open";
  if (scope.whole_steps == 0) return "From the GPU's first work to its last" + left_out_text(scope);
  std::string text = scope.is_of_devices ? "Over the GPU's time for the " : "Over the ";
  text += std::to_string(scope.whole_steps) + " whole steps";
  if (scope.processes > 1) text += " of " + std::to_string(scope.processes) + " processes";
  if (scope.has_warm_up) text += " after the warm-up";
  if (scope.pauses > 0)
    text += ", without " + std::to_string(scope.pauses) + " that took more than three times as long";
  return text;
}

// From this share of launches without work on, the shares say nothing.
constexpr std::uint64_t kMostAreLostOneIn = 2;

// Less of a share is shown as 0.0 %.
constexpr double kMinShownPct = 0.05;

// ": 1.1 % because of copies and 4.4 % while the CPU issued work".
std::string idle_text(const DeviceTime& time) {
  constexpr std::array<std::pair<IdleCause, const char*>, 9> kWords = {{
      {IdleCause::kCopy, "because of copies"},
      {IdleCause::kSync, "because of synchronisations"},
      {IdleCause::kAllocation, "because of allocations"},
      {IdleCause::kInput, "while the next batch was made ready"},
      {IdleCause::kLaunch, "while the CPU issued work"},
      {IdleCause::kUnknown, "during other work on the CPU"},
      {IdleCause::kBetweenKernels, "between kernels that were issued in time"},
      {IdleCause::kOtherDevice, "waiting for another GPU"},
      {IdleCause::kUnrecorded, "waiting for work that was not recorded"},
  }};
  std::vector<std::string> parts;
  for (const auto& [cause, words] : kWords) {
    const double part_pct = percent(time.of(cause), time.span_ns);
    if (part_pct >= kMinShownPct) parts.push_back(exact_percent_text(part_pct) + " " + words);
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += i == 0 ? ": " : i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

std::string lost_text(const VerdictScope& scope) {
  if (scope.is_range || scope.lost_launches == 0) return "";
  return " For " + std::to_string(scope.lost_launches) + " of the " + std::to_string(scope.launches) +
         " launches, what the GPU did is not in the recording.";
}

std::string sentence(const DeviceTime& time, const VerdictScope& scope) {
  const auto share = [&](std::int64_t part_ns) { return exact_percent_text(percent(part_ns, time.span_ns)); };
  std::string text = scope_text(scope) + ", the GPU computed for " + share(time.computing_ns) + " of the time";
  if (percent(time.collectives_ns, time.span_ns) >= kMinShownPct) {
    text += ", ran only collectives for " + share(time.collectives_ns);
  }
  text += scope.are_copies_untimed ? ", copied for a time that was not recorded"
                                   : ", only copied for " + share(time.of(IdleCause::kCopiesOnly));
  return text + ", and did nothing for " + share(time.idle_ns()) + idle_text(time) + "." + lost_text(scope);
}

struct Cause {
  std::int64_t time_ns;
  Bound bound;
};

Cause largest_of(std::initializer_list<Cause> causes) {
  return *std::max_element(causes.begin(), causes.end(),
                           [](const Cause& a, const Cause& b) { return a.time_ns < b.time_ns; });
}

// Of lost time.
Cause largest_cause(const DeviceTime& time) {
  return largest_of({
      {time.of(IdleCause::kCopiesOnly) + time.of(IdleCause::kCopy), Bound::kTransfer},
      {time.of(IdleCause::kSync), Bound::kSync},
      {time.of(IdleCause::kLaunch), Bound::kLaunch},
      {time.of(IdleCause::kUnknown) + time.of(IdleCause::kAllocation), Bound::kHost},
      {time.of(IdleCause::kInput), Bound::kInput},
      {time.collectives_ns + time.of(IdleCause::kOtherDevice), Bound::kCommunication},
      {time.of(IdleCause::kUnrecorded), Bound::kUnrecorded},
  });
}

}  // namespace

Bound bound_by(const DeviceTime& time) {
  const double at_work_pct = percent(time.computing_ns + time.of(IdleCause::kBetweenKernels), time.span_ns);
  if (at_work_pct >= kGpuBoundPct) return Bound::kGpu;
  const Cause cause = largest_cause(time);
  const bool stands_out = percent(cause.time_ns, time.span_ns) >= kStandsOutPct;
  return at_work_pct >= kMostlyGpuPct && !stands_out ? Bound::kGpu : cause.bound;
}

Verdict judge(const DeviceTime& time, const VerdictScope& scope) {
  Verdict verdict;
  if (time.span_ns <= 0) {
    verdict.why = "No GPU did anything while this was recorded.";
    return verdict;
  }
  const auto share_pct = [&](std::int64_t part_ns) { return percent(part_ns, time.span_ns); };
  verdict.gpu_busy_pct = share_pct(time.computing_ns + time.collectives_ns);
  verdict.gpu_idle_pct = share_pct(time.idle_ns());
  if (!scope.are_copies_untimed) verdict.exposed_transfer_pct = share_pct(time.of(IdleCause::kCopiesOnly));
  verdict.exposed_collective_pct = share_pct(time.collectives_ns);
  verdict.idle = IdleShares{.copies_pct = share_pct(time.of(IdleCause::kCopy)),
                            .syncs_pct = share_pct(time.of(IdleCause::kSync)),
                            .allocations_pct = share_pct(time.of(IdleCause::kAllocation)),
                            .input_pct = share_pct(time.of(IdleCause::kInput)),
                            .launch_pct = share_pct(time.of(IdleCause::kLaunch)),
                            .quiet_pct = share_pct(time.of(IdleCause::kUnknown)),
                            .between_kernels_pct = share_pct(time.of(IdleCause::kBetweenKernels)),
                            .other_devices_pct = share_pct(time.of(IdleCause::kOtherDevice)),
                            .unrecorded_pct = share_pct(time.of(IdleCause::kUnrecorded))};
  verdict.bound_by = kMostAreLostOneIn * scope.lost_launches > scope.launches ? Bound::kUnrecorded : bound_by(time);
  verdict.why = sentence(time, scope);
  return verdict;
}

}  // namespace turnpike::analyze
