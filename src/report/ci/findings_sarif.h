// The findings of a report as SARIF 2.1.0, which code review and editors read.
#pragma once

#include <string>
#include <vector>

#include "analyze/report.h"
#include "report/findings/finding_data.h"

namespace turnpike::report {

// One run of one tool: a rule for each rule that found something; a result for each finding that no other one settles,
// with its id as fingerprint, its place if that is in the repository, and the change of its line as a fix where the
// rule can write it. Paths are relative URIs. `data`: by finding of the report.
std::string to_sarif(const analyze::Report& report, const std::vector<FindingData>& data);

}  // namespace turnpike::report
