// The findings of a report as annotations of GitHub Actions.
#pragma once

#include <string>
#include <vector>

#include "analyze/report.h"
#include "report/findings/finding_data.h"

namespace turnpike::report {

// A workflow command for each finding that no other one settles, at its line if that is in the repository: an error, a
// warning or a notice. `data`: by finding of the report.
std::string to_github(const analyze::Report& report, const std::vector<FindingData>& data);

}  // namespace turnpike::report
