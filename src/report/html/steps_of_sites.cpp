#include "report/html/steps_of_sites.h"

#include <limits>

namespace turnpike::report::html {
namespace {

// What an event adds to the cost of its place: the time that the host is held, or that a copy takes beside no kernel.
std::uint64_t cost_ns(LaneKind kind, const Event& event) {
  if (kind == LaneKind::kHost) return event.event_class == Class::kBlocked ? event.duration_ns : 0;
  return kind >= LaneKind::kCopyUp && kind <= LaneKind::kCopyDevice ? event.exposed_ns : 0;
}

}  // namespace

void StepsOfSites::begin_lane(LaneKind kind) {
  kind_ = kind;
  step_ = 0;
  rows_of_steps_ += kind == LaneKind::kSteps ? 1 : 0;
}

void StepsOfSites::add_block(std::span<const Event> events) {
  if (kind_ == LaneKind::kSteps && rows_of_steps_ == 1) steps_.insert(steps_.end(), events.begin(), events.end());
  if (kind_ == LaneKind::kSteps || kind_ == LaneKind::kState || kind_ == LaneKind::kPython) return;
  for (const Event& event : events) {
    while (step_ < steps_.size() && steps_[step_].end_ns() <= event.start_ns) ++step_;
    if (step_ == steps_.size()) return;
    if (event.site == 0 || event.start_ns < steps_[step_].start_ns) continue;
    costs_[{event.site, step_}] += cost_ns(kind_, event);
  }
}

std::map<std::uint16_t, analyze::Interval> StepsOfSites::find(const analyze::Interval& median) const {
  std::map<std::uint16_t, analyze::Interval> step_of_site;
  std::map<std::uint16_t, std::uint64_t> most_ns;
  for (const auto& [key, spent_ns] : costs_) {
    const auto& [site, index] = key;
    const Event& step = steps_[index];
    const bool is_median = step.start_ns == median.start_ns;
    const auto [most, is_first] = most_ns.try_emplace(site, spent_ns);
    if (!is_first && !is_median && spent_ns <= most->second) continue;
    most->second = is_median ? std::numeric_limits<std::uint64_t>::max() : spent_ns;
    step_of_site[site] = is_median ? median : analyze::Interval{step.start_ns, step.end_ns()};
  }
  return step_of_site;
}

}  // namespace turnpike::report::html
