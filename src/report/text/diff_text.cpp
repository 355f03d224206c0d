// The sections of the comparison: runs, summary, doubts, verdict, totals, places, findings.
#include "report/text/diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/text/item_text.h"
#include "report/text/table.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::ChangeKind;
using analyze::Comparison;
using analyze::Figures;
using analyze::FindingChange;
using analyze::Item;
using analyze::ItemChange;

constexpr const char* kArrow = " -> ";
constexpr const char* kNoteIndent = "       ";

std::string change_text(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return kUnknownText;
  if (*before == *after) return "=";
  if (*before <= 0) return "new";
  const double percent = 100 * (*after - *before) / *before;
  if (std::fabs(percent) < 0.5) return "=";
  return std::fabs(percent) < 1e5 ? fmt::format("{:+.0f} %", percent) : "> +99999 %";
}

// "2 -> 1", or once where both read the same.
std::string pair_text(const std::string& before, const std::string& after) {
  return before == after ? after : before + kArrow + after;
}

// "2 x NVIDIA H100", and each model once.
std::string devices_text(const std::vector<analyze::Device>& devices) {
  std::vector<std::pair<std::string, std::size_t>> models;
  for (const analyze::Device& device : devices) {
    const std::string name = device.name.empty() ? "unknown model" : cleaned(device.name);
    const auto found =
        std::find_if(models.begin(), models.end(), [&](const auto& model) { return model.first == name; });
    if (found != models.end()) {
      ++found->second;
    } else {
      models.emplace_back(name, 1);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : models) parts.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string run_text(const analyze::Report& report) {
  std::vector<std::string> parts{cleaned(joined(report.source.paths, ", "))};
  if (report.steps) parts.push_back(fmt::format("{} steps", count_text(report.steps->count)));
  if (!report.steps) parts.push_back("no steps found");
  parts.push_back(duration_text(report.span_ns));
  if (!report.source.devices.empty()) parts.push_back(devices_text(report.source.devices));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_runs(const Comparison& comparison, const analyze::Report& before, const analyze::Report& after, Page& page) {
  page.line("TURNPIKE DIFF", Style::kHeading);
  page.paragraph("  before  ", run_text(before));
  page.paragraph("  after   ", run_text(after));
  page.blank();
  page.paragraph("", summary_of(comparison, before, after), Style::kHeading);
  if (comparison.doubts.empty()) return;
  page.blank();
  page.line("BEFORE YOU TRUST THIS", Style::kHeading);
  for (const std::string& doubt : comparison.doubts) page.paragraph("  - ", doubt, Style::kWarning);
}

const char* bound_text(std::optional<analyze::Bound> bound) {
  return bound ? analyze::name_of(*bound) : kUnknownText;
}

void add_percent_row(Table& table, const char* what, std::optional<double> before, std::optional<double> after) {
  table.add_row({what, percent_text(before), percent_text(after), ""});
}

void print_verdicts(const Comparison& comparison, const analyze::Report& before, const analyze::Report& after,
                    Page& page) {
  page.blank();
  page.line("VERDICT", Style::kHeading);
  Table table({{"", Align::kLeft, true}, {"before"}, {"after"}, {.title = "change", .leaves_as = 1}});
  const bool is_step = comparison.unit == analyze::Unit::kStep;
  const auto& [before_ns, after_ns] = std::pair(comparison.before.duration_ns, comparison.after.duration_ns);
  table.add_row({is_step ? "  one step (median)" : "  the run", time_text(before_ns), time_text(after_ns),
                 change_text(before_ns, after_ns)});
  table.add_row({"  bound by", bound_text(before.verdict.bound_by), bound_text(after.verdict.bound_by), ""});
  add_percent_row(table, "  GPU busy", before.verdict.gpu_busy_pct, after.verdict.gpu_busy_pct);
  add_percent_row(table, "  GPU idle", before.verdict.gpu_idle_pct, after.verdict.gpu_idle_pct);
  add_percent_row(table, "  transfers with no computation beside them", before.verdict.exposed_transfer_pct,
                  after.verdict.exposed_transfer_pct);
  table.add_row({is_step ? "  CPU blocked per step" : "  CPU blocked", time_text(comparison.before.blocked_ns),
                 time_text(comparison.after.blocked_ns),
                 change_text(comparison.before.blocked_ns, comparison.after.blocked_ns)});
  table.print(page);
}

void add_total(Table& table, const std::string& what, const Figures& before, const Figures& after) {
  if (before.count == 0 && after.count == 0) return;
  table.add_row({"  " + what, pair_text(amount_text(before.count), amount_text(after.count)),
                 pair_text(bytes_text(before.bytes), bytes_text(after.bytes)),
                 pair_text(time_text(before.device_time_ns), time_text(after.device_time_ns)),
                 pair_text(time_text(before.blocked_ns), time_text(after.blocked_ns))});
}

void print_diff_totals(const Comparison& comparison, Page& page) {
  const bool is_step = comparison.unit == analyze::Unit::kStep;
  page.blank();
  page.line(is_step ? "TRANSFERS PER STEP" : "TRANSFERS OF THE RUN", Style::kHeading);
  page.paragraph("  ",
                 is_step ? "means over the whole steps, without start-up and warm-up"
                         : "everything from the first to the last record, start-up included",
                 Style::kNote);
  if (comparison.items.empty()) return page.line("  none was recorded");
  Table table({{"  direction", Align::kLeft},
               {.title = "count", .leaves_as = 2},
               {.title = "bytes", .leaves_as = 1},
               {.title = "device time", .leaves_as = 3},
               {"CPU blocked"}});
  for (std::size_t i = 0; i < analyze::kDirectionCount; ++i) {
    add_total(table, words_for(static_cast<analyze::Direction>(i)), comparison.before.totals[i],
              comparison.after.totals[i]);
  }
  const Figures& before = comparison.before.syncs;
  const Figures& after = comparison.after.syncs;
  if (before.count > 0 || after.count > 0) {
    table.add_row({"  synchronisations", pair_text(amount_text(before.count), amount_text(after.count)), "", "",
                   pair_text(time_text(before.blocked_ns), time_text(after.blocked_ns))});
  }
  table.print(page);
  if (before.count == 0 && after.count == 0) return;
  page.paragraph("  ",
                 "CPU blocked of synchronisations: without those made to wait for a transfer, whose time is in that "
                 "transfer's.",
                 Style::kNote);
}

std::string where_text(const ItemChange& change) {
  std::string now = place_text(change.any());
  if (!change.has_moved()) return now;
  const std::string before = place_text(*change.before);
  const auto colon = now.rfind(':');
  // In the same file the line alone says it.
  const bool is_same_file = colon != std::string::npos && before.substr(0, before.rfind(':')) == now.substr(0, colon);
  return before + kArrow + (is_same_file ? now.substr(colon) : now);
}

std::string cost_text(const std::optional<Item>& item) {
  return item ? time_text(analyze::cost_ns(item->figures)) : "-";
}

std::string side_text(const std::optional<Item>& item, std::string (*text)(double), double Figures::* figure) {
  return item ? text(item->figures.*figure) : "-";
}

std::string signed_time(std::optional<double> change_ns) {
  if (!change_ns) return kUnknownText;
  return (*change_ns > 0 ? "+" : "") + time_text(change_ns);
}

std::string note_of(const ItemChange& change) {
  // A long name must not push the memory off the page.
  constexpr std::size_t kMaxCodeWidth = 50;
  std::string code = shortened_middle(cleaned(code_text(change.any())), kMaxCodeWidth);
  if (change.any().is_sync()) return code;
  if (!change.before || !change.after) return code + ", " + memory_text(change.any());
  return code + ", " + pair_text(memory_text(*change.before), memory_text(*change.after));
}

void add_change(Table& table, const ItemChange& change) {
  const auto pair_of = [&](std::string (*text)(double), double Figures::* figure) {
    return pair_text(side_text(change.before, text, figure), side_text(change.after, text, figure));
  };
  table.add_row({"  " + std::string(name_of(change.kind)), where_text(change), kind_text(change.any()),
                 pair_of(amount_text, &Figures::count),
                 change.any().is_sync() ? "" : pair_of(bytes_text, &Figures::bytes),
                 pair_text(cost_text(change.before), cost_text(change.after)), signed_time(cost_change_ns(change))});
  table.add_note(kNoteIndent + note_of(change));
}

std::string same_text(const Comparison& comparison) {
  std::size_t same = 0;
  std::size_t moved = 0;
  for (const ItemChange& change : comparison.items) {
    if (change.kind != ChangeKind::kSame) continue;
    ++same;
    if (change.has_moved()) ++moved;
  }
  if (same == 0) return "";
  std::string text = fmt::format("{} place{} as before", same, same == 1 ? " is" : "s are");
  if (moved > 0 && moved < same) text += fmt::format(", {} of them on another line", moved);
  if (moved == same) text += same == 1 ? ", on another line" : ", on other lines";
  return text + ".";
}

void print_changes(const Comparison& comparison, std::size_t top, Page& page) {
  const auto changed = static_cast<std::size_t>(
      std::count_if(comparison.items.begin(), comparison.items.end(),
                    [](const ItemChange& change) { return change.kind != ChangeKind::kSame; }));
  page.blank();
  page.line(comparison.unit == analyze::Unit::kStep ? "PLACES THAT CHANGED, PER STEP" : "PLACES THAT CHANGED",
            Style::kHeading);
  if (changed > 0) {
    page.paragraph("  ",
                   "largest change first; cost: time the CPU was blocked plus time the GPU copied without "
                   "computing",
                   Style::kNote);
    Table table({{"  ", Align::kLeft},
                 {"where", Align::kLeft, true},
                 {.title = "what", .align = Align::kLeft, .leaves_as = 1},
                 {.title = "count", .leaves_as = 3},
                 {.title = "bytes", .leaves_as = 4},
                 {.title = "cost", .leaves_as = 2},
                 {"change"}});
    const std::size_t shown = std::min(top, changed);
    for (std::size_t i = 0; i < shown; ++i) add_change(table, comparison.items[i]);
    table.print(page);
    if (shown < changed) {
      page.line(fmt::format("  {} more: --top {} shows them all", changed - shown, changed), Style::kNote);
    }
  }
  const std::string same = same_text(comparison);
  if (!same.empty()) page.paragraph("  ", same);
  if (comparison.items.empty()) page.line("  neither run moved any data");
}

std::string saving_text(const analyze::Finding& finding) {
  if (finding.saving_step_ns) return "saving " + duration_text(*finding.saving_step_ns) + " per step";
  return finding.saving_ns ? "saving " + duration_text(*finding.saving_ns) : "saving unknown";
}

std::string finding_text(const FindingChange& change) {
  const analyze::Finding& finding = change.any();
  const std::string where = finding.site.empty() ? "" : " at " + finding.site;
  const std::string what = fmt::format("{}{} ({})", finding.title, where, finding.rule);
  if (!change.after) return fmt::format("{}; predicted: {}", what, saving_text(finding));
  if (!change.before) return fmt::format("{}; {}", what, saving_text(finding));
  return fmt::format("{}; {}", what, pair_text(saving_text(*change.before), saving_text(finding)));
}

void print_findings(const Comparison& comparison, Page& page) {
  if (comparison.findings.empty()) return;
  page.blank();
  page.line("FINDINGS", Style::kHeading);
  const auto print_those = [&](const char* label, auto belongs) {
    for (const FindingChange& change : comparison.findings) {
      if (belongs(change)) page.paragraph(label, finding_text(change));
    }
  };
  print_those("  solved   ", [](const FindingChange& change) { return !change.after; });
  print_those("  new      ", [](const FindingChange& change) { return !change.before; });
  print_those("  remains  ", [](const FindingChange& change) { return change.before && change.after; });
}

}  // namespace

std::string to_text(const Comparison& comparison, const analyze::Report& before, const analyze::Report& after,
                    const TextOptions& options) {
  Page page(std::max(options.width, kMinPageWidth), options.has_colour);
  print_runs(comparison, before, after, page);
  print_verdicts(comparison, before, after, page);
  print_diff_totals(comparison, page);
  print_changes(comparison, options.top, page);
  print_findings(comparison, page);
  return page.text();
}

}  // namespace turnpike::report
