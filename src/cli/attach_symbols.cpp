// Reads sections and dynamic symbols from a file that the owner of the process has chosen, and trusts nothing in it.
#include "cli/attach_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

namespace turnpike::cli {
namespace {

constexpr std::uint64_t kMostFileBytes = 256UL * 1024 * 1024;

// "" if it is not a plain file, or is larger than any Python or C library. Does not wait for a pipe.
std::string bytes_of(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat about{};
  std::string bytes;
  if (file >= 0 && ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
      static_cast<std::uint64_t>(about.st_size) <= kMostFileBytes) {
    bytes.resize(static_cast<std::size_t>(about.st_size));
    std::size_t size = 0;
    ssize_t got = 0;
    while (size < bytes.size() && (got = ::read(file, bytes.data() + size, bytes.size() - size)) > 0)
      size += static_cast<std::size_t>(got);
    bytes.resize(size);
  }
  if (file >= 0) ::close(file);
  return bytes;
}

template <typename T>
std::optional<T> part(const std::string& bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Sections, segments and symbols come as tables of equal entries.
template <typename T>
std::optional<T> entry(const std::string& bytes, std::uint64_t table, std::uint64_t number) {
  if (table > bytes.size() || number > bytes.size() / sizeof(T)) return std::nullopt;
  return part<T>(bytes, table + number * sizeof(T));
}

// Of the first byte of the file, as its symbols count.
std::uint64_t first_address(const std::string& bytes, const Elf64_Ehdr& header) {
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = entry<Elf64_Phdr>(bytes, header.e_phoff, i);
    if (segment && segment->p_type == PT_LOAD) return segment->p_vaddr - segment->p_offset;
  }
  return 0;
}

bool is_named(const std::string& bytes, std::uint64_t offset, const std::string& name) {
  return offset < bytes.size() && bytes.compare(offset, name.size() + 1, name.c_str(), name.size() + 1) == 0;
}

// The first such table alone, as a file has one: thousands of them would only keep us busy.
std::optional<Elf64_Shdr> symbol_table_of(const std::string& bytes, const Elf64_Ehdr& header) {
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = entry<Elf64_Shdr>(bytes, header.e_shoff, i);
    if (section && section->sh_type == SHT_DYNSYM) return section;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> symbol_in(const std::string& bytes, const Elf64_Ehdr& header, const std::string& name) {
  const auto table = symbol_table_of(bytes, header);
  const auto names = table ? entry<Elf64_Shdr>(bytes, header.e_shoff, table->sh_link) : std::nullopt;
  if (!names) return std::nullopt;
  for (std::uint64_t at = 0; at < table->sh_size / sizeof(Elf64_Sym); ++at) {
    const auto symbol = entry<Elf64_Sym>(bytes, table->sh_offset, at);
    if (!symbol) break;
    if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) continue;
    if (is_named(bytes, names->sh_offset + symbol->st_name, name)) return symbol->st_value;
  }
  return std::nullopt;
}

}  // namespace

std::vector<MappedFile> mapped_files(pid_t process) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::vector<MappedFile> files;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, rights, offset, device, inode, path;
    words >> range >> rights >> offset >> device >> inode >> std::ws;
    std::getline(words, path);
    std::uint64_t start = 0, end = 0;
    const char* const last = range.data() + range.size();
    const auto dash = std::from_chars(range.data(), last, start, 16).ptr;
    if (dash == last || !path.starts_with("/")) continue;
    std::from_chars(dash + 1, last, end, 16);
    if (!files.empty() && files.back().path == path) {
      files.back().end = end;
    } else if (offset.find_first_not_of('0') == std::string::npos) {
      files.push_back({.path = path, .start = start, .end = end});
    }
  }
  return files;
}

std::string path_in(pid_t process, const std::string& path) {
  return "/proc/" + std::to_string(process) + "/root" + path;
}

bool is_same_file(const std::string& one, const std::string& other) {
  struct stat a{}, b{};
  return stat(one.c_str(), &a) == 0 && stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

Result<ElfFile> ElfFile::open(pid_t process, const MappedFile& file) {
  ElfFile opened(file, bytes_of(path_in(process, file.path)));
  const auto header = part<Elf64_Ehdr>(opened.bytes_, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) {
    return Error{file.path + " cannot be read: was it updated since the process started?"};
  }
  return opened;
}

std::optional<std::uint64_t> ElfFile::address_of_function(const std::string& name) const {
  const auto header = *part<Elf64_Ehdr>(bytes_, 0);
  const auto symbol = symbol_in(bytes_, header, name);
  if (!symbol) return std::nullopt;
  return file_.start + *symbol - first_address(bytes_, header);
}

std::optional<std::uint64_t> ElfFile::address_of_section(const std::string& name) const {
  const auto header = *part<Elf64_Ehdr>(bytes_, 0);
  const auto names = entry<Elf64_Shdr>(bytes_, header.e_shoff, header.e_shstrndx);
  if (!names) return std::nullopt;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = entry<Elf64_Shdr>(bytes_, header.e_shoff, i);
    if (!section || !is_named(bytes_, names->sh_offset + section->sh_name, name)) continue;
    return file_.start + section->sh_addr - first_address(bytes_, header);
  }
  return std::nullopt;
}

}  // namespace turnpike::cli
