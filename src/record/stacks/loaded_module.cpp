// The module (program or shared library) that an address of this process belongs to.
#include "record/stacks/loaded_module.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/loaded_modules.h"
#include "record/stacks/mix.h"

namespace turnpike::record {
namespace {

struct Search {
  std::uintptr_t address;
  LoadedModule* module;
  char path[PATH_MAX];
};

// Returns 1, which ends the search, for the module that holds the address.
int look_at(dl_phdr_info* info, std::size_t, void* data) noexcept {
  auto& search = *static_cast<Search*>(data);
  LoadedModule& module = *search.module;
  module = LoadedModule{};
  module.base = info->dlpi_addr;
  module.mapped_begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = begin + segment.p_memsz;
    if (segment.p_type == PT_GNU_EH_FRAME) module.eh_frame_hdr = reinterpret_cast<const unsigned char*>(begin);
    if (segment.p_type != PT_LOAD) continue;
    module.mapped_begin = std::min(module.mapped_begin, begin);
    module.mapped_end = std::max(module.mapped_end, end);
    if (search.address >= begin && search.address < end) {
      module.begin = begin;
      module.end = end;
    }
  }
  if (module.begin == 0) return 0;
  module.segments_hash = hash_segments(info->dlpi_phdr, info->dlpi_phnum);
  const std::size_t length = strnlen(info->dlpi_name, sizeof search.path - 1);
  std::memcpy(search.path, info->dlpi_name, length);
  search.path[length] = '\0';
  return 1;
}

}  // namespace

std::uint64_t hash_segments(const void* headers, std::size_t count) noexcept {
  std::uint64_t hash = kHashSeed;
  for (std::size_t i = 0; i < count; ++i) {
    ElfW(Phdr) header;
    std::memcpy(&header, static_cast<const char*>(headers) + i * sizeof header, sizeof header);
    hash = mix(mix(hash, header.p_type), header.p_offset);
    hash = mix(mix(mix(hash, header.p_vaddr), header.p_filesz), header.p_memsz);
  }
  return hash;
}

bool find_module(std::uintptr_t address, LoadedModule& module) {
  Search search;
  search.address = address;
  search.module = &module;
  if (for_each_module(look_at, &search) == 0) return false;
  module.path = search.path;
  return true;
}

std::uint64_t unload_count() noexcept {
  return load_counts().unloads;
}

std::string file_of(const LoadedModule& module) {
  char path[PATH_MAX];
  if (module.path.empty()) {
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
  }
  // A relative name holds only until the program changes its directory.
  if (module.path.find('/') == std::string::npos || realpath(module.path.c_str(), path) == nullptr) return module.path;
  return path;
}

}  // namespace turnpike::record
