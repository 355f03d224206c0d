// Notes on which NUMA node the host memory of large copies lies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/collect/process_metadata.h"
#include "trace/format.h"

namespace turnpike::record {

// The node of the page at an address, or minus an errno. EPERM and ENOSYS: the system does not tell at all.
using AskNode = int (*)(std::uint64_t address);
// Asks the kernel. Brings no page into memory that is not there.
int ask_node(std::uint64_t address);

// Not safe for several threads.
class HostNodes {
 public:
  explicit HostNodes(AskNode ask = ask_node, const std::string& sysfs = "/sys");

  // Asks for the memory of a large copy, once an address and for so many addresses at most; by then the memory may be
  // gone, and nothing is known of it.
  void note(const trace::CallRecord& call);
  // The key `host_memory`.
  void put(Metadata& metadata) const;

 private:
  void note(std::uint64_t address);

  AskNode ask_;
  bool has_one_node_;
  std::string why_not_;
  std::map<std::uint64_t, std::optional<std::uint32_t>> nodes_;  // nullopt: not memory of the host, or not there
};

}  // namespace turnpike::record
