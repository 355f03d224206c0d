#include "report/ci/sarif.h"

#include <utility>

#include "report/ci/breach_place.h"
#include "report/ci/sarif_parts.h"
#include "report/json/item_json.h"
#include "report/text/check_text.h"
#include "report/text/item_text.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::LimitResult;
using analyze::Outcome;

Json rule_object(const LimitResult& limit) {
  const std::string name = cleaned(limit.name);
  return {{"id", name},
          {"shortDescription", {{"text", "Budget: " + name + ", allowed: " + cleaned(most_text(limit))}}},
          {"defaultConfiguration", {{"level", "error"}}}};
}

Json related_locations(const LimitResult& limit, const Repository& repository) {
  Json related = Json::array();
  for (const analyze::Culprit& culprit : limit.culprits) {
    const auto line = repository.line_of(culprit.item);
    if (!line) continue;
    Json location = location_object(*line);
    location["id"] = related.size();
    location["message"] = {
        {"text", cleaned(place_text(culprit.item) + ": " + kind_text(culprit.item) + ", " + code_text(culprit.item))}};
    related.push_back(std::move(location));
  }
  return related;
}

Json result_object(const LimitResult& limit, std::size_t rule, const analyze::Budget& budget,
                   const Repository& repository) {
  Json object = {{"ruleId", cleaned(limit.name)},
                 {"ruleIndex", rule},
                 {"kind", "fail"},
                 {"level", "error"},
                 {"message", {{"text", breach_text(limit)}}},
                 {"locations", Json::array()}};
  if (const auto place = place_of_breach(limit, budget, repository)) {
    object["locations"].push_back(location_object(*place));
  }
  Json related = related_locations(limit, repository);
  if (!related.empty()) object["relatedLocations"] = std::move(related);
  return object;
}

}  // namespace

std::string to_sarif(const analyze::CheckResult& result, const analyze::Budget& budget, const Repository& repository) {
  Json rules = Json::array();
  Json results = Json::array();
  for (const LimitResult& limit : result.limits) {
    rules.push_back(rule_object(limit));
    if (limit.outcome == Outcome::kWithin) continue;
    results.push_back(result_object(limit, rules.size() - 1, budget, repository));
  }
  return sarif_document(std::move(rules), std::move(results));
}

}  // namespace turnpike::report
