// The large copies of a place over the link, and where their host memory lies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "analyze/model/link_state.h"
#include "analyze/rules/rule.h"

namespace turnpike::analyze {

// With one device: each has a link of its own.
struct LargeCopies {
  Selection calls;  // rising
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t device_ns = 0;
  double link_ns = 0;        // what they need if their memory is page-locked (Link::copy_ns); 0: not known
  bool are_in_rows = false;  // cudaMemcpy2D and its kin
  // Of those whose host memory is known to lie on another NUMA node than the GPU.
  std::uint64_t far_count = 0;
  std::uint32_t far_node = 0;  // of the last of them

  // Most of them.
  bool are_far() const { return 2 * far_count > count; }
  double gbps() const { return static_cast<double>(bytes) / static_cast<double>(device_ns); }
  // Of what the link does for such copies; nullopt: not known.
  std::optional<double> share_of_link() const {
    return link_ns > 0 ? std::optional(link_ns / static_cast<double>(device_ns)) : std::nullopt;
  }
  double link_gbps() const { return static_cast<double>(bytes) / link_ns; }
};

// The NUMA node of a GPU; nullopt: unknown.
std::optional<std::uint32_t> node_of_gpu(const ProcessModel& model, std::uint32_t device);

// By device, those that took time. `memory`: of the host's side.
std::map<std::uint32_t, LargeCopies> large_copies_of(const ProcessModel& model, const HostNodes& nodes,
                                                     const SiteCalls& site, Direction direction,
                                                     trace::MemoryKind memory);

}  // namespace turnpike::analyze
