// Reads and writes move.json: {"schema": 1, "machines": [{"host", "device_name", "threads", "chunk_bytes", "h2d_gbps",
// "d2h_gbps", "store"}]}. Files from before there was a choice of stores have none.
#include "machine/kept_settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/cache_file.h"

namespace turnpike::machine {
namespace {

using Json = nlohmann::ordered_json;
using move::Settings;

constexpr int kSchema = 1;

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), HOST_NAME_MAX);
  return host.data();
}

// The machines in the file; none where there is no file.
Result<Json> read_machines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Json::array();
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const Json document = Json::parse(text);
    if (document.at("schema").get<int>() != kSchema) return Error{path + " is of a newer Turnpike. Remove it."};
    const Json& machines = document.at("machines");
    for (const auto& entry : machines) {
      entry.at("host").get<std::string>();
      entry.at("device_name").get<std::string>();
      entry.at("threads").get<unsigned int>();
      entry.at("chunk_bytes").get<std::size_t>();
      entry.value("store", std::string());
    }
    return machines;
  } catch (const Json::exception& damage) {
    return Error{path + " is damaged (" + damage.what() + "). Remove it, and calibrate again."};
  }
}

bool is_of(const Json& entry, const std::string& host, const std::string& device_name) {
  return entry.at("host") == host && entry.at("device_name") == device_name;
}

}  // namespace

Result<std::optional<move::Settings>> kept_settings(const std::string& device_name) {
  const std::string path = cache_path("move.json");
  if (path.empty()) return std::optional<Settings>();
  const auto machines = read_machines(path);
  if (!machines) return machines.error();
  const std::string host = host_name();
  for (const auto& entry : *machines) {
    if (!is_of(entry, host, device_name)) continue;
    Settings settings;
    settings.threads = entry.at("threads").get<unsigned int>();
    settings.chunk_bytes = entry.at("chunk_bytes").get<std::size_t>();
    settings.store = move::store_of(entry.value("store", std::string())).value_or(settings.store);
    return std::optional(settings);
  }
  return std::optional<Settings>();
}

Status keep_settings(const move::Calibration& calibration) {
  const std::string path = cache_path("move.json");
  if (path.empty()) return Error{"neither XDG_CACHE_HOME nor HOME is set"};
  const auto machines = read_machines(path);
  const std::string host = host_name();
  Json kept = Json::array();
  // What cannot be understood is replaced: it was a measurement, and here is a newer one.
  if (machines) {
    for (const auto& entry : *machines) {
      if (!is_of(entry, host, calibration.device_name)) kept.push_back(entry);
    }
  }
  kept.push_back({{"host", host},
                  {"device_name", calibration.device_name},
                  {"threads", calibration.settings.threads},
                  {"chunk_bytes", calibration.settings.chunk_bytes},
                  {"h2d_gbps", calibration.best.h2d_gbps},
                  {"d2h_gbps", calibration.best.d2h_gbps},
                  {"store", move::name_of(calibration.settings.store)}});
  const Json document = {{"schema", kSchema}, {"machines", kept}};
  return write_cache_file(path, document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace turnpike::machine
