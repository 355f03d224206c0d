#include "report/json/check_json.h"

#include "report/json/item_json.h"

namespace turnpike::report {
namespace {

using analyze::LimitResult;
using analyze::ValueKind;

const char* unit_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::kAmount:
      return "count";
    case ValueKind::kBytes:
      return "bytes";
    case ValueKind::kDuration:
      return "ns";
    case ValueKind::kPercent:
      return "pct";
    case ValueKind::kText:
      return "text";
  }
  return "text";
}

Json line_or_null(std::uint32_t line) {
  return line == 0 ? Json(nullptr) : Json(line);
}

Json limit_object(const LimitResult& limit) {
  const bool is_text = limit.kind == ValueKind::kText;
  Json places = Json::array();
  for (const analyze::Culprit& culprit : limit.culprits) {
    Json place = item_object(culprit.item);
    place["share"] = is_text ? Json(nullptr) : Json(culprit.share);
    places.push_back(std::move(place));
  }
  return {{"limit", limit.name},
          {"outcome", analyze::name_of(limit.outcome)},
          {"unit", unit_of(limit.kind)},
          {"measured", is_text ? or_null(limit.measured_text) : or_null(limit.measured)},
          {"allowed", is_text ? Json(limit.most_text) : Json(limit.most)},
          {"budget_line", line_or_null(limit.line)},
          {"why", or_null(limit.why)},
          {"sites", std::move(places)}};
}

}  // namespace

std::string to_json(const analyze::CheckResult& result, const analyze::Report& report, const analyze::Budget& budget) {
  Json limits = Json::array();
  for (const LimitResult& limit : result.limits) limits.push_back(limit_object(limit));
  return written({{"schema", 1},
                  {"passed", result.is_passed()},
                  {"paths", report.source.paths},
                  {"budget", budget.path},
                  {"whole_steps", report.steps ? Json(report.steps->whole_count) : Json(nullptr)},
                  {"limits", std::move(limits)},
                  {"notes", result.notes},
                  {"incomplete", incomplete_object(report.source.inputs)}});
}

}  // namespace turnpike::report
