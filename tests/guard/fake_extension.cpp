// Stands for an extension that links against PyTorch: code of others, of which nothing is known. Built by GCC and by
// clang, whose tables say "noexcept" in ways of their own.
#include <new>

extern "C" int cudaDeviceSynchronize();

#define EXPORT extern "C" __attribute__((visibility("default"), noinline))

namespace {

struct WaitsAtItsEnd {
  ~WaitsAtItsEnd() { cudaDeviceSynchronize(); }
};

using Function = void (*)(void*);

}  // namespace

EXPORT void wait_raw(void*) {
  cudaDeviceSynchronize();
  asm volatile("");
}
EXPORT void wait_noexcept(void*) noexcept {
  cudaDeviceSynchronize();
  asm volatile("");
}
EXPORT void wait_noexcept_with_a_handler(void*) noexcept {
  try {
    cudaDeviceSynchronize();
  } catch (const std::bad_alloc&) {
  }
}
EXPORT void wait_in_a_destructor(void*) {
  const WaitsAtItsEnd it;
}
// Calls PyTorch.
EXPORT void operate_noexcept(void* function) noexcept {
  try {
    reinterpret_cast<Function>(function)(nullptr);
  } catch (const std::bad_alloc&) {
  }
}
