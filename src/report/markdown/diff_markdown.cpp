#include "report/markdown/diff_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/markdown/markdown.h"
#include "report/text/diff_text.h"
#include "report/text/diff_words.h"
#include "report/text/item_text.h"
#include "report/text/step_words.h"
#include "report/text/terminal_sections.h"

namespace turnpike::report {
namespace {

using analyze::Comparison;
using analyze::Figures;
using analyze::ItemChange;
using analyze::Report;

// Rows of plain figures of ours: nothing in them needs an escape.
std::string figures_markdown(const Comparison& comparison, const Report& before, const Report& after) {
  std::string text = markdown_table_head({"", "before", "after", "change"}, 1);
  const auto add_time = [&](const std::string& what, std::optional<double> one, std::optional<double> other) {
    text += markdown_row({what, time_text(one), time_text(other), change_text(one, other)});
  };
  add_time(duration_title(comparison), comparison.before.duration_ns, comparison.after.duration_ns);
  add_time("CPU blocked", comparison.before.blocked_ns, comparison.after.blocked_ns);
  text += markdown_row({"bound by", bound_text(before.verdict.bound_by), bound_text(after.verdict.bound_by), ""});
  text += markdown_row(
      {"GPU busy", percent_text(before.verdict.gpu_busy_pct), percent_text(after.verdict.gpu_busy_pct), ""});
  const auto add_count = [&](const std::string& what, const Figures& one, const Figures& other) {
    if (one.count == 0 && other.count == 0) return;
    text += markdown_row({what, turnpike::amount_text(one.count), turnpike::amount_text(other.count),
                          change_text(one.count, other.count)});
  };
  for (std::size_t i = 0; i < analyze::kDirectionCount; ++i) {
    add_count(markdown_text(words_for(static_cast<analyze::Direction>(i))), comparison.before.totals[i],
              comparison.after.totals[i]);
  }
  add_count("synchronisations", comparison.before.syncs, comparison.after.syncs);
  return text;
}

std::string change_markdown(const ItemChange& change) {
  return markdown_row({analyze::name_of(change.kind), markdown_code(where_text(change)),
                       markdown_text(kind_text(change.any())), markdown_text(code_text(change.any())),
                       markdown_text(pair_text(cost_text(change.before), cost_text(change.after))),
                       markdown_text(signed_time(cost_change_ns(change)))});
}

std::string places_markdown(const Comparison& comparison, std::size_t top) {
  const auto end = std::find_if(comparison.items.begin(), comparison.items.end(),
                                [](const ItemChange& change) { return change.kind == analyze::ChangeKind::kSame; });
  const auto changed = static_cast<std::size_t>(end - comparison.items.begin());
  if (changed == 0) return "";
  std::string text = markdown_table_head({"", "where", "what", "call", "cost", "change"}, 4);
  const std::size_t shown = std::min(top, changed);
  for (std::size_t i = 0; i < shown; ++i) text += change_markdown(comparison.items[i]);
  if (shown < changed) text += fmt::format("\n{} more: `--top {}` shows them all\n", changed - shown, changed);
  return text + "\n";
}

std::string findings_markdown(const Comparison& comparison, const Report& before, const Report& after) {
  std::string text;
  for (const analyze::FindingChange& change : comparison.findings) {
    if (change.before && change.after) continue;
    text += std::string(change.after ? "- new: " : "- solved: ") + markdown_text(finding_text(change, before, after)) +
            "\n";
  }
  return text;
}

}  // namespace

std::string to_markdown(const Comparison& comparison, const Report& before, const Report& after, std::size_t top) {
  std::string text = "**Turnpike: " + markdown_text(summary_of(comparison, before, after)) + "**\n\n";
  for (const std::string& doubt : comparison.doubts) text += "- " + markdown_text(doubt) + "\n";
  if (!comparison.doubts.empty()) text += "\n";
  text += figures_markdown(comparison, before, after) + "\n" + places_markdown(comparison, top);
  return text + findings_markdown(comparison, before, after);
}

}  // namespace turnpike::report
