// The module (program or shared library) that an address of this process belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace turnpike::record {

struct LoadedModule {
  std::uintptr_t base = 0;   // what the loader added to the addresses in the file
  std::uintptr_t begin = 0;  // of the segment that holds the address asked for
  std::uintptr_t end = 0;
  const unsigned char* eh_frame_hdr = nullptr;  // nullptr when it has none
  std::uintptr_t mapped_begin = 0;              // all its segments: what an unwind table may point into
  std::uintptr_t mapped_end = 0;
  std::uint64_t segments_hash = 0;  // see hash_segments
  std::string path;                 // as the loader knows it; empty for the program itself
};

// What tells a module in memory from another build of it in the file of its name: the kinds, places and sizes of all
// segments. `headers` are `count` program headers (Elf64_Phdr).
std::uint64_t hash_segments(const void* headers, std::size_t count) noexcept;

// Asks the loader, under the loader's lock: not for a path that runs often. False for an address in no module (code
// made at run time). Throws std::bad_alloc.
bool find_module(std::uintptr_t address, LoadedModule& module);

// How many modules this process has unloaded so far. An address may mean something else after this changed.
std::uint64_t unload_count() noexcept;

// The path of the program or library as a file: absolute where the loader's name leads to one, else that name.
std::string file_of(const LoadedModule& module);

}  // namespace turnpike::record
