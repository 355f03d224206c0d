// The link rates that `turnpike bench link` has measured, kept for later reports in the user's cache directory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace turnpike::machine {

struct KeptLink {
  std::string device_name;  // as the driver names it
  std::string host;         // of gethostname: another machine's link is another link
  double h2d_pinned_gbps = 0;
  double d2h_pinned_gbps = 0;
  std::string date;  // ISO 8601, UTC
  // Into memory that the CPU has read since the last copy. Files from before that was measured have none.
  std::optional<double> d2h_cached_gbps{};
};

// $XDG_CACHE_HOME/turnpike/link.json, else ~/.cache/turnpike/link.json. "" where neither variable is set.
std::string link_cache_path();

// None where the file is not there; an Error where it is there and cannot be understood.
Result<std::vector<KeptLink>> read_link_cache(const std::string& path);

// Adds to the file, in the place of older rates of the same device name and host. Written whole or not at all.
Status keep_links(const std::string& path, const std::vector<KeptLink>& links);

const KeptLink* find_link(const std::vector<KeptLink>& links, const std::string& device_name, const std::string& host);

}  // namespace turnpike::machine
