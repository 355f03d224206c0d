// What the PCIe link of a GPU carried beside copies: kernels that read and write host memory themselves do that.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/model/timeline.h"

namespace turnpike::analyze {

struct DarkTraffic {
  std::uint32_t device = 0;
  std::int64_t counted_ns = 0;      // the time in which the GPU's counters were read
  std::uint64_t carried_bytes = 0;  // in it, both ways
  std::uint64_t copied_bytes = 0;   // by copies and migrations of this process, as far as they lie in it
  std::uint64_t dark_bytes = 0;     // what neither they explain nor what launches and reads cost on the way
  double peak_gbps = 0;             // the rate of it, in the reading with most
  // The kernel that ran for most of the time in which this was carried, as a string id, and its share of that time.
  // kNoId: no kernel ran.
  std::uint32_t kernel = trace::kNoId;
  double kernel_share = 0;
};

// One for each GPU that was counted, in the order of their numbers.
std::vector<DarkTraffic> dark_traffic_of(const Timeline& timeline);

}  // namespace turnpike::analyze
