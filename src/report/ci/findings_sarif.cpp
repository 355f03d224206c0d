#include "report/ci/findings_sarif.h"

#include <map>
#include <utility>

#include "base/text.h"
#include "report/ci/finding_level.h"
#include "report/ci/sarif_parts.h"

namespace turnpike::report {
namespace {

// Where a line goes, its end goes with it.
Json replaced_region(const CodeLine& line, const LineChange& change) {
  if (change.after) return {{"startLine", line.line}};
  return {{"startLine", line.line}, {"startColumn", 1}, {"endLine", line.line + 1}, {"endColumn", 1}};
}

Json fix_object(const CodeLine& line, const LineChange& change) {
  std::string what = change.after ? "Replace the line" : "Remove the line";
  const std::string imports = joined(imports_for(change), "; ");
  if (!imports.empty()) what += ", with " + imports;
  const Json replacement = {
      {"deletedRegion", replaced_region(line, change)},
      {"insertedContent", {{"text", change.after ? change.indent + *change.after : std::string()}}}};
  return {
      {"description", {{"text", what}}},
      {"artifactChanges",
       Json::array({{{"artifactLocation", artifact_location(line)}, {"replacements", Json::array({replacement})}}})}};
}

Json result_object(const analyze::Finding& finding, const FindingData& data, std::size_t rule, bool has_steps) {
  Json object = {{"ruleId", finding.rule},     {"ruleIndex", rule},
                 {"level", level_of(finding)}, {"message", {{"text", message_of(finding, has_steps)}}},
                 {"locations", Json::array()}, {"partialFingerprints", {{"turnpike/v1", data.id}}}};
  if (!data.in_repository) return object;
  object["locations"].push_back(location_object(*data.in_repository));
  if (data.change) object["fixes"] = Json::array({fix_object(*data.in_repository, *data.change)});
  return object;
}

}  // namespace

std::string to_sarif(const analyze::Report& report, const std::vector<FindingData>& data) {
  Json rules = Json::array();
  Json results = Json::array();
  std::map<std::string, std::size_t> index_of_rule;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const analyze::Finding& finding = report.findings[i];
    if (finding.superseded_by) continue;
    const auto [rule, is_new] = index_of_rule.try_emplace(finding.rule, rules.size());
    if (is_new) rules.push_back({{"id", finding.rule}, {"help", {{"text", finding.docs}}}});
    results.push_back(result_object(finding, data.at(i), rule->second, report.steps.has_value()));
  }
  return sarif_document(std::move(rules), std::move(results));
}

}  // namespace turnpike::report
