#include "report/html/diff_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "report/html/headline.h"
#include "report/html/page_parts.h"
#include "report/html/static_diff.h"
#include "report/html/whole_figures.h"
#include "report/json/diff_json.h"
#include "report/text/diff_text.h"

namespace turnpike::report::html {
namespace {

using analyze::Interval;

// One run on the axis of the page.
struct Placed {
  Interval extent{0, 0};
  Interval step{0, 0};  // the one to show; of a run without steps, all of it

  std::int64_t lead_ns() const { return step.start_ns - extent.start_ns; }
  std::int64_t step_ns() const { return step.end_ns - step.start_ns; }
};

// The step that shows an item; the median one where the run has none with it.
Placed placed(const RunLanes& run, const Sites& sites, const std::optional<analyze::Item>& item) {
  const Interval extent = run.extent().value_or(Interval{0, 0});
  const auto site = item ? sites.index_named(item->site) : std::nullopt;
  const auto step = site ? run.step_with(*site) : std::nullopt;
  return {extent, step ? *step : run.step().value_or(extent)};
}

// With its lines as the runs have them; nothing where no place changed.
analyze::ItemChange largest_change(const analyze::Comparison& comparison) {
  const auto found = std::find_if(comparison.items.begin(), comparison.items.end(),
                                  [](const auto& change) { return change.kind != analyze::ChangeKind::kSame; });
  return found == comparison.items.end() ? analyze::ItemChange() : *found;
}

// Both runs with their steps at one moment, in the page's time.
struct Axis {
  Axis(const Placed& before, const Placed& after)
      : step_ns(std::max(before.lead_ns(), after.lead_ns())),
        base_before_ns(before.step.start_ns - step_ns),
        base_after_ns(after.step.start_ns - step_ns),
        longest_ns(std::max(before.step_ns(), after.step_ns())),
        span_ns(std::max(before.extent.end_ns - base_before_ns, after.extent.end_ns - base_after_ns)) {}

  // Both steps, with some room around them.
  Interval window() const {
    const std::int64_t room_ns = longest_ns / 20;
    return {std::max<std::int64_t>(0, step_ns - room_ns), std::min(span_ns, step_ns + longest_ns + room_ns)};
  }

  std::int64_t step_ns;  // where the steps begin
  std::int64_t base_before_ns;
  std::int64_t base_after_ns;
  std::int64_t longest_ns;
  std::int64_t span_ns;
};

std::vector<std::string> missing_of_both(const analyze::Report& before, const analyze::Report& after) {
  std::vector<std::string> sentences;
  for (const auto& [label, report] : {std::pair("before: ", &before), std::pair("after: ", &after)}) {
    for (const std::string& sentence : missing_of(*report)) sentences.push_back(label + sentence);
  }
  return sentences;
}

// This page shows no step with a fix, so none is re-timed.
analyze::ProcessView without_fixes(analyze::ProcessView view) {
  view.found = nullptr;
  return view;
}

}  // namespace

DiffPage::DiffPage(PageOptions options, std::size_t before_count, std::size_t after_count)
    : options_(options),
      before_(data_, options.max_events / 2, before_count, "before: "),
      after_(data_, options.max_events / 2, after_count, "after: ") {}

void DiffPage::add_before(const analyze::ProcessView& view) {
  before_.add(without_fixes(view));
  before_groups_ = data_.groups.size();
}

void DiffPage::add_after(const analyze::ProcessView& view) {
  after_.add(without_fixes(view));
}

std::vector<std::string> DiffPage::left_out() const {
  std::vector<std::string> sentences = before_.left_out();
  const std::vector<std::string> of_after = after_.left_out();
  sentences.insert(sentences.end(), of_after.begin(), of_after.end());
  if (data_.sites.dropped() > 0) sentences.push_back(dropped_sites_sentence(data_.sites));
  return sentences;
}

void DiffPage::write(analyze::Report before, analyze::Report after, const Output& output) const {
  const Redactor redactor = options_.redacts_paths ? Redactor::for_reports({&before, &after}) : Redactor();
  analyze::Comparison comparison = analyze::compare(before, after);
  // Before their paths are cut.
  const auto code = options_.has_source ? code_of_changes(comparison, before, after) : std::vector<CodeChange>();
  const analyze::ItemChange largest = largest_change(comparison);
  redactor.apply(comparison);
  redactor.apply(before);
  redactor.apply(after);

  Strings strings = data_.strings;
  EncodedLanes encoded = data_.encoded;
  before_.add_rank_lanes(encoded, strings);
  after_.add_rank_lanes(encoded, strings);
  const Axis axis(placed(before_, data_.sites, largest.before), placed(after_, data_.sites, largest.after));
  std::vector<std::int64_t> bases_ns(data_.groups.size(), axis.base_after_ns);
  std::fill_n(bases_ns.begin(), before_groups_, axis.base_before_ns);
  std::vector<std::string> groups;
  for (const std::string& group : data_.groups) groups.push_back(redactor.text(group));
  const std::vector<std::string> not_here = left_out();
  std::vector<std::string> missing = missing_of_both(before, after);
  missing.insert(missing.end(), not_here.begin(), not_here.end());

  std::vector<std::string> summary = summary_sentences(comparison, before, after);
  const std::string headline = summary.front();
  summary.erase(summary.begin());
  const std::string details = joined(summary, " ");
  const std::vector<Excerpt> no_excerpts;
  const StaticDiff parts{.comparison = comparison,
                         .before = before,
                         .after = after,
                         .headline = headline,
                         .details = details,
                         .missing = missing,
                         .code = code};
  write_head(headline, output);
  output(fmt::format("<main id=\"{}\">\n<div class=\"document\">\n", kStaticId));
  output(with_whole_figures(top_of(parts)));
  // The timeline takes the place of the pictures.
  output(fmt::format("</div>\n<div id=\"{}\"><div class=\"document\">\n", kAppId));
  output(with_whole_figures(pictures_of(before_.picture(), after_.picture(), data_.sites)));
  output("</div></div>\n<div class=\"document\">\n");
  output(with_whole_figures(tables_of(parts)));
  output("</div>\n</main>\n");
  write_data(to_json(comparison, before, after, Names::kShown),
             Contents{.headline = headline,
                      .details = details,
                      .bases_ns = std::move(bases_ns),
                      .span_ns = axis.span_ns,
                      .window = axis.window(),
                      .groups = std::move(groups),
                      .strings = strings,
                      .sites = data_.sites,
                      .lanes = encoded.lanes(),
                      .excerpts = no_excerpts,
                      .no_source = "",
                      .sites_of_findings = {},
                      .changes = {},
                      .left_out = not_here,
                      .redactor = redactor,
                      .after_group = before_groups_},
             encoded, output);
}

}  // namespace turnpike::report::html
