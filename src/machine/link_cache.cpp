// Reads and writes link.json: {"schema": 1, "links": [{"device_name", "host", "h2d_pinned_gbps", "d2h_pinned_gbps",
// "d2h_cached_gbps", "date"}]}. Older files have no d2h_cached_gbps, and older readers pass over it.
#include "machine/link_cache.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/cache_file.h"

namespace turnpike::machine {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

KeptLink link_of(const Json& entry) {
  KeptLink link{entry.at("device_name").get<std::string>(), entry.at("host").get<std::string>(),
                entry.at("h2d_pinned_gbps").get<double>(), entry.at("d2h_pinned_gbps").get<double>(),
                entry.at("date").get<std::string>()};
  if (entry.contains("d2h_cached_gbps")) link.d2h_cached_gbps = entry.at("d2h_cached_gbps").get<double>();
  return link;
}

Json json_of(const KeptLink& link) {
  Json entry = {{"device_name", link.device_name},
                {"host", link.host},
                {"h2d_pinned_gbps", link.h2d_pinned_gbps},
                {"d2h_pinned_gbps", link.d2h_pinned_gbps}};
  if (link.d2h_cached_gbps) entry["d2h_cached_gbps"] = *link.d2h_cached_gbps;
  entry["date"] = link.date;
  return entry;
}

}  // namespace

std::string link_cache_path() {
  return cache_path("link.json");
}

Result<std::vector<KeptLink>> read_link_cache(const std::string& path) {
  std::vector<KeptLink> links;
  std::ifstream file(path, std::ios::binary);
  if (!file) return links;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const Json document = Json::parse(text);
    if (document.at("schema").get<int>() != kSchema) return Error{path + " is of a newer Turnpike. Remove it."};
    for (const auto& entry : document.at("links")) links.push_back(link_of(entry));
  } catch (const Json::exception& damage) {
    return Error{path + " is damaged (" + damage.what() + "). Remove it, and run `turnpike bench link` again."};
  }
  return links;
}

Status keep_links(const std::string& path, const std::vector<KeptLink>& links) {
  auto kept = read_link_cache(path);
  if (!kept) return kept.error();
  for (const auto& link : links) {
    std::erase_if(*kept,
                  [&](const KeptLink& old) { return old.device_name == link.device_name && old.host == link.host; });
    kept->push_back(link);
  }
  Json entries = Json::array();
  for (const auto& link : *kept) entries.push_back(json_of(link));
  const Json document = {{"schema", kSchema}, {"links", entries}};
  return write_cache_file(path, document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

const KeptLink* find_link(const std::vector<KeptLink>& links, const std::string& device_name, const std::string& host) {
  const auto found = std::find_if(links.begin(), links.end(), [&](const KeptLink& link) {
    return link.device_name == device_name && link.host == host;
  });
  return found == links.end() ? nullptr : &*found;
}

}  // namespace turnpike::machine
