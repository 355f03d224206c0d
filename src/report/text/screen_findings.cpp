// What to do, in two lines each: what it saves and where, and what to write.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "report/findings/line_change.h"
#include "report/text/findings_told.h"
#include "report/text/saving_words.h"
#include "report/text/screen_parts.h"
#include "report/text/text_width.h"
#include "report/text/verdict_remark.h"

namespace turnpike::report {
namespace {

using analyze::Finding;

constexpr std::size_t kLinesEach = 2;
constexpr std::size_t kRemarkLines = 4;
constexpr std::size_t kMostAmountWidth = 56;
constexpr const char* kIndent = "      ";

const char* whole_of(const analyze::Report& report) {
  return report.steps ? "a step" : "the time";
}

// The new line of the program if it is known. Otherwise the beginning of the advice.
std::string action_text(const Finding& finding, const std::optional<LineChange>& change, std::size_t width) {
  if (change) {
    std::string text = change->after ? "write  " + cleaned(*change->after) : "remove  " + cleaned(change->before);
    if (const auto imports = imports_for(*change); !imports.empty()) text += "   (" + joined(imports, "; ") + ")";
    if (display_width(text) <= width) return text;
  }
  return shortened_end(cleaned(first_sentence(finding.advice)), width);
}

std::string place_text(const Finding& finding, std::size_t width) {
  if (finding.site.empty()) return "the step as a whole";
  std::string site = screen_place(cleaned(finding.site), width);
  if (!finding.library_site) return site;
  const std::string with_library = fmt::format("{} > {}", site, cleaned(*finding.library_site));
  return display_width(with_library) <= width ? with_library : site;
}

struct Entry {
  std::string amount;
  const Finding* finding;
  std::optional<LineChange> change;
};

void print_entry(const Entry& entry, std::size_t number, std::size_t amount_width, Page& page) {
  std::string head = fmt::format("{:>3}  {:<{}}  ", number, entry.amount, amount_width);
  head += place_text(*entry.finding, page.width() - std::min(display_width(head), page.width()));
  page.line(head, entry.finding->severity == analyze::Severity::kError ? Style::kWarning : Style::kHeading);
  page.line(kIndent + action_text(*entry.finding, entry.change, page.width() - std::string_view(kIndent).size()));
}

std::vector<Entry> entries_of(const analyze::Report& report, const std::vector<const Finding*>& findings) {
  const LineChanges changes = line_changes(report);
  std::vector<Entry> entries;
  for (const Finding* finding : findings) {
    const auto index = static_cast<std::size_t>(finding - report.findings.data());
    entries.push_back({saving_text(*finding, report.steps.has_value()), finding, changes[index]});
  }
  return entries;
}

// One line for those that save little.
void print_small(const analyze::Report& report, const std::vector<const Finding*>& small, Page& page) {
  if (small.empty()) return;
  const std::string end = fmt::format(": less than 1 % of {}{}", whole_of(report), small.size() > 1 ? " each" : "");
  std::string text = "  small  ";
  for (std::size_t i = 0; i < small.size(); ++i) {
    const std::string place = place_text(*small[i], page.width() / 2);
    const std::string more = fmt::format(" and {} more", small.size() - i - 1);
    if (i > 0 && display_width(text) + 2 + display_width(place) + more.size() + end.size() > page.width()) {
      text += fmt::format(" and {} more", small.size() - i);
      break;
    }
    text += (i == 0 ? "" : ", ") + place;
  }
  page.line(text + end);
}

// `has_room`: also for what no finding answers.
void print_rest(const analyze::Report& report, const ToldFindings& told, bool has_room, Page& page) {
  if (const std::string text = together_text(report, told); !text.empty()) page.paragraph("  ", text);
  print_small(report, told.small, page);
  if (const std::string text = unanswered_text(report, told); has_room && !text.empty()) {
    page.paragraph("  ", cleaned(text), Style::kPlain, kRemarkLines);
  }
  if (const std::string remark = wait_remark_on(report); !remark.empty()) {
    page.paragraph("  ", cleaned(remark), Style::kPlain, kLinesEach);
  }
}

}  // namespace

void print_screen_findings(const analyze::Report& report, std::size_t most_lines, Page& page) {
  if (!report.verdict.gpu_busy_pct) return;  // without kernels nothing was looked for
  const ToldFindings told = told_findings(report);
  constexpr std::size_t kHeadLines = 2;
  Page rest(page.width(), page.has_colour());
  print_rest(report, told, true, rest);
  if (!told.large.empty() && kHeadLines + kLinesEach * told.large.size() + rest.line_count() > most_lines) {
    rest = Page(page.width(), page.has_colour());
    print_rest(report, told, false, rest);
  }
  const std::size_t taken = kHeadLines + rest.line_count();
  if (taken >= most_lines) return;
  const auto room_for = [&](std::size_t lines) { return lines / kLinesEach; };
  std::size_t count = told.large.size();
  if (count > room_for(most_lines - taken))
    count = room_for(most_lines - taken - 1);  // and a line that counts the others

  page.blank();
  page.line("WHAT TO DO", Style::kHeading);
  std::vector<Entry> entries =
      entries_of(report, {told.large.begin(), told.large.begin() + static_cast<std::ptrdiff_t>(count)});
  std::size_t amount_width = 0;
  for (const Entry& entry : entries) amount_width = std::max(amount_width, entry.amount.size());
  amount_width = std::min({amount_width, kMostAmountWidth, page.width() / 2});
  for (std::size_t i = 0; i < entries.size(); ++i) print_entry(entries[i], i + 1, amount_width, page);
  if (count < told.large.size()) page.line(fmt::format("  and {} more: --findings", told.large.size() - count));
  page.append(rest);
}

}  // namespace turnpike::report
