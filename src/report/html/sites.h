// The places of the program that events of the page belong to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/report.h"

namespace turnpike::report::html {

struct SiteEntry {
  std::string site;
  std::optional<std::string> file{};
  std::optional<std::uint32_t> line{};
  std::optional<std::string> function{};
  std::vector<std::string> stack{};
};

class Sites {
 public:
  // What the column `site` holds: 1 + the place's index, 0 when there is no room for another.
  std::uint16_t number_of(const analyze::Where& where, const std::vector<std::string>& stack);
  // The index of the first place of that name.
  std::optional<std::size_t> index_named(const std::string& site) const;
  const std::vector<SiteEntry>& all() const { return all_; }
  // Places for which there was no room.
  std::uint64_t dropped() const { return dropped_; }

 private:
  using Key = std::pair<std::string, std::string>;  // site and file

  std::map<Key, std::uint16_t> numbers_;
  std::vector<SiteEntry> all_;
  std::uint64_t dropped_ = 0;
};

}  // namespace turnpike::report::html
