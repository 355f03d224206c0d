// What a step takes on the devices, which may be far behind the host.
#pragma once

#include <cstdint>
#include <optional>

#include "analyze/model/steps.h"
#include "analyze/model/timeline.h"

namespace turnpike::analyze {

// The median time from the end of what one step had the devices do to the end of what the next one had them do, without
// the steps that warm up. nullopt: this is known for fewer than two steps.
std::optional<std::int64_t> device_step_ns(const Timeline& timeline, const FoundSteps& steps);

}  // namespace turnpike::analyze
