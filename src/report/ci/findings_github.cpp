#include "report/ci/findings_github.h"

#include <string_view>

#include "report/ci/finding_level.h"
#include "report/ci/github_command.h"

namespace turnpike::report {
namespace {

// GitHub calls a note so.
std::string_view command_of(const analyze::Finding& finding) {
  const std::string_view level = level_of(finding);
  return level == "note" ? "notice" : level;
}

}  // namespace

std::string to_github(const analyze::Report& report, const std::vector<FindingData>& data) {
  std::string text;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const analyze::Finding& finding = report.findings[i];
    if (finding.superseded_by) continue;
    text += github_command(command_of(finding), data.at(i).in_repository, "turnpike: " + finding.rule,
                           message_of(finding, report.steps.has_value()));
  }
  return text;
}

}  // namespace turnpike::report
