// What the threads that issue work did during the steps, and how far they were ahead of the devices.
#pragma once

#include <optional>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/report.h"

namespace turnpike::analyze {

// The busiest first: most time in calls and between them while it had the turn. Threads that launch nothing are left
// out.
std::vector<HostThread> describe_threads(const ProcessModel& model);

// From the return of each launch to the start of its first kernel; nullopt without launches.
std::optional<Spread> launch_lead_of(const ProcessModel& model);

}  // namespace turnpike::analyze
