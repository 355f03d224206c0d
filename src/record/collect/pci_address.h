// Where a GPU is on the bus.
#pragma once

#include <cstdint>
#include <string>

namespace turnpike::record {

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
};

// As NVML takes it: "00000000:41:00.0".
std::string nvml_bus_id(const PciAddress& address);

}  // namespace turnpike::record
