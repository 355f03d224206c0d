#include "report/markdown/report_markdown.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "report/markdown/markdown.h"
#include "report/text/findings_told.h"
#include "report/text/incomplete.h"
#include "report/text/saving_words.h"
#include "report/text/screen_parts.h"
#include "report/text/terminal_sections.h"
#include "report/text/verdict_remark.h"

namespace turnpike::report {
namespace {

using analyze::Finding;
using analyze::Report;

// A comment with more is not read.
constexpr std::size_t kMaxFindings = 10;

std::string verdict_markdown(const Report& report) {
  const auto& verdict = report.verdict;
  const std::string name = verdict.bound_by ? std::string(analyze::name_of(*verdict.bound_by)) + "-bound" : "unknown";
  const std::string why = verdict.why.empty() ? how_to_record_kernels(report.source) + "." : verdict.why;
  return "**Turnpike: " + name + ".** " + markdown_text(why) + "\n";
}

std::string facts_markdown(const Report& report) {
  std::vector<std::string> facts;
  if (report.steps) {
    facts.push_back(
        fmt::format("{} a step ({} steps)", duration_text(report.steps->typical_ns()), report.steps->count));
  } else {
    facts.push_back(duration_text(report.span_ns) + " recorded");
  }
  if (report.verdict.gpu_busy_pct) facts.push_back("GPU busy " + percent_text(report.verdict.gpu_busy_pct));
  if (!report.source.devices.empty() && !report.source.devices.front().name.empty())
    facts.push_back(markdown_text(report.source.devices.front().name));
  return joined(facts, ", ") + "\n";
}

std::string place_markdown(const Finding& finding, const FindingData& data) {
  if (data.in_repository)
    return markdown_code(fmt::format("{}:{}", data.in_repository->path, data.in_repository->line));
  return finding.site.empty() ? "the step as a whole" : markdown_code(finding.site);
}

std::vector<std::string> diff_lines(const LineChange& change) {
  std::vector<std::string> lines;
  for (const std::string& import : imports_for(change)) lines.push_back("+" + import);
  lines.push_back("-" + change.indent + change.before);
  if (change.after) lines.push_back("+" + change.indent + *change.after);
  return lines;
}

// Behind the table: a row of it has no room for code.
std::string details_markdown(const Finding& finding, const FindingData& data, std::size_t number, bool has_steps) {
  std::string text = fmt::format("<details><summary>{}. {}</summary>\n\n", number, markdown_text(finding.title));
  text += markdown_text(finding.evidence) + "\n\n" + markdown_text(finding.advice) + "\n";
  for (const analyze::Alternative& alternative : finding.alternatives) {
    text += "\nOr: " + markdown_text(alternative_text(finding, alternative, has_steps)) + "\n";
  }
  if (!finding.saving_reason.empty()) text += "\nThe saving: " + markdown_text(finding.saving_reason) + "\n";
  if (data.change) text += "\n" + markdown_block("diff", diff_lines(*data.change));
  return text + "\n</details>\n";
}

std::string findings_markdown(const Report& report, const std::vector<FindingData>& data) {
  const bool has_steps = report.steps.has_value();
  std::string table = markdown_table_head({"", "what", "where", "expected"}, 4);
  std::string details;
  std::size_t number = 0;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const Finding& finding = report.findings[i];
    if (finding.superseded_by) continue;
    if (number == kMaxFindings) {
      ++left_out;
      continue;
    }
    ++number;
    table += markdown_row({std::to_string(number), markdown_text(finding.title), place_markdown(finding, data.at(i)),
                           markdown_text(saving_text(finding, has_steps))});
    details += details_markdown(finding, data.at(i), number, has_steps);
  }
  if (number == 0) return markdown_text(remark_on(report)) + "\n";
  if (left_out > 0) details += fmt::format("\nand {} more: `turnpike report --json` holds all\n", left_out);
  const std::string together = together_text(report, told_findings(report));
  return table + "\n" + details + (together.empty() ? "" : "\n" + markdown_text(together) + "\n");
}

}  // namespace

std::string to_markdown(const Report& report, const std::vector<FindingData>& data) {
  std::string text = verdict_markdown(report) + "\n" + facts_markdown(report);
  if (const std::string incomplete = incomplete_sentence(report.source.inputs); !incomplete.empty()) {
    text += "\n" + markdown_text(incomplete) + "\n";
  }
  for (const std::string& note : report.source.inputs.notes) text += "\n" + markdown_text(note) + "\n";
  if (report.verdict.gpu_busy_pct) text += "\n" + findings_markdown(report, data);
  text += "\n" + markdown_text("Transfers: " + transfers_text(report) + ".") + "\n";
  return text;
}

}  // namespace turnpike::report
