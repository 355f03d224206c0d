// Notes the PCIe links of this machine's GPUs while the program runs: generation, lanes, NUMA node, NVLink.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cuda/nvml.h"
#include "record/collect/pci_address.h"
#include "record/collect/process_metadata.h"

namespace turnpike::record {

// Not safe for several threads.
class LinkWatch {
 public:
  // Where the system's view of its devices is mounted.
  explicit LinkWatch(std::string sysfs = "/sys") : sysfs_(std::move(sysfs)) {}

  // Adds a GPU, and reads its link for the first time.
  void add(std::uint32_t device, PciAddress address);
  // Of the GPUs that were added.
  std::map<std::uint32_t, PciAddress> addresses() const;
  // Of the host's nodes the one that the GPU is attached to; trace::kUnknownNode.
  std::uint16_t numa_node(std::uint32_t device) const;
  // Reads again what has not reached the card's own generation and width. An idle GPU lowers its generation, so one
  // read says little: `has_copied` is whether copies were made since the last one. A few file reads; no call to the
  // driver.
  void read(bool has_copied);
  bool has_gaps() const;
  // Asks NVML for what the system does not show, as in some containers. Takes tens of milliseconds. For
  // a program that has copied and still holds its GPU, which keeps the generation up.
  void fill_gaps(const Result<cuda::Nvml>& nvml);
  // Of the links with gaps takes what `other` knows.
  void fill_gaps_from(const LinkWatch& other);
  // The keys `link.N`.
  void put(Metadata& metadata) const;

 private:
  struct State {
    PciAddress address;
    std::optional<std::uint32_t> generation, width, max_generation, max_width, nvlinks;
    std::uint16_t numa_node = 0;
    std::uint32_t busy_reads = 0;
    bool is_from_nvml = false;
    std::string why_not;  // it is unknown
  };
  void read(State& state, bool has_copied) const;
  std::string folder_of(const PciAddress& address) const;

  std::string sysfs_;
  std::map<std::uint32_t, State> links_;
};

}  // namespace turnpike::record
