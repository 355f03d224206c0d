// What the link of a run's devices can do, put beside what its transfers reached.
#pragma once

#include "analyze/process_model.h"
#include "analyze/report.h"
#include "base/result.h"

namespace turnpike::report {

// What `turnpike bench link` has measured on this machine and kept. An Error when it cannot be read.
Result<analyze::LinkRates> kept_link_rates();

// Fills in link_gbps of the transfers between host and device, where `rates` knows the link of all devices of the run.
void add_link_rates(analyze::Report& report, const analyze::LinkRates& rates);

}  // namespace turnpike::report
