#include "report/html/sites.h"

#include <algorithm>

#include "report/html/format.h"

namespace turnpike::report::html {

std::uint16_t Sites::number_of(const analyze::Where& where, const std::vector<std::string>& stack) {
  const Key key{where.site, where.file.value_or("")};
  if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
  if (all_.size() >= kMaxSites) {
    ++dropped_;
    return 0;
  }
  all_.push_back(
      {.site = where.site, .file = where.file, .line = where.line, .function = where.function, .stack = stack});
  const auto number = static_cast<std::uint16_t>(all_.size());
  numbers_.emplace(key, number);
  return number;
}

std::optional<std::size_t> Sites::index_named(const std::string& site) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const SiteEntry& entry) { return entry.site == site; });
  if (found == all_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all_.begin());
}

}  // namespace turnpike::report::html
