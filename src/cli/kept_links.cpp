// Takes the medians, with the name of this machine and the time.
#include "cli/kept_links.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <ctime>
#include <map>
#include <string>

namespace turnpike::cli {

using machine::KeptLink;
using move::LinkRate;

namespace {

std::string today() {
  std::array<char, 32> text{};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace

std::vector<KeptLink> kept_links_of(const std::vector<LinkRate>& links) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), HOST_NAME_MAX);
  std::map<std::string, KeptLink> by_name;
  for (const auto& link : links) {
    KeptLink& kept = by_name[link.device_name];
    kept.device_name = link.device_name;
    kept.host = host.data();
    kept.h2d_pinned_gbps = std::max(kept.h2d_pinned_gbps, link.h2d_pinned_gbps.median);
    kept.d2h_pinned_gbps = std::max(kept.d2h_pinned_gbps, link.d2h_pinned_gbps.median);
    kept.d2h_cached_gbps = std::max(kept.d2h_cached_gbps.value_or(0), link.d2h_cached_gbps.median);
    kept.date = today();
  }
  std::vector<KeptLink> all;
  for (const auto& [name, kept] : by_name) all.push_back(kept);
  return all;
}

}  // namespace turnpike::cli
