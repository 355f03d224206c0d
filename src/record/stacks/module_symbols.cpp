// The function symbols of ELF files: which function an address in a module belongs to.
#include "record/stacks/module_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/own_descriptor.h"
#include "record/stacks/loaded_module.h"

namespace turnpike::record {
namespace {

constexpr std::size_t kMaxTableBytes = std::size_t{32} << 20;
constexpr std::size_t kMaxOpenFiles = 256;

}  // namespace

std::unique_ptr<SymbolFile> SymbolFile::open(const std::string& path) {
  OwnDescriptor descriptor = OwnDescriptor::open(path.c_str(), O_RDONLY);
  if (!descriptor.is_open()) return nullptr;
  std::unique_ptr<SymbolFile> file(new (std::nothrow) SymbolFile);
  struct stat status{};
  if (file != nullptr && fstat(descriptor.number(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
    if (memory != MAP_FAILED) {
      file->file_ = static_cast<const char*>(memory);
      file->file_bytes_ = bytes;
    }
  }
  descriptor.close();
  return file != nullptr && file->read_symbols() ? std::move(file) : nullptr;
}

SymbolFile::~SymbolFile() {
  if (file_ != nullptr) munmap(const_cast<char*>(file_), file_bytes_);
}

bool SymbolFile::read_symbols() {
  Elf64_Ehdr header;
  if (file_ == nullptr || file_bytes_ < sizeof header) return false;
  std::memcpy(&header, file_, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > file_bytes_ ||
      (file_bytes_ - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum) {
    return false;
  }
  if (header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phoff <= file_bytes_ &&
      (file_bytes_ - header.e_phoff) / sizeof(Elf64_Phdr) >= header.e_phnum) {
    segments_hash_ = hash_segments(file_ + header.e_phoff, header.e_phnum);
  }
  const auto section = [&](std::uint32_t index) {
    Elf64_Shdr found{};
    if (index < header.e_shnum) std::memcpy(&found, file_ + header.e_shoff + index * sizeof found, sizeof found);
    return found;
  };
  Elf64_Shdr chosen{};
  for (std::uint32_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr candidate = section(i);
    const bool is_better = candidate.sh_type == SHT_SYMTAB || (candidate.sh_type == SHT_DYNSYM && chosen.sh_type == 0);
    if (is_better) chosen = candidate;
  }
  if (chosen.sh_type == 0) return true;  // readable, and without a single name
  const Elf64_Shdr names = section(chosen.sh_link);
  return read_section(chosen.sh_offset, chosen.sh_size, names.sh_offset, names.sh_size);
}

bool SymbolFile::read_section(std::uint64_t symbols_at, std::uint64_t symbols_bytes, std::uint64_t names_at,
                              std::uint64_t names_bytes) {
  const auto is_inside = [this](std::uint64_t at, std::uint64_t bytes) {
    return at <= file_bytes_ && bytes <= file_bytes_ - at;
  };
  if (!is_inside(symbols_at, symbols_bytes) || !is_inside(names_at, names_bytes) || names_bytes == 0) return false;
  names_ = std::string_view(file_ + names_at, names_bytes);
  if (names_.back() != '\0') return false;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols_bytes; at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, file_ + symbols_at + at, sizeof symbol);
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    const bool is_function = (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF;
    if (!is_function || symbol.st_name == 0 || symbol.st_name >= names_bytes) continue;
    const auto size = std::min<std::uint64_t>(symbol.st_size, std::numeric_limits<std::uint32_t>::max());
    functions_.push_back({symbol.st_value, static_cast<std::uint32_t>(size), symbol.st_name});
  }
  functions_.shrink_to_fit();
  // Names of one function stand in the file's order, so that the answer is the same in every run.
  std::stable_sort(functions_.begin(), functions_.end(),
                   [](const Function& a, const Function& b) { return a.address < b.address; });
  return true;
}

std::string_view SymbolFile::function_at(std::uint64_t address) const noexcept {
  const auto next = std::upper_bound(functions_.begin(), functions_.end(), address,
                                     [](std::uint64_t wanted, const Function& each) { return wanted < each.address; });
  if (next == functions_.begin()) return {};
  const std::uint64_t start = std::prev(next)->address;
  const auto first = std::lower_bound(functions_.begin(), next, start,
                                      [](const Function& each, std::uint64_t wanted) { return each.address < wanted; });
  for (auto each = first; each != next; ++each) {
    // Assembly often leaves the size out.
    if (each->size == 0 || address - start < each->size) return names_.data() + each->name;
  }
  return {};
}

std::string_view ModuleSymbols::function_at(const std::string& path, std::uint64_t segments_hash, std::uint64_t address,
                                            bool& is_readable) {
  auto found = std::find_if(opened_.begin(), opened_.end(), [&](const Opened& each) { return each.path == path; });
  if (found == opened_.end()) {
    opened_.push_front({path, SymbolFile::open(path)});
    forget_old();
  } else {
    opened_.splice(opened_.begin(), opened_, found);
  }
  const SymbolFile* file = opened_.front().file.get();
  is_readable = file != nullptr && file->segments_hash() == segments_hash;
  return is_readable ? file->function_at(address) : std::string_view();
}

void ModuleSymbols::forget_old() {
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (auto each = opened_.begin(); each != opened_.end(); ++each) {
    bytes += each->file == nullptr ? 0 : each->file->size_bytes();
    // The one just asked for stays, however large.
    if (++count > 1 && (bytes > kMaxTableBytes || count > kMaxOpenFiles)) {
      opened_.erase(each, opened_.end());
      return;
    }
  }
}

}  // namespace turnpike::record
