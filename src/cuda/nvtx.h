// NVTX, the API by which programs name ranges of their work: as an injected tool hears it.
#pragma once

#include <cstdint>

namespace turnpike::cuda {

// Called on the program's threads. Texts are UTF-8 and valid during the call only; `domain` is "" for the default
// domain.
struct NvtxListener {
  void (*on_push)(const char* domain, const char* text, std::uint32_t color_argb);
  void (*on_pop)(const char* domain);
  void (*on_start)(std::uint64_t range, const char* domain, const char* text, std::uint32_t color_argb);
  void (*on_end)(std::uint64_t range);
  void (*on_mark)(const char* domain, const char* text, std::uint32_t color_argb);
};

// Puts `listener` behind the NVTX functions of one loaded copy of the library: `get_export_table` is what that copy
// gives to InitializeInjectionNvtx2. False when it speaks another version.
bool install_nvtx_listener(void* get_export_table, const NvtxListener& listener) noexcept;

}  // namespace turnpike::cuda
