// Which findings of a report are told, and as what: the same on the first screen and in full.
#pragma once

#include <string>
#include <vector>

#include "analyze/report.h"

namespace turnpike::report {

// Those that no other at the same place leads, in the order of the report, which must outlive them.
struct ToldFindings {
  std::vector<const analyze::Finding*> large;  // also those whose saving is not known
  std::vector<const analyze::Finding*> small;  // expected to save less than 1 % of a step
};
ToldFindings told_findings(const analyze::Report& report);

bool is_gain_known(const std::vector<const analyze::Finding*>& findings);

// Why nothing is advised, where no gain is known. `is_all`: nothing else is advised either.
std::string nothing_to_gain_text(const analyze::Report& report, bool is_all);

}  // namespace turnpike::report
