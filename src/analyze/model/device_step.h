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

// The whole steps, one behind the other without holes: as the host made them. Where it runs ahead
// (Steps::is_host_ahead), most of what the devices do meanwhile is of earlier steps: then each step lasts from when the
// devices had done all that was issued before it to when they had done what it issued, too, or until the host ended it,
// if that is later. `steps`: with its device_median_ns. One interval at least, which is empty if no step is whole.
std::vector<Interval> whole_steps(const Timeline& timeline, const FoundSteps& steps);

}  // namespace turnpike::analyze
