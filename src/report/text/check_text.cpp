#include "report/text/check_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/text/incomplete.h"
#include "report/text/item_text.h"
#include "report/text/table.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::CheckResult;
using analyze::Culprit;
using analyze::LimitResult;
using analyze::Outcome;
using analyze::ValueKind;

constexpr const char* kCheckIndent = "            ";
// A list of losses or of rules may not push the names of the limits off the page.
constexpr std::size_t kMaxValueWidth = 30;

std::string culprit_text(const LimitResult& limit, const Culprit& culprit) {
  std::string place = cleaned(place_text(culprit.item));
  if (limit.kind == ValueKind::kText) return place;
  const bool is_finding = limit.kind == ValueKind::kPercent;
  const std::string what =
      is_finding ? "" : fmt::format(" ({}, {})", kind_text(culprit.item), cleaned(code_text(culprit.item)));
  return fmt::format("{} at {}{}", share_text(limit, culprit.share), place, what);
}

const char* label_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kWithin:
      return "  ok";
    case Outcome::kExceeded:
      return "  EXCEEDED";
    case Outcome::kUnknown:
      return "  UNKNOWN";
  }
  return "  UNKNOWN";
}

std::string checked_steps_text(const analyze::Report& report) {
  if (!analyze::has_whole_steps(report))
    return "no steps were found in this run: only limits of [per_run] can be checked";
  return fmt::format("per step: means over {} whole steps (found by {}), without start-up and warm-up",
                     count_text(report.steps->whole_count), source_text(*report.steps));
}

void add_limit(Table& table, const LimitResult& limit, std::size_t width) {
  const std::string measured = cleaned(measured_text(limit));
  const std::string bound = cleaned(limit.kind == ValueKind::kText ? most_text(limit) : "at most " + most_text(limit));
  table.add_row({label_of(limit.outcome), limit.name, shortened_middle(measured, kMaxValueWidth),
                 shortened_middle(bound, kMaxValueWidth)});
  if (display_width(measured) > kMaxValueWidth) table.add_note(kCheckIndent + measured);
  if (display_width(bound) > kMaxValueWidth) table.add_note(kCheckIndent + ("allowed: " + bound));
  if (limit.outcome == Outcome::kWithin) return;
  for (const Culprit& culprit : limit.culprits) {
    table.add_note(kCheckIndent + culprit_text(limit, culprit), Style::kWarning);
  }
  if (limit.why.empty()) return;
  for (const std::string& line : wrapped(cleaned(limit.why), width - std::string_view(kCheckIndent).size())) {
    table.add_note(kCheckIndent + line, Style::kNote);
  }
}

std::string outcome_text(const CheckResult& result) {
  const std::size_t all = result.limits.size();
  if (result.is_passed()) return fmt::format("PASSED: {} of {} limits kept.", all, all);
  std::vector<std::string> parts;
  if (result.exceeded_count > 0) parts.push_back(fmt::format("{} of {} limits exceeded", result.exceeded_count, all));
  if (result.unknown_count > 0)
    parts.push_back(fmt::format("{} of {} limits could not be checked", result.unknown_count, all));
  return fmt::format("FAILED: {}.", fmt::join(parts, ", "));
}

std::string value_text(ValueKind kind, double value) {
  switch (kind) {
    case ValueKind::kAmount:
      return amount_text(value);
    case ValueKind::kBytes:
      return bytes_text(value);
    case ValueKind::kDuration:
      return time_text(value);
    case ValueKind::kPercent:
      return number_text(value) + " %";
    case ValueKind::kText:
      break;
  }
  return kUnknownText;
}

}  // namespace

std::string measured_text(const LimitResult& limit) {
  if (limit.kind == ValueKind::kText) return limit.measured_text.empty() ? kUnknownText : limit.measured_text;
  return limit.measured ? value_text(limit.kind, *limit.measured) : kUnknownText;
}

std::string most_text(const LimitResult& limit) {
  return limit.kind == ValueKind::kText ? limit.most_text : value_text(limit.kind, limit.most);
}

std::string share_text(const LimitResult& limit, double share) {
  return value_text(limit.kind, share);
}

std::string breach_text(const LimitResult& limit) {
  if (limit.outcome == Outcome::kUnknown) {
    return cleaned(fmt::format("{} could not be checked: {}", limit.name, limit.why));
  }
  std::string text =
      limit.kind == ValueKind::kText
          ? fmt::format("{}: {}, allowed: {}", limit.name, measured_text(limit), most_text(limit))
          : fmt::format("{}: {}, allowed: at most {}", limit.name, measured_text(limit), most_text(limit));
  text = cleaned(text) + ".";
  const char* separator = " ";
  for (const Culprit& culprit : limit.culprits) {
    text += separator + culprit_text(limit, culprit);
    separator = "; ";
  }
  if (!limit.culprits.empty()) text += ".";
  if (!limit.why.empty()) text += " " + cleaned(limit.why);
  return text;
}

std::string to_text(const CheckResult& result, const analyze::Report& report, const analyze::Budget& budget,
                    const TextOptions& options) {
  Page page(std::max(options.width, kMinPageWidth), options.has_colour);
  page.line("TURNPIKE CHECK", Style::kHeading);
  const std::string incomplete = incomplete_sentence(report.source.inputs);
  if (!incomplete.empty()) page.paragraph("  ", incomplete + ".", Style::kWarning);
  page.paragraph("  run     ", fmt::format("{}", fmt::join(report.source.paths, ", ")));
  page.paragraph("  budget  ", budget.path);
  page.paragraph("  ", checked_steps_text(report));
  page.blank();
  Table table({{"  ", Align::kLeft},
               {"limit", Align::kLeft, true},
               {"measured"},
               {.title = "allowed", .align = Align::kLeft, .leaves_as = 1}});
  for (const LimitResult& limit : result.limits) add_limit(table, limit, page.width());
  table.print(page);
  if (!result.notes.empty()) page.blank();
  for (const std::string& note : result.notes) page.paragraph("  note: ", note, Style::kWarning);
  page.blank();
  page.paragraph("", outcome_text(result), Style::kHeading);
  return page.text();
}

}  // namespace turnpike::report
