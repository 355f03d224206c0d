#include "report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/html/headline.h"
#include "report/html/page_parts.h"
#include "report/html/static_report.h"
#include "report/html/whole_figures.h"
#include "report/json/json.h"
#include "report/text/verdict_remark.h"

namespace turnpike::report::html {

Page::Page(PageOptions options, std::size_t process_count)
    : options_(options), run_(data_, options.max_events, process_count) {}

// The predicted lanes stand behind the recorded ones.
EncodedLanes Page::all_lanes(const analyze::Report& report, Strings& strings) const {
  EncodedLanes all = data_.encoded;
  run_.add_rank_lanes(all, strings);
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const auto fix = std::find_if(run_.fixes().begin(), run_.fixes().end(), [&](const RunLanes::Fix& one) {
      return is_of_one_finding(one.step, report.findings[i]);
    });
    if (fix == run_.fixes().end() || report.findings[i].superseded_by) continue;
    for (const Lane& lane : fix->step.lanes) all.add(lane, fix->group, i, strings);
  }
  return all;
}

analyze::Interval Page::window(std::int64_t base_ns, std::int64_t span_ns) const {
  const auto& opening = run_.opening();
  if (!opening) return {0, span_ns};
  return {std::max<std::int64_t>(0, opening->start_ns - base_ns), opening->end_ns - base_ns};
}

std::vector<std::string> Page::left_out() const {
  std::vector<std::string> sentences = run_.left_out();
  if (data_.sites.dropped() > 0) sentences.push_back(dropped_sites_sentence(data_.sites));
  return sentences;
}

void Page::write(analyze::Report report, const Output& output) const {
  const Redactor redactor = options_.redacts_paths ? Redactor::for_report(report) : Redactor();
  auto excerpts = options_.has_source ? excerpts_of(report) : std::vector<Excerpt>();
  std::string no_source;
  if (!options_.has_source) {
    no_source = "The source was left out (--no-source).";
  } else if (excerpts.empty()) {
    no_source = "The recording holds none of these lines.";
  }
  const auto repository = options_.redacts_paths ? std::nullopt : std::optional(Repository::here());
  std::vector<FindingData> data = data_of_findings(report, repository ? &*repository : nullptr);
  std::vector<std::optional<std::size_t>> sites_of_findings;
  for (const analyze::Finding& finding : report.findings)
    sites_of_findings.push_back(data_.sites.index_named(finding.site));
  Strings strings = data_.strings;
  const EncodedLanes encoded = all_lanes(report, strings);
  redactor.apply(report);
  for (Excerpt& excerpt : excerpts) excerpt.file = redactor.path(excerpt.file);
  LineChanges changes;
  for (auto& [id, in_repository, change] : data) {
    if (!options_.has_source) change.reset();
    if (change) change->file = redactor.path(change->file);
    changes.push_back(change);
  }

  const analyze::Interval extent = run_.extent().value_or(analyze::Interval{0, 0});
  const std::int64_t base_ns = extent.start_ns;
  const std::int64_t extent_ns = extent.end_ns - extent.start_ns;
  const std::int64_t span_ns =
      std::clamp<std::int64_t>(report.span_ns, extent_ns, static_cast<std::int64_t>(kMaxTimeNs));
  std::vector<std::string> missing = missing_of(report);
  const std::vector<std::string> not_here = left_out();
  missing.insert(missing.end(), not_here.begin(), not_here.end());
  std::vector<std::string> groups;
  for (const std::string& group : data_.groups) groups.push_back(redactor.text(group));

  const std::string headline = headline_of(report);
  const std::string details = details_of(report);
  write_head(headline, output);
  output(fmt::format("<main id=\"{}\" class=\"document\">\n", kStaticId));
  output(with_whole_figures(html_of(StaticReport{.report = report,
                                                 .headline = headline,
                                                 .details = details,
                                                 .missing = missing,
                                                 .changes = changes,
                                                 .excerpts = excerpts,
                                                 .no_source = no_source,
                                                 .picture = html_of(run_.picture(), data_.sites)})));
  output(fmt::format("</main>\n<div id=\"{}\"></div>\n", kAppId));
  write_data(to_json(report, data, Names::kShown),
             Contents{.headline = headline,
                      .details = details,
                      .wait_remark = wait_remark_on(report),
                      .bases_ns = std::vector(groups.size(), base_ns),
                      .span_ns = span_ns,
                      .window = window(base_ns, span_ns),
                      .groups = std::move(groups),
                      .strings = strings,
                      .sites = data_.sites,
                      .lanes = encoded.lanes(),
                      .excerpts = excerpts,
                      .no_source = no_source,
                      .sites_of_findings = std::move(sites_of_findings),
                      .changes = changes,
                      .left_out = not_here,
                      .redactor = redactor},
             encoded, output);
}

}  // namespace turnpike::report::html
