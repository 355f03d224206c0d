// The driver answers for every address of the process; the current context does not matter for the answer.
#include "move/addresses.h"

namespace turnpike::move {

bool is_pinned(const Device& device, const void* host) {
  unsigned int type = 0;
  int attribute = cuda::kPointerMemoryType;
  void* value = &type;
  const auto address = reinterpret_cast<std::uintptr_t>(host);
  const cuda::DriverCode code = device.driver().pointer_get_attributes(1, &attribute, &value, address);
  return code == 0 && type == cuda::kMemoryTypeHost;
}

Result<DeviceRange> allocation_at(const Device& device, DeviceAddress address) {
  cuda::DevicePointer base = 0;
  std::size_t size_bytes = 0;
  const Status status = check(device.driver(), device.driver().mem_get_address_range(&base, &size_bytes, address),
                              "finding the allocation of an address", device.ordinal());
  if (!status) return status.error();
  return DeviceRange{base, base + size_bytes};
}

}  // namespace turnpike::move
