// The driver of libcudart_of_guard.so.
#include <cstdint>

#include "fake_memory.h"

// Was initialised, and has two GPUs.
extern "C" __attribute__((visibility("default"))) int cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}

// CUpointer_attribute: the memory's type, whether it is managed, and of which GPU. What is not known is no error.
extern "C" __attribute__((visibility("default"))) int cuPointerGetAttributes(unsigned count, const int* attributes,
                                                                             void** values, std::uint64_t address) {
  const FakeMemory memory = fake_memory_at(reinterpret_cast<const void*>(address));
  for (unsigned i = 0; i < count; ++i) {
    *static_cast<int*>(values[i]) = attributes[i] == 2 ? memory.type : attributes[i] == 9 ? memory.device : 0;
  }
  return 0;
}
