// NVTX, the API by which programs name ranges of their work: as an injected tool hears it.
#pragma once

#include <cstdint>

namespace turnpike::cuda {

// While nobody hears them, a push, a pop and a start return what NVTX itself returns without a tool.
inline constexpr int kNoNvtxDepth = -2;
inline constexpr std::uint64_t kNoNvtxRange = 0;

// Called on the program's threads while they are heard. Texts are UTF-8 and valid during the call only; `domain` is ""
// for the default domain. A push and a pop return the depth of their range in the thread, from 0.
struct NvtxListener {
  int (*on_push)(const char* domain, const char* text, std::uint32_t color_argb);
  int (*on_pop)(const char* domain);
  void (*on_start)(std::uint64_t range, const char* domain, const char* text, std::uint32_t color_argb);
  void (*on_end)(std::uint64_t range);
  void (*on_mark)(const char* domain, const char* text, std::uint32_t color_argb);
};

// Puts `listener` behind the NVTX functions of one loaded copy of the library: `get_export_table` is what that copy
// gives to InitializeInjectionNvtx2. False when it speaks another version.
bool install_nvtx_listener(void* get_export_table, const NvtxListener& listener) noexcept;

// Whether listeners are called. At first they are not: a range then costs the program one read of memory. Any thread,
// also in a signal handler.
void hear_nvtx(bool is_heard) noexcept;

// Around a fork: no other thread holds the texts of domains and registered strings then.
void before_fork_of_nvtx() noexcept;
void after_fork_of_nvtx() noexcept;

}  // namespace turnpike::cuda
