#include "report/ci/sarif_parts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace turnpike::report {

std::string as_uri(const std::string& path) {
  return percent_escaped(path, [](char letter) {
    constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    return kPlain.find(letter) != std::string_view::npos;
  });
}

Json artifact_location(const CodeLine& line) {
  return {{"uri", as_uri(line.path)}, {"uriBaseId", "%SRCROOT%"}};
}

Json location_object(const CodeLine& line) {
  return {{"physicalLocation",
           {{"artifactLocation", artifact_location(line)},
            {"region", {{"startLine", std::max<std::uint32_t>(line.line, 1)}}}}}};
}

std::string sarif_document(Json rules, Json results) {
  const Json driver = {{"name", "turnpike"}, {"version", TURNPIKE_VERSION}, {"rules", std::move(rules)}};
  Json run = {{"tool", {{"driver", driver}}}, {"columnKind", "unicodeCodePoints"}, {"results", std::move(results)}};
  return written(
      {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
       {"version", "2.1.0"},
       {"runs", Json::array({std::move(run)})}});
}

}  // namespace turnpike::report
