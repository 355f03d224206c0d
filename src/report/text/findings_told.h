// Which findings of a report are told, and as what: the same on the first screen and in full.
#pragma once

#include <string>
#include <vector>

#include "analyze/report.h"

namespace turnpike::report {

// Those that no other one leads, in the order of the report, which must outlive them.
struct ToldFindings {
  std::vector<const analyze::Finding*> large;  // also those whose saving is not known
  std::vector<const analyze::Finding*> small;  // expected to save less than 1 % of a step
};
ToldFindings told_findings(const analyze::Report& report);

// What no finding answers, in sentences: why nothing is advised where no gain is known, or where no finding is about
// what the verdict names. Empty: the findings say it all.
std::string unanswered_text(const analyze::Report& report, const ToldFindings& told);

}  // namespace turnpike::report
