#include "guard/driver_memory.h"

#include <dlfcn.h>

namespace turnpike::guard {
namespace {

// CUpointer_attribute and CUmemorytype.
enum Attribute : int { kMemoryType = 2, kIsManaged = 8, kDeviceOrdinal = 9 };
constexpr unsigned kHostType = 1;

// Of the driver: whoever called has a runtime of its own, or none. It answers inside of CUPTI's callbacks, too.
bool ask_driver(void* value, Attribute attribute, std::uint64_t address) noexcept {
  using Ask = int(void*, int, std::uint64_t);
  static const auto ask = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return driver == nullptr ? nullptr : reinterpret_cast<Ask*>(dlsym(driver, "cuPointerGetAttribute"));
  }();
  return ask != nullptr && ask(value, attribute, address) == 0;
}

}  // namespace

Memory driver_memory_at(std::uint64_t address) noexcept {
  unsigned type = 0;
  if (!ask_driver(&type, kMemoryType, address)) return {};  // the driver does not know it: pageable
  int device = -1;
  ask_driver(&device, kDeviceOrdinal, address);
  unsigned is_managed = 0;
  ask_driver(&is_managed, kIsManaged, address);
  if (is_managed != 0) return {Side::kHost, HostMemory::kManaged, device};
  if (type == kHostType) return {Side::kHost, HostMemory::kPinned, -1};
  return {Side::kGpu, HostMemory::kNone, device};
}

int device_of(const void* address) noexcept {
  int device = -1;
  ask_driver(&device, kDeviceOrdinal, reinterpret_cast<std::uintptr_t>(address));
  return device;
}

}  // namespace turnpike::guard
