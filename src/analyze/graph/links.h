// How fast the links of a process's GPUs could be, and how that is known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "analyze/model/timeline.h"
#include "analyze/report.h"
#include "machine/link_rates.h"
#include "trace/process.h"

namespace turnpike::analyze {

using machine::LinkRate;
using machine::LinkRates;

// What is known of one direction of a link.
struct KnownRate {
  double gbps = 0;
  LinkSource source = LinkSource::kMeasured;
  std::string basis{};  // as Total::link_basis
};

struct Link {
  std::optional<KnownRate> h2d{};
  std::optional<KnownRate> d2h{};
  // Of a copy down into memory in the CPU's caches, where that was measured.
  std::optional<double> d2h_cached_gbps{};
  // What the recording says that PCIe runs as, and what the card has: "PCIe 4 x8". Empty: unknown.
  std::string pcie{};
  std::string card_pcie{};
  double share_of_card = 1;  // that the one reaches of the other

  std::optional<KnownRate>& of(Direction direction) { return direction == Direction::kHostToDevice ? h2d : d2h; }
  const std::optional<KnownRate>& of(Direction direction) const {
    return direction == Direction::kHostToDevice ? h2d : d2h;
  }

  // What so many bytes take in one copy of page-locked memory, without its start; nullopt: not known. Down they come
  // into memory that the CPU has read since the last copy (docs/whatif.md).
  std::optional<double> copy_ns(Direction direction, double bytes) const;
};

// By device. For each direction the first that there is of: what `rates` says; the best that large copies of
// page-locked memory reached; what the recorded PCIe generation and width can do; what GPUs of this model can do.
std::map<std::uint32_t, Link> find_links(const trace::Process& process, const Timeline& timeline,
                                         const LinkRates& rates);

}  // namespace turnpike::analyze
