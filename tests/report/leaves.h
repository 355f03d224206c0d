// The leaves of a JSON document, each with the path to it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace turnpike::report {

struct Leaf {
  std::string path;  // "sites[].count"
  std::string key;   // "count"
  nlohmann::json value;
};

// The values of objects whose keys are names (losses) are under "NAMES[*]", and an empty list or object is null.
inline void add_leaves(const nlohmann::json& value, const std::string& path, const std::string& key,
                       std::vector<Leaf>& leaves) {
  static const std::map<std::string, bool> kNames = {
      {"losses", true}, {"loss_sentences", true}, {"versions", true}, {"steps_by_bound", true}};
  if (value.is_structured() && value.empty()) return leaves.push_back({path, key, nullptr});
  if (value.is_array()) {
    for (const auto& item : value) add_leaves(item, path + "[]", key, leaves);
  } else if (value.is_object()) {
    for (const auto& [name, item] : value.items()) {
      const bool is_name = kNames.contains(key);
      add_leaves(item, is_name ? path + "[*]" : path + (path.empty() ? "" : ".") + name, is_name ? key : name, leaves);
    }
  } else {
    leaves.push_back({path, key, value});
  }
}

inline std::vector<Leaf> leaves_of(const nlohmann::json& document) {
  std::vector<Leaf> leaves;
  add_leaves(document, "", "", leaves);
  return leaves;
}

}  // namespace turnpike::report
