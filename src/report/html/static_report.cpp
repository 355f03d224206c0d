#include "report/html/static_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analyze/model/symbols.h"
#include "base/text.h"
#include "base/units.h"
#include "report/html/escape.h"
#include "report/html/path_tree_html.h"
#include "report/html/patterns.h"
#include "report/html/static_tables.h"
#include "report/html/step_bar.h"
#include "report/html/step_picture.h"
#include "report/text/saving_words.h"
#include "report/text/terminal_sections.h"
#include "report/text/verdict_remark.h"

namespace turnpike::report::html {
namespace {

using analyze::Finding;
using analyze::LineTime;
using analyze::Report;

// "saves 873 us a step (14 %) → 5.56 ms"; with a range where the advice may reach more or less.
std::string gain_text(const Finding& finding, const Report& report) {
  const auto saving = saving_of(finding);
  if (!saving) return finding.severity == analyze::Severity::kError ? "results may be wrong" : "";
  const std::int64_t step_ns = report.steps ? report.steps->typical_ns() : 0;
  // What only some steps could save may be longer than the median step.
  const std::int64_t expected_ns = saving->expected_ns;
  const char* const each = !report.steps ? "" : expected_ns >= step_ns ? " a step on average" : " a step";
  std::string text = "saves " + amount_text(*saving, each);
  // A no-break space: no line ends with the arrow.
  if (step_ns > expected_ns) text += " →\u00a0" + duration_text(step_ns - expected_ns);
  return text;
}

// The fix as a diff of its line.
std::string change_html(const LineChange& change) {
  std::string html = "<pre class=\"diff\"><del>- " + escaped_code(change.before) + "\n</del>";
  if (change.after) html += "<ins>+ " + escaped_code(*change.after) + "\n</ins>";
  html += "</pre>\n";
  const std::string needs = joined(imports_for(change), "\n");
  return needs.empty() ? html : html + "<p class=\"hint\">with <code>" + needs + "</code></p>\n";
}

std::string capitalised(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text;
}

std::string finding_html(const Finding& finding, const std::optional<LineChange>& change, std::size_t rank,
                         const Report& report) {
  const std::string site =
      finding.site.empty() ? "" : "<code>" + escaped(place_words(finding.site, finding.library_site)) + "</code> ";
  const std::string evidence = finding.evidence.empty() ? "" : "<p>Why: " + escaped(finding.evidence) + "</p>\n";
  const std::string reason =
      finding.saving_reason.empty() ? "" : "<p>Gain: " + escaped(finding.saving_reason) + "</p>\n";
  std::string others;
  for (const analyze::Alternative& alternative : finding.alternatives) {
    others += "<p>Or: " + escaped(alternative_text(finding, alternative, report.steps.has_value())) + "</p>\n";
  }
  return fmt::format(
      "<article class=\"card\"><header><h2><span class=\"rank\">{}</span> {}{}</h2>"
      "<strong class=\"saving\">{}</strong></header>\n<p class=\"advice\">Fix: {}</p>\n{}{}{}{}</article>\n",
      rank, site, escaped(site.empty() ? capitalised(finding.title) : finding.title),
      escaped(gain_text(finding, report)), escaped(finding.advice), change ? change_html(*change) : "", others,
      evidence, reason);
}

// The waits, and behind them what copies took beside waits.
std::string bars_html(const LineTime& line, std::int64_t most_ns) {
  const auto share = [&](std::int64_t part_ns) {
    return most_ns == 0 ? 0.0 : 100.0 * static_cast<double>(part_ns) / static_cast<double>(most_ns);
  };
  return fmt::format(
      "<svg class=\"cost\" width=\"86\" height=\"11\" aria-hidden=\"true\">"
      "<rect class=\"p-wait\" fill=\"url(#tp-wait)\" width=\"{:.1f}%\" height=\"11\"/>"
      "<rect class=\"p-copy\" fill=\"#1e8569\" x=\"{:.1f}%\" width=\"{:.1f}%\" height=\"11\"/></svg>",
      share(line.waits_ns), share(line.waits_ns), share(line.time_ns - line.waits_ns));
}

// "the CPU waits 2.52 ms, copies take 2.37 ms, 2.36 ms of it at the same time".
std::string words_of(const LineTime& line, std::int64_t steps) {
  std::string words;
  const auto add = [&](const char* before, std::int64_t part_ns, const char* behind = "") {
    if (part_ns <= 0) return;
    words += fmt::format("{}{}{}{}", words.empty() ? "" : ", ", before, duration_text(part_ns / steps), behind);
  };
  add("the CPU waits ", line.waits_ns);
  add("copies take ", line.copies_ns);
  add("", line.waits_ns + line.copies_ns - line.time_ns, " of it at the same time");
  return words;
}

// What a line costs in a step, as a bar and a number with its words.
std::string margin_html(const LineTime& line, std::int64_t most_ns, std::int64_t steps) {
  return fmt::format("<span title=\"{}\">{} {}</span>", words_of(line, steps), bars_html(line, most_ns),
                     duration_text(line.time_ns / steps));
}

const LineTime* time_of(const std::vector<LineTime>& lines, const std::string& file, std::uint32_t line) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const LineTime& one) {
    return one.file == file && one.line == line && one.time_ns > 0;
  });
  return found == lines.end() ? nullptr : &*found;
}

std::string excerpt_html(const Excerpt& excerpt, const std::vector<LineTime>& lines, std::int64_t steps) {
  std::string html = fmt::format(
      "<table class=\"source\"><caption><code>{}</code></caption><thead><tr><th scope=\"col\">cost</th>"
      "<th scope=\"col\">line</th><th scope=\"col\">code</th></tr></thead><tbody>\n",
      escaped(excerpt.file));
  const std::int64_t most_ns = lines.front().time_ns;
  for (std::size_t i = 0; i < excerpt.lines.size(); ++i) {
    const auto line = static_cast<std::uint32_t>(excerpt.first_line + i);
    const LineTime* cost = time_of(lines, excerpt.file, line);
    fmt::format_to(std::back_inserter(html),
                   "<tr{}><td class=\"cost\">{}</td><td class=\"number\">{}</td><td><code>{}</code></td></tr>\n",
                   cost == nullptr ? "" : " class=\"chosen\"",
                   cost == nullptr ? "" : margin_html(*cost, most_ns, steps), line, escaped_code(excerpt.lines[i]));
  }
  return html + "</tbody></table>\n";
}

// Without source, the lines that cost something are listed all the same.
std::string cost_list_html(const std::vector<LineTime>& lines, std::int64_t steps) {
  constexpr std::size_t kMaxCostLines = 12;
  std::string html =
      "<table class=\"source\"><thead><tr><th scope=\"col\">cost</th><th scope=\"col\">line</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxCostLines); ++i) {
    if (lines[i].time_ns == 0) break;
    fmt::format_to(std::back_inserter(html), "<tr><td class=\"cost\">{}</td><td><code>{}:{}</code></td></tr>\n",
                   margin_html(lines[i], lines.front().time_ns, steps), escaped(analyze::file_name_of(lines[i].file)),
                   lines[i].line);
  }
  return html + "</tbody></table>\n";
}

}  // namespace

std::string verdict_html(const StaticReport& parts) {
  std::string html = fmt::format("<header class=\"verdict\"><h1>{}</h1>\n<p>{}</p>\n", escaped(parts.headline),
                                 escaped(parts.details));
  if (!parts.missing.empty()) {
    html += "<p class=\"missing\">Not everything is here:";
    for (const std::string& sentence : parts.missing) html += " " + escaped(sentence);
    html += "</p>\n";
  }
  return html + "</header>\n";
}

std::string findings_html(const StaticReport& parts, std::size_t max_findings) {
  const Report& report = parts.report;
  std::string html = "<section class=\"findings\" aria-label=\"Findings\">\n";
  std::size_t rank = 0;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    if (report.findings[i].superseded_by) continue;
    if (++rank <= max_findings) html += finding_html(report.findings[i], parts.changes[i], rank, report);
  }
  if (rank > max_findings) html += fmt::format("<p class=\"hint\">and {} more</p>\n", rank - max_findings);
  if (rank == 0) {
    html += "<div class=\"card\"><h2>No change is known to save time</h2><p>" + escaped(report.verdict.why) +
            "</p></div>\n";
  } else if (rank > 1 && report.saving_pct_all) {
    html += fmt::format("<p>All changes together save {} of {}.</p>\n", percent_text(report.saving_pct_all),
                        report.steps ? "a step" : "the time");
  }
  // A long wait looks like the cause, so readers want to know why it is not.
  if (const std::string remark = wait_remark_on(report); !remark.empty()) {
    html += "<p class=\"hint\">" + escaped(remark) + "</p>\n";
  }
  return html + "</section>\n";
}

std::string source_html(const StaticReport& parts) {
  const auto& lines = parts.report.lines;
  if (lines.empty() || lines.front().time_ns == 0) return "";
  const auto steps =
      parts.report.steps ? std::max<std::int64_t>(1, static_cast<std::int64_t>(parts.report.steps->count)) : 1;
  std::string html = fmt::format("<section class=\"card source\"><h2>Lines that cost time <small>{}</small></h2>\n",
                                 parts.report.steps ? "of a step" : "over the run");
  for (const Excerpt& excerpt : parts.excerpts) html += excerpt_html(excerpt, lines, steps);
  if (parts.excerpts.empty()) {
    html += cost_list_html(lines, steps);
    html += "<p class=\"hint\">" + escaped(parts.no_source) + "</p>\n";
  }
  return html + "</section>\n";
}

std::string html_of(const StaticReport& parts) {
  return pattern_definitions() + verdict_html(parts) +
         bar_of_step(parts.report, parts.report.steps ? "A step" : "The run") + "<div class=\"cards\">\n" +
         findings_html(parts) + source_html(parts) + "</div>\n" + parts.picture + path_tree_html(parts.report.paths) +
         tables_html(parts.report);
}

}  // namespace turnpike::report::html
