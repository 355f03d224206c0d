#include "report/json/diff_json.h"

#include "report/json/item_json.h"
#include "report/text/diff_text.h"

namespace turnpike::report {
namespace {

using analyze::Comparison;
using analyze::FindingChange;
using analyze::ItemChange;

Json totals_object(const analyze::Side& side) {
  Json object = Json::object();
  for (std::size_t i = 0; i < side.totals.size(); ++i) {
    object[analyze::name_of(static_cast<analyze::Direction>(i))] = figures_object(side.totals[i]);
  }
  return object;
}

Json steps_object(const std::optional<analyze::Steps>& steps) {
  if (!steps) return nullptr;
  return {{"count", steps->count},
          {"whole_count", steps->whole_count},
          {"median_ns", steps->median_ns},
          {"device_median_ns", or_null(steps->device_median_ns)},
          {"is_host_ahead", steps->is_host_ahead()},
          {"source", source_text(*steps)}};
}

Json side_object(const analyze::Side& side, const analyze::Report& report) {
  return {{"paths", report.source.paths},
          {"duration_ns", whole_or_null(side.duration_ns)},
          {"blocked_ns", whole_or_null(side.blocked_ns)},
          {"bound_by", name_or_null(report.verdict.bound_by)},
          {"gpu_busy_pct", or_null(report.verdict.gpu_busy_pct)},
          {"gpu_idle_pct", or_null(report.verdict.gpu_idle_pct)},
          {"exposed_transfer_pct", or_null(report.verdict.exposed_transfer_pct)},
          {"steps", steps_object(report.steps)},
          {"totals", totals_object(side)},
          {"syncs", figures_object(side.syncs)},
          {"losses", report.losses}};
}

Json change_object(const ItemChange& change) {
  return {{"change", analyze::name_of(change.kind)},
          {"has_moved", change.has_moved()},
          {"cost_change_ns", whole_or_null(cost_change_ns(change))},
          {"before", change.before ? item_object(*change.before) : Json(nullptr)},
          {"after", change.after ? item_object(*change.after) : Json(nullptr)}};
}

Json finding_object(const std::optional<analyze::Finding>& finding) {
  if (!finding) return nullptr;
  return {{"rule", finding->rule},
          {"title", finding->title},
          {"site", finding->site},
          {"saving_ns", or_null(finding->saving_ns)},
          {"saving_step_ns", or_null(finding->saving_step_ns)},
          {"saving_pct", or_null(finding->saving_pct)}};
}

Json change_object(const FindingChange& change) {
  const char* kind = !change.after ? "solved" : !change.before ? "gained" : "remaining";
  return {{"change", kind}, {"before", finding_object(change.before)}, {"after", finding_object(change.after)}};
}

template <typename Change>
Json changes_array(const std::vector<Change>& changes) {
  Json array = Json::array();
  for (const Change& change : changes) array.push_back(change_object(change));
  return array;
}

}  // namespace

std::string to_json(const Comparison& comparison, const analyze::Report& before, const analyze::Report& after,
                    Names names) {
  return written({{"schema", 1},
                  {"unit", comparison.unit == analyze::Unit::kStep ? "step" : "run"},
                  {"is_device_step", comparison.is_device_step},
                  {"summary", summary_of(comparison, before, after)},
                  {"doubts", comparison.doubts},
                  {"before", side_object(comparison.before, before)},
                  {"after", side_object(comparison.after, after)},
                  {"sites", changes_array(comparison.items)},
                  {"findings", changes_array(comparison.findings)}},
                 names);
}

}  // namespace turnpike::report
