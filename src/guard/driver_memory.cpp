// Asks the driver itself: its runtime asks for twice as much, and who calls from outside of PyTorch has a runtime of
// its own, or none.
#include "guard/driver_memory.h"

#include <atomic>
#include <cstdint>

#include "base/hot.h"
#include "base/loaded_modules.h"

namespace turnpike::guard {
namespace {

// CUpointer_attribute and CUmemorytype.
enum Attribute : int { kMemoryType = 2, kIsManaged = 8, kDeviceOrdinal = 9 };
constexpr unsigned kUnknownType = 0;
constexpr unsigned kHostType = 1;

// cuPointerGetAttributes. Of an address that is not the driver's it gives zeros; its sister for a single attribute
// fails, which takes five times as long.
using Ask = int(unsigned count, const Attribute* attributes, void** values, std::uint64_t address);
TURNPIKE_HOT_DATA constinit std::atomic<Ask*> g_ask{nullptr};

// Looks again until it is there: the runtime loads the driver late. A hook does not wait for the loader.
[[gnu::noinline, gnu::cold]] Ask* find_ask() noexcept {
  auto* const found = reinterpret_cast<Ask*>(symbol_of_module("libcuda.so.1", "cuPointerGetAttributes"));
  g_ask.store(found, std::memory_order_release);
  return found;
}

}  // namespace

TURNPIKE_HOT bool ask_driver(const void* address, Question question, Memory& memory) noexcept {
  Ask* ask = g_ask.load(std::memory_order_acquire);
  if (ask == nullptr) ask = find_ask();
  static constexpr Attribute kAttributes[] = {kMemoryType, kIsManaged, kDeviceOrdinal};
  unsigned type = kUnknownType;
  unsigned is_managed = 0;
  int device = -1;
  void* values[] = {&type, &is_managed, &device};
  const unsigned count = question == Question::kKind ? 2 : 3;
  if (ask == nullptr || ask(count, kAttributes, values, reinterpret_cast<std::uintptr_t>(address)) != 0) return false;
  if (is_managed != 0) {
    memory = {Side::kHost, HostMemory::kManaged, device};
  } else if (type == kUnknownType) {
    memory = {};
  } else if (type == kHostType) {
    memory = {Side::kHost, HostMemory::kPinned, -1};
  } else {
    memory = {Side::kGpu, HostMemory::kNone, device};
  }
  return true;
}

bool is_cuda_used() noexcept {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  auto* const count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  int count = 0;
  const bool is_used = count_devices != nullptr && count_devices(&count) == 0 && count > 0;
  dlclose(driver);
  return is_used;
}

}  // namespace turnpike::guard
