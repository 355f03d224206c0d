// The sections of the comparison: runs, summary, doubts, verdict, totals, places, findings.
#include "report/text/diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/text/diff_words.h"
#include "report/text/item_text.h"
#include "report/text/step_words.h"
#include "report/text/table.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::ChangeKind;
using analyze::Comparison;
using analyze::Figures;
using analyze::FindingChange;
using analyze::ItemChange;

constexpr const char* kChangeIndent = "       ";

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
  table.add_row({std::string("  ") + duration_title(comparison), time_text(before_ns), time_text(after_ns),
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
  table.add_note(kChangeIndent + note_of(change));
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

void print_findings(const Comparison& comparison, const analyze::Report& before, const analyze::Report& after,
                    Page& page) {
  if (comparison.findings.empty()) return;
  page.blank();
  page.line("FINDINGS", Style::kHeading);
  const auto print_those = [&](const char* label, auto belongs) {
    for (const FindingChange& change : comparison.findings) {
      if (belongs(change)) page.paragraph(label, finding_text(change, before, after));
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
  print_findings(comparison, before, after, page);
  return page.text();
}

}  // namespace turnpike::report
