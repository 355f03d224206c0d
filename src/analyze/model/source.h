// Who was recorded: program, versions, devices, from what the processes of a run say of themselves.
#pragma once

#include "analyze/model/timeline.h"
#include "analyze/report.h"
#include "trace/process.h"

namespace turnpike::analyze {

// Adds one more process. Where processes differ (program, versions, detail), the first that says something stands.
void add_process(Source& source, const trace::Process& process, const Timeline& timeline);

}  // namespace turnpike::analyze
