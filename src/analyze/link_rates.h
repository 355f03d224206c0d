// The rates of a run's links: what every transfer of its report is compared with.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyze/graph/links.h"
#include "analyze/report.h"

namespace turnpike::analyze {

class RunLinks {
 public:
  // Those of one more process.
  void add(const std::map<std::uint32_t, Link>& links);
  // Fills in link_gbps, link_source and link_basis of the transfers between host and device. Unknown where devices have
  // different rates; what copies have shown may differ, and the best of it counts.
  void apply_to(Report& report) const;

 private:
  std::vector<Link> links_;
};

}  // namespace turnpike::analyze
