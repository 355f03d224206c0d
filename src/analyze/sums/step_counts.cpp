#include "analyze/sums/step_counts.h"

#include <algorithm>
#include <utility>

#include "base/statistics.h"

namespace turnpike::analyze {
namespace {

constexpr std::size_t kMaxSteps = 100'000;

template <typename Step, typename Value>
double median_of(const std::vector<Step>& steps, const Value& value) {
  std::vector<double> values;
  values.reserve(steps.size());
  for (const Step& step : steps) values.push_back(static_cast<double>(value(step)));
  return median(std::move(values)).value_or(0);
}

}  // namespace

void StepCounts::begin_process(std::span<const std::int64_t> starts_ns, std::int64_t first_ns, std::size_t count) {
  const auto first = std::lower_bound(starts_ns.begin(), starts_ns.end(), first_ns);
  const std::size_t room = kMaxSteps - std::min(kMaxSteps, steps_.size());
  const auto known = static_cast<std::size_t>(starts_ns.end() - first);
  // All steps of a process or none: the last one of a part would count what followed it.
  const std::size_t whole = std::min(count, known) <= room ? std::min(count, known) : 0;
  starts_ns_.assign(first, first + static_cast<std::ptrdiff_t>(whole));
  begin_ = steps_.size();
  steps_.resize(begin_ + whole);
}

StepCounts::Step& StepCounts::step_at(std::int64_t time_ns) {
  const auto next = std::upper_bound(starts_ns_.begin(), starts_ns_.end(), time_ns);
  const auto index = next == starts_ns_.begin() ? 0 : next - starts_ns_.begin() - 1;
  return steps_[begin_ + static_cast<std::size_t>(index)];
}

void StepCounts::add_transfer(std::int64_t time_ns, Direction direction, std::uint64_t count, std::uint64_t bytes,
                              std::optional<std::int64_t> blocked_ns) {
  if (starts_ns_.empty()) return;
  Step& step = step_at(time_ns);
  step.counts[static_cast<std::size_t>(direction)] += count;
  step.bytes[static_cast<std::size_t>(direction)] += bytes;
  step.blocked_ns += blocked_ns.value_or(0);
}

void StepCounts::add_synchronisation(std::int64_t time_ns, std::int64_t blocked_ns) {
  if (starts_ns_.empty()) return;
  Step& step = step_at(time_ns);
  ++step.syncs;
  step.blocked_ns += blocked_ns;
}

std::optional<Steps::Medians> StepCounts::medians() const {
  if (steps_.empty()) return std::nullopt;
  Steps::Medians medians;
  for (std::size_t i = 0; i < kDirectionCount; ++i) {
    medians.counts[i] = median_of(steps_, [i](const Step& step) { return step.counts[i]; });
    medians.bytes[i] = median_of(steps_, [i](const Step& step) { return step.bytes[i]; });
  }
  medians.syncs = median_of(steps_, [](const Step& step) { return step.syncs; });
  medians.blocked_ns = median_of(steps_, [](const Step& step) { return step.blocked_ns; });
  return medians;
}

}  // namespace turnpike::analyze
