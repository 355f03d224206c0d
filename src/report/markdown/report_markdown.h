// The report as Markdown: what a comment on a pull request, or the summary of a job, has room for.
#pragma once

#include <string>
#include <vector>

#include "analyze/report.h"
#include "report/findings/finding_data.h"

namespace turnpike::report {

// The verdict, what a step takes, the findings with the change of each, transfers per step. `data`: by finding.
std::string to_markdown(const analyze::Report& report, const std::vector<FindingData>& data);

}  // namespace turnpike::report
