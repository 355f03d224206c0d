#include "report/ci/sarif.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "report/ci/breach_place.h"
#include "report/json/item_json.h"
#include "report/text/check_text.h"
#include "report/text/item_text.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::LimitResult;
using analyze::Outcome;

// RFC 3986: all but unreserved characters and the slash in per cent form, byte by byte.
std::string as_uri(std::string_view path) {
  return percent_escaped(path, [](char letter) {
    constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    return kPlain.find(letter) != std::string_view::npos;
  });
}

Json location_object(const CodeLine& line) {
  return {{"physicalLocation",
           {{"artifactLocation", {{"uri", as_uri(line.path)}, {"uriBaseId", "%SRCROOT%"}}},
            {"region", {{"startLine", std::max<std::uint32_t>(line.line, 1)}}}}}};
}

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
  const Json driver = {{"name", "turnpike"}, {"version", TURNPIKE_VERSION}, {"rules", std::move(rules)}};
  Json run = {{"tool", {{"driver", driver}}}, {"columnKind", "unicodeCodePoints"}, {"results", std::move(results)}};
  return written(
      {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
       {"version", "2.1.0"},
       {"runs", Json::array({std::move(run)})}});
}

}  // namespace turnpike::report
