// The function symbols of ELF files: which function an address in a module belongs to.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::record {

// The functions of one file, sorted by address. 16 bytes a symbol; the names stay in the file, which is mapped.
class SymbolFile {
 public:
  // nullptr when the file cannot be read as ELF for this machine. Throws std::bad_alloc.
  static std::unique_ptr<SymbolFile> open(const std::string& path);
  ~SymbolFile();
  SymbolFile(const SymbolFile&) = delete;
  SymbolFile& operator=(const SymbolFile&) = delete;

  // The mangled name of the function at an address of the file; empty when none covers it. Valid as long as this
  // object.
  std::string_view function_at(std::uint64_t address) const noexcept;
  std::uint64_t segments_hash() const noexcept { return segments_hash_; }
  std::size_t size_bytes() const noexcept { return functions_.capacity() * sizeof(Function); }

 private:
  struct Function {
    std::uint64_t address;
    std::uint32_t size;
    std::uint32_t name;  // offset in the file's string table
  };
  SymbolFile() = default;
  bool read_symbols();
  bool read_section(std::uint64_t symbols_at, std::uint64_t symbols_bytes, std::uint64_t names_at,
                    std::uint64_t names_bytes);

  const char* file_ = nullptr;
  std::size_t file_bytes_ = 0;
  std::uint64_t segments_hash_ = 0;
  std::string_view names_;
  std::vector<Function> functions_;
};

// The symbol files that were asked for last: at most 32 MiB of tables, whatever the program loads. One thread.
class ModuleSymbols {
 public:
  // As SymbolFile::function_at, for a module that was loaded from `path` with these segments (hash_segments).
  // `is_readable` is false when the file is not there, or is another build: pip may replace what a program has loaded.
  // Valid until the next call. Throws std::bad_alloc.
  std::string_view function_at(const std::string& path, std::uint64_t segments_hash, std::uint64_t address,
                               bool& is_readable);

 private:
  struct Opened {
    std::string path;
    std::unique_ptr<SymbolFile> file;  // nullptr: unreadable
  };
  void forget_old();

  std::list<Opened> opened_;  // most recently used first
};

}  // namespace turnpike::record
