// Cuts the time of the devices along steps and ranges.
#include "analyze/sums/part_verdicts.h"

#include <algorithm>
#include <string_view>

#include "analyze/model/labels.h"
#include "analyze/sums/verdict.h"
#include "base/step_name.h"

namespace turnpike::analyze {
namespace {

constexpr std::size_t kMaxRanges = 20;

}  // namespace

std::map<Bound, std::uint64_t> steps_by_bound(const DeviceTimes& times, std::span<const Interval> steps) {
  std::map<Bound, std::uint64_t> counts;
  for (const Interval& step : steps) {
    if (step.end_ns <= step.start_ns) continue;
    const DeviceTime time = times.within(IntervalSet({step}));
    if (time.span_ns > 0) ++counts[bound_by(time)];
  }
  return counts;
}

std::vector<RangeVerdict> range_verdicts(const DeviceTimes& times, const trace::Process& process,
                                         const Timeline& timeline) {
  std::map<std::string_view, std::vector<Interval>> by_name;
  for (const Range& range : timeline.ranges) {
    if (is_label(process, range)) continue;
    by_name[without_number(process.string(range.name))].push_back({range.start_ns, range.end_ns});
  }
  std::vector<RangeVerdict> verdicts;
  for (auto& [name, intervals] : by_name) {
    RangeVerdict one{.name = std::string(name), .count = intervals.size(), .total_ns = 0, .verdict = {}};
    for (const Interval& interval : intervals) one.total_ns += interval.end_ns - interval.start_ns;
    const DeviceTime time = times.within(IntervalSet(std::move(intervals)));
    one.verdict = judge(time, {.is_range = true});
    verdicts.push_back(std::move(one));
  }
  std::stable_sort(verdicts.begin(), verdicts.end(),
                   [](const RangeVerdict& a, const RangeVerdict& b) { return a.total_ns > b.total_ns; });
  if (verdicts.size() > kMaxRanges) verdicts.resize(kMaxRanges);
  return verdicts;
}

}  // namespace turnpike::analyze
