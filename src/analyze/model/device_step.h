// Steps on the devices, which may be far behind the host.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/model/steps.h"
#include "analyze/model/timeline.h"

namespace turnpike::analyze {

// The median time from the end of what one step had the devices do to the end of what the next one had them do, without
// the steps that warm up. nullopt: this is known for fewer than two steps.
std::optional<std::int64_t> device_step_ns(const Timeline& timeline, const FoundSteps& steps);

// The whole steps, one after the other without gaps. Usually they are as long as on the host. If the host runs ahead
// (Steps::is_host_ahead), the devices still work on earlier steps meanwhile. A step then starts when the devices have
// finished what was issued before it. It ends when they have finished what it issued, or when the host ends it, if that
// is later. `steps` needs its device_median_ns. Returns at least one interval, which is empty if no step is whole.
std::vector<Interval> whole_steps(const Timeline& timeline, const FoundSteps& steps);
// Without those that are pauses.
std::vector<Interval> without_pauses(const std::vector<Interval>& steps);

}  // namespace turnpike::analyze
