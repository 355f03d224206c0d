#include "record/collect/pci_address.h"

#include <cstdio>

namespace turnpike::record {

std::string nvml_bus_id(const PciAddress& address) {
  char text[32];
  std::snprintf(text, sizeof(text), "%08x:%02x:%02x.0", address.domain, address.bus, address.device);
  return text;
}

}  // namespace turnpike::record
