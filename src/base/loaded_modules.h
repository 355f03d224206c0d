// The modules (program and shared libraries) of this process, as the loader lists them.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace turnpike {

using VisitModule = int (*)(dl_phdr_info* module, std::size_t bytes, void* data);

// dl_iterate_phdr: calls `visit` for one module after the other, until it returns something other than 0. Meanwhile no
// module is unmapped, and no other thread walks, also not in another library with a copy of this code.
// Any thread may walk, also in a callback of CUDA: the loader does not hold this lock while it relocates modules and
// runs their constructors. For the same reason the list may have a module that another thread has not relocated yet.
// `visit` neither throws nor enters the loader nor allocates memory. A fork waits for the end of a walk, because glibc
// does not free the lock in the child.
int for_each_module(VisitModule visit, void* data) noexcept;

// How often modules were loaded and unloaded in this process.
struct LoadCounts {
  unsigned long long loads = 0;
  unsigned long long unloads = 0;
};
LoadCounts load_counts() noexcept;

std::uintptr_t page_size() noexcept;
// Whether a word may be written to. nullopt: the kernel does not say.
std::optional<bool> is_writable(std::uintptr_t address) noexcept;

// The entries of a module's dynamic section. Valid as long as the module cannot be unmapped. An address outside of the
// module is nullptr.
struct DynamicSection {
  std::uintptr_t base = 0;   // the loader added it to the addresses in the file
  std::uintptr_t begin = 0;  // of all its segments
  std::uintptr_t end = 0;
  std::uintptr_t relro_begin = 0;  // of the pages that the loader makes read-only when it has relocated the module
  std::uintptr_t relro_end = 0;
  const ElfW(Dyn) * entries = nullptr;
  const char* names = nullptr;
  const char* own_name = nullptr;  // DT_SONAME; nullptr: it has none
  const ElfW(Sym) * symbols = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const ElfW(Rela) * calls = nullptr;  // DT_JMPREL
  std::size_t call_count = 0;
  const ElfW(Rela) * data = nullptr;  // DT_RELA
  std::size_t data_count = 0;
  std::size_t relative_count = 0;  // of `data`, the first ones, which name no symbol

  explicit DynamicSection(const dl_phdr_info& module) noexcept;
  bool has_symbols() const noexcept { return names != nullptr && symbols != nullptr; }
  // False where the module has such pages and the loader is not done with them.
  bool is_relocated() const noexcept;
  bool has(std::uintptr_t address) const noexcept { return address >= begin && address < end; }
};

// The address of a function or variable of the module with this file name or DT_SONAME ("libcuda.so.1"); nullptr if
// there is none. nullptr also while another thread loads it. Unlike dlsym it takes no lock that the loader holds
// while it runs constructors; those of the module may be running. The caller knows that the module stays loaded.
void* symbol_of_module(std::string_view module_name, const char* symbol) noexcept;

}  // namespace turnpike
