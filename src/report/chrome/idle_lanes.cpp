// Asks the analysis.
#include "report/chrome/idle_lanes.h"

#include "analyze/sums/process_analysis.h"

namespace turnpike::report {

IdleLanes idle_lanes(const trace::Process& process, const analyze::Timeline& timeline) {
  IdleLanes lanes;
  const auto span = timeline.span;
  if (!span) return lanes;
  analyze::RunSums sums;
  analyze::ProcessAnalysis analysis(sums, process, timeline);
  analysis.add_to_sums();
  if (!analysis.activity().is_known()) return lanes;
  const auto& steps = analysis.steps();
  analyze::IdleTimes idle = analysis.idle_times(steps ? steps->window : *span);
  for (const std::uint32_t device : idle.devices()) {
    std::vector<IdleSlice>& slices = lanes.of_device[device];
    for (const analyze::IdleInterval& one : idle.of(device)) {
      const std::uint32_t correlation = one.call == analyze::kNone ? 0 : timeline.calls[one.call].correlation;
      slices.push_back({one.time, one.cause, one.place, correlation});
    }
  }
  lanes.places = idle.places();
  return lanes;
}

}  // namespace turnpike::report
