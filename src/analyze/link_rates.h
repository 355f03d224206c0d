// Adds the measured rate of the link to a report, for comparison with the rates that transfers reached.
#pragma once

#include "analyze/report.h"
#include "machine/link_rates.h"

namespace turnpike::analyze {

// Fills in link_gbps of the transfers between host and device, where `rates` knows the link of all devices of the run.
void add_link_rates(Report& report, const machine::LinkRates& rates);

}  // namespace turnpike::analyze
