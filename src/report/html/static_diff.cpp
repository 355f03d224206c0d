#include "report/html/static_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/units.h"
#include "report/html/escape.h"
#include "report/html/html_table.h"
#include "report/html/patterns.h"
#include "report/html/step_bar.h"
#include "report/text/diff_words.h"
#include "report/text/item_text.h"
#include "report/text/step_words.h"
#include "report/text/terminal_sections.h"

namespace turnpike::report::html {
namespace {

using analyze::Comparison;
using analyze::Figures;
using analyze::Item;
using analyze::ItemChange;
using analyze::Report;

bool is_of_step(const Comparison& comparison) {
  return comparison.unit == analyze::Unit::kStep;
}

std::string list_html(const char* style, const char* title, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string html = fmt::format("<div class=\"{}\"><p>{}</p><ul>\n", style, title);
  for (const std::string& sentence : sentences) html += "<li>" + escaped(sentence) + "</li>\n";
  return html + "</ul></div>\n";
}

// Of a step, or of the run; the longer one takes the whole width.
std::string step_bars_html(const StaticDiff& parts) {
  const double before_ns = parts.comparison.before.duration_ns.value_or(0);
  const double after_ns = parts.comparison.after.duration_ns.value_or(0);
  const double longest_ns = std::max(before_ns, after_ns);
  if (longest_ns <= 0) return "";
  const char* of_devices = parts.comparison.is_device_step ? "a step on the GPU" : "a step";
  const char* what = is_of_step(parts.comparison) ? of_devices : "the run";
  const auto bar = [&](const char* when, const Report& report, double duration_ns) {
    return bar_of_step(report, fmt::format("{}, {}, {}", when, what, time_text(duration_ns)),
                       100 * duration_ns / longest_ns);
  };
  return bar("Before", parts.before, before_ns) + bar("After", parts.after, after_ns);
}

std::string runs_html(const StaticDiff& parts) {
  return "<p><strong>Before</strong> " + escaped(run_text(parts.before)) + "<br><strong>After</strong> " +
         escaped(run_text(parts.after)) + "</p>\n";
}

std::optional<std::string> line_of(const std::optional<Item>& item, const SourceText& source) {
  if (!item || !item->file || !item->line) return std::nullopt;
  return source.line(*item->file, *item->line);
}

// A line counts as removed or added only if both runs' lines were recorded.
void add_code(const analyze::ItemChange& change, const CodeChange& code, HtmlTable& table) {
  const bool knows_both = (code.before || !change.before) && (code.after || !change.after);
  if (!knows_both || code.before == code.after) {
    if (const auto& line = code.after ? code.after : code.before) table.add_code("  " + *line);
    return;
  }
  if (code.before) table.add_code("- " + *code.before);
  if (code.after) table.add_code("+ " + *code.after);
}

std::string changes_html(const StaticDiff& parts) {
  const Comparison& comparison = parts.comparison;
  HtmlTable table(is_of_step(comparison) ? "Places that changed, per step" : "Places that changed",
                  {{"change"},
                   {"where"},
                   {"what"},
                   {"operator"},
                   {"memory"},
                   {"count", true},
                   {"bytes", true},
                   {"cost before", true},
                   {"cost after", true},
                   {"difference", true}});
  for (std::size_t i = 0; i < comparison.items.size(); ++i) {
    const ItemChange& change = comparison.items[i];
    if (change.kind == analyze::ChangeKind::kSame) continue;
    const auto pair_of = [&](std::string (*text)(double), double Figures::* figure) {
      if (!change.before || !change.after) return text(change.any().figures.*figure);
      return pair_text(text(change.before->figures.*figure), text(change.after->figures.*figure));
    };
    const std::string memory = change.before && change.after
                                   ? pair_text(memory_text(*change.before), memory_text(*change.after))
                                   : memory_text(change.any());
    table.add_row({analyze::name_of(change.kind), where_text(change), kind_text(change.any()), code_text(change.any()),
                   memory, pair_of(amount_text, &Figures::count),
                   change.any().is_sync() ? "" : pair_of(bytes_text, &Figures::bytes), cost_text(change.before),
                   cost_text(change.after), signed_time(cost_change_ns(change))});
    if (i < parts.code.size()) add_code(comparison.items[i], parts.code[i], table);
  }
  const std::string same = same_text(comparison);
  std::string html = table.html(
      "Largest change first. Cost: time the CPU was blocked plus time the GPU copied without computing. " + same);
  if (!html.empty()) return html;
  return "<section><h2>Places that changed</h2><p>" +
         escaped(comparison.items.empty() ? "Neither run moved any data." : same) + "</p></section>\n";
}

std::string points_text(std::optional<double> before, std::optional<double> after) {
  if (!before || !after || std::fabs(*after - *before) < 0.05) return "";
  return fmt::format("{:+.1f} points", *after - *before);
}

std::string verdict_html(const StaticDiff& parts) {
  const Comparison& comparison = parts.comparison;
  const bool is_step = is_of_step(comparison);
  HtmlTable table("Verdict", {{"what"}, {"before", true}, {"after", true}, {"difference", true}});
  const auto add_time = [&](const char* what, std::optional<double> before, std::optional<double> after) {
    table.add_row({what, time_text(before), time_text(after), change_text(before, after)});
  };
  const auto add_share = [&](const char* what, std::optional<double> analyze::Verdict::* share) {
    const auto before = parts.before.verdict.*share;
    const auto after = parts.after.verdict.*share;
    table.add_row({what, percent_text(before), percent_text(after), points_text(before, after)});
  };
  add_time(duration_title(comparison), comparison.before.duration_ns, comparison.after.duration_ns);
  table.add_row({"bound by", bound_text(parts.before.verdict.bound_by), bound_text(parts.after.verdict.bound_by), ""});
  add_share("GPU busy", &analyze::Verdict::gpu_busy_pct);
  add_share("GPU idle", &analyze::Verdict::gpu_idle_pct);
  add_share("transfers with no computation beside them", &analyze::Verdict::exposed_transfer_pct);
  add_time(is_step ? "CPU blocked per step" : "CPU blocked", comparison.before.blocked_ns, comparison.after.blocked_ns);
  return table.html();
}

std::string totals_html(const Comparison& comparison) {
  HtmlTable table(is_of_step(comparison) ? "Transfers per step" : "Transfers of the run",
                  {{"direction"},
                   {"count", true},
                   {"bytes", true},
                   {"device time", true},
                   {"CPU blocked before", true},
                   {"CPU blocked after", true}});
  const auto add = [&](const char* what, const Figures& before, const Figures& after, bool is_sync) {
    if (before.count == 0 && after.count == 0) return;
    table.add_row({what, pair_text(amount_text(before.count), amount_text(after.count)),
                   is_sync ? "" : pair_text(bytes_text(before.bytes), bytes_text(after.bytes)),
                   is_sync ? "" : pair_text(time_text(before.device_time_ns), time_text(after.device_time_ns)),
                   time_text(before.blocked_ns), time_text(after.blocked_ns)});
  };
  for (std::size_t i = 0; i < analyze::kDirectionCount; ++i) {
    add(words_for(static_cast<analyze::Direction>(i)), comparison.before.totals[i], comparison.after.totals[i], false);
  }
  add("synchronisations", comparison.before.syncs, comparison.after.syncs, true);
  return table.html(is_of_step(comparison) ? "Means over the whole steps, without start-up and warm-up."
                                           : "Everything from the first to the last record, start-up included.");
}

std::string findings_html(const StaticDiff& parts) {
  HtmlTable table("Findings", {{"change"}, {"finding"}});
  const auto add_those = [&](const char* label, auto belongs) {
    for (const analyze::FindingChange& change : parts.comparison.findings) {
      if (belongs(change)) table.add_row({label, finding_text(change, parts.before, parts.after)});
    }
  };
  add_those("solved", [](const auto& change) { return !change.after; });
  add_those("new", [](const auto& change) { return !change.before; });
  add_those("remains", [](const auto& change) { return change.before && change.after; });
  return table.html();
}

}  // namespace

std::vector<CodeChange> code_of_changes(const Comparison& comparison, const Report& before, const Report& after) {
  std::vector<CodeChange> code;
  for (const ItemChange& change : comparison.items) {
    const bool is_shown = change.kind != analyze::ChangeKind::kSame && code.size() < kMaxTableRows;
    code.push_back(
        is_shown ? CodeChange{line_of(change.before, before.source_text), line_of(change.after, after.source_text)}
                 : CodeChange());
  }
  return code;
}

std::string top_of(const StaticDiff& parts) {
  return pattern_definitions() +
         fmt::format("<header class=\"verdict\"><h1>{}</h1>\n<p>{}</p>\n", escaped(parts.headline),
                     escaped(parts.details)) +
         list_html("missing", "Before you trust this:", parts.comparison.doubts) +
         list_html("missing", "Not everything is here:", parts.missing) + "</header>\n" + runs_html(parts) +
         step_bars_html(parts);
}

std::string pictures_of(const StepPicture& before, const StepPicture& after, const Sites& sites) {
  const std::int64_t length_ns = std::max(length_of(before), length_of(after));
  const auto title = [](const char* when, const StepPicture& picture) {
    return fmt::format("{}: {}, {}", when, picture.is_step ? "a median step" : "the whole recording",
                       duration_text(length_of(picture)));
  };
  const std::string html = html_of(before, sites, title("Before", before), length_ns) +
                           html_of(after, sites, title("After", after), length_ns);
  return html.empty() ? "" : html + picture_hint({&before, &after});
}

std::string tables_of(const StaticDiff& parts) {
  return changes_html(parts) + verdict_html(parts) + totals_html(parts.comparison) + findings_html(parts);
}

}  // namespace turnpike::report::html
