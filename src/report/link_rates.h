// What the link of a run's devices can do, put beside what its transfers reached.
#pragma once

#include "analyze/report.h"
#include "base/result.h"

namespace turnpike::report {

// Fills in link_gbps of the transfers between host and device, where `turnpike bench link` has measured all devices of
// the run on its machine. An Error when what was kept of that cannot be read; the rates stay unknown then.
Status add_link_rates(analyze::Report& report);

}  // namespace turnpike::report
