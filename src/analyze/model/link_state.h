// What a recording says of the links of its GPUs, and of the host memory of large copies: where it lies, and whether it
// is a mapped file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_set>

#include "trace/process.h"

namespace turnpike::analyze {

// PCIe of one GPU; nullopt: not known. docs/format.md names the metadata that it stands in.
struct LinkState {
  std::optional<std::uint32_t> generation{};  // the highest of all reads: an idle GPU lowers it
  std::optional<std::uint32_t> width{};
  std::optional<std::uint32_t> max_generation{};  // that the card has
  std::optional<std::uint32_t> max_width{};
  std::uint32_t busy_reads = 0;  // reads that copies had come before
};

LinkState link_state_of(const trace::Process& process, std::uint32_t device);

// The NUMA node of the first page of host buffers, by their address.
class HostNodes {
 public:
  explicit HostNodes(const trace::Process& process);

  bool is_empty() const { return node_by_address_.empty(); }
  std::optional<std::uint32_t> node_of(std::uint64_t address) const;

 private:
  std::map<std::uint64_t, std::uint32_t> node_by_address_;
};

// The correlations of the calls of large copies whose source was a mapped file.
std::unordered_set<std::uint32_t> copies_from_files(const trace::Process& process);

}  // namespace turnpike::analyze
