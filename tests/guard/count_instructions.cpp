// Counting of instructions for programs in Python, and of the lines of memory that the guard's code among them takes.
#include "count_instructions.h"

#include <link.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace {

constexpr std::size_t kLineBytes = 64;

// The code of the guard's library, and which lines of it were executed.
std::uintptr_t g_begin = 0;
std::uintptr_t g_end = 0;
std::array<char, 1 << 16> g_is_used;

int find_code(dl_phdr_info* module, std::size_t, void*) {
  if (std::strstr(module->dlpi_name, "libturnpike_guard.so") == nullptr) return 0;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const auto& segment = module->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    g_begin = module->dlpi_addr + segment.p_vaddr;
    g_end = std::min(g_begin + segment.p_memsz, g_begin + g_is_used.size() * kLineBytes);
    return 1;
  }
  return 0;
}

void note_line(int, siginfo_t*, void* context) {
  const auto at = static_cast<std::uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  if (at >= g_begin && at < g_end) g_is_used[(at - g_begin) / kLineBytes] = 1;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void begin_counting() {
  turnpike::begin_counting();
}
EXPORT std::uint64_t end_counting() {
  return turnpike::end_counting();
}

EXPORT void begin_lines() {
  g_is_used.fill(0);
  dl_iterate_phdr(find_code, nullptr);
  turnpike::begin_counting(note_line);
}
EXPORT std::uint64_t end_lines() {
  turnpike::end_counting();
  return static_cast<std::uint64_t>(std::count(g_is_used.begin(), g_is_used.end(), 1));
}
